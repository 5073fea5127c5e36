//! `longhaul thread close`.

use clap::Args;
use longhaul_protocol::thread::{Close, CloseParams, CloseResult};

use crate::failure::Failure;
use crate::session::{Page, Session};
use crate::style::Style;

/// Say that nothing more will be appended for now, and wait until all of it is read
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  longhaul thread close $ID && longhaul compact $ID

A later `longhaul thread append` takes the thread up again.")]
pub(crate) struct CloseArgs {
    /// The whole id of the thread
    thread: String,
}

pub(crate) async fn run(args: CloseArgs, session: &Session) -> Result<(), Failure> {
    let client = session.connect().await?;
    session.print(&client.call::<Close>(CloseParams { thread_id: args.thread }).await?)
}

impl Page for CloseResult {
    fn text(&self, style: &Style) -> String {
        format!("closed at seq {}: {}\n", self.seq, style.path(&self.path))
    }
}
