//! `thread/*`: the conversations found in the transcripts.

mod bill;
mod continuation;
mod forget;
mod items;
mod search;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

mod write;

pub use bill::{
    AgentCompaction, AgentCost, AgentUse, Bill, BillParams, BillResult, CompactionCost, CostSource,
    Price, ResumePrice, WorkAfter,
};
pub use continuation::{CheckedTree, Continue, ContinueParams, ContinueResult};
pub use forget::{ThreadForget, ThreadForgetParams, ThreadForgetResult};
pub use items::{ItemSummary, Items, ItemsParams, ItemsResult};
pub use search::{IndexState, IndexStatus, Search, SearchHit, SearchParams, SearchResult};
pub use write::{
    Append, AppendItem, AppendParams, AppendResult, Close, CloseParams, CloseResult, Marker, Open,
    OpenParams, OpenResult,
};

/// `thread/list`: threads, last updated first.
pub struct ThreadList;

/// Which threads.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ThreadListParams {
    /// Only those of this program: `codex`, `claude`, `gemini`, `opencode`, `longhaul`.
    pub source: Option<String>,
    /// Only those that work in exactly this folder, an absolute path.
    pub cwd: Option<String>,
    /// Rows of the page, 1 ≤ `limit` ≤ `limit::PAGE_ROWS_MAX`; absent:
    /// `limit::PAGE_ROWS_DEFAULT`.
    pub limit: Option<u32>,
    /// `next_cursor` of the previous page.
    pub cursor: Option<String>,
    /// Only blocked threads that no other thread continues yet.
    pub blocked: Option<bool>,
}

/// A page of threads.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ThreadListResult {
    /// Last updated first; equal times by thread id.
    pub threads: Vec<ThreadSummary>,
    /// Present when there are more.
    pub next_cursor: Option<String>,
}

/// One thread in a few numbers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ThreadSummary {
    /// Its id, as its own program names it.
    pub thread_id: String,
    /// The program that wrote it: `codex`, `claude`, `gemini`, `opencode`, `longhaul`.
    pub source: String,
    /// Its current transcript file.
    pub path: String,
    /// The folder it works in; null when the transcript does not say.
    pub cwd: Option<String>,
    /// The first request in short, secrets replaced; null before there is one.
    pub title: Option<String>,
    /// When it began, Unix milliseconds.
    pub created_at: i64,
    /// When it last grew, Unix milliseconds.
    pub updated_at: i64,
    /// History items in its transcript.
    pub items: u64,
    /// Tokens of the history a model would see now, an estimate.
    pub tokens: u64,
    /// Compactions its own program has made.
    pub compactions: u64,
    /// Lines of the transcript.
    pub lines: u64,
    /// Bytes of the transcript, uncompressed.
    pub bytes: u64,
    /// Lines that are not one JSON object. If a line has several, each is read.
    pub malformed: u64,
    /// Lines of an unknown kind.
    pub unknown: u64,
    /// Lines over the bound.
    pub oversized: u64,
    /// Whether its program moved it to the archive.
    pub archived: bool,
    /// The thread that started this one as a sub-agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_thread_id: Option<String>,
    /// The thread this one was forked from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<String>,
    /// The thread whose history this one continues: of `thread/continue`, or a fork by reference.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub continues: Option<String>,
    /// Whether it continues another thread and nobody has resumed it yet: it is new but has nothing of its own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unresumed: bool,
    /// The program or extension that opened it, as it names itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub originator: Option<String>,
    /// The version of the program when it began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cli_version: Option<String>,
    /// The model last used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The git branch it began on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub git_branch: Option<String>,
    /// Who gives the agent its requests.
    pub kind: ThreadKind,
    /// Why it cannot continue by itself, if it cannot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked: Option<BlockedThread>,
}

/// Why a thread cannot continue by itself: its newest turns failed, and nothing came after.
#[skip_serializing_none]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BlockedThread {
    /// The error that the thread ends with.
    pub cause: BlockedCause,
    /// How many times in a row.
    pub failures: u32,
    /// When last, Unix milliseconds; absent if the line is not dated.
    pub at: Option<i64>,
}

/// What blocks a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BlockedCause {
    /// Its history does not fit into the model's window, twice in a row.
    ContextFull,
    /// Its agent's own compaction failed.
    Compaction,
    /// A value of a newer daemon.
    #[serde(other)]
    Other,
}

/// Who drives a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ThreadKind {
    /// A person at a terminal or editor.
    Interactive,
    /// A script, one request.
    Exec,
    /// Another thread.
    Subagent,
    /// Anything else, including values of a newer daemon.
    #[serde(other)]
    Other,
}

/// `thread/get`: one thread and its files.
pub struct ThreadGet;

/// Which thread.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ThreadGetParams {
    /// Id of the thread, or a unique prefix of it.
    pub thread_id: String,
}

/// One thread and its files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ThreadGetResult {
    /// Its row of `thread/list`.
    pub thread: ThreadSummary,
    /// Every transcript file that contains it (a compressed copy, an archived copy, a revert).
    pub files: Vec<ThreadFile>,
    /// The seq up to which its checkpoint is folded: lines of the transcript.
    pub checkpoint_seq: u64,
}

/// A transcript file of a thread.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ThreadFile {
    /// The transcript, an absolute path.
    pub path: String,
    /// Its length in bytes when last seen, uncompressed.
    pub bytes: u64,
    /// Bytes of it that are ingested.
    pub offset: u64,
    /// Increases by one each time the file is found replaced or shortened.
    pub generation: u64,
    /// Whether the thread is read from this one.
    pub current: bool,
    /// Whether the file is gone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub gone: bool,
    /// Bytes of it that are archived; absent: none.
    pub archived_bytes: Option<u64>,
}

/// `thread/sync`: answers once a transcript is ingested up to a position; the barrier for a client that wrote a
/// line, or knows of one, and wants to read it back.
///
/// # Errors
/// `ingest_behind` if `timeout_ms` runs out: ingestion continues, `thread/get` shows its progress.
/// `path_outside` for a path under no source.
pub struct Sync;

/// Which transcript, and how far. Exactly one of `thread_id` and `path` is given.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ThreadSyncParams")]
pub struct SyncParams {
    /// Id of a thread, or a unique prefix of it; absent: `path` is given.
    pub thread_id: Option<String>,
    /// A transcript file under a source, even a new one; an absolute path.
    pub path: Option<String>,
    /// Bytes that must be ingested; absent: all that the file has now.
    pub min_offset: Option<u64>,
    /// Seq of a line that must be ingested.
    pub min_seq: Option<u64>,
    /// Milliseconds to wait; absent: `limit::SYNC_TIMEOUT_MS_DEFAULT`,
    /// lowered to `limit::SYNC_TIMEOUT_MS_MAX`.
    pub timeout_ms: Option<u64>,
    /// From the running agent: tokens of its model's whole window. It is kept for the thread.
    pub context_window: Option<u64>,
    /// From the running agent: tokens in that window. It is kept for the thread until its history changes.
    pub context_tokens: Option<u64>,
}

/// How far the transcript is ingested.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ThreadSyncResult")]
pub struct SyncResult {
    /// The thread in it.
    pub thread_id: String,
    /// Bytes ingested, up to the end of a line.
    pub offset: u64,
    /// Seq of the last line ingested; the first line has 0.
    pub seq: u64,
}
