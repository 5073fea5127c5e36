//! State shared by the handle, the worker and the reading thread.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use longhaul_core::fold::{Fold, FoldError, Source};
use longhaul_store::{
    Database, FileId, FileRow, FileTable, PageTable, ProjectionWriter, StoreError, ThreadTable,
};

use super::cache::Folds;
use super::error::FoldLoadError;
use super::events::IngestEvents;
use super::folding::{Limit, Lineage};
use super::limits::Limits;
use super::progress::Counters;
use crate::archive::Archive;
use crate::discovery::catalogue::Catalogue;
use crate::discovery::databases::Databases;
use crate::discovery::scan::{self, ListedFile, Root};
use crate::discovery::watch::Hints;

/// Reads the clock: Unix milliseconds.
pub type NowMs = Arc<dyn Fn() -> i64 + Send + Sync>;

pub(crate) struct Shared {
    pub(crate) database: Database,
    pub(crate) projection: ProjectionWriter,
    pub(crate) files: FileTable,
    pub(crate) pages: PageTable,
    pub(crate) threads: ThreadTable,
    pub(crate) roots: Vec<Root>,
    pub(crate) limits: Limits,
    pub(crate) now_ms: NowMs,
    pub(crate) events: Arc<dyn IngestEvents>,
    pub(crate) archive: Option<Arc<Archive>>,
    pub(crate) catalogue: Catalogue,
    pub(crate) databases: Databases,
    pub(crate) folds: Folds,
    pub(crate) progress: Counters,
    pub(crate) hints: Arc<Hints>,
    /// Something more urgent is queued: the reading thread stops after its batch.
    pub(crate) stop: Arc<AtomicBool>,
}

impl Shared {
    /// The stored fold of a thread, from the cache or the store.
    pub(crate) async fn fold(
        self: &Arc<Self>,
        thread_id: &str,
    ) -> Result<Option<Arc<Fold>>, FoldLoadError> {
        let (kept, epoch) = self.folds.get(thread_id);
        if kept.is_some() {
            return Ok(kept);
        }
        let Some(thread) = self.threads.get(thread_id).await? else {
            return Ok(None);
        };
        let Some((_, blob)) = self.files.fold(thread.file.file_id).await? else {
            return Ok(None);
        };
        let fold = match Fold::load(&blob) {
            Ok(fold) => Arc::new(fold),
            Err(_) if thread.file.gone_at_ms.is_some() => {
                // The transcript is gone, so it will not be read again, and another version saved its fold: fold
                // it from the archive.
                let end = thread.file.cursor.next_seq;
                match self.fold_until(&thread.file, end).await? {
                    Some(fold) => fold,
                    None => return Ok(None),
                }
            }
            Err(error) => {
                self.catalogue.distrust(&thread.file.path);
                self.hints.hint_all();
                if matches!(error, FoldError::Version { .. }) {
                    return Err(error.into());
                }
                // Saved by this version but unreadable: fold it now instead of waiting for ingestion.
                self.progress.note_broken_fold(&thread.file.path, &error);
                let end = thread.file.cursor.next_seq;
                self.fold_until(&thread.file, end).await?.ok_or(error)?
            }
        };
        self.folds.keep(thread_id, thread.file.file_id, &fold, epoch);
        Ok(Some(fold))
    }

    /// The state of a thread after its line `seq`, recomputed from its transcript.
    pub(crate) async fn fold_as_of(
        self: &Arc<Self>,
        thread_id: &str,
        seq: u64,
    ) -> Result<Option<Arc<Fold>>, FoldLoadError> {
        let Some(thread) = self.threads.get(thread_id).await? else {
            return Ok(None);
        };
        if seq.saturating_add(1) >= thread.file.cursor.next_seq {
            return self.fold(thread_id).await;
        }
        self.fold_until(&thread.file, seq + 1).await
    }

