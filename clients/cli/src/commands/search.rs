//! `longhaul search`.

use clap::Args;
use longhaul_protocol::limit::SEARCH_HITS_MAX;
use longhaul_protocol::thread::{
    IndexState, IndexStatus, Search, SearchHit, SearchParams, SearchResult,
};

use crate::failure::{Failure, USAGE};
use crate::select::{self, ThreadFilter};
use crate::session::{Page, Session};
use crate::style::{Style, counted, crop};

mod moment;
mod paragraph;

/// Search all threads of all agents
///
/// Finds items with all words, in any order; for a question, also items with some of them. Quote a phrase: "several
/// words"; conn* is a prefix; OR separates alternatives, NOT excludes. Paths and names match whole or by their parts.
/// A thread whose transcript is gone is searched in the archive, as long as that has it.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  longhaul search deadlock lock_table.rs
  longhaul search '\"connection refused\" NOT redis' --here --since 7d
  longhaul search 'migrat* OR schema' --kind user_message --kind tool_call
  longhaul search deadlock --json | jq -r '.hits[].handle'")]
pub(crate) struct SearchArgs {
    /// Words to find
    #[arg(required = true)]
    query: Vec<String>,
    #[command(flatten)]
    filter: ThreadFilter,
    /// Only this thread, by id or prefix
    #[arg(long, value_name = "THREAD")]
    thread: Option<String>,
    /// Only items since then: 90m, 12h, 7d, 3w, or a day like 2026-03-01
    #[arg(long, value_name = "WHEN")]
    since: Option<String>,
    /// Only items before then, in the same form
    #[arg(long, value_name = "WHEN")]
    until: Option<String>,
    /// Only items of this kind: user_message, assistant_message, tool_call, tool_output, context, compaction
    #[arg(long, value_name = "KIND")]
    kind: Vec<String>,
    /// Maximum number of rows
    #[arg(short = 'n', long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=i64::from(SEARCH_HITS_MAX)))]
    limit: u32,
    /// Maximum tokens of all texts
    #[arg(long, value_name = "N", value_parser = select::one_or_more)]
    max_tokens: Option<u64>,
}

pub(crate) async fn run(args: SearchArgs, session: &Session) -> Result<(), Failure> {
    let now_ms = session.style.now_ms;
    let moment = |flag: &str, text: Option<&str>| match text {
        Some(text) => moment::parse(text, now_ms).map(Some).ok_or_else(|| {
            Failure::new(USAGE, format!("--{flag} {text:?} is not a time"))
                .with_hint("use a span like 90m, 12h, 7d or 3w, or a day like 2026-03-01")
        }),
        None => Ok(None),
    };
    let (since, until) =
        (moment("since", args.since.as_deref())?, moment("until", args.until.as_deref())?);
    let client = session.connect().await?;
    let cwd = args.filter.folder(&client).await?;
    let thread_id = select::thread_id(&client, args.thread.as_deref()).await?;
    let params = SearchParams {
        query: args.query.join(" "),
        cwd,
        source: args.filter.source,
        since,
        until,
        kinds: (!args.kind.is_empty()).then_some(args.kind),
        thread_id,
        limit: Some(args.limit),
        max_tokens: args.max_tokens,
    };
    session.print(&client.call::<Search>(params).await?)
}

impl Page for SearchResult {
    fn text(&self, style: &Style) -> String {
        let hits: String = self.hits.iter().map(|hit| entry(hit, style)).collect();
        let mut notes = Vec::new();
        if self.hits.is_empty() {
            notes.push("Nothing found.".to_owned());
        }
        if self.truncated {
            notes.push("Many items match: only the newest were ranked.".to_owned());
        }
        notes.extend(behind(&self.indexed));
        let notes: String = notes.iter().map(|note| note.clone() + "\n").collect();
        hits + &style.dim(&notes)
    }
}

/// A note about an incomplete index.
fn behind(indexed: &IndexStatus) -> Option<String> {
    match indexed.state {
        IndexState::Idle | IndexState::Other => None,
        IndexState::Stalled => {
            Some("The search index cannot be written; see longhaul doctor.".to_owned())
        }
        IndexState::Indexing => {
            let items = counted(indexed.items, "item");
            Some(format!(
                "Still indexing: {items} so far, {} to go.",
                counted(indexed.files_behind, "file")
            ))
        }
    }
}

/// A heading, the text around the match, and the handle.
fn entry(hit: &SearchHit, style: &Style) -> String {
    let folder = hit.cwd.as_deref().map(|cwd| style.path(cwd)).unwrap_or_default();
    let copies = match hit.copies {
        0 => String::new(),
        copies => format!("and {copies} identical"),
    };
    let title = hit.title.as_deref().unwrap_or_default().replace('\n', " ");
    let parts = [style.ago(hit.at), hit.kind.replace('_', " "), folder, copies, title];
    let parts: Vec<&str> =
        parts.iter().map(String::as_str).filter(|part| !part.is_empty()).collect();
    let heading = crop(&parts.join(" · "), usize::from(style.width));
    let matches: Vec<_> = hit.matches.iter().map(|[from, to]| *from..*to).collect();
    let text = paragraph::wrapped(&hit.text, &matches, style);
    format!("{}\n{text}  {}\n\n", style.bold(&heading), style.dim(&hit.handle))
}

#[cfg(test)]
mod tests {
    use longhaul_protocol::example::{examples, sample};

    use super::*;
    use crate::style::tests::plain;

    fn page() -> SearchResult {
        let examples = examples().unwrap();
        let example = examples.iter().find(|e| e.method.as_deref() == Some("thread/search"));
        let response = sample(&example.unwrap().exchanges[0].response);
        serde_json::from_value(response["result"].clone()).unwrap()
    }

    #[test]
    fn hits_fit_80_columns_and_colors_mark_matches() {
        let mut page = page();
        page.hits[0].text = format!("a deadlock {}", "word ".repeat(50));
        page.hits[0].matches = vec![[2, 10]];
        page.hits[0].title = Some("A long title ".repeat(20));
        let text = page.text(&plain());
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert!(!text.contains('\x1b') && text.contains("  a deadlock word"), "{text}");
        let color = page.text(&Style { is_color: true, ..plain() });
        assert!(color.contains("\x1b[") && !color.contains("a deadlock"), "{color}");
    }

    #[test]
    fn incomplete_results_are_noted() {
        let mut page = page();
        page.hits.clear();
        page.truncated = true;
        page.indexed.state = IndexState::Indexing;
        page.indexed.files_behind = 3;
        let text = page.text(&plain());
        for part in ["Nothing found", "newest", "3 files to go"] {
            assert!(text.contains(part), "{text}");
        }
    }
}
