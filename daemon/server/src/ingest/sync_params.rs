//! Parameters and result of a sync.

use std::path::PathBuf;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SyncTarget {
    /// All files of a thread.
    Thread(String),
    Path(PathBuf),
}

/// How far a file must be read at least.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SyncPoint {
    pub offset: Option<u64>,
    /// Up to and including the line with this seq.
    pub seq: Option<u64>,
}

/// Position of a thread after [`super::Ingest::sync`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyncResult {
    /// The thread; `None` for a file without a complete line.
    pub thread_id: Option<String>,
    /// The requested file, or the thread's current one.
    pub path: String,
    /// First byte of the file that is not folded; a torn last line is not folded.
    pub offset: u64,
    /// Index of the next line, one after the last folded line.
    pub next_seq: u64,
}

impl SyncPoint {
    pub(super) fn is_met_by(self, synced: &SyncResult) -> bool {
        self.offset.is_none_or(|offset| synced.offset >= offset)
            && self.seq.is_none_or(|seq| synced.next_seq > seq)
    }
}
