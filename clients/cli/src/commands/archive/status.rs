//! `longhaul archive status`.

use clap::Args;
use longhaul_protocol::archive::{ArchiveState, Overview, OverviewParams, OverviewResult};

use crate::failure::Failure;
use crate::session::{Page, Session};
use crate::style::{Style, bytes, count, counted, percent};

/// Show the archive's contents, size and limits
///
/// The archive has a compressed copy of every transcript, so that handles, longhaul history and longhaul continue
/// still work after the agent has deleted or rewritten it. When the archive exceeds its limits (`archive` in
/// config.toml), it evicts the threads that have been idle longest; those with a receipt come later, those with a pin
/// last.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  longhaul archive status
  longhaul archive status --json | jq '.bytes / .text_bytes'")]
pub(crate) struct ArchiveStatusArgs {}

pub(crate) async fn run(_: ArchiveStatusArgs, session: &Session) -> Result<(), Failure> {
    session.show::<Overview>(OverviewParams {}).await
}

impl Page for OverviewResult {
    fn text(&self, style: &Style) -> String {
        let transcripts = counted(self.transcripts, "transcript");
        let holds = match self.transcripts {
            0 => "nothing".to_owned(),
            _ => format!("{} of {transcripts}", counted(self.threads, "thread")),
        };
        let mut fields = vec![
            ("state", state(self, style)),
            ("folder", style.path(&self.path)),
            ("holds", holds),
        ];
        match (self.transcripts, self.gone) {
            (0, _) => {}
            (_, 0) => fields.push(("", "all of these transcripts still exist".to_owned())),
            (_, gone) => {
                let exist = if gone == 1 { "exists" } else { "exist" };
                let words = format!("{} of them {exist} only here", count(gone));
                fields.push(("", format!("{words}: longhaul archive list --gone")));
            }
        }
        if self.evicted > 0 {
            let evicted = counted(self.evicted, "transcript");
            fields.push(("", style.warn(&format!("{evicted} dropped because of the limits"))));
        }
        if self.forgotten > 0 {
            let words =
                format!("{} forgotten, never archived again", counted(self.forgotten, "thread"));
            fields.push(("", words));
        }
        fields.extend([
            (
                "size",
                format!(
                    "{} for {} of text{}",
                    bytes(self.bytes),
                    bytes(self.text_bytes),
                    share(self)
                ),
            ),
            ("limits", bounds(self)),
        ]);
        if let Some(at) = self.oldest_at {
            fields.push(("back to", style.ago(at)));
        }
        if self.transcripts > 0 {
            fields.push(("verified", verified(self, style)));
        }
        if self.damaged > 0 {
            let words = format!("{}; run longhaul archive verify", counted(self.damaged, "file"));
            fields.push(("damaged", style.bad(&words)));
        }
        let secrets = match (self.redacts, self.all_redacted, self.unredacted) {
            (true, true, _) => "replaced everywhere in the archive".to_owned(),
            (true, false, 0) => "replaced, but older files still contain them".to_owned(),
            (true, false, left) => {
                let left = counted(left, "older text");
                format!("replaced in new texts; {left} still to be rewritten")
            }
            (false, ..) => {
                "kept in the archive, never in views (archive.redact = true replaces them)"
                    .to_owned()
            }
        };
        fields.push(("secrets", secrets));
        style.fields(&fields)
    }
}

fn verified(status: &OverviewResult, style: &Style) -> String {
    match status.verified_at {
        Some(at) => format!("all files, the oldest check {}", style.ago(at)),
        None => "not all files yet; to check them now: longhaul archive verify".to_owned(),
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

/// Minimum text to show a ratio for: below it, the archive's fixed size dominates.
const TEXT_BYTES_MIN: u64 = 1 << 20;

/// The archive's size as a percentage of the text.
pub(in crate::commands) fn share(status: &OverviewResult) -> String {
    match status.text_bytes {
        0..TEXT_BYTES_MIN => String::new(),
        text => format!(" ({})", percent(status.bytes, text)),
    }
}

fn bounds(status: &OverviewResult) -> String {
    let age = match status.max_age_days {
        0 => "of any age".to_owned(),
        days => format!("active within the last {} of use", counted(days, "day")),
    };
    format!("at most {}, threads {age}", bytes(status.max_bytes))
}
