//! `longhaul compaction show`.

use clap::Args;
use longhaul_protocol::compaction::{Entry, Get, GetParams, GetResult, Receipt};

use crate::commands::compact;
use crate::failure::Failure;
use crate::select;
use crate::session::{Page, Session};
use crate::style::{Style, count, tokens};

/// Entries of the receipt that are shown to people; `--json` has all.
const ENTRIES_SHOWN: usize = 20;

/// Show a compaction: its view, its sizes and its receipt
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  longhaul compaction show 0199a213
  longhaul compaction show 0199a213 --json | jq '.receipt.dropped'")]
pub(crate) struct ShowArgs {
    /// The compaction, or the beginning of its id
    compaction: String,
}

pub(crate) async fn run(args: ShowArgs, session: &Session) -> Result<(), Failure> {
    let client = session.connect().await?;
    let compaction_id = select::compaction(&client, &args.compaction).await?;
    session.print(&client.call::<Get>(GetParams { compaction_id }).await?)
}

impl Page for GetResult {
    fn text(&self, style: &Style) -> String {
        let made = &self.summary;
        let heading = format!("{} made {}\n", made.compaction_id, style.ago(made.created_at));
        let undone = made.undone_at.map(|at| format!("undone {}\n", style.ago(at)));
        let view = self.run.view.trim_end();
        let summary = compact::summary(&self.run, style);
        let undone = style.warn(&undone.unwrap_or_default());
        let heading = style.bold(&heading);
        format!(
            "{heading}{undone}\n{view}\n\n{summary}{}",
            account(&self.run.receipt, ENTRIES_SHOWN, style)
        )
    }
}

/// What became of the items: kept, shortened, dropped, at most `most` entries of each.
pub(crate) fn account(receipt: &Receipt, most: usize, style: &Style) -> String {
    let lists =
        [("kept", &receipt.kept), ("shortened", &receipt.shortened), ("dropped", &receipt.dropped)];
    lists.into_iter().map(|(title, entries)| list(title, entries, most, style)).collect()
}

fn list(title: &str, entries: &[Entry], most: usize, style: &Style) -> String {
    if entries.is_empty() {
        return String::new();
    }
    let row = |entry: &Entry| {
        let lines = match entry.seq_first == entry.seq_last {
            true => count(entry.seq_first),
            false => format!("{} to {}", count(entry.seq_first), count(entry.seq_last)),
        };
        vec![
            entry.handle.clone(),
            entry.kind.clone(),
            count(entry.items),
            tokens(entry.tokens),
            lines,
        ]
    };
    let rows = entries.iter().take(most).map(row).collect();
    let table = style.table(&[title, "kind", ">items", ">tokens", ">lines"], rows);
    let more = match entries.len().saturating_sub(most) {
        0 => String::new(),
        more => style.dim(&format!("and {} more, see --json\n", count(more as u64))),
    };
    format!("\n{table}{more}")
}
