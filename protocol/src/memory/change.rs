//! What a thread used of memory, and what a person removes from it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

/// `memory/cite`: counts what an answer used; more use means kept longer and ranked higher.
pub struct Cite;

/// What was used; at least one field.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "MemoryCiteParams")]
pub struct CiteParams {
    /// An answer with a citation block.
    pub answer: Option<String>,
    /// Threads that were cited.
    pub thread_ids: Option<Vec<String>>,
    /// Files that were cited or read.
    pub paths: Option<Vec<String>>,
}

/// What was counted.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "MemoryCiteResult")]
pub struct CiteResult {
    /// Kinds of file.
    pub kinds: Vec<String>,
    /// Threads; unknown ones are ignored.
    pub thread_ids: Vec<String>,
    /// The answer without its citation blocks, where one was given.
    pub answer: Option<String>,
}

/// `memory/forget`: removes something permanently: when it answers, neither files nor search contain it.
///
/// # Errors
/// `invalid_params` when nothing or several things are named, or the entry or note does not exist; `thread_not_found`.
pub struct Forget;

/// What to forget; exactly one field.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "MemoryForgetParams")]
pub struct ForgetParams {
    /// Everything that was learned from this thread.
    pub thread_id: Option<String>,
    /// Everything that was learned in the project of this folder, an absolute path.
    pub cwd: Option<String>,
    /// One thing that was learned.
    pub entry_id: Option<String>,
    /// The note with this id.
    pub note_id: Option<String>,
}

/// What was removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "MemoryForgetResult")]
pub struct ForgetResult {
    /// Extractions, notes and entries that were removed.
    pub removed: u64,
    /// Number of the published memory without it.
    pub generation: u64,
}
