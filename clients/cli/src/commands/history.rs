//! `longhaul history`.

use clap::Args;
use longhaul_printable as printable;
use longhaul_protocol::history::{
    BaseKind, HistoryGet, HistoryGetParams, HistoryGetResult, Opaque, Origin,
};
use serde_json::Value;

use crate::commands::expand::item_text;
use crate::failure::Failure;
use crate::progress::while_waiting;
use crate::select;
use crate::session::{Page, Session};
use crate::style::{Style, count, counted, tokens};

/// Maximum characters of an excerpt.
const EXCERPT_CHARS: usize = 400;

/// Show the history a model sees, now or after an earlier item
///
/// It begins with the thread or with its last compaction that was not undone, without turns that were rolled back. Items
/// are shown as the agent wrote them, secrets included.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  longhaul history                   the newest thread of this folder
  longhaul history 0199a213 --as-of 420
  longhaul history --full | less -R
  longhaul history --json | jq -c '.items[]'")]
pub(crate) struct HistoryArgs {
    /// Id of the thread, or a unique prefix
    thread: Option<String>,
    /// Show the history as it was after this seq
    #[arg(long, value_name = "SEQ", value_parser = select::seq)]
    as_of: Option<u64>,
    /// Print whole items instead of one line each
    #[arg(long)]
    full: bool,
    /// Show an encrypted compaction as it is instead of the checkpoint in its place
    #[arg(long)]
    opaque: bool,
}

pub(crate) async fn run(args: HistoryArgs, session: &Session) -> Result<(), Failure> {
    let client = session.connect().await?;
    let thread = select::thread(&client, args.thread.as_deref(), session).await?;
    let mut params = HistoryGetParams {
        thread_id: thread.thread_id,
        as_of: args.as_of,
        opaque: args.opaque.then_some(Opaque::AsIs),
        ..Default::default()
    };
    let mut history = while_waiting("reading", client.call::<HistoryGet>(params.clone())).await?;
    while let Some(cursor) = history.next_cursor.take() {
        params.cursor = Some(cursor);
        let page = while_waiting("reading", client.call::<HistoryGet>(params.clone())).await?;
        history.items.extend(page.items);
        history.origins.extend(page.origins);
        history.next_cursor = page.next_cursor;
    }
    if args.full && !session.is_json {
        return session.print_text(&full(&history, &session.style));
    }
    if let Some(seq) = args.as_of.filter(|seq| *seq > history.seq) {
        session.note(&format!("note: the thread ends at {}, before {seq}", history.seq));
    }
    session.print(&history)
}

impl Page for HistoryGetResult {
    fn text(&self, style: &Style) -> String {
        let mut handles = self.origins.iter().map(|origin| origin.handle.as_deref());
        let rows = self.items.iter().zip(&self.origins).map(|(item, place)| {
            let item = serde_json::from_str(item.get()).unwrap_or_default();
            row(&item, place, handles.next().flatten())
        });
        let rows = rows.collect();
        beginning(self, style)
            + &style.table(&[">seq", "kind", ">tokens", "handle", "text"], rows)
            + &total(self, style)
    }
}

fn row(item: &Value, place: &Origin, handle: Option<&str>) -> Vec<String> {
    // Every row has the same thread, so leave it out of the handle.
    let short = handle.map(|handle| handle.rsplit_once('#').map_or(handle, |(_, place)| place));
    let kind = if place.stand_in { "stand_in" } else { &place.kind };
    vec![
        place.seq.to_string(),
        kind.replace('_', " "),
        count(place.tokens),
        short.map(|short| format!("#{short}")).unwrap_or_default(),
        excerpt(item),
    ]
}

