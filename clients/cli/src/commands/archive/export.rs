//! `longhaul archive export`: all archived threads as plain files.

use clap::Args;
use longhaul_client::ClientError;
use longhaul_protocol::ErrorKind;
use longhaul_protocol::archive::{Restore, RestoreParams};
use serde::Serialize;

use super::list;
use super::restore::absolute;
use crate::failure::{Failure, REFUSED, USAGE};
use crate::session::{Page, Session};
use crate::style::{Style, bytes, counted};

/// Export all archived threads to a folder, in the format of their agents
///
/// Writes SOURCE/THREAD.jsonl for each, and THREAD.2.jsonl for a second transcript of a thread. Existing files are skipped,
/// so an interrupted export can be resumed; so are threads that are evicted or forgotten meanwhile. The exit code is 1 if a
/// thread could not be written because it is damaged.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  longhaul archive export ~/threads
  longhaul archive export --gone ~/threads     only those without a transcript")]
pub(crate) struct ExportArgs {
    /// Destination folder
    folder: String,
    /// Only threads whose transcripts are gone
    #[arg(long)]
    gone: bool,
}

#[derive(Debug, Default, Serialize)]
struct ExportPage {
    folder: String,
    threads: u64,
    bytes: u64,
    skipped: u64,
    /// Threads that were evicted or forgotten during the export.
    removed: Vec<String>,
    /// Threads that lost a part.
    damaged: Vec<String>,
}

pub(crate) async fn run(args: ExportArgs, session: &Session) -> Result<(), Failure> {
    let folder = absolute(&args.folder)?;
    if std::fs::metadata(&folder).is_ok_and(|found| !found.is_dir()) {
        return Err(Failure::new(USAGE, format!("{folder} is not a folder"))
            .with_hint("name a folder; it is created if it does not exist"));
    }
    let client = session.connect().await?;
    let mut page = ExportPage { folder: folder.clone(), ..ExportPage::default() };
    let mut last = String::new();
    for thread in list::all(&client, args.gone).await? {
        // The daemon writes all transcripts of a thread.
        if std::mem::replace(&mut last, thread.thread_id.clone()) == thread.thread_id {
            continue;
        }
        let name = file_name(&thread.thread_id);
        let to = Some(format!("{folder}/{}/{name}.jsonl", thread.source));
        let params = RestoreParams { thread_id: thread.thread_id.clone(), to };
        match client.call::<Restore>(params).await {
            Ok(written) => {
                page.threads += 1;
                page.bytes += written.files.iter().map(|file| file.bytes).sum::<u64>();
            }
            Err(ClientError::Refused(error)) if error.kind() == ErrorKind::FileExists => {
                page.skipped += 1;
            }
            Err(ClientError::Refused(error)) if error.kind() == ErrorKind::ArchiveDamaged => {
                page.damaged.push(thread.thread_id);
            }
            Err(ClientError::Refused(error)) if error.kind() == ErrorKind::NotArchived => {
                page.removed.push(thread.thread_id);
            }
            Err(error) => return Err(error.into()),
        }
    }
    session.print(&page)?;
    match page.damaged.len() as u64 {
        0 => Ok(()),
        damaged => {
            let threads = counted(damaged, "thread");
            let message = format!("{threads} could not be written: the archive is damaged");
            Err(Failure::new(REFUSED, message).with_hint("longhaul archive verify says what to do"))
        }
    }
}

/// The name of a thread's file. An id may contain any character: what could lead to another folder is escaped as in a
/// URL, so that different ids have different names.
fn file_name(thread_id: &str) -> String {
    let mut name = String::new();
    for byte in thread_id.bytes() {
        match byte {
            b'-' | b'_' => name.push(char::from(byte)),
            byte if byte.is_ascii_alphanumeric() => name.push(char::from(byte)),
            byte => name.push_str(&format!("%{byte:02X}")),
        }
    }
    name
}

impl Page for ExportPage {
    fn text(&self, style: &Style) -> String {
        let skipped = match self.skipped {
            0 => String::new(),
            skipped => format!("{} skipped: already there\n", counted(skipped, "file")),
        };
        let removed = match self.removed.is_empty() {
            true => String::new(),
            false => format!("no longer archived, not written: {}\n", self.removed.join(", ")),
        };
        let damaged = match self.damaged.is_empty() {
            true => String::new(),
            false => style.bad(&format!("incomplete, not written: {}\n", self.damaged.join(", "))),
        };
        let threads = counted(self.threads, "thread");
        format!(
            "{threads}, {} in {}\n{skipped}{removed}{damaged}",
            bytes(self.bytes),
            style.path(&self.folder)
        )
    }
}
