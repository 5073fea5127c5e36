//! `context/*`: the context manager, for given items or a thread.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_with_macros::skip_serializing_none;

mod diff;
mod normalize;
mod truncate;
mod usage;

pub use diff::{
    CollaborationMode, Diff, DiffParams, DiffResult, Environment, Model, Network, OptionalSetting,
    Permissions, Personality, Settings, WorkingFolder,
};
pub use normalize::{Change, Normalize, NormalizeParams, NormalizeResult};
pub use truncate::{Truncate, TruncateMode, TruncateParams, TruncatePolicy, TruncateResult};
pub use usage::{
    Timeline, TimelineCompaction, TimelinePoint, Usage, UsageParams, UsageResult, UsageTokens,
    Window,
};

/// `context/estimate`: what items or a text would cost in a context window.
pub struct Estimate;

/// What to estimate. Exactly one of `items` and `text` is given.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ContextEstimateParams")]
pub struct EstimateParams {
    /// History items. Whitespace between JSON tokens does not count.
    pub items: Option<Vec<Box<RawValue>>>,
    /// A text; absent: `items` is given.
    pub text: Option<String>,
    /// Counts with a real tokenizer, `o200k` or `cl100k`, instead of by size.
    pub tokenizer: Option<String>,
}

/// The estimate.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ContextEstimateResult")]
pub struct EstimateResult {
    /// Tokens: by a tokenizer if one was named, else model-visible bytes ÷ 4, rounded up.
    pub tokens: u64,
    /// The bytes it is based on.
    pub bytes: u64,
    /// Tokens by kind (`user`, `tool_outputs`, `images` …); only with `items`.
    pub by_kind: Option<BTreeMap<String, u64>>,
    /// The tokenizer that counted; absent for an estimate by size.
    pub tokenizer: Option<String>,
}