    /// The state after the first `end` lines of a file's lineage, recomputed.
    async fn fold_until(
        self: &Arc<Self>,
        file: &FileRow,
        end: u64,
    ) -> Result<Option<Arc<Fold>>, FoldLoadError> {
        let shared = Arc::clone(self);
        let asked = file.clone();
        let folded = tokio::task::spawn_blocking(move || {
            let lineage = Lineage {
                catalogue: &shared.catalogue,
                archive: shared.archive.as_ref(),
                asked: Some(&asked),
                line_bytes_max: shared.limits.line_bytes_max,
                visited: Vec::new(),
            };
            let limit = Limit { line_end: end, ..Limit::default() };
            lineage.fold_until(Path::new(&asked.path), asked.source, limit)
        });
        // An archive that is still being opened may have it.
        let is_archive_known =
            self.archive.as_ref().is_none_or(|archive| archive.index().is_some());
        let is_gone = file.gone_at_ms.is_some() && is_archive_known;
        match folded.await {
            Ok(Ok(reached)) => Ok(reached.map(|reached| Arc::new(reached.fold))),
            Ok(Err(cause)) if is_gone && cause.kind() == ErrorKind::NotFound => {
                Err(FoldLoadError::Gone { path: file.path.clone() })
            }
            Ok(Err(cause)) => Err(FoldLoadError::Transcript { path: file.path.clone(), cause }),
            Err(_) => Err(FoldLoadError::Interrupted),
        }
    }

    /// Fills the catalogue from the store; files requested by clients may be in it already.
    pub(crate) async fn load(&self) -> Result<(), StoreError> {
        let mut last = FileId(0);
        loop {
            let rows = self.files.after(last).await?;
            let Some(row) = rows.last() else { return Ok(()) };
            last = row.file_id;
            self.catalogue.load(&rows);
        }
    }

    /// Whether a full listing has completed since the start.
    pub(crate) fn is_listed(&self) -> bool {
        self.progress.last_scan_at_ms.load(Ordering::Relaxed) != 0
    }

    /// A thread's files from the store, before the first listing completes: a request for one thread need not wait
    /// for fifty thousand others. Empty if one of them is not in its place, which only a listing can resolve.
    pub(crate) async fn unlisted(&self, thread_id: &str) -> Vec<(PathBuf, Source)> {
        if self.is_listed() {
            return Vec::new();
        }
        let mut rows = self.threads.files(thread_id).await.unwrap_or_default();
        rows.retain(|row| row.gone_at_ms.is_none());
        self.catalogue.load(&rows);
        let files = rows.into_iter().map(|row| (PathBuf::from(row.path), row.source));
        let files: Vec<_> = files.collect();
        let looking = move || files.iter().all(|(path, _)| path.exists()).then_some(files);
        tokio::task::spawn_blocking(looking).await.ok().flatten().unwrap_or_default()
    }

    /// Loads stored entries of files that were deleted, so that none of them counts as new.
    pub(crate) async fn recall(
        &self,
        paths: impl Iterator<Item = &String>,
    ) -> Result<(), StoreError> {
        let strangers = self.catalogue.strangers(paths);
        if !strangers.is_empty() {
            self.catalogue.recall(self.files.gone(&strangers).await?);
        }
        Ok(())
    }

    /// Whether everything in the file is stored, judging by its stat. Blocking.
    pub(crate) fn is_read(&self, path: &Path) -> bool {
        matches!(scan::inspect(&self.roots, path), Ok(Some(file)) if self.is_stored(&file))
    }

    /// Whether the stored state of a file equals the listed one.
    pub(crate) fn is_stored(&self, file: &ListedFile) -> bool {
        let entries = self.catalogue.lock();
        let known = entries.get(file.path.as_str()).and_then(|entry| entry.known.as_ref());
        known.is_some_and(|known| known.is_readable && !known.gone && known.stat == file.stat)
    }

    /// Handles damage in the store: moves it aside and recreates it. Returns `true` if it was damaged. If no new database
    /// can be created now, the worker tries again.
    pub(crate) async fn recover(&self) -> Result<bool, StoreError> {
        let recovered = self.database.recover((self.now_ms)()).await;
        if recovered.is_err() {
            self.hints.hint_all();
        }
        let Some(moved_to) = recovered? else {
            return Ok(false);
        };
        self.folds.clear();
        self.catalogue.clear();
        self.hints.hint_lost();
        self.events.store_rebuilt(&moved_to);
        Ok(true)
    }
}
