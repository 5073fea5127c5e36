//! `compaction/should`: whether a thread should be compacted now, by the window's rule.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_with_macros::skip_serializing_none;

use super::Phase;

/// `compaction/should`: whether to compact, why, and with which model. Nothing is changed.
///
/// # Errors
/// `thread_not_found`; `checkpoint_not_found`.
pub struct Should;

/// What is about to happen. At least one of `thread_id` and `items` is given.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "CompactionShouldParams")]
pub struct ShouldParams {
    /// Id of a thread, or a unique prefix of it; absent: `items` is given.
    pub thread_id: Option<String>,
    /// Items about to be added to the thread, or without one a history of the caller's own.
    pub items: Option<Vec<Value>>,
    /// `pre_turn` (absent) or `mid_turn`.
    pub phase: Option<Phase>,
    /// With `mid_turn`: whether the turn continues; absent: it does.
    pub follow_up: Option<bool>,
    /// The next model; absent: the thread's.
    pub model: Option<String>,
    /// Tokens of its whole window; absent: as `context/usage` decides.
    pub context_window: Option<u64>,
    /// Tokens at which to compact, 0 for never; absent: as `context/usage` decides.
    pub auto_compact_limit: Option<u64>,
    /// The model that answered last, if it is another one.
    pub previous_model: Option<String>,
    /// Tokens of its whole window.
    pub previous_context_window: Option<u64>,
}

/// The answer.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "CompactionShouldResult")]
pub struct ShouldResult {
    /// Whether to compact now.
    pub compact: bool,
    /// `context_limit`, `model_downshift`, `under_limit`, `no_follow_up` or `switched_off`.
    pub reason: String,
    /// The model to compact with: the previous, larger one on a downshift.
    pub model: Option<String>,
    /// Tokens in the window.
    pub used: u64,
    /// Tokens about to be added.
    pub incoming: u64,
    /// Tokens at which to compact; absent if disabled.
    pub limit: Option<u64>,
    /// Source of the value: `default`, `config`, `request` …
    pub limit_source: String,
}
