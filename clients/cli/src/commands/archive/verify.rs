//! `longhaul archive verify`.

use clap::Args;
use longhaul_protocol::archive::{Verify, VerifyParams, VerifyResult};

use crate::failure::Failure;
use crate::progress::while_waiting;
use crate::session::{Page, Session};
use crate::style::{Style, bytes, counted};

/// Read the archive whole and compare every byte with its digest
///
/// The daemon does it by itself, a part of it each hour. What is damaged is stored again from the transcripts
/// that are still there.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  longhaul archive verify
  longhaul archive verify 0199a213     only what this thread needs")]
pub(crate) struct VerifyArgs {
    /// Only what this thread needs, by id or prefix
    thread: Option<String>,
}

pub(crate) async fn run(args: VerifyArgs, session: &Session) -> Result<(), Failure> {
    let client = session.connect().await?;
    let call = client.call::<Verify>(VerifyParams { thread_id: args.thread });
    session.print(&while_waiting("reading", call).await?)
}

impl Page for VerifyResult {
    fn text(&self, style: &Style) -> String {
        let read = format!("{}, {}", counted(self.files, "file"), bytes(self.bytes));
        if self.damaged == 0 {
            return format!("{read}: every byte is what was written\n");
        }
        let damaged = style.bad(&format!("{} damaged", counted(self.damaged, "file")));
        let lost = match self.damaged_threads.is_empty() {
            true => "nothing is lost: all of it is stored again from the transcripts\n".to_owned(),
            false => {
                let threads = self.damaged_threads.iter().map(|id| format!("  {id}\n"));
                let threads: String = threads.collect();
                format!("lost a part, since their transcripts are gone, too:\n{threads}")
            }
        };
        format!("{read}, {damaged}\n{lost}")
    }
}
