//! A compaction that was made, as it is answered and stored.

use longhaul_core::compaction::Phase;
use longhaul_core::compaction::ladder::Strategy;
use longhaul_core::compaction::receipt::Receipt;
use longhaul_core::model::budget::Spending;
use longhaul_core::policy::watcher::Trigger;
use longhaul_core::template::Kind;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::request::{AgentStep, Reason};

/// A compaction that was made; stored as it is.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Compaction {
    pub id: String,
    /// Whose lines the receipt names: the thread, or this compaction for given items.
    pub of: String,
    pub thread_id: Option<String>,
    /// The rung that was used.
    pub strategy_used: Strategy,
    /// Rungs that were tried or passed by, with the reason they were left.
    pub ladder: Vec<Rung>,
    pub history: Vec<Value>,
    pub view: String,
    /// Estimated tokens before and after.
    pub tokens: (u64, u64),
    /// What became of each item.
    pub receipt: Receipt,
    /// Secrets taken out of what was kept or stored.
    pub redacted: u64,
    /// What a person should know.
    pub warnings: Vec<Notice>,
    pub phase: Phase,
    pub trigger: String,
    /// When, Unix milliseconds.
    pub created_at_ms: i64,
    pub seq: u64,
    pub duration_ms: u64,
    pub undone_at_ms: Option<i64>,
    #[serde(default)]
    pub spent: Spending,
    /// Why the watcher asked for it, where it did.
    #[serde(default)]
    pub policy: Option<Trigger>,
    /// The logged decision it was asked for by.
    #[serde(default)]
    pub decision_id: Option<i64>,
    /// Why it was made; `None` in records older than this.
    #[serde(default)]
    pub reason: Option<Reason>,
    /// The texts it was made with.
    #[serde(default)]
    pub texts: Vec<TextUsed>,
    /// The step of an agent's own compaction that made it.
    #[serde(default)]
    pub agent_step: Option<AgentStep>,
    /// Whether it was to replace the history of its thread.
    #[serde(default)]
    pub install: bool,
    /// The line that did; known to who made it, else asked of the transcript.
    #[serde(skip)]
    pub installed_seq: Option<u64>,
}

impl Compaction {
    #[must_use]
    pub fn reason(&self) -> Reason {
        self.reason.unwrap_or_else(|| Reason::of("", &self.trigger))
    }
}

/// One rung of the ladder.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Rung {
    pub strategy: Strategy,
    #[serde(default)]
    pub tried: bool,
    /// Why it was left, a stable name; `None` for the one that was used.
    pub left_because: Option<String>,
    pub duration_ms: u64,
}

impl Rung {
    pub(super) fn used(strategy: Strategy, duration_ms: u64) -> Self {
        Self { strategy, tried: true, left_because: None, duration_ms }
    }

    pub(super) fn failed(strategy: Strategy, reason: String, duration_ms: u64) -> Self {
        Self { strategy, tried: true, left_because: Some(reason), duration_ms }
    }

    pub(super) fn skipped(strategy: Strategy, reason: &str) -> Self {
        Self { strategy, tried: false, left_because: Some(reason.to_owned()), duration_ms: 0 }
    }
}

/// Something a person should know although nothing failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notice {
    pub kind: String,
    pub message: String,
}

impl Notice {
    pub(super) fn new(kind: &str, message: impl Into<String>) -> Self {
        Self { kind: kind.to_owned(), message: message.into() }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TextSource {
    /// Ours.
    BuiltIn,
    /// A file of the person's.
    File,
    /// The person's, in the configuration of their agent.
    Agent,
    /// The caller's, for this compaction alone.
    Call,
}

/// A text that a compaction was made with: which, and which edition of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextUsed {
    pub kind: Kind,
    /// Digest of the text before its places were filled.
    pub digest: String,
    pub source: TextSource,
}
