//! `longhaul compaction show`.

use clap::Args;
use longhaul_protocol::compaction::{CompactionGet, CompactionGetParams, CompactionGetResult};

use crate::commands::receipt::{account, summary};
use crate::failure::Failure;
use crate::session::{Page, Session};
use crate::style::Style;

/// Entries of the receipt to print; `--json` has all.
const ENTRIES_SHOWN: usize = 20;

/// Show the view, sizes and receipt of a compaction
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  longhaul compaction show 0199a213
  longhaul compaction show 0199a213 --json | jq '.receipt.dropped'")]
pub(crate) struct CompactionShowArgs {
    /// Id of the compaction, or a unique prefix
    compaction: String,
}

pub(crate) async fn run(args: CompactionShowArgs, session: &Session) -> Result<(), Failure> {
    let compaction_id = args.compaction;
    session.show::<CompactionGet>(CompactionGetParams { compaction_id }).await
}

impl Page for CompactionGetResult {
    fn text(&self, style: &Style) -> String {
        let made = &self.summary;
        let heading = format!("{} made {}\n", made.compaction_id, style.ago(made.created_at));
        let undone = made.undone_at.map(|at| format!("undone {}\n", style.ago(at)));
        let view = self.run.view.trim_end();
        let summary = summary(&self.run, style);
        let undone = style.warn(&undone.unwrap_or_default());
        let heading = style.bold(&heading);
        format!(
            "{heading}{undone}\n{view}\n\n{summary}{}",
            account(&self.run.receipt, ENTRIES_SHOWN, style)
        )
    }
}
