//! `longhaul thread close`.

use clap::Args;
use longhaul_protocol::thread::{Close, CloseParams, CloseResult};

use crate::failure::Failure;
use crate::select;
use crate::session::{Page, Session};
use crate::style::Style;

/// Finish appending for now, and wait until all items are read
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  longhaul thread close $ID && longhaul compact $ID

A later longhaul thread append reopens the thread.")]
pub(crate) struct CloseArgs {
    /// Id of the thread, or a unique prefix
    thread: String,
}

pub(crate) async fn run(args: CloseArgs, session: &Session) -> Result<(), Failure> {
    let client = session.connect().await?;
    let thread_id = select::full_id(&client, args.thread).await?;
    session.print(&client.call::<Close>(CloseParams { thread_id }).await?)
}

impl Page for CloseResult {
    fn text(&self, style: &Style) -> String {
        format!("closed at seq {}: {}\n", self.seq, style.path(&self.path))
    }
}
