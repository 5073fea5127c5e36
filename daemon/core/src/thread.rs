//! Identity and totals of a thread.

use serde::{Deserialize, Serialize};
use strum::VariantArray as _;

/// The program that wrote a transcript; its [`SourceSpec`](crate::rollout::source::SourceSpec) has the details.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    strum::EnumString,
    strum::IntoStaticStr,
    strum::VariantArray
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Source {
    /// Codex rollouts of any version.
    Codex,
    Claude,
    Gemini,
    #[serde(rename = "opencode")]
    #[strum(serialize = "opencode")]
    OpenCode,
    /// Written by the daemon for clients without a transcript of their own.
    Longhaul,
}

impl Source {
    /// In display order.
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// The name on the wire, in the store and in the configuration; it can be parsed back.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ThreadKind {
    /// A person talks to the agent.
    #[default]
    Interactive,
    /// A script ran the agent once.
    Exec,
    Subagent,
    /// Internal or unknown.
    Other,
}

/// The earlier transcript a fork or revert continues by reference.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HistoryBase {
    /// Thread of the earlier transcript.
    pub thread_id: String,
    /// Its first line that is not part of this thread.
    pub end_ordinal_exclusive: u64,
    /// The same position in bytes.
    pub end_byte_offset: Option<u64>,
}

/// Why a turn of a thread failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[derive(strum::IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum TurnFailure {
    /// The history does not fit into the model's window.
    ContextFull,
    /// The agent's own compaction failed.
    Compaction,
}

/// A thread that cannot continue by itself: its last turns ended in the same failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Blocked {
    pub cause: TurnFailure,
    /// Consecutive failures.
    pub failures: u32,
    /// Unix milliseconds of the newest one; 0 if unknown.
    pub at_ms: i64,
}

/// Identity and totals of a thread, taken from its transcript.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadHead {
    /// Id in the transcript's first meta line.
    pub thread_id: Option<String>,
    pub source: Source,
    pub cwd: Option<String>,
    /// First request, shortened and redacted.
    pub title: Option<String>,
    pub kind: ThreadKind,
    pub originator: Option<String>,
    pub cli_version: Option<String>,
    pub model: Option<String>,
    pub git_branch: Option<String>,
    /// The thread that spawned it.
    pub parent_thread_id: Option<String>,
    /// The thread it was forked from.
    pub forked_from: Option<String>,
    /// Its program asks not to remember it.
    #[serde(default)]
    pub is_ephemeral: bool,
    /// The transcript it continues by reference.
    pub history_base: Option<HistoryBase>,
    /// Unix milliseconds of the first line with a time; 0 if there is none.
    pub created_at_ms: i64,
    /// Unix milliseconds of the newest line with a time; 0 if there is none.
    pub updated_at_ms: i64,
    pub items: u64,
    /// Estimated tokens of the history a model would see now.
    pub tokens: u64,
    pub compactions: u64,
    pub lines: u64,
    /// Lines that are not one JSON object: none, or several, which are still read.
    pub malformed: u64,
    /// Lines of a kind this version does not know.
    pub unknown: u64,
    pub oversized: u64,
    pub blocked: Option<Blocked>,
}

impl ThreadHead {
    /// A thread without any lines.
    pub fn new(source: Source) -> Self {
        Self {
            thread_id: None,
            source,
            cwd: None,
            title: None,
            kind: ThreadKind::default(),
            originator: None,
            cli_version: None,
            model: None,
            git_branch: None,
            parent_thread_id: None,
            forked_from: None,
            is_ephemeral: false,
            history_base: None,
            created_at_ms: 0,
            updated_at_ms: 0,
            items: 0,
            tokens: 0,
            compactions: 0,
            lines: 0,
            malformed: 0,
            unknown: 0,
            oversized: 0,
            blocked: None,
        }
    }
}
