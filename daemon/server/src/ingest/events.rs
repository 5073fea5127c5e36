//! What ingesting tells the rest of the daemon. Hints: the store is the truth.

use std::path::Path;

/// A thread has new lines in the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadUpdated {
    pub thread_id: String,
    pub path: String,
    /// First byte of it that is not folded.
    pub offset: u64,
    /// Index of the next line.
    pub next_seq: u64,
    pub items: u64,
    /// Estimated tokens a model would see.
    pub tokens: u64,
    /// Whether its agent has compacted it among those lines.
    pub compacted: bool,
}

/// Why a warning is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum WarningKind {
    /// A file or folder cannot be read; it is tried again when it changes.
    Unreadable,
    /// Changes are not reported by the system; they are found by scanning.
    WatchDegraded,
    /// A fork or revert whose base is not there was folded without it.
    BaseMissing,
    /// The store refuses what was read; it is read again later.
    StoreRefused,
    /// There are more files than are listed.
    TooManyFiles,
}

/// Something a person may want to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IngestWarning {
    pub kind: WarningKind,
    /// Which file or folder, if one.
    pub path: Option<String>,
    /// In words; holds no transcript text.
    pub detail: String,
}

/// Who wants to know. Called from the ingest task: must not block.
pub trait IngestEvents: Send + Sync {
    /// A file has something new in the store, or is back, whether or not it is its thread's current one: that may change
    /// without another word.
    fn file_stored(&self, path: &str);
    /// A thread has new lines in the store.
    fn thread_updated(&self, update: &ThreadUpdated);
    /// Something went less than well.
    fn warning(&self, warning: &IngestWarning);
    /// The database was damaged and moved to `moved_to`; the transcripts are read again.
    fn store_rebuilt(&self, moved_to: &Path);
}
