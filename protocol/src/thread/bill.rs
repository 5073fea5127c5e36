//! `thread/bill`: the cost of compactions, and of resuming.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

use crate::compaction::CompactionSummary;

/// `thread/bill`: the cost of our compactions of a thread compared with its agent's own, the work after each, and the
/// cost of resuming the thread now.
///
/// # Errors
/// `thread_not_found`.
pub struct Bill;

/// Which thread.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ThreadBillParams")]
pub struct BillParams {
    /// Id of the thread, or a unique prefix of it.
    pub thread_id: String,
}

/// A bill.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ThreadBillResult")]
pub struct BillResult {
    /// Id of the thread.
    pub thread_id: String,
    /// Our newest compactions of it, at most 48, oldest first; the one that it continues from included.
    pub compactions: Vec<CompactionCost>,
    /// Cost of a compaction by the agent itself.
    pub agent: AgentCost,
    /// Compactions the agent made by itself, at most 48, oldest first.
    pub agent_compactions: Vec<AgentCompaction>,
    /// Id of the compaction of this thread that an undo means if none is named: of those that are not undone, the newest
    /// that the agent used, else the newest. Absent if none is left.
    pub undo_next: Option<String>,
    /// Cost of resuming now; absent for a thread without a provider.
    pub resume: Option<ResumePrice>,
}

/// One of our compactions.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CompactionCost {
    /// Its row in `compaction/list`: requests, tokens and milliseconds. `tokens.before` estimates the minimum that the
    /// agent's own request would have sent.
    pub summary: CompactionSummary,
    /// Tokens of the answers in `summary.cost.tokens`; absent if no model was asked, and for old compactions.
    pub output_tokens: Option<u64>,
    /// The line of the thread at which the agent adopted it; absent if it was only shown.
    pub in_force_seq: Option<u64>,
    /// The work since; absent if it was only shown.
    pub after: Option<WorkAfter>,
    /// How the agent used it.
    #[serde(default)]
    pub agent_use: AgentUse,
}

/// How an agent used a compaction of ours.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AgentUse {
    /// Its history begins with our view.
    View,
    /// It compacted by itself after ours; our record has the history before.
    ByItself,
    /// It did not use the compaction, which was only shown.
    NotAtAll,
    /// An older daemon does not say.
    #[default]
    #[serde(other)]
    Unknown,
}

/// The work after a compaction, until the next one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkAfter {
    /// Tool calls before the first edit, or until now.
    pub actions: u64,
    /// Whether there was an edit.
    pub edited: bool,
    /// Files read again that had been read before.
    pub files_reread: u64,
    /// The first 12 of them, as the agent wrote them.
    pub files_reread_paths: Vec<String>,
}

/// Cost of a compaction by the agent itself: medians of what its transcripts record.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentCost {
    /// Where it is recorded.
    pub source: CostSource,
    /// How many compactions record anything.
    pub compactions: u64,
    /// Tokens of the request; absent where none is recorded.
    pub input_tokens: Option<u64>,
    /// Tokens of the answer; absent where none is recorded.
    pub output_tokens: Option<u64>,
    /// Milliseconds; absent where none are recorded.
    pub duration_ms: Option<u64>,
}

/// Where the cost of an agent's compactions is recorded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CostSource {
    /// On this thread.
    Thread,
    /// On other threads of the same agent and model.
    Model,
    /// Nowhere.
    #[default]
    #[serde(other)]
    Unknown,
}

/// A compaction that the agent made by itself.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentCompaction {
    /// Seq of its line.
    pub seq: u64,
    /// When, Unix milliseconds; absent where the line is not dated.
    pub at: Option<i64>,
    /// Tokens in the window before.
    pub tokens_before: u64,
    /// Recorded tokens of its request; of Claude Code what was in the window.
    pub input_tokens: Option<u64>,
    /// Recorded tokens of the answer.
    pub output_tokens: Option<u64>,
    /// Milliseconds it took: as recorded, else between the lines around it.
    pub duration_ms: Option<u64>,
    /// What the agent did in the turns after it.
    pub after: WorkAfter,
}

/// Cost of resuming a thread: its whole history, or a briefing of it in a new thread.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ResumePrice {
    /// Milliseconds since the thread's last line.
    pub idle_ms: u64,
    /// Milliseconds for which its provider keeps its cache.
    pub cache_lifetime_ms: u64,
    /// Source of the lifetime: `config`, `transcript`, or `default`, the provider's documentation.
    pub cache_lifetime_source: String,
    /// Whether the cache is cold: then all input of the next request is paid in full.
    pub is_cold: bool,
    /// Tokens that the next request sends with the whole history.
    pub history_tokens: u64,
    /// Tokens that the next request sends after `thread/continue`, an estimate.
    pub briefing_tokens: u64,
    /// The price of `history_tokens` without a cache; absent where none is configured for the model.
    pub history_price: Option<Price>,
    /// The price of `briefing_tokens` without a cache.
    pub briefing_price: Option<Price>,
}

/// An amount of money.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Price {
    /// Millionths of the unit.
    pub micros: u64,
    /// The unit, as configured.
    pub currency: String,
}
