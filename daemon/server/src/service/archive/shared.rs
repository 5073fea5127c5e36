//! The state shared by the archiver and the readers of the archive.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::archive::{Archive, ForgottenThreads};
use crate::clock::Clock;
use crate::config::Live;
use crate::service::error::ServiceError;
use crate::service::hints::Hints;

/// Bytes of text in a batch, and thus in a pack: the work lost in a crash, and the memory used.
///
/// # Source
/// Measured with zstd's command line on the chunks of 73 MB of transcripts: packs of 4 MiB take 12.5 percent of the
/// text, of 8 MiB 12.2, of 16 MiB 10.7. The archive of these transcripts has 11.2 percent, its index included.
pub(super) const BATCH_BYTES: u64 = 16 << 20;

/// 5 GB, and the share of the disk, whichever is smaller.
const MAX_BYTES_DEFAULT: u64 = 5_000_000_000;
const MAX_DISK_PERCENT: u64 = 2;

pub(in crate::service) struct ArchiveShared {
    pub(super) archive: Arc<Archive>,
    pub(super) hints: Arc<Hints>,
    pub(super) config: Live,
    pub(super) clock: Clock,
    /// Locked while the archived texts change.
    pub(super) turn: tokio::sync::Mutex<()>,
    pub(super) progress: ArchiveProgress,
}

#[derive(Debug, Default)]
pub(super) struct ArchiveProgress {
    pub(super) behind: AtomicU64,
    pub(super) is_idle: AtomicBool,
    /// Whether text that could not be redacted is left. It is tried again after the hourly check and at a start.
    pub(super) is_redaction_blocked: AtomicBool,
    stalled: Mutex<Option<String>>,
}

impl ArchiveProgress {
    pub(super) fn set_behind(&self, files: usize) {
        self.behind.store(files as u64, Ordering::Relaxed);
    }

    pub(super) fn set_stalled(&self, why: Option<String>) {
        *self.stalled.lock().unwrap_or_else(PoisonError::into_inner) = why;
    }

    pub(super) fn stalled(&self) -> Option<String> {
        self.stalled.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl ArchiveShared {
    pub(in crate::service) fn new(
        archive: Arc<Archive>,
        hints: Arc<Hints>,
        config: Live,
        clock: Clock,
    ) -> Self {
        let (turn, progress) = (tokio::sync::Mutex::default(), ArchiveProgress::default());
        Self { archive, hints, config, clock, turn, progress }
    }

    /// Runs work that changes the archive, in its turn. It goes on if the caller is cancelled: what blocks cannot be stopped,
    /// and must not meet another writer.
    pub(super) async fn in_turn<T: Send + 'static, W>(
        self: &Arc<Self>,
        work: impl FnOnce(Arc<Self>) -> W + Send + 'static,
    ) -> Result<T, ServiceError>
    where
        W: Future<Output = Result<T, ServiceError>> + Send,
    {
        let shared = Arc::clone(self);
        let task = tokio::spawn(async move {
            let _turn = shared.turn.lock().await;
            work(Arc::clone(&shared)).await
        });
        task.await?
    }

    /// Runs blocking work on the archive's folder.
    pub(super) async fn in_folder<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Path) -> io::Result<T> + Send + 'static,
    ) -> Result<T, ServiceError> {
        let folder = self.archive.folder().to_owned();
        let result = tokio::task::spawn_blocking(move || work(&folder)).await?;
        result.map_err(|error| ServiceError::file(self.archive.folder(), error))
    }

    pub(super) async fn forgotten(&self) -> Result<ForgottenThreads, ServiceError> {
        self.in_folder(ForgottenThreads::read).await
    }

    pub(super) fn is_idle(&self) -> bool {
        let mut is_idle = false;
        self.hints.if_none(|| is_idle = self.progress.is_idle.load(Ordering::Relaxed));
        is_idle
    }

    /// The maximum size of the archive, in bytes.
    pub(super) fn max_bytes(&self) -> u64 {
        let set = *self.config.now().archive.max_bytes;
        if set > 0 {
            return set;
        }
        let disk = rustix::fs::statvfs(self.archive.folder());
        let disk = disk.map_or(u64::MAX, |disk| disk.f_blocks.saturating_mul(disk.f_frsize));
        default_bound(disk)
    }
}

/// The maximum size of an archive on a disk of this size.
fn default_bound(disk_bytes: u64) -> u64 {
    MAX_BYTES_DEFAULT.min(disk_bytes / 100 * MAX_DISK_PERCENT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_default_an_archive_takes_five_gigabytes_or_two_percent_of_a_smaller_disk() {
        const GB: u64 = 1_000_000_000;
        assert_eq!(default_bound(100 * GB), 2 * GB);
        assert_eq!(default_bound(250 * GB), 5 * GB);
        assert_eq!(default_bound(4_000 * GB), 5 * GB);
        assert_eq!(default_bound(u64::MAX), 5 * GB, "the disk's size is unknown");
        assert_eq!(default_bound(99), 0);
    }
}
