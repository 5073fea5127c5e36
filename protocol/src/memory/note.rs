//! Notes and their origins.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

use crate::text::Block;

/// Who said a text. Only a person's texts can be rules.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "MemoryOrigin")]
pub enum Origin {
    /// The person.
    Person,
    /// An agent.
    Agent,
    /// Output of a command, a file, a page or another tool.
    Tool,
    /// A program that does not say on whose behalf it calls.
    #[default]
    Client,
}

/// `memory/add_note`: stores a sentence. Secrets in it are replaced.
///
/// A note of the person is a rule from then on. Any other is quoted in the project of `cwd`, marked as
/// unconfirmed, until a person confirms it (`memory/review_note`).
///
/// # Errors
/// `invalid_params`: it is blank or too long; a note of another than the person names no `cwd`, or a command
/// that must not be recommended.
pub struct AddNote;

/// What to remember.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "MemoryAddNoteParams")]
pub struct AddNoteParams {
    /// Not blank, at most `limit::NOTE_BYTES_MAX` bytes.
    pub text: String,
    /// For the project of this folder; absent: everywhere, which only a person may use.
    pub cwd: Option<String>,
    /// Who says it; absent: `client`. An agent's connection cannot speak as the person.
    pub origin: Option<Origin>,
}

/// The note.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "MemoryAddNoteResult")]
pub struct AddNoteResult {
    /// Its id, for `memory/review_note` and `memory/forget`.
    pub note_id: String,
    /// The project it is for.
    pub project: Option<String>,
    /// The note as stored, redacted.
    pub text: Block<String>,
    /// The origin that the daemon assigned.
    #[serde(default)]
    pub origin: Origin,
    /// Whether it waits for a person's confirmation.
    #[serde(default)]
    pub pending: bool,
    /// Number of the published memory that holds it.
    pub generation: u64,
}

/// `memory/list_notes`: the notes, oldest first.
pub struct ListNotes;

/// Which notes.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "MemoryListNotesParams")]
pub struct ListNotesParams {
    /// Only those that wait for a person, or only the others; absent: all.
    pub pending: Option<bool>,
    /// Only those of the project of this folder.
    pub cwd: Option<String>,
    /// Rows, at most `limit::PAGE_ROWS_MAX`; absent: `limit::PAGE_ROWS_DEFAULT`.
    pub limit: Option<u32>,
    /// `next_cursor` of the previous page.
    pub cursor: Option<String>,
}

/// Notes.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "MemoryListNotesResult")]
pub struct ListNotesResult {
    /// Oldest first.
    pub notes: Vec<Note>,
    /// Where the next page starts.
    pub next_cursor: Option<String>,
}

/// A note.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "MemoryNote")]
pub struct Note {
    /// Id of the note.
    pub note_id: String,
    /// The project it is for; absent: everywhere.
    pub project: Option<String>,
    /// The note as stored, redacted.
    pub text: Block<String>,
    /// Whose words they are.
    pub origin: Origin,
    /// Whether it waits for a person's confirmation.
    pub pending: bool,
    /// When it was made, Unix milliseconds.
    pub at: i64,
}

/// `memory/review_note`: a person confirms a note of an agent or a program, or discards it.
///
/// Confirming replaces it by a note of the person's with the same text.
///
/// # Errors
/// `invalid_params`: no such note waits, or the caller is not the person.
pub struct ReviewNote;

/// Which note, and the decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "MemoryReviewNoteParams")]
pub struct ReviewNoteParams {
    /// `note_id` of `memory/list_notes`.
    pub note_id: String,
    /// Whether it stays.
    pub verdict: Verdict,
}

/// What a person decides about a note.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "MemoryVerdict")]
pub enum Verdict {
    /// It becomes the person's.
    Confirm,
    /// It is removed.
    Discard,
}

/// The result.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "MemoryReviewNoteResult")]
pub struct ReviewNoteResult {
    /// The person's note that replaced it, if it was confirmed.
    pub note_id: Option<String>,
    /// Number of the first published memory with the change.
    pub generation: u64,
}
