//! Events of ingestion for the rest of the daemon. They are hints: the store is the truth.

use std::path::Path;

/// A thread has new lines in the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadUpdated {
    pub thread_id: String,
    pub path: String,
    /// First byte of the file that is not folded.
    pub offset: u64,
    /// Index of the next line.
    pub next_seq: u64,
    pub items: u64,
    /// Estimated tokens a model would see.
    pub tokens: u64,
    /// Whether the agent compacted its thread in those lines.
    pub compacted: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum WarningKind {
    /// A file or folder cannot be read; it is retried when it changes.
    Unreadable,
    /// The system does not report changes; they are found by scanning.
    WatchDegraded,
    /// A fork or revert was folded without its base, which is missing.
    BaseMissing,
    /// The store refuses what was read; it will be read again.
    StoreRefused,
    /// There are more files than the listing holds.
    TooManyFiles,
}

/// A problem to report to the person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IngestWarning {
    pub kind: WarningKind,
    /// The affected file or folder, if any.
    pub path: Option<String>,
    /// Description; contains no transcript text.
    pub detail: String,
}

/// Receives events of ingestion. Called from the ingest task: must not block.
pub trait IngestEvents: Send + Sync {
    /// A file has new data in the store, or reappeared, even if it is not its thread's current file: the current
    /// file may change without another event.
    fn file_stored(&self, path: &str);
    /// Files have disappeared.
    fn files_gone(&self);
    /// A thread has new lines in the store.
    fn thread_updated(&self, update: &ThreadUpdated);
    fn warning(&self, warning: &IngestWarning);
    /// The database was damaged and moved to `moved_to`; the transcripts are read again.
    fn store_rebuilt(&self, moved_to: &Path);
}
