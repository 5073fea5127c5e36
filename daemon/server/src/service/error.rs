//! Errors of the use cases. Free of wire types: `rpc::error` assigns each its number and text.

use longhaul_core::choice::ChoiceRefusal;
use longhaul_core::compaction::handle::HandleParseError;
use longhaul_core::job::{Failure, FailureKind};
use longhaul_core::model::Fault;
use longhaul_core::search::query::QueryError;
use longhaul_core::text::grouped;
use longhaul_store::StoreError;

use crate::ingest::{FoldLoadError, SyncError};
use crate::jobs::JobError;
use crate::message_history::MessageHistoryError;
use crate::recorder::RecorderError;

/// Reason if an appended item's id exists in the thread with other content.
const SAME_ID: &str = "another item of the thread has this client_item_id";

#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    #[error("no thread {0:?}")]
    ThreadNotFound(String),
    #[error("thread {0:?} has no items yet")]
    CheckpointNotFound(String),
    #[error("no item at handle {0:?}")]
    HandleNotFound(String),
    #[error("no compaction {0:?}")]
    CompactionNotFound(String),
    /// The transcript no longer has the content that the handle names.
    #[error("the lines of {handle:?} in {path} have changed")]
    SourceChanged { handle: String, path: String },
    #[error("nothing of thread {0:?} is archived")]
    NotArchived(String),
    /// The archived thread is damaged beyond repair.
    #[error("the archive of thread {0:?} is damaged")]
    ArchiveDamaged(String),
    /// A file would be overwritten.
    #[error("{0} already exists")]
    FileExists(String),
    /// A thread cannot be forgotten while its transcript would be read again.
    #[error("the transcript of the thread exists: {0}")]
    TranscriptExists(String),
    /// Deleted, but the bytes may still be in the database.
    #[error("{}: {cause}", Self::BYTES_LEFT)]
    BytesLeft {
        /// The call that removes them.
        again: String,
        cause: StoreError,
    },
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
    #[error("{limit} is {given}: the limit is {max}")]
    Limit { limit: &'static str, max: u64, given: u64 },
    #[error("items[{index}]: {reason}")]
    BadItem {
        index: usize,
        /// The id its client gave it.
        client_item_id: String,
        reason: String,
    },
    #[error("items[{index}] has {given} bytes: the limit is {max}")]
    ItemTooLong {
        index: usize,
        /// The id its client gave it.
        client_item_id: String,
        max: u64,
        given: u64,
    },
    #[error("thread {thread_id:?} is being written to by its agent")]
    ThreadBusy {
        thread_id: String,
        /// Names of other agents that can continue it.
        others: Vec<&'static str>,
    },
    #[error("thread {0:?} belongs to another program")]
    ThreadReadOnly(String),
    /// A later compaction is installed.
    #[error("compaction {0:?} cannot be undone: a later one of its thread is installed")]
    Superseded(String),
    #[error(
        "the thread grew by {} tokens since its last compaction: {} are needed",
        grouped(*grown),
        grouped(*needed)
    )]
    NotWorthwhile { grown: u64, needed: u64 },
    #[error(transparent)]
    Job(#[from] JobError),
    #[error("the work on memory has ended: {}", .0.name())]
    CurationEnded(CurationEnd),
    #[error("cannot publish memory: {detail}")]
    MemoryFailed {
        detail: String,
        /// Whether the failure of the store or folder may be temporary.
        may_pass: bool,
    },
    /// A search query without words, or with too many.
    #[error("invalid query: {0}")]
    Query(#[from] QueryError),
    #[error("the search took too long")]
    SearchDeadline,
    #[error("the index is not open yet")]
    IndexNotOpen,
    /// Several ids have this prefix.
    #[error("{what} {named:?} matches {} ids", candidates.len())]
    Ambiguous {
        /// What the ids are of.
        what: &'static str,
        named: String,
        candidates: Vec<String>,
    },
    /// The text is not a handle.
    #[error(transparent)]
    Handle(#[from] HandleParseError),
    #[error(transparent)]
    Sync(#[from] SyncError),
    /// The thread's state cannot be loaded now.
    #[error(transparent)]
    Fold(#[from] FoldLoadError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("the state folder {0} was removed or replaced: nothing more is stored")]
    StateLost(String),
    #[error("{path}: {source}")]
    File { path: String, source: std::io::Error },
    /// Prompts cannot be stored or read.
    #[error(transparent)]
    MessageHistory(#[from] MessageHistoryError),
    /// A stored value is not in this version's format.
    #[error("cannot read a stored {what}")]
    Undecodable { what: &'static str, source: serde_json::Error },
    /// Concurrent changes by others persisted.
    #[error("too many concurrent changes to the thread")]
    Busy,
    #[error("a background task ended early")]
    Task(#[from] tokio::task::JoinError),
}

/// The failure of a job, to record in its table.
impl From<ServiceError> for Failure {
    fn from(error: ServiceError) -> Self {
        let (kind, detail) = match error {
            ServiceError::ThreadNotFound(_) => {
                (FailureKind::Permanent, "its transcript is gone".to_owned())
            }
            error => (FailureKind::Transient, error.to_string()),
        };
        Self { kind, detail, retry_after_ms: None }
    }
}

/// Why a model's work on the memory files ended with nothing to publish.
#[derive(Debug, Clone, thiserror::Error)]
pub enum CurationEnd {
    /// The provider, or a budget.
    #[error("{0}")]
    Fault(Fault),
    /// A bound of the run: its stable name, and a description.
    #[error("{1}")]
    Spent(&'static str, String),
    #[error("not done in {0} s")]
    OutOfTime(u64),
    /// The model's answers are not steps.
    #[error("{0}")]
    Unreadable(String),
    /// The files failed the check.
    #[error("{0}")]
    Refused(String),
    /// The files it works on are no longer current.
    #[error("memory changed while the model worked on it")]
    Overtaken,
}

impl CurationEnd {
    /// Its stable name, as in `memory/status`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Fault(fault) => fault.kind.into_str(),
            Self::Spent(name, _) => name,
            Self::OutOfTime(_) => "timeout",
            Self::Unreadable(_) => "step_unreadable",
            Self::Refused(_) => "result_refused",
            Self::Overtaken => "overtaken",
        }
    }
}

/// Why a pin or drop is not stored or not removed.
#[derive(Debug, thiserror::Error)]
pub enum ChoiceError {
    #[error(transparent)]
    Refused(#[from] ChoiceRefusal),
    #[error("no pin or drop {0:?} in this thread")]
    NotFound(String),
    /// It belongs to a thread that this one continues.
    #[error("{id} was chosen in thread {thread_id}, which this one continues")]
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
    pub const BYTES_LEFT: &str = "it is deleted, but its bytes may still be in the database";

    pub fn file(path: &std::path::Path, source: std::io::Error) -> Self {
        Self::File { path: path.display().to_string(), source }
    }

    pub fn invalid(field: &'static str, reason: impl Into<String>) -> Self {
        Self::Invalid { field, reason: reason.into() }
    }

    pub fn undecodable(what: &'static str) -> impl Fn(serde_json::Error) -> Self + Copy {
        move |source| Self::Undecodable { what, source }
    }
}
