//! Transcripts into the archive, and back when they are gone.
//!
//! # Theory of operation
//!
//! *Owns* what is in the archive's folder ([`crate::archive`] has its form). One task, the `archiver`, works in the
//! wake of ingestion: a hint that a transcript has grown wakes it, it waits until ingestion is idle, reads what is new
//! up to the cursor that ingestion reached (`reading`), cuts it into chunks, writes those that are new into a pack and
//! then names them in the index (`publishing`). The lines are compared with the chain of digests that ingestion made:
//! what is archived is what was read.
//!
//! *A crash* leaves a pack without a name, which is removed at the next start; what was not named is archived again.
//!
//! *A transcript that was replaced* keeps its old text beside the new one, a few times. One that moved, or that its
//! agent compressed, has the same text: the chunks are there already.
//!
//! *Upkeep* (`upkeep`): small packs become large ones, what nobody has any more goes, the bounds of the configuration
//! are kept, and packs are read whole now and then. A damaged one is made good from the transcripts that are there.
//!
//! *Forgetting* removes a thread's texts, rewrites every pack that had a chunk of them or names the thread, and notes
//! that the thread is not to be archived (`forgotten`).
//!
//! *Does not* serve what a transcript still says: readers come here only when it does not.

mod archiver;
mod forgotten;
mod keeper;
mod publishing;
mod reading;
mod restore;
mod returning;
mod status;
mod titles;
mod upkeep;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::archive::Archive;
use crate::clock::Clock;
use crate::config::Live;

pub use keeper::ArchiveKeeper;
pub use returning::{ArchivedRows, Returns};
pub use status::{ArchiveWork, ArchivedThread};

use super::hints::Hints;

/// 5 GB, and the share of the disk, whichever is smaller.
const MAX_BYTES_DEFAULT: u64 = 5_000_000_000;
const MAX_DISK_PERCENT: u64 = 2;

/// What the archiver and those who ask about the archive share.
pub(super) struct ArchiveShared {
    archive: Arc<Archive>,
    hints: Arc<Hints>,
    config: Live,
    clock: Clock,
    /// Held by whoever changes what is archived.
    turn: tokio::sync::Mutex<()>,
    progress: ArchiveProgress,
}

#[derive(Debug, Default)]
struct ArchiveProgress {
    behind: AtomicU64,
    is_idle: AtomicBool,
    stalled: Mutex<Option<String>>,
}

impl ArchiveProgress {
    fn set_behind(&self, files: usize) {
        self.behind.store(files as u64, Ordering::Relaxed);
    }

    fn set_stalled(&self, why: Option<String>) {
        *self.stalled.lock().unwrap_or_else(PoisonError::into_inner) = why;
    }

    fn stalled(&self) -> Option<String> {
        self.stalled.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl ArchiveShared {
    /// Whether all that was hinted at is archived.
    fn is_idle(&self) -> bool {
        let mut is_idle = false;
        self.hints.if_none(|| is_idle = self.progress.is_idle.load(Ordering::Relaxed));
        is_idle
    }

    /// Bytes that the archive may have.
    fn max_bytes(&self) -> u64 {
        let set = *self.config.now().archive.max_bytes;
        if set > 0 {
            return set;
        }
        let disk = rustix::fs::statvfs(self.archive.folder());
        let disk = disk.map_or(u64::MAX, |disk| disk.f_blocks.saturating_mul(disk.f_frsize));
        MAX_BYTES_DEFAULT.min(disk / 100 * MAX_DISK_PERCENT)
    }
}
