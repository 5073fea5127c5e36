//! `longhaul archive restore`.

use clap::Args;
use longhaul_protocol::archive::{Restore, RestoreParams, RestoreResult, RestoredFile};

use crate::failure::Failure;
use crate::session::{Page, Session};
use crate::style::{Style, bytes};

/// Restore an archived thread to its agent's folder, or to a file
///
/// The agent can then resume the thread. An existing file is never overwritten. A thread that Codex went back in has several
/// transcripts; with --to thread.jsonl the shorter ones are written to thread.2.jsonl and so on.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  longhaul archive restore 0199a213                     to where it was
  longhaul archive restore 0199a213 --to thread.jsonl   a copy")]
pub(crate) struct RestoreArgs {
    /// Id of the thread, or a unique prefix
    thread: String,
    /// File to write instead
    #[arg(long, value_name = "PATH")]
    to: Option<String>,
}

pub(crate) async fn run(args: RestoreArgs, session: &Session) -> Result<(), Failure> {
    let to = args.to.as_deref().map(absolute).transpose()?;
    session.show::<Restore>(RestoreParams { thread_id: args.thread, to }).await
}

/// The daemon has a different working folder.
pub(super) fn absolute(path: &str) -> Result<String, Failure> {
    Ok(std::path::absolute(path)?.display().to_string())
}

impl Page for RestoreResult {
    fn text(&self, style: &Style) -> String {
        let redacted = match self.redacted {
            true => style.warn("secrets were replaced when it was archived\n"),
            false => String::new(),
        };
        let resume = match self.command.is_empty() {
            true => String::new(),
            false => format!("resume it: {}\n", style.bold(&self.command.join(" "))),
        };
        let row = |file: &RestoredFile| {
            format!("Written: {} ({})\n", style.path(&file.path), bytes(file.bytes))
        };
        let files: String = self.files.iter().map(row).collect();
        format!("{files}{redacted}{resume}")
    }
}
