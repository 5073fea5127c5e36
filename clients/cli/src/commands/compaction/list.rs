//! `longhaul compaction list`.

use clap::Args;
use longhaul_protocol::compaction::{
    CompactionList, CompactionListParams, CompactionListResult, CompactionSummary, Reason,
};

use crate::commands::slice::{Slice, more};
use crate::failure::Failure;
use crate::select::{self, short_len};
use crate::session::{Page, Session};
use crate::style::{Style, tokens};

/// List compactions, newest first
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  longhaul compaction list
  longhaul compaction list 0199a213 -n 5      one thread")]
pub(crate) struct CompactionListArgs {
    /// Only compactions of this thread
    thread: Option<String>,
    #[command(flatten)]
    slice: Slice,
}

pub(crate) async fn run(args: CompactionListArgs, session: &Session) -> Result<(), Failure> {
    let client = session.connect().await?;
    let thread_id = select::thread_id(&client, args.thread.as_deref()).await?;
    let params = CompactionListParams {
        thread_id,
        limit: Some(args.slice.limit),
        cursor: args.slice.cursor,
    };
    session.print(&client.call::<CompactionList>(params).await?)
}

impl Page for CompactionListResult {
    fn text(&self, style: &Style) -> String {
        if self.compactions.is_empty() {
            return "No compactions.\n".to_owned();
        }
        let id_chars = short_len(self.compactions.iter().map(|row| row.compaction_id.as_str()));
        let rows = self.compactions.iter().map(|made| row(made, id_chars, style)).collect();
        // On a narrow terminal, how it was made has no room; mostly it is the same for all.
        let how: &[&str] = if style.is_wide() { &["strategy", "reason"] } else { &[] };
        let first = &["compaction", "made", "thread"][..];
        let headings = [first, how, &[">before", ">after", ""]].concat();
        let more = more(self.next_cursor.as_deref(), style);
        style.table(&headings, rows) + &more
    }
}

fn row(made: &CompactionSummary, id_chars: usize, style: &Style) -> Vec<String> {
    let thread = made.thread_id.as_deref().unwrap_or("(given items)");
    let undone = made.undone_at.map(|at| format!("undone {}", style.ago(at)));
    let mut row = vec![
        made.compaction_id.chars().take(id_chars).collect(),
        style.ago(made.created_at),
        thread.chars().take(13).collect(),
    ];
    if style.is_wide() {
        row.extend([made.strategy_used.to_string(), reason(made.reason).to_owned()]);
    }
    let (before, after) = (tokens(made.tokens.before), tokens(made.tokens.after));
    row.extend([before, after, undone.unwrap_or_default()]);
    row
}

fn reason(reason: Reason) -> &'static str {
    match reason {
        Reason::UserRequested => "requested",
        Reason::ContextLimit => "limit",
        Reason::ModelDownshift => "smaller model",
        Reason::Policy => "policy",
        Reason::Other => "-",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::style::tests::plain;

    #[test]
    fn times_are_whole_in_80_columns() {
        let style = plain();
        let made = json!({
            "compaction_id": "cmp_0199b000-0000-7000-8000-0000000000c1", "thread_id": "019f03e0-321f-7eb2",
            "created_at": style.now_ms - 900_000, "strategy_used": "checkpoint", "reason": "user_requested",
            "phase": "standalone", "trigger": "manual", "tokens": { "before": 123_456, "after": 1_960 },
            "seq": 4_321, "duration_ms": 4, "undone_at": style.now_ms - 600_000,
        });
        let page: CompactionListResult =
            serde_json::from_value(json!({ "compactions": [made] })).unwrap();
        let text = page.text(&style);
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        for whole in ["cmp_0199b000-0000", "15 min ago", "019f03e0-321f", "undone 10 min ago"] {
            assert!(text.contains(whole), "{whole}: {text}");
        }
    }
}
