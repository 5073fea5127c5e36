//! Warnings: nothing failed, but a person should know.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A warning in a result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Warning {
    /// A stable name to branch on, for example `store_rebuilt`. New ones may come in any revision.
    pub kind: String,
    /// One sentence without transcript text.
    pub message: String,
    /// What to do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}
