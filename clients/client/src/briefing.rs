//! The briefing that replaces a history an agent is about to compact.
//!
//! The Claude Code plugin (through a hook) and the Codex gateway both call this, so that they share one budget and one
//! wording.

use longhaul_protocol::{ErrorKind, compaction};

use crate::{Client, ClientError};

/// Maximum milliseconds an agent waits for a briefing; the alternative is a model, which takes many seconds.
///
/// An answer takes 60, and 100 at p99 (`cargo xtask bench plugin`). With a busy disk, which must have the receipt
/// first, a few in a hundred take 200 to 1,000: a lower limit would send those to the model, which is slower.
pub const LIMIT_MS: u64 = 1_000;
/// The beginning of every briefing, by which the daemon recognizes it in a transcript.
pub const OPENING: &str = "The conversation so far was compacted.";
/// The first line of every view.
pub const VIEW_HEADER: &str = "[SESSION_CHECKPOINT v1]";
/// Precedes a history restored into a session; the daemon starts reading the history again there.
pub const RESTORED: &str = "[longhaul put back below what a compaction had replaced]";

/// Tokens of the briefing: a share of the window, between the least that is useful and the most that is read.
const WINDOW_SHARE: u64 = 25;
const TOKENS: (u64, u64) = (4_000, 16_000);

/// Tokens of the newest messages, which stay as they are.
const TAIL_WINDOW_SHARE: u64 = 12;
const TAIL_TOKENS: (u64, u64) = (4_000, 24_000);

/// The text that replaces the history.
#[derive(Debug)]
pub struct Briefing {
    /// The view after its introduction.
    pub text: String,
    /// Id of the compaction, for its receipt and its undo.
    pub compaction_id: String,
}

/// What is compacted, and why.
#[derive(Debug)]
pub struct BriefingRequest<'a> {
    /// A thread that was read to its end.
    pub thread_id: &'a str,
    /// Tokens of the model's window; `None` if unknown.
    pub window: Option<u64>,
    /// Who asked.
    pub trigger: compaction::Trigger,
    /// When in the thread.
    pub phase: compaction::Phase,
    /// What the person wants it to be about, if they said.
    pub focus: Option<&'a str>,
}

impl Briefing {
    /// Compacts a thread for an agent that installs the result in its own history.
    ///
    /// # Errors
    /// As [`Client::call`].
    pub async fn make(client: &Client, of: &BriefingRequest<'_>) -> Result<Self, ClientError> {
        let params = compaction::RunParams {
            thread_id: Some(of.thread_id.to_owned()),
            strategy: Some(compaction::Strategy::Checkpoint),
            phase: Some(of.phase),
            trigger: Some(of.trigger),
            max_tokens: Some(tokens(of.window)),
            // The agent adds its own context.
            initial_context: Some(Vec::new()),
            agent_step: Some(compaction::AgentStep::Answered),
            focus: of.focus.map(str::to_owned),
            ..Default::default()
        };
        let made = match client.call::<compaction::Run>(params.clone()).await {
            // The agent compacts anyway; a model's summary would duplicate its own.
            Err(ClientError::Refused(error)) if error.kind() == ErrorKind::NotWorthwhile => {
                let trigger = Some(compaction::Trigger::Manual);
                client.call::<compaction::Run>(compaction::RunParams { trigger, ..params }).await
            }
            made => made,
        }?;
        Ok(Self { text: introduced(&made), compaction_id: made.compaction_id })
    }
}

/// Tokens of the briefing for a window.
#[must_use]
pub fn tokens(window: Option<u64>) -> u64 {
    share(window, WINDOW_SHARE, TOKENS)
}

/// Tokens of the newest messages to keep besides the briefing.
#[must_use]
pub fn tail_tokens(window: Option<u64>) -> u64 {
    share(window, TAIL_WINDOW_SHARE, TAIL_TOKENS)
}

/// A share of the window within bounds; the minimum for an unknown window.
fn share(window: Option<u64>, of: u64, (least, most): (u64, u64)) -> u64 {
    window.map_or(least, |window| (window / of).clamp(least, most))
}

/// The view with its introduction, as it is in the compacted history.
fn introduced(made: &compaction::RunResult) -> String {
    let texts = made.history.iter().filter_map(|item| item.pointer("/content/0/text")?.as_str());
    let texts = texts.map(longhaul_printable::block);
    let found = texts.into_iter().find(|text| text.contains(made.view.trim_end()));
    found.map_or_else(|| format!("{OPENING}\n\n{}", made.view.0), |text| text.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budgets_follow_the_window_within_bounds() {
        let cases = [
            (None, 4_000),
            (Some(32_000), 4_000),
            (Some(200_000), 8_000),
            (Some(1_000_000), 16_000),
        ];
        for (window, expected) in cases {
            assert_eq!(tokens(window), expected, "{window:?}");
        }
    }
}
