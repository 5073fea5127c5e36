//! `longhaul undo`: the history as it was before a compaction.

use clap::Args;
use longhaul_protocol::compaction::{Undo, UndoParams, UndoResult};

use crate::failure::Failure;
use crate::progress::while_waiting;
use crate::session::{Page, Session};
use crate::style::{Style, counted, tokens};

/// Undo a compaction: return the old history
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  longhaul compaction list
  longhaul undo 0199a213
  longhaul undo 0199a213 --json | jq .history      the old history itself")]
pub(crate) struct UndoArgs {
    /// Id of the compaction, or a unique prefix
    compaction: String,
}

pub(crate) async fn run(args: UndoArgs, session: &Session) -> Result<(), Failure> {
    let client = session.connect().await?;
    let compaction_id = args.compaction;
    let undo = client.call::<Undo>(UndoParams { compaction_id });
    session.print(&while_waiting("reading the old history", undo).await?)
}

impl Page for UndoResult {
    fn text(&self, style: &Style) -> String {
        let items = counted(self.history.bytes().len() as u64, "item");
        let heading = format!("undone: {items} of the old history are back\n");
        let rest = match self.complete {
            true => String::new(),
            false => {
                let cost: u64 = self.handles.iter().map(|entry| entry.tokens).sum();
                let handles = counted(self.handles.len() as u64, "handle");
                format!("{} tokens more are behind {handles}\n", tokens(cost))
            }
        };
        let in_force = match self.restored_seq {
            Some(seq) => format!("the thread has them again since #{seq}\n"),
            None => String::new(),
        };
        let where_to = format!("print it: longhaul undo {} --json\n", self.compaction_id);
        [style.bold(&heading), rest, in_force, style.dim(&where_to)].concat()
    }
}
