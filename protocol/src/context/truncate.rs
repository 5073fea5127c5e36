//! `context/truncate`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_with_macros::skip_serializing_none;

use crate::text::Raw;

/// `context/truncate`: cuts the middle out of a text, or out of the tool outputs among items.
pub struct Truncate;

/// What to cut, and how far. Exactly one of `text` and `items` is given.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ContextTruncateParams")]
pub struct TruncateParams {
    /// A text; absent: `items` is given.
    pub text: Option<String>,
    /// History items, cut as they are recorded: outputs of tools, with a fifth of head-room.
    pub items: Option<Vec<Value>>,
    /// How much to keep.
    pub policy: TruncatePolicy,
    /// Prefixes a cut text with its number of lines, as outputs of commands have it; an output of several parts
    /// becomes one text, followed by its images.
    pub formatted: Option<bool>,
}

/// How much to keep: `mode` and `limit`, or the `name` of a policy.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TruncatePolicy {
    /// What `limit` counts.
    pub mode: Option<TruncateMode>,
    /// Maximum kept, without the marker.
    pub limit: Option<u64>,
    /// `tool_output` (10,000 tokens) or `model_format` (11,264 bytes, 281 lines).
    pub name: Option<String>,
}

/// What a limit counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TruncateMode {
    /// Tokens of four bytes each.
    Tokens,
    /// Bytes.
    Bytes,
    /// Lines.
    Lines,
}

/// The result.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ContextTruncateResult")]
pub struct TruncateResult {
    /// The text, a marker where something was removed; only for a text.
    pub text: Option<Raw<String>>,
    /// The items; only for items.
    pub items: Option<Raw<Vec<Value>>>,
    /// How much was removed, as the markers say.
    pub removed: u64,
    /// What `removed` counts: `tokens`, `chars` or `lines`. Under `model_format` a text that had too
    /// many lines only is counted in lines.
    pub unit: String,
}
