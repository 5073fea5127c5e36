//! The briefing that takes the place of a history an agent is about to compact.
//!
//! Whoever sits where an agent compacts (the plugin of Claude Code through a hook, the gateway of Codex) asks here, so
//! that both use one budget and one wording.

use longhaul_protocol::{ErrorKind, compaction};

use crate::{Client, ClientError};

/// Milliseconds an agent waits for a briefing at most; what comes else is a model, which takes many seconds.
///
/// An answer takes 60, and 100 at p99 (`cargo xtask bench --plugin`). On a busy disk, on which the receipt has to be
/// first, a few in a hundred take 200 to 1,000: a lower limit would send those to the model, and spare nobody a second.
pub const LIMIT_MS: u64 = 1_000;
/// How every briefing begins; by these words the daemon knows it in a transcript.
pub const OPENING: &str = "The conversation so far was compacted.";
/// What stands before a history that was put back into a session: there the daemon begins to read it anew.
pub const RESTORED: &str = "[longhaul put back below what a compaction had replaced]";

/// Tokens of the briefing: a share of the window, between what tells a session and what nobody would read.
const WINDOW_SHARE: u64 = 25;
const TOKENS: (u64, u64) = (4_000, 16_000);

/// What stands in place of the history.
#[derive(Debug)]
pub struct Briefing {
    /// The view, with the words that introduce it.
    pub text: String,
    /// Names the compaction for its receipt and its undo.
    pub compaction_id: String,
}

/// What is compacted, and why.
#[derive(Debug)]
pub struct BriefingRequest<'a> {
    /// A thread that was read to its end.
    pub thread_id: &'a str,
    /// Tokens of the model's window; `None` where nobody knows them.
    pub window: Option<u64>,
    /// Who asked.
    pub trigger: compaction::Trigger,
    /// When in the life of the thread.
    pub phase: compaction::Phase,
    /// What the person wants it to be about, if they said.
    pub focus: Option<&'a str>,
}

impl Briefing {
    /// Compacts a thread for an agent that will put the result into its own history.
    ///
    /// # Errors
    /// As [`Client::call`].
    pub async fn make(client: &Client, of: &BriefingRequest<'_>) -> Result<Self, ClientError> {
        let params = compaction::RunParams {
            thread_id: Some(of.thread_id.to_owned()),
            strategy: Some(compaction::Strategy::Checkpoint),
            phase: Some(of.phase),
            trigger: Some(of.trigger),
            max_tokens: Some(share(of.window, WINDOW_SHARE, TOKENS)),
            // The agent puts its own context around what it is given.
            initial_context: Some(Vec::new()),
            agent_step: Some(compaction::AgentStep::Answered),
            focus: of.focus.map(str::to_owned),
            ..Default::default()
        };
        let made = match client.call::<compaction::Run>(params.clone()).await {
            // The agent compacts in any case: a model would write the same summary once more.
            Err(ClientError::Refused(error)) if error.kind() == ErrorKind::NotWorthwhile => {
                let trigger = Some(compaction::Trigger::Manual);
                client.call::<compaction::Run>(compaction::RunParams { trigger, ..params }).await
            }
            made => made,
        }?;
        Ok(Self { text: introduced(&made), compaction_id: made.compaction_id })
    }
}

/// A share of the window within bounds; of a window nobody knows, the least.
#[must_use]
pub fn share(window: Option<u64>, of: u64, (least, most): (u64, u64)) -> u64 {
    window.map_or(least, |window| (window / of).clamp(least, most))
}

/// The view with the words that introduce it, as it stands in the compacted history.
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
        for (window, tokens) in cases {
            assert_eq!(share(window, WINDOW_SHARE, TOKENS), tokens, "{window:?}");
        }
    }
}
