//! `longhaul memory status`.

use clap::Args;
use longhaul_protocol::memory::{AgentRun, SkipCount, Status, StatusParams, StatusResult};

use crate::failure::Failure;
use crate::select;
use crate::session::{Page, Session};
use crate::style::{Style, count, counted};

/// Show the state of memory, and why threads are skipped
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  longhaul memory status
  longhaul memory status --thread 0199a213     why that thread is skipped")]
pub(crate) struct StatusArgs {
    /// Also say why this thread is or is not extracted, by id or prefix
    #[arg(long, value_name = "THREAD")]
    thread: Option<String>,
}

pub(crate) async fn run(args: StatusArgs, session: &Session) -> Result<(), Failure> {
    let client = session.connect().await?;
    let thread_id = select::thread_id(&client, args.thread.as_deref()).await?;
    session.print(&client.call::<Status>(StatusParams { thread_id }).await?)
}

impl Page for StatusResult {
    fn text(&self, style: &Style) -> String {
        let published = match self.published_at {
            Some(at) => format!("{}, from {}", style.ago(at), counted(self.threads, "thread")),
            None => "not yet: longhaul memory run".to_owned(),
        };
        let made = match self.enabled {
            true if self.engine == "model" => {
                "in the background, by the configured model".to_owned()
            }
            true => format!("in the background, {} (no model)", self.engine),
            false if self.engine == "model" => {
                "only by longhaul memory run, by the configured model (memory.enabled = false)"
                    .to_owned()
            }
            false => "only by longhaul memory run (memory.enabled = false)".to_owned(),
        };
        let mut fields = vec![
            ("folder", style.path(&self.path)),
            ("published", published),
            ("made", made),
            ("read", counted(self.extracted, "thread")),
            (
                "learned",
                format!("{}, {}", counted(self.learnings, "thing"), counted(self.notes, "note")),
            ),
            ("waiting", waiting(self.notes_pending)),
            (
                "due",
                format!(
                    "{}, {} waiting",
                    counted(self.due, "thread"),
                    counted(self.pending, "job")
                ),
            ),
        ];
        let uses: Vec<String> = self
            .uses
            .iter()
            .map(|used| format!("{} {}", used.kind.replace('_', " "), count(used.uses)))
            .collect();
        if !uses.is_empty() {
            fields.push(("used", uses.join(", ")));
        }
        if let Some(agent) = &self.agent {
            fields.push(("files kept by", agent_words(agent, style)));
        }
        for fallback in &self.fallbacks {
            let threads = counted(fallback.threads, "thread");
            let words = format!("{threads} read without the model: {}", fallback.reason);
            fields.push(("fell back", style.warn(&words)));
        }
        if let Some(failure) = &self.failure {
            fields.push(("failed", style.bad(failure)));
        }
        if let Some(why) = &self.skip_reason {
            fields.push(("that thread", why.text.clone()));
        }
        let skipped = skips(&self.skipped, style);
        let skipped = if skipped.is_empty() { skipped } else { format!("\n{skipped}") };
        style.fields(&fields) + &skipped
    }
}

/// The last run of the agent that edits the files.
fn agent_words(agent: &AgentRun, style: &Style) -> String {
    let cost = format!(
        "{}, {} tokens, {}",
        counted(agent.turns, "request"),
        count(agent.tokens),
        style.ago(agent.at)
    );
    match agent.outcome.as_str() {
        "published" => format!("the model ({}; {cost})", agent.mode),
        "unchanged" => format!("the model found nothing to change ({}; {cost})", agent.mode),
        outcome => {
            let why = format!("{outcome}: {}", agent.detail);
            style.warn(&format!("rules; the model's edits were rejected: {why} ({cost})"))
        }
    }
}

/// Excluded threads, most frequent reason first.
pub(super) fn skips(skipped: &[SkipCount], style: &Style) -> String {
    if skipped.is_empty() {
        return String::new();
    }
    let mut rows: Vec<&SkipCount> = skipped.iter().collect();
    rows.sort_by(|a, b| b.threads.cmp(&a.threads).then_with(|| a.reason.cmp(&b.reason)));
    let row = |skip: &SkipCount| {
        vec![skip.reason.replace('_', " "), count(skip.threads), skip.text.clone()]
    };
    style.table(&["left out", ">threads", "for example"], rows.into_iter().map(row).collect())
}

/// Notes that wait for a review.
fn waiting(pending: u64) -> String {
    match pending {
        0 => "no notes to review".to_owned(),
        pending => format!("{}: longhaul memory review", counted(pending, "note")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::style::tests::plain;

    /// Some of the threads that were read taught nothing, so `memory run` has another number.
    #[test]
    fn threads_that_were_read_are_not_said_to_have_taught_something() {
        let status: StatusResult = serde_json::from_value(json!({
            "enabled": true, "engine": "deterministic", "path": "/state/memory", "generation": 1, "published_at": 0,
            "threads": 37, "extracted": 41, "learnings": 274, "notes": 2, "due": 0, "pending": 0, "skipped": [],
            "uses": [],
        }))
        .unwrap();
        let text = status.text(&plain());
        assert!(text.contains("41 threads\n") && text.contains("274 things, 2 notes\n"), "{text}");
        assert!(!text.contains("from 41"), "{text}");
    }
}
