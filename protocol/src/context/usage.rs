//! `context/usage`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_with_macros::skip_serializing_none;

use crate::thread::ResumePrice;
use crate::warning::Warning;

/// `context/usage`: what fills a context window, and how full it is.
pub struct Usage;

/// Which window. `thread_id`, `items`, or both: then the items are about to be added.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ContextUsageParams")]
pub struct UsageParams {
    /// Id of a thread, or a unique prefix of it; absent: `items` is given.
    pub thread_id: Option<String>,
    /// History items in the Responses API form; absent: `thread_id` is given.
    pub items: Option<Vec<Value>>,
    /// Name of the model; absent: the one the thread names.
    pub model: Option<String>,
    /// Tokens of the model's whole window; absent: as configured, as the transcript states, or the model's known one.
    pub context_window: Option<u64>,
    /// Tokens at which to compact, 0 for never; absent: as configured, or 90 % of the window.
    pub auto_compact_limit: Option<u64>,
    /// The thread as it was after this line.
    pub as_of: Option<u64>,
    /// Whether to add `resume`, which takes as long as a view; absent: no. Of a thread as it is now only.
    pub resume: Option<bool>,
}

/// How full the window is.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ContextUsageResult")]
pub struct UsageResult {
    /// The thread, if one was named.
    pub thread_id: Option<String>,
    /// Line of the thread it is the state of.
    pub seq: Option<u64>,
    /// Name of the model that the window is of; absent: unknown.
    pub model: Option<String>,
    /// Sizes of the history and its parts.
    pub tokens: UsageTokens,
    /// Tokens by kind; the sum is `tokens.used`. Kinds of items are estimates: `system`, `user`, `assistant`, `tool_calls`,
    /// `tool_outputs`, `reasoning`, `images`, `initial_context`, `summary`, `other`. `instructions_and_tools` is
    /// `tokens.overhead`, and `not_attributed` what the count has beyond both. Estimates above the count are scaled down to it.
    /// Kinds without any are left out.
    pub by_kind: BTreeMap<String, u64>,
    /// The model's window, and where it compacts.
    pub window: Window,
    /// How the window filled over time; only for a thread.
    pub timeline: Option<Timeline>,
    /// What the next request costs, if asked for; absent if the provider's cache is unknown.
    pub resume: Option<ResumePrice>,
    /// Warnings: `window_unknown`, `over_window`, `over_trigger`, `item_over_headroom`,
    /// `limit_unreachable`.
    pub warnings: Vec<Warning>,
}

/// Sizes in tokens.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UsageTokens {
    /// Tokens in the window: the provider's last count or the running agent's, plus an estimate of later items; if no
    /// count is valid, `estimated` plus `overhead`.
    pub used: u64,
    /// Who counted: `provider`, `running_agent` or `estimate`.
    #[serde(default)]
    pub used_source: String,
    /// Estimate of the items.
    pub estimated: u64,
    /// Bytes of the items as a model sees them, an estimate: four a token.
    #[serde(default)]
    pub visible_bytes: u64,
    /// Bytes of these since the provider's last count.
    #[serde(default)]
    pub bytes_since_report: u64,
    /// The provider's last count, while it is valid.
    pub reported: Option<u64>,
    /// The line with that count.
    pub reported_seq: Option<u64>,
    /// What the provider first counted beyond the items: instructions and tools.
    pub overhead: u64,
    /// The items that are about to be added.
    pub incoming: Option<u64>,
}

/// A window and its limits, in tokens.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Window {
    /// Tokens of the whole window.
    pub tokens: u64,
    /// Its source: `request`, `config`, `running_agent` (reported in `thread/sync`), `transcript`, `agent` (the user, in the agent's own configuration),
    /// `agent_compaction` (the size at which the agent compacted by itself) or `model_table`; for a guess `observed`
    /// (the thread held more than its model's known window) or `fallback`.
    pub source: String,
    /// The part that can be filled, 95 %.
    pub effective: u64,
    /// When to compact; absent if disabled, and for a guess.
    pub trigger: Option<u64>,
    /// Its source: `request`, `config`, `agent`, `agent_compaction`, or `default`, which is 90 % of the window;
    /// for a guess `observed` or `fallback`.
    pub trigger_source: String,
    /// Whether the window is known. Do not show numbers of a guess, to a person or a model.
    pub is_known: bool,
    /// Percent used: 100 less `percent_remaining`; absent for a guess.
    pub percent_used: Option<u64>,
    /// Percent left, as Codex shows it and policies count it: of the effective part without its first 12,000 tokens, rounded to the
    /// nearest; absent for a guess.
    pub percent_remaining: Option<u64>,
}

/// How full the window was, line after line.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Timeline {
    /// Turns that were started.
    pub turns: u64,
    /// At most 192 points of the transcript, oldest first.
    pub points: Vec<TimelinePoint>,
    /// The newest compactions, oldest first, at most 48.
    pub compactions: Vec<TimelineCompaction>,
}

/// How full the window was at a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TimelinePoint {
    /// Seq of the line.
    pub seq: u64,
    /// Turns started until then.
    pub turn: u64,
    /// Tokens in the window.
    pub tokens: u64,
}

/// A compaction the thread's own program made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TimelineCompaction {
    /// Seq of the compaction's line.
    pub seq: u64,
    /// Tokens of the history before it.
    pub before: u64,
    /// Tokens of the history after it.
    pub after: u64,
}
