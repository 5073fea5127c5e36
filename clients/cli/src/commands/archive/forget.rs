//! `longhaul archive forget`.

use clap::Args;
use longhaul_protocol::archive::{Forget, ForgetParams, ForgetResult};

use crate::failure::Failure;
use crate::session::{Page, Session};
use crate::style::{Style, bytes};

/// Remove a thread from the archive for good
///
/// When the command returns, no file of the archive has its text, and it is not archived again. The transcript
/// and what memory learned from it stay; longhaul memory forget --thread removes the latter.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  longhaul archive forget 0199a213")]
pub(crate) struct ForgetArgs {
    /// Id of the thread, or a unique prefix
    thread: String,
}

pub(crate) async fn run(args: ForgetArgs, session: &Session) -> Result<(), Failure> {
    session.show::<Forget>(ForgetParams { thread_id: args.thread }).await
}

impl Page for ForgetResult {
    fn text(&self, _: &Style) -> String {
        match self.removed_bytes {
            0 => "It was not archived, and will not be.\n".to_owned(),
            removed => {
                format!("Forgotten ({} of text). It will not be archived again.\n", bytes(removed))
            }
        }
    }
}
