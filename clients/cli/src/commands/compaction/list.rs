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
        let ids: Vec<&str> =
            self.compactions.iter().map(|row| row.compaction_id.as_str()).collect();
        let id_chars = short_len(&ids);
        let rows = self.compactions.iter().map(|made| row(made, id_chars, style)).collect();
        let headings =
            ["compaction", "made", "thread", "strategy", "reason", ">before", ">after", ""];
        let more = more("compaction list", self.next_cursor.as_deref(), style);
        style.table(&headings, rows) + &more
    }
}

fn row(made: &CompactionSummary, id_chars: usize, style: &Style) -> Vec<String> {
    let thread = made.thread_id.as_deref().unwrap_or("(given items)");
    let undone = made.undone_at.map(|at| format!("undone {}", style.ago(at)));
    vec![
        made.compaction_id.chars().take(id_chars).collect(),
        style.ago(made.created_at),
        thread.chars().take(13).collect(),
        made.strategy_used.to_string(),
        reason(made.reason).to_owned(),
        tokens(made.tokens.before),
        tokens(made.tokens.after),
        undone.unwrap_or_default(),
    ]
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
