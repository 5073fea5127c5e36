//! `context/*`: the context manager, stateless on what is sent.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Method;

mod normalize;

pub use normalize::{Change, Normalize, NormalizeParams, NormalizeResult};

/// `context/estimate`: what items or a text would cost in a context window.
#[derive(Debug, Clone, Copy)]
pub struct Estimate;

impl Method for Estimate {
    const NAME: &'static str = "context/estimate";
    type Params = EstimateParams;
    type Result = EstimateResult;
}

/// What to estimate. Exactly one of `items` and `text` is given.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ContextEstimateParams")]
pub struct EstimateParams {
    /// History items.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub items: Option<Vec<Value>>,
    /// A text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// The estimate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ContextEstimateResult")]
pub struct EstimateResult {
    /// Tokens: model-visible bytes ÷ 4, rounded up.
    pub tokens: u64,
    /// The bytes it was made from.
    pub bytes: u64,
    /// Tokens by kind of item; only with `items`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by_kind: Option<BTreeMap<String, u64>>,
}
