//! `longhaul archive verify`.

use clap::Args;
use longhaul_protocol::archive::{Verify, VerifyParams, VerifyResult};

use crate::failure::{Failure, REFUSED};
use crate::progress::while_waiting;
use crate::session::{Page, Session};
use crate::style::{Style, bytes, counted};

/// Check every byte of the archive against its digest
///
/// The daemon also checks a part each hour by itself. Damaged parts are stored again from transcripts that still
/// exist. The exit code is 1 if any damage was found.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  longhaul archive verify
  longhaul archive verify 0199a213     only one thread")]
pub(crate) struct VerifyArgs {
    /// Only this thread, by id or prefix
    thread: Option<String>,
}

pub(crate) async fn run(args: VerifyArgs, session: &Session) -> Result<(), Failure> {
    let client = session.connect().await?;
    let call = client.call::<Verify>(VerifyParams { thread_id: args.thread });
    let found = while_waiting("reading", call).await?;
    session.print(&found)?;
    // A script checks only the exit code.
    match (found.damaged, found.damaged_threads.len() as u64) {
        (0, 0) => Ok(()),
        (damaged, 0) => {
            let files = counted(damaged, "file");
            Err(Failure::new(
                REFUSED,
                format!("{files} of the archive had damage; nothing is lost"),
            ))
        }
        (_, lost) => {
            let threads = counted(lost, "thread");
            Err(Failure::new(REFUSED, format!("{threads} can no longer be restored completely")))
        }
    }
}

impl Page for VerifyResult {
    fn text(&self, style: &Style) -> String {
        let read = format!("{}, {}", counted(self.files, "file"), bytes(self.bytes));
        if self.damaged == 0 {
            return format!("{read}: no damage\n");
        }
        let damaged = style.bad(&format!("{} damaged", counted(self.damaged, "file")));
        let lost = match self.damaged_threads.is_empty() {
            true => "nothing is lost: every thread can still be restored\n".to_owned(),
            false => {
                let threads = self.damaged_threads.iter().map(|id| format!("  {id}\n"));
                let threads: String = threads.collect();
                format!(
                    "incomplete, and their transcripts are gone:\n{threads}\
                     To repair one, put its transcript back from a backup and verify again.\n\
                     To give one up: longhaul archive forget THREAD\n"
                )
            }
        };
        format!("{read}, {damaged}\n{lost}")
    }
}