/// The text of an item, on one line.
fn excerpt(item: &Value) -> String {
    let parts = |value: &Value| match value {
        Value::Array(parts) => {
            let texts = parts.iter().map(|part| {
                part["text"].as_str().unwrap_or(match part["type"].as_str() {
                    Some(kind) if kind.contains("image") => "[image]",
                    _ => "",
                })
            });
            Some(texts.collect::<Vec<_>>().join(" "))
        }
        Value::String(text) => Some(text.clone()),
        _ => None,
    };
    let name = item["name"].as_str().map(|name| format!("{name} ")).unwrap_or_default();
    let words = ["content", "output", "arguments", "input", "summary", "action", "query"]
        .iter()
        .find_map(|key| parts(&item[*key]).filter(|words| !words.is_empty()))
        .or_else(|| item["action"].is_object().then(|| item["action"].to_string()));
    let encrypted = item["encrypted_content"].is_string().then(|| "(encrypted)".to_owned());
    let text = name + &words.or(encrypted).unwrap_or_default();
    let head: String = text.chars().take(EXCERPT_CHARS).collect();
    printable::one_line(&head.split_whitespace().collect::<Vec<_>>().join(" ")).into_owned()
}

fn beginning(history: &HistoryGetResult, style: &Style) -> String {
    let what = match history.base.kind {
        BaseKind::Start => "from the first line".to_owned(),
        BaseKind::Replacement => format!("from the compaction at {}", history.base.seq),
        BaseKind::Summary => {
            format!("from the summary at {}, with the newest requests before it", history.base.seq)
        }
        BaseKind::Opaque => {
            format!("from the compaction at {}, which only its provider can read", history.base.seq)
        }
    };
    let archive = if history.from_archive { ", from the archive" } else { "" };
    let head = format!("thread {} as of {}, {what}{archive}\n", history.thread_id, history.seq);
    style.dim(&style.wrap(&head, 2))
}

fn total(history: &HistoryGetResult, style: &Style) -> String {
    let items = counted(history.items.len() as u64, "item");
    style.bold(&format!("{items}, {} tokens\n", tokens(history.tokens)))
}

fn full(history: &HistoryGetResult, style: &Style) -> String {
    let items = history.items.iter().zip(&history.origins).map(|(item, place)| {
        let parsed = serde_json::from_str(item.get()).unwrap_or_default();
        let handle = place.handle.as_deref().unwrap_or_default();
        let head = format!("{} {} tokens {handle}\n", place.seq, count(place.tokens));
        style.dim(&head) + &item_text(&parsed, style) + "\n"
    });
    beginning(history, style) + &items.collect::<String>() + &total(history, style)
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use serde_json::value::to_raw_value;

    use super::*;
    use crate::style::tests::plain;

    #[test]
    fn history_lists_an_item_per_line_and_the_total() {
        let items = [
            json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "fix\n the \u{1b}[31mparser ".repeat(20)}]}),
            json!({"type": "function_call", "name": "shell", "arguments": "{\"cmd\":\"ls\"}"}),
            json!({"type": "reasoning", "summary": [], "encrypted_content": "gAAA"}),
        ];
        let place = |kind: &str| Origin {
            seq: 7,
            kind: kind.to_owned(),
            tokens: 1_200,
            handle: Some("0199#7.abcdef".to_owned()),
            stand_in: false,
        };
        let history = HistoryGetResult {
            thread_id: "0199".to_owned(),
            seq: 9,
            base: longhaul_protocol::history::Base { kind: BaseKind::Start, seq: 0 },
            items: items.iter().map(|item| to_raw_value(item).unwrap()).collect(),
            origins: ["user_message", "tool_call", "reasoning"].map(place).into(),
            tokens: 3_600,
            next_cursor: None,
            from_archive: false,
        };
        let text = history.text(&plain());
        assert_eq!(text.lines().count(), 6, "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert!(text.contains("shell {\"cmd\":\"ls\"}") && text.contains("#7.abcdef"), "{text}");
        assert!(text.contains("(encrypted)") && !text.contains('\u{1b}'), "{text}");
        assert!(text.ends_with("3 items, 3.6k tokens\n"), "{text}");
    }
}
