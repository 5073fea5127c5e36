//! A compaction as it is returned and stored.

use longhaul_core::compaction::Phase;
use longhaul_core::compaction::ladder::Strategy;
use longhaul_core::compaction::receipt::Receipt;
use longhaul_core::model::budget::Spending;
use longhaul_core::policy::watcher::Trigger;
use longhaul_core::template::Kind;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::request::{AgentStep, Reason};

/// Stored in this form.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Compaction {
    pub id: String,
    /// Owner of the lines in the receipt: the thread, or this compaction for given items.
    pub of: String,
    pub thread_id: Option<String>,
    pub strategy_used: Strategy,
    /// Rungs tried or skipped, with the reasons they failed.
    pub ladder: Vec<Rung>,
    pub history: Vec<Value>,
    pub view: String,
    /// Estimated tokens before and after.
    pub tokens: (u64, u64),
    pub receipt: Receipt,
    /// Number of secrets removed from kept or stored text.
    pub redacted: u64,
    pub warnings: Vec<Notice>,
    pub phase: Phase,
    pub trigger: String,
    pub created_at_ms: i64,
    pub seq: u64,
    pub duration_ms: u64,
    pub undone_at_ms: Option<i64>,
    #[serde(default)]
    pub spent: Spending,
    /// The watcher's trigger, if a watcher requested it.
    #[serde(default)]
    pub policy: Option<Trigger>,
    #[serde(default)]
    pub decision_id: Option<i64>,
    /// Why it was made; `None` in older records.
    #[serde(default)]
    pub reason: Option<Reason>,
    #[serde(default)]
    pub texts: Vec<TextUsed>,
    #[serde(default)]
    pub agent_step: Option<AgentStep>,
    /// Whether to replace the history of its thread.
    #[serde(default)]
    pub install: bool,
    /// The line that installed it; set by its maker, else looked up in the transcript.
    #[serde(skip)]
    pub installed_seq: Option<u64>,
}

impl Compaction {
    pub fn reason(&self) -> Reason {
        self.reason.unwrap_or_else(|| Reason::of("", &self.trigger))
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Rung {
    pub strategy: Strategy,
    #[serde(default)]
    pub tried: bool,
    /// A stable name for its failure; `None` for the one used.
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
    BuiltIn,
    /// A file of the person's.
    File,
    /// From the person's agent configuration.
    Agent,
    /// From the caller, for this compaction only.
    Call,
}

/// A text used in a compaction, and its version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextUsed {
    pub kind: Kind,
    /// Digest of the text before its placeholders were filled.
    pub digest: String,
    pub source: TextSource,
}
