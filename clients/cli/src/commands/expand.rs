//! `longhaul expand`.

use clap::Args;
use longhaul_printable as printable;
use longhaul_protocol::history::{Expand, ExpandParams, ExpandResult};
use serde_json::Value;

use crate::failure::Failure;
use crate::progress::while_waiting;
use crate::select;
use crate::session::{Page, Session};
use crate::style::Style;

/// Print the items behind a handle of a receipt or a view, word for word
///
/// A message or a result is printed as its text, anything else as JSON, secrets included. With --json, each item is
/// whole, and `path` and `byte_range` say where the transcript has it.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  longhaul expand HANDLE
  longhaul expand 747                            #747 of the newest thread
  longhaul expand 747 --thread 0199a213
  longhaul expand HANDLE --json | jq '.items[]'
  longhaul expand HANDLE --json --max-bytes 4096    one page and a next_cursor")]
pub(crate) struct ExpandArgs {
    /// A handle from a receipt, a view or a search; a number alone is an item of the thread
    handle: String,
    /// Thread of a handle without a thread [default: the newest of this folder or project, else of all]
    #[arg(long, value_name = "THREAD")]
    thread: Option<String>,
    /// Maximum bytes of one page
    #[arg(long, value_name = "N")]
    max_bytes: Option<u64>,
    /// Continue at the next_cursor of an earlier page
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<String>,
}

pub(crate) async fn run(args: ExpandArgs, session: &Session) -> Result<(), Failure> {
    let client = session.connect().await?;
    let thread = match args.thread {
        Some(named) => Some(named),
        None if args.handle.find('#').is_some_and(|at| at > 0) => None,
        None => select::thread(&client, None, session).await.ok().map(|thread| thread.thread_id),
    };
    let mut params = ExpandParams {
        handle: args.handle,
        thread_id: thread,
        cursor: args.cursor,
        max_bytes: args.max_bytes,
    };
    loop {
        let page = while_waiting("reading", client.call::<Expand>(params.clone())).await?;
        session.print(&page)?;
        // A script requests the next page itself; for a person, print all pages.
        if session.is_json || page.next_cursor.is_none() {
            return Ok(());
        }
        params.cursor = page.next_cursor;
    }
}

impl Page for ExpandResult {
    fn text(&self, style: &Style) -> String {
        let [from, to] = self.byte_range;
        let archive = if self.from_archive { ", from the archive" } else { "" };
        let place = format!("{} bytes {from} to {to}{archive}\n", style.path(&self.path));
        let items = self.items.iter().map(|item| {
            let parsed: Value = serde_json::from_str(item.get()).unwrap_or_default();
            item_text(&parsed, style) + "\n"
        });
        style.dim(&place) + &items.collect::<String>()
    }
}

/// A message or a result as its text, anything else as indented JSON.
pub(super) fn item_text(item: &Value, style: &Style) -> String {
    let message = item.get("message").filter(|message| message.is_object()).unwrap_or(item);
    let words = ["content", "output", "text"].iter().find_map(|key| message.get(key));
    let words = words.map(text_of).unwrap_or_default();
    let title = message["role"].as_str().or_else(|| item["type"].as_str()).unwrap_or("item");
    let title = style.bold(&printable::one_line(title));
    match words.trim_end() {
        "" => format!("{title}\n{}\n", printable::json(&format!("{item:#}"))),
        words => format!("{title}\n{}\n", printable::block(words)),
    }
}

/// The text of a message's content, in the form of any agent. Parts that have none are JSON.
fn text_of(content: &Value) -> String {
    let parts = match content {
        Value::String(text) => return text.clone(),
        Value::Array(parts) => return parts.iter().map(text_of).collect::<Vec<_>>().join("\n"),
        Value::Null => return String::new(),
        part => ["text", "content", "thinking"].iter().find_map(|key| part.get(key)),
    };
    parts.map_or_else(|| format!("{content:#}"), text_of)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::style::tests::plain;

    #[test]
    fn the_text_of_a_message_or_a_result_is_printed_for_every_agent() {
        let result = json!([{ "type": "tool_result", "tool_use_id": "t", "content": "2 passed" }]);
        let parts = json!([{ "type": "text", "text": "one" }, { "type": "text", "text": "two" }]);
        for (item, expected) in [
            (json!({ "type": "message", "role": "user", "content": parts }), "user\none\ntwo\n"),
            (
                json!({ "type": "user", "message": { "role": "user", "content": "Go." } }),
                "user\nGo.\n",
            ),
            (
                json!({ "type": "user", "message": { "role": "user", "content": result } }),
                "user\n2 passed\n",
            ),
            (
                json!({ "type": "function_call_output", "call_id": "c", "output": "Exit code: 0" }),
                "function_call_output\nExit code: 0\n",
            ),
            (
                json!({ "type": "function_call_output", "output": { "content": "done", "success": true } }),
                "function_call_output\ndone\n",
            ),
        ] {
            assert_eq!(item_text(&item, &plain()), expected, "{item}");
        }
        let call = json!({ "type": "function_call", "name": "shell", "arguments": "{}" });
        let text = item_text(&call, &plain());
        assert!(
            text.starts_with("function_call\n{") && text.contains("\"name\": \"shell\""),
            "{text}"
        );
        let calls =
            json!([{ "type": "text", "text": "I look." }, { "type": "tool_use", "name": "Read" }]);
        let said = json!({ "message": { "role": "assistant", "content": calls } });
        let text = item_text(&said, &plain());
        assert!(
            text.starts_with("assistant\nI look.\n{") && text.contains("\"name\": \"Read\""),
            "{text}"
        );
    }
}
