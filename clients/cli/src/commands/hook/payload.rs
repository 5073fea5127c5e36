//! The payload that an agent sends to its hooks.

use clap::ValueEnum;
use serde::Deserialize;

/// Maximum tokens of context that agents show whole. Codex moves more than 2,500 into a file and shows only its ends;
/// Claude Code does so over 10,000 characters.
pub(super) const CONTEXT_TOKENS_MAX: u64 = 2_400;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Agent {
    /// Codex
    Codex,
    /// Claude Code
    Claude,
}

/// Supported events; both agents use the same names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Event {
    /// A session starts, is resumed or was compacted; `source` says which.
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
    /// Parses a name, also in snake case as in configuration keys; `None` for other events.
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

/// The used members of a payload; others are ignored.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Payload {
    pub(super) hook_event_name: String,
    pub(super) session_id: Option<String>,
    /// Absolute path; `null` if none is written.
    pub(super) transcript_path: Option<String>,
    /// The folder the agent works in.
    pub(super) cwd: Option<String>,
    /// Of `SessionStart`: `startup`, `resume`, `clear` or `compact`.
    pub(super) source: Option<String>,
    /// Of compactions: `manual` or `auto`; from the plugin also `plugin` or `precompute`.
    pub(super) trigger: Option<String>,
    /// From the plugin: version of the payload.
    pub(super) protocol: Option<u32>,
    /// From the plugin: the sub-agent whose conversation is compacted.
    pub(super) agent_id: Option<String>,
    /// What the person wrote after `/compact`; from the plugin and Claude Code's `PreCompact`.
    #[serde(alias = "custom_instructions")]
    pub(super) instructions: Option<String>,
    /// From the plugin: our briefing at the beginning of the conversation, for `/compact undo`.
    pub(super) briefing: Option<String>,
    /// From the plugin: tokens of the model's window.
    pub(super) context_window: Option<u64>,
    /// From the plugin: used tokens of the window.
    pub(super) context_tokens: Option<u64>,
    /// Of `Stop`.
    pub(super) last_assistant_message: Option<String>,
    /// From the plugin: why the requested compaction was not made; absent if it was.
    pub(super) not_made: Option<String>,
    /// Sent only by Codex.
    pub(super) turn_id: Option<String>,
}

impl Payload {
    /// The sending agent: transcripts of Codex are named `rollout-…`, those of Claude Code after their session.
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
    fn agent_is_recognized_by_transcript_and_turn() {
        let codex = r#"{"transcript_path":"/h/.codex/sessions/2026/11/21/rollout-a.jsonl"}"#;
        assert_eq!(agent(codex), Agent::Codex);
        assert_eq!(agent(r#"{"transcript_path":null,"turn_id":"t"}"#), Agent::Codex);
        let claude = r#"{"transcript_path":"/h/.claude/projects/-w/0198.jsonl","model":"m"}"#;
        assert_eq!(agent(claude), Agent::Claude);
    }

    #[test]
    fn events_are_parsed_in_both_spellings() {
        assert_eq!(Event::of("PreCompact"), Some(Event::PreCompact));
        assert_eq!(Event::of("session_start"), Some(Event::SessionStart));
        assert_eq!(Event::of("PreToolUse"), None);
    }
}
