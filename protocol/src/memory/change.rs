//! What a person or an agent tells memory.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Method;

/// `memory/add_note`: remembers a sentence, at a person's wish. Secrets in it are replaced.
#[derive(Debug, Clone, Copy)]
pub struct AddNote;

impl Method for AddNote {
    const NAME: &'static str = "memory/add_note";
    type Params = AddNoteParams;
    type Result = AddNoteResult;
}

/// What to remember.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "MemoryAddNoteParams")]
pub struct AddNoteParams {
    /// In words; not blank, at most `limit::NOTE_BYTES_MAX` bytes.
    pub text: String,
    /// For the project of this folder; absent: everywhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
}

/// The note.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "MemoryAddNoteResult")]
pub struct AddNoteResult {
    /// Its id, for `memory/forget`.
    pub note_id: String,
    /// The project it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Its words as they are kept.
    pub text: String,
    /// Number of the published memory that holds it.
    pub generation: u64,
}

/// `memory/cite`: counts what an answer used: use decides what is kept and told first.
#[derive(Debug, Clone, Copy)]
pub struct Cite;

impl Method for Cite {
    const NAME: &'static str = "memory/cite";
    type Params = CiteParams;
    type Result = CiteResult;
}

/// What was used; at least one field.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "MemoryCiteParams")]
pub struct CiteParams {
    /// An answer with a citation block.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// Threads that were cited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_ids: Option<Vec<String>>,
    /// Files that were cited or read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paths: Option<Vec<String>>,
}

/// What was counted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "MemoryCiteResult")]
pub struct CiteResult {
    /// Kinds of file.
    pub kinds: Vec<String>,
    /// Threads; unknown ones are passed over.
    pub thread_ids: Vec<String>,
    /// The answer without its citation blocks, where one was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
}

/// `memory/forget`: forgets at once and for good: when it answers, neither the files nor the search hold it.
///
/// # Errors
/// `invalid_params` when nothing or several things are named; `thread_not_found`.
#[derive(Debug, Clone, Copy)]
pub struct Forget;

impl Method for Forget {
    const NAME: &'static str = "memory/forget";
    type Params = ForgetParams;
    type Result = ForgetResult;
}

/// What to forget; exactly one field.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "MemoryForgetParams")]
pub struct ForgetParams {
    /// All that is from a thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<String>,
    /// All that is from the project of this folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// One thing that was learned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entry_id: Option<String>,
    /// A note.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note_id: Option<String>,
}

/// What is forgotten.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "MemoryForgetResult")]
pub struct ForgetResult {
    /// Extractions and notes that went.
    pub gone: u64,
    /// Number of the published memory without it.
    pub generation: u64,
}
