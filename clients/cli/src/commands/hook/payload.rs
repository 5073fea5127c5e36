//! What an agent tells its hooks.

use clap::ValueEnum;
use serde::Deserialize;

/// An agent with hooks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Agent {
    /// Codex
    Codex,
    /// Claude Code
    Claude,
}

impl Agent {
    /// Tokens of added context the agent takes whole. Codex puts more than 2,500 into a file and shows
    /// its ends; Claude Code does so over 10,000 characters.
    pub(super) const fn context_tokens_max(self) -> u64 {
        match self {
            Self::Codex | Self::Claude => 2_400,
        }
    }
}

/// Events that are answered; of the same name in both agents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Event {
    /// A session begins, goes on, or has just been compacted: `source` says which.
    SessionStart,
    /// The person has sent a prompt.
    UserPromptSubmit,
    /// The agent is about to compact its history.
    PreCompact,
    PostCompact,
    /// The agent has finished its turn.
    Stop,
}

impl Event {
    /// By its name, also in snake case as configuration keys have it; `None` for one that is not answered.
    pub(super) fn of(name: &str) -> Option<Self> {
        let name: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
        let event = match name.to_ascii_lowercase().as_str() {
            "sessionstart" => Self::SessionStart,
            "userpromptsubmit" => Self::UserPromptSubmit,
            "precompact" => Self::PreCompact,
            "postcompact" => Self::PostCompact,
            "stop" => Self::Stop,
            _ => return None,
        };
        Some(event)
    }
}

/// The members that are used, of those an agent writes; everything else is passed over unread.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Payload {
    /// The event in the agent's own words.
    pub(super) hook_event_name: String,
    pub(super) session_id: Option<String>,
    /// Its transcript, an absolute path; `null` when none is written.
    pub(super) transcript_path: Option<String>,
    /// The folder the agent works in.
    pub(super) cwd: Option<String>,
    /// Of `SessionStart`: `startup`, `resume`, `clear` or `compact`.
    pub(super) source: Option<String>,
    /// Of compactions: `manual` or `auto`; of the plugin also `plugin` or `precompute`.
    pub(super) trigger: Option<String>,
    /// Of the plugin: the version of what it sends.
    pub(super) protocol: Option<u32>,
    /// Of the plugin: the sub-agent whose conversation is compacted.
    pub(super) agent_id: Option<String>,
    /// What the person wrote behind `/compact`: of the plugin, and of Claude Code's `PreCompact`.
    #[serde(alias = "custom_instructions")]
    pub(super) instructions: Option<String>,
    /// Of the plugin: the briefing of ours with which the conversation begins, for `/compact undo`.
    pub(super) briefing: Option<String>,
    /// Of the plugin: tokens of the model's window.
    pub(super) context_window: Option<u64>,
    /// Of the plugin: tokens in it.
    pub(super) context_tokens: Option<u64>,
    /// Of `Stop`: what the agent said last.
    pub(super) last_assistant_message: Option<String>,
    /// Of the plugin: why the compaction that was asked for was not made; absent: it was.
    pub(super) not_made: Option<String>,
    /// Codex alone names the turn.
    pub(super) turn_id: Option<String>,
}

impl Payload {
    /// Whose it is: transcripts of Codex are called `rollout-…`, those of Claude Code after their session.
    pub(super) fn agent(&self) -> Agent {
        let file = self.transcript_path.as_deref().and_then(|path| path.rsplit('/').next());
        match file {
            Some(file) if file.starts_with("rollout-") => Agent::Codex,
            _ if self.turn_id.is_some() => Agent::Codex,
            Some(_) => Agent::Claude,
            None => Agent::Codex,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent(payload: &str) -> Agent {
        serde_json::from_str::<Payload>(payload).unwrap().agent()
    }

    #[test]
    fn the_agent_is_told_by_its_transcript_and_its_turn() {
        let codex = r#"{"transcript_path":"/h/.codex/sessions/2026/11/21/rollout-a.jsonl"}"#;
        assert_eq!(agent(codex), Agent::Codex);
        assert_eq!(agent(r#"{"transcript_path":null,"turn_id":"t"}"#), Agent::Codex);
        let claude = r#"{"transcript_path":"/h/.claude/projects/-w/0198.jsonl","model":"m"}"#;
        assert_eq!(agent(claude), Agent::Claude);
    }

    #[test]
    fn events_are_known_in_both_spellings() {
        assert_eq!(Event::of("PreCompact"), Some(Event::PreCompact));
        assert_eq!(Event::of("session_start"), Some(Event::SessionStart));
        assert_eq!(Event::of("PreToolUse"), None);
    }
}
