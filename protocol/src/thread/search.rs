//! `thread/search`: full text over the items of all transcripts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

/// `thread/search`: items by their words, best first.
///
/// Items with all the words come first, then, for a question, items with some of its words in their common
/// forms. `"…"` is a phrase, `word*` a prefix of at least three letters, `OR` separates alternatives, `NOT
/// word` excludes. Everything else separates words: no text is a syntax error. Paths and names match whole or
/// by their parts. Items with the same text (a fork's copy, a replay) are one hit.
///
/// # Errors
/// `query_invalid` if the query has no word, or too many; `store_busy` before the index is open;
/// `deadline_exceeded` for a prefix of very many words.
pub struct Search;

/// What to search, and where.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ThreadSearchParams")]
pub struct SearchParams {
    /// Words, `"phrases"` and `prefixes*`, joined by `OR` and `NOT`.
    pub query: String,
    /// Only in threads that work in exactly this folder, an absolute path.
    pub cwd: Option<String>,
    /// Only threads of this program: `codex`, `claude`, `gemini`, `opencode`, `longhaul`.
    pub source: Option<String>,
    /// Not before this time, Unix milliseconds.
    pub since: Option<i64>,
    /// Before this time, Unix milliseconds.
    pub until: Option<i64>,
    /// Only items of these kinds, see `ItemSummary::kind`; absent or empty: all.
    pub kinds: Option<Vec<String>>,
    /// Only in this thread.
    pub thread_id: Option<String>,
    /// Hits, 1 ≤ `limit` ≤ `limit::SEARCH_HITS_MAX`; absent: `limit::SEARCH_HITS_DEFAULT`.
    pub limit: Option<u32>,
    /// Maximum tokens of all texts together, an estimate; further hits are omitted. Absent: only `limit` applies.
    pub max_tokens: Option<u64>,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ThreadSearchResult")]
pub struct SearchResult {
    /// Best first.
    pub hits: Vec<SearchHit>,
    /// Whether more items match than were ranked; the others are older.
    pub truncated: bool,
    /// Progress of the index; later items are not found yet.
    pub indexed: IndexStatus,
}

/// An item that was found.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SearchHit {
    /// The program that wrote it.
    pub source: String,
    /// Id of the thread.
    pub thread_id: String,
    /// Its line in the thread's lineage.
    pub seq: u64,
    /// Returns the whole item, see `history/expand`.
    pub handle: String,
    /// The transcript with the item, an absolute path.
    pub path: String,
    /// Its line in the file, from 1; absent in a file that continues another.
    pub line_start: Option<u64>,
    /// Equals `line_start`: an item is one line.
    pub line_end: Option<u64>,
    /// First byte of its line in the uncompressed file, and first byte after it.
    pub byte_range: [u64; 2],
    /// When it was written, Unix milliseconds; for an undated item the previous time.
    pub at: i64,
    /// What it is, see `ItemSummary::kind`.
    pub kind: String,
    /// The thread's first request in short.
    pub title: Option<String>,
    /// The folder its thread works in.
    pub cwd: Option<String>,
    /// Larger is better; comparable within one answer only.
    pub score: f64,
    /// The words around the match, on one line, secrets replaced.
    pub text: String,
    /// Where matches are in `text`: first byte and first byte after.
    pub matches: Vec<[u64; 2]>,
    /// Number of omitted items with the same text.
    pub copies: u64,
}

/// Progress of the full-text index.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IndexStatus {
    /// What it is doing.
    pub state: IndexState,
    /// Items that can be found.
    pub items: u64,
    /// Transcripts that are not completely indexed yet.
    pub files_behind: u64,
    /// Bytes of the index on disk.
    pub bytes: u64,
}

/// What the indexer is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum IndexState {
    /// Everything ingested is indexed.
    Idle,
    /// Items are being indexed, or wait until ingestion is done.
    Indexing,
    /// The index cannot be written; the daemon retries.
    Stalled,
    /// A value of a newer daemon.
    #[serde(other)]
    Other,
}
