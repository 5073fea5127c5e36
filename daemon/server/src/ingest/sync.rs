//! What a sync is asked for, and what it answers.

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
    /// Up to and with the line of this seq.
    pub seq: Option<u64>,
}

/// How far a thread is after [`super::Ingest::sync`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Synced {
    /// The thread; `None` for a file without a complete line.
    pub thread_id: Option<String>,
    /// The file that was asked for, or the thread's current one.
    pub path: String,
    /// First byte of it that is not folded: a torn last line is not.
    pub offset: u64,
    /// Index of the next line; the last folded one is the one before.
    pub next_seq: u64,
}

impl SyncPoint {
    pub(super) fn is_met_by(self, synced: &Synced) -> bool {
        self.offset.is_none_or(|offset| synced.offset >= offset)
            && self.seq.is_none_or(|seq| synced.next_seq > seq)
    }
}
