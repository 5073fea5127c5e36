//! `longhaul compaction list`.

use clap::Args;
use longhaul_protocol::compaction::{CompactionSummary, List, ListParams, ListResult};
use longhaul_protocol::limit::PAGE_ROWS_MAX;

use crate::failure::Failure;
use crate::select::{self, short_len};
use crate::session::{Page, Session};
use crate::style::{Style, duration, tokens};

/// List compactions, the newest first
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  longhaul compaction list
  longhaul compaction list 0199a213 -n 5      of one thread")]
pub(crate) struct ListArgs {
    /// Only those of this thread
    thread: Option<String>,
    /// How many
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=i64::from(PAGE_ROWS_MAX)))]
    limit: u32,
    /// Continue after an earlier list, by its next_cursor
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<String>,
}

pub(crate) async fn run(args: ListArgs, session: &Session) -> Result<(), Failure> {
    let client = session.connect().await?;
    let thread_id = match args.thread {
        Some(named) => Some(select::thread(&client, Some(&named)).await?.thread_id),
        None => None,
    };
    let params = ListParams { thread_id, limit: Some(args.limit), cursor: args.cursor };
    session.print(&client.call::<List>(params).await?)
}

impl Page for ListResult {
    fn text(&self, style: &Style) -> String {
        if self.compactions.is_empty() {
            return "No compactions.\n".to_owned();
        }
        let ids: Vec<&str> =
            self.compactions.iter().map(|row| row.compaction_id.as_str()).collect();
        let id_chars = short_len(&ids);
        let rows = self.compactions.iter().map(|made| row(made, id_chars, style)).collect();
        let headings =
            ["compaction", "made", "thread", "strategy", ">before", ">after", ">took", ""];
        let more = match &self.next_cursor {
            Some(cursor) => {
                style.dim(&format!("more: longhaul compaction list --cursor {cursor}\n"))
            }
            None => String::new(),
        };
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
        made.strategy_used.name().to_owned(),
        tokens(made.tokens.before),
        tokens(made.tokens.after),
        duration(made.duration_ms),
        undone.unwrap_or_default(),
    ]
}
