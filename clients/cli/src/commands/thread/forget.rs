//! `longhaul thread forget`.

use clap::Args;
use longhaul_protocol::thread::{ThreadForget, ThreadForgetParams, ThreadForgetResult};

use crate::failure::{Failure, REFUSED};
use crate::session::{Page, Session};
use crate::style::{Style, bytes, counted};

/// Remove everything longhaul has of a thread, for good
///
/// Its archived text, checkpoint, compactions, pins, prompts, words in the search index, what memory learned from it, and
/// its transcript if longhaul wrote that one. Delete the transcript of an agent yourself first: it would be read again.
/// Copies in other threads (a fork, a continuation) are kept.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  longhaul thread forget 0199a213

longhaul archive forget THREAD removes only the archived text, also while the transcript exists;
longhaul memory forget --thread THREAD what memory learned as well.")]
pub(crate) struct ThreadForgetArgs {
    /// Id of the thread, or a unique prefix
    thread: String,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
}

pub(crate) async fn run(args: ThreadForgetArgs, session: &Session) -> Result<(), Failure> {
    let question = format!("Remove everything longhaul has of {}?", args.thread);
    if !args.yes && session.can_ask() && !session.agrees(&question, false)? {
        return Err(Failure::new(REFUSED, "nothing was changed"));
    }
    session.show::<ThreadForget>(ThreadForgetParams { thread_id: args.thread }).await
}

impl Page for ThreadForgetResult {
    fn text(&self, _: &Style) -> String {
        let (text, compactions) =
            (bytes(self.archived_bytes), counted(self.compactions, "compaction"));
        format!("Forgotten: {} ({text} of archived text, {compactions}).\n", self.thread_id)
    }
}
