//! Why a use-case cannot answer. Free of the wire: `rpc::error` gives each its number and its words.

use longhaul_core::choice::ChoiceRefusal;
use longhaul_core::compaction::handle::HandleParseError;
use longhaul_core::search::query::QueryError;
use longhaul_store::StoreError;

use crate::ingest::{FoldLoadError, SyncError};
use crate::jobs::JobError;
use crate::message_history::MessageHistoryError;
use crate::recorder::RecorderError;

/// Said of an addition whose id stands in the thread with other content.
const SAME_ID: &str = "the thread holds another item with this client_item_id";

#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    /// No transcript of that thread was found.
    #[error("no thread {0:?}")]
    ThreadNotFound(String),
    /// The thread has no item yet.
    #[error("thread {0:?} holds nothing yet")]
    CheckpointNotFound(String),
    /// No item at the handle.
    #[error("no item at handle {0:?}")]
    HandleNotFound(String),
    /// No compaction of that id.
    #[error("no compaction {0:?}")]
    CompactionNotFound(String),
    /// The transcript no longer holds what the handle named.
    #[error("the lines behind {handle:?} in {path} are no longer what they were")]
    SourceChanged { handle: String, path: String },
    /// The archive has nothing of the thread.
    #[error("nothing of thread {0:?} is archived")]
    NotArchived(String),
    /// What the archive has of the thread is damaged, and nothing makes it good.
    #[error("what is archived of thread {0:?} is damaged")]
    ArchiveDamaged(String),
    /// A file would be replaced.
    #[error("{0} is there already")]
    FileExists(String),
    /// The caller's idea of the thread is old.
    #[error("the thread is at seq {present}, not {expected}")]
    StaleBase {
        /// What the caller expected.
        expected: u64,
        present: u64,
    },
    #[error(transparent)]
    Choice(#[from] ChoiceError),
    #[error("{field}: {reason}")]
    Invalid { field: &'static str, reason: String },
    /// A value is over its bound.
    #[error("{limit} is {given}, at most {max} is taken")]
    Limit { limit: &'static str, max: u64, given: u64 },
    /// An addition to a thread means nothing.
    #[error("items[{index}]: {reason}")]
    BadItem {
        index: usize,
        /// Its client's id of it.
        client_item_id: String,
        reason: String,
    },
    /// An addition to a thread is over its bound.
    #[error("items[{index}] has {given} bytes, at most {max} are taken")]
    ItemTooLong {
        index: usize,
        /// Its client's id of it.
        client_item_id: String,
        max: u64,
        given: u64,
    },
    /// The thread's own agent writes to it right now.
    #[error("thread {0:?} is being written to by its agent")]
    ThreadBusy(String),
    /// The thread's transcript belongs to another program.
    #[error("thread {0:?} is kept by another program")]
    ThreadReadOnly(String),
    /// A later compaction is in force.
    #[error("compaction {0:?} cannot be undone: a later one of its thread is in force")]
    Superseded(String),
    /// The thread has hardly grown since it was compacted.
    #[error("the thread grew by {grown} tokens since it was compacted, {needed} are needed")]
    NotWorthwhile {
        grown: u64,
        /// Tokens that are needed.
        needed: u64,
    },
    #[error(transparent)]
    Job(#[from] JobError),
    /// The work of a model on memory is at its end.
    #[error("the work on memory is over: {name}")]
    CurationEnded {
        /// Its stable name, as `memory/status` tells it.
        name: &'static str,
        why: CurationStop,
    },
    /// Memory could not be published.
    #[error("memory could not be published: {detail}")]
    MemoryFailed {
        detail: String,
        /// Whether the store or the folder failed, which may be over.
        may_pass: bool,
    },
    /// A search query without a word, or with too many.
    #[error("the query cannot be searched for: {0}")]
    Query(#[source] QueryError),
    /// A search that takes too long.
    #[error("the search took too long")]
    SearchDeadline,
    /// The search index is not open yet.
    #[error("the search index is not open yet")]
    IndexNotOpen,
    /// Several ids begin like this.
    #[error("{what} {named:?} could be {} of them", candidates.len())]
    Ambiguous {
        /// What kind of thing they are ids of.
        what: &'static str,
        named: String,
        candidates: Vec<String>,
    },
    /// The text of a handle is none.
    #[error(transparent)]
    Handle(#[from] HandleParseError),
    /// Reading the thread's transcript failed.
    #[error(transparent)]
    Sync(#[from] SyncError),
    /// The thread's state cannot be had right now.
    #[error(transparent)]
    Fold(#[from] FoldLoadError),
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Somebody removed or replaced the state folder, or the database in it.
    #[error("the state folder {0} was removed or replaced: nothing is kept any more")]
    StateLost(String),
    #[error("{path}: {source}")]
    File { path: String, source: std::io::Error },
    /// Prompts cannot be kept or read.
    #[error(transparent)]
    MessageHistory(#[from] MessageHistoryError),
    /// A stored value is not what this version writes.
    #[error("a stored {what} cannot be read")]
    Undecodable { what: &'static str, source: serde_json::Error },
    /// Others kept changing the same thing.
    #[error("others changed the thread at the same time")]
    Busy,
    /// A task of ours died.
    #[error("a background task ended early")]
    Task(#[from] tokio::task::JoinError),
}

/// Why a model may work on the files of memory no further.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CurationStop {
    /// Memory changed meanwhile.
    Overtaken,
    /// Requests, tokens, the window or the budget are used up.
    Spent,
    OutOfTime,
    /// Neither its steps nor its files can be used.
    Unusable,
    RateLimited,
    Unavailable,
}

/// Why a pin or drop is not taken over, or not taken back.
#[derive(Debug, thiserror::Error)]
pub enum ChoiceError {
    #[error(transparent)]
    Refused(#[from] ChoiceRefusal),
    #[error("no pin or drop {0:?} in this thread")]
    NotFound(String),
    /// It is of a thread that this one goes on from.
    #[error("{id} was chosen in thread {thread_id}, which this one goes on from")]
    Inherited { id: String, thread_id: String },
}

impl From<RecorderError> for ServiceError {
    fn from(error: RecorderError) -> Self {
        match error {
            RecorderError::NotFound(thread_id) => Self::ThreadNotFound(thread_id),
            RecorderError::Stale { expected, present } => Self::StaleBase { expected, present },
            RecorderError::Full { limit, max, given } => Self::Limit { limit, max, given },
            RecorderError::Conflict { index, client_item_id } => {
                Self::BadItem { index, client_item_id, reason: SAME_ID.to_owned() }
            }
            RecorderError::File { path, source } => Self::file(&path, source),
            RecorderError::Task(error) => Self::Task(error),
        }
    }
}

impl ServiceError {
    pub fn file(path: &std::path::Path, source: std::io::Error) -> Self {
        Self::File { path: path.display().to_string(), source }
    }
}
