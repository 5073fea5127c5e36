//! `longhaul archive status`.

use clap::Args;
use longhaul_protocol::archive::{ArchiveState, Overview, OverviewParams, OverviewResult};

use crate::failure::Failure;
use crate::session::{Page, Session};
use crate::style::{Style, bytes, count, counted};

/// Show what the archive has, how large it is and how long it keeps things
///
/// The archive has a compressed copy of every transcript that was read, so that handles, `longhaul history` and
/// `longhaul continue` still work when the agent has deleted or rewritten it. When it is over its bounds
/// (`[archive]` in config.toml), the threads that rest for longest go first, those that a compaction's
/// receipt names after all others.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  longhaul archive status
  longhaul archive status --json | jq '.bytes / .text_bytes'")]
pub(crate) struct ArchiveStatusArgs {}

pub(crate) async fn run(_: ArchiveStatusArgs, session: &Session) -> Result<(), Failure> {
    let client = session.connect().await?;
    session.print(&client.call::<Overview>(OverviewParams {}).await?)
}

impl Page for OverviewResult {
    fn text(&self, style: &Style) -> String {
        let transcripts = counted(self.transcripts, "transcript");
        let holds = format!("{} of {transcripts}", counted(self.threads, "thread"));
        let gone = match self.gone {
            0 => "none of them is gone".to_owned(),
            gone => {
                format!("{} of them gone, here only: longhaul archive list --gone", count(gone))
            }
        };
        let verified = match self.verified_at {
            Some(at) => format!("all of it, the first part {}", style.ago(at)),
            None => "not all of it yet: longhaul archive verify".to_owned(),
        };
        let mut fields = vec![
            ("state", state(self, style)),
            ("folder", style.path(&self.path)),
            ("holds", holds),
            ("", gone),
            (
                "size",
                format!(
                    "{} for {} of text{}",
                    bytes(self.bytes),
                    bytes(self.text_bytes),
                    share(self)
                ),
            ),
            ("bounds", bounds(self)),
        ];
        if let Some(at) = self.oldest_at {
            fields.push(("back to", style.ago(at)));
        }
        fields.push(("verified", verified));
        if self.damaged > 0 {
            let words = format!("{}: longhaul archive verify", counted(self.damaged, "file"));
            fields.push(("damaged", style.bad(&words)));
        }
        let secrets = match self.redacts {
            true => "replaced before anything is stored",
            false => {
                "as in the transcripts; never in views (archive.redact = true replaces them here, too)"
            }
        };
        fields.push(("secrets", secrets.to_owned()));
        style.fields(&fields)
    }
}

fn state(status: &OverviewResult, style: &Style) -> String {
    match (status.state, &status.problem) {
        (ArchiveState::Idle | ArchiveState::Other, _) => "up to date".to_owned(),
        (ArchiveState::Archiving, _) => {
            format!("archiving, {} left", counted(status.files_behind, "transcript"))
        }
        (ArchiveState::Off, _) => style.warn("off (archive.enabled = false)"),
        (ArchiveState::Stalled, problem) => {
            let why = problem.as_deref().unwrap_or("it cannot be written");
            style.bad(&format!("stalled: {why}"))
        }
    }
}

/// Of less text than this an archive's fixed size would look like a share.
const TEXT_BYTES_MIN: u64 = 1 << 20;

/// The share of the texts' bytes that it takes.
pub(in crate::commands) fn share(status: &OverviewResult) -> String {
    match status.text_bytes {
        0..TEXT_BYTES_MIN => String::new(),
        text => format!(" ({} %)", u128::from(status.bytes) * 100 / u128::from(text)),
    }
}

fn bounds(status: &OverviewResult) -> String {
    let age = match status.max_age_days {
        0 => "of any age".to_owned(),
        days => format!("that grew within {} of use", counted(days, "day")),
    };
    format!("at most {}, threads {age}", bytes(status.max_bytes))
}
