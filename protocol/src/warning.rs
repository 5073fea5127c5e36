//! Warnings: nothing failed, but a person should know.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

/// A warning in a result.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Warning {
    /// A stable name to branch on, for example `store_rebuilt`. New ones may come in any revision.
    pub kind: String,
    /// One sentence without transcript text.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}
