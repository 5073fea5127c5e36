//! `longhaul thread list`.

use clap::Args;
use longhaul_protocol::thread::{ThreadList, ThreadListParams, ThreadListResult, ThreadSummary};

use crate::commands::slice::{Slice, more};
use crate::failure::Failure;
use crate::select::{ThreadFilter, short_len};
use crate::session::{Page, Session};
use crate::style::{Style, bytes, count, tokens};

/// List threads, last updated first
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  longhaul thread list
  longhaul thread list --here -n 5          the newest five of this folder
  longhaul thread list --source codex --json | jq -r '.threads[].thread_id'")]
pub(crate) struct ThreadListArgs {
    #[command(flatten)]
    filter: ThreadFilter,
    #[command(flatten)]
    slice: Slice,
}

pub(crate) async fn run(args: ThreadListArgs, session: &Session) -> Result<(), Failure> {
    let client = session.connect().await?;
    let cwd = args.filter.folder(&client).await?;
    let params = ThreadListParams {
        source: args.filter.source,
        cwd,
        limit: Some(args.slice.limit),
        cursor: args.slice.cursor,
        blocked: None,
    };
    session.print(&client.call::<ThreadList>(params).await?)
}

impl Page for ThreadListResult {
    fn text(&self, style: &Style) -> String {
        if self.threads.is_empty() {
            return "No threads. longhaul status shows which folders are read.\n".to_owned();
        }
        let id_chars = short_len(self.threads.iter().map(|thread| thread.thread_id.as_str()));
        let rows = self.threads.iter().map(|thread| row(thread, id_chars, style)).collect();
        // On a narrow terminal, the title says more than its sizes.
        let sizes: &[&str] = if style.is_wide() { &[">items", ">size"] } else { &[] };
        let headings = [&["thread", "updated", "folder", ">tokens"], sizes, &["title"]].concat();
        let more = more(self.next_cursor.as_deref(), style);
        style.table(&headings, rows) + &more
    }
}

fn row(thread: &ThreadSummary, id_chars: usize, style: &Style) -> Vec<String> {
    let title = thread.title.as_deref().unwrap_or_default().replace('\n', " ");
    let title = match thread.unresumed {
        true => format!("(not resumed) {title}"),
        false => title,
    };
    let mut row = vec![
        thread.thread_id.chars().take(id_chars).collect(),
        style.ago(thread.updated_at),
        last_folders(thread.cwd.as_deref().unwrap_or("-")),
        tokens(thread.tokens),
    ];
    if style.is_wide() {
        row.extend([count(thread.items), bytes(thread.bytes)]);
    }
    row.push(title);
    row
}

/// The last folder of a path.
pub(in crate::commands) fn last_folders(path: &str) -> String {
    path.rsplit('/').find(|name| !name.is_empty()).unwrap_or(path).to_owned()
}

#[cfg(test)]
mod tests {
    use longhaul_protocol::example::{examples, sample};

    use super::*;
    use crate::style::tests::plain;

    #[test]
    fn long_titles_are_cut_to_one_line() {
        let of_list =
            examples().unwrap().into_iter().find(|e| e.method.as_deref() == Some("thread/list"));
        let response = sample(&of_list.unwrap().exchanges[0].response);
        let mut page: ThreadListResult =
            serde_json::from_value(response["result"].clone()).unwrap();
        page.threads[0].title = Some("Rename the parser and every caller of it ".repeat(9));
        let text = page.text(&plain());
        assert_eq!(text.lines().count(), 2, "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert!(text.contains("01980000-0000"), "the id is whole: {text}");
        assert!(text.contains("Rename the parser and every"), "{text}");
    }
}
