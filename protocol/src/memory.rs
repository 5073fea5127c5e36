//! `memory/*`: what earlier threads teach the next one.
//!
//! Paths are relative to the memory folder, with `/`. A `cwd` selects its project (the repository that contains it)
//! and what applies everywhere; such an answer contains nothing of another project.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

use crate::text::Block;

mod change;
mod note;
mod run;

pub use change::{Cite, CiteParams, CiteResult, Forget, ForgetParams, ForgetResult};
pub use note::{
    AddNote, AddNoteParams, AddNoteResult, ListNotes, ListNotesParams, ListNotesResult, Note,
    Origin, ReviewNote, ReviewNoteParams, ReviewNoteResult, Verdict,
};
pub use run::{
    AgentRun, Fallback, MemoryUse, Run, RunParams, RunResult, RunState, SkipCount, Status,
    StatusParams, StatusResult,
};

/// `memory/summary`: the text about `cwd` to put into the context of a new thread.
pub struct Summary;

/// Which folder, and how much.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "MemorySummaryParams")]
pub struct SummaryParams {
    /// Working folder, absolute; absent: only what applies everywhere.
    pub cwd: Option<String>,
    /// Maximum tokens of the text; absent, and at most: `memory.summary_tokens` of the configuration (5000).
    pub max_tokens: Option<u64>,
    /// Only what a session needs at its start: the person's rules, how to build and test, what the last three
    /// threads were about and how they ended; at most 270 tokens, unmarked, without instructions. Absent: false.
    pub brief: Option<bool>,
    /// Mark the text so that the daemon recognizes it in a transcript later; absent: true.
    pub framed: Option<bool>,
}

/// The text.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "MemorySummaryResult")]
pub struct SummaryResult {
    /// Inject it unchanged; empty if nothing is known about the folder.
    pub text: Block<String>,
    /// Its tokens, without the instructions.
    pub tokens: u64,
    /// How an agent reads more and cites what it used, about 300 tokens, to be placed below the text. Absent if nothing is
    /// published.
    pub instructions: Option<Block<String>>,
    /// Number of the published memory it comes from; 0: none is published yet.
    pub generation: u64,
    /// When that was published.
    pub published_at: Option<i64>,
    /// The project that contains `cwd`.
    pub project: Option<String>,
}

/// `memory/search`: passages of memory by their words, in any language.
///
/// Passages with all the words come first, then those with some.
///
/// # Errors
/// `query_invalid`.
pub struct Search;

/// What to look for.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "MemorySearchParams")]
pub struct SearchParams {
    /// Words, as in `thread/search`.
    pub query: String,
    /// Only the project of this folder, and what applies everywhere.
    pub cwd: Option<String>,
    /// Hits, at most `limit::SEARCH_HITS_MAX`; absent: `limit::SEARCH_HITS_DEFAULT`.
    pub limit: Option<u32>,
    /// Maximum tokens of all texts together.
    pub max_tokens: Option<u64>,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "MemorySearchResult")]
pub struct SearchResult {
    /// Best first.
    pub hits: Vec<Hit>,
    /// Number of the published memory that was searched; 0: none is published yet.
    pub generation: u64,
}

/// A passage.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "MemoryHit")]
pub struct Hit {
    /// Kind of file: `memory_md`, `memory_summary`, `raw_memories`, `rollout_summaries`, `skills`.
    pub source: String,
    /// File, for `memory/read` and citations.
    pub path: String,
    /// First line, from 1.
    pub line_start: u64,
    /// Last line of the hit, from 1.
    pub line_end: u64,
    /// Thread it is from, where it is from one.
    pub thread_id: Option<String>,
    /// Project it is about; absent: all.
    pub project: Option<String>,
    /// Time of its newest evidence, Unix milliseconds; check old entries before you trust them.
    pub at: i64,
    /// Larger is better; comparable within one answer.
    pub score: f64,
    /// The lines of the file.
    pub text: Block<String>,
}

/// `memory/list`: the files of memory.
pub struct MemoryList;

/// Which files.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MemoryListParams {
    /// Only those below this folder.
    pub path: Option<String>,
    /// Rows, at most `limit::PAGE_ROWS_MAX`; absent: `limit::PAGE_ROWS_DEFAULT`.
    pub limit: Option<u32>,
    /// `next_cursor` of the previous page.
    pub cursor: Option<String>,
}

/// Files.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryListResult {
    /// By path.
    pub files: Vec<MemoryFile>,
    /// The folder that contains them.
    pub root: String,
    /// Where the next page starts.
    pub next_cursor: Option<String>,
}

/// A file of memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryFile {
    /// Path below the memory folder.
    pub path: String,
    /// Length of the file in bytes.
    pub bytes: u64,
    /// Length of the file in lines.
    pub lines: u64,
    /// A person changed it since it was published.
    pub edited: bool,
}

/// `memory/read`: lines of a file of memory, as a person left them.
///
/// # Errors
/// `invalid_params`: there is no such file, or its path leads out of the folder or through a link.
pub struct Read;

/// Which lines.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "MemoryReadParams")]
pub struct ReadParams {
    /// File, as `memory/list` names it.
    pub path: String,
    /// First line, from 1; absent: 1.
    pub line: Option<u64>,
    /// Maximum lines.
    pub max_lines: Option<u64>,
    /// Maximum tokens; absent, and at most: 10000. At least one line is returned, cut if it is longer.
    pub max_tokens: Option<u64>,
}

/// Lines.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "MemoryReadResult")]
pub struct ReadResult {
    /// Below the folder of memory, with `/`.
    pub path: String,
    /// First line of `text`, from 1.
    pub line_start: u64,
    /// Last line; one less than the first when there is none.
    pub line_end: u64,
    /// The lines as they stand in the file.
    pub text: Block<String>,
    /// The line to continue at; absent at the end.
    pub next_line: Option<u64>,
}
