//! Progress of ingestion, for status.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use longhaul_core::fold::FoldError;
use longhaul_protocol::daemon::SourceStatus;
use tokio::time::Instant;

use super::error::SyncError;
use crate::discovery::catalogue::{Catalogue, Counts, Entry, KnownFile};
use crate::discovery::scan::Root;

const ERRORS_MAX: usize = 32;

#[derive(Debug, Clone, Default)]
pub struct Progress {
    /// Files are being read or queued.
    pub is_catching_up: bool,
    pub queued_files: u64,
    /// Bytes of text folded since the start.
    pub bytes_done: u64,
    /// `bytes_done` plus the bytes queued.
    pub bytes_total: u64,
    /// Unix milliseconds of the last full listing; 0 before the first.
    pub last_scan_at_ms: i64,
    /// Lines of all known files, deleted ones included.
    pub counts: Counts,
    /// Forks whose base is missing.
    pub bases_missing: u64,
    /// One of them.
    pub missing_base: Option<MissingBase>,
    /// Files and folders that cannot be read, with the reason; the first few.
    pub errors: Vec<(String, String)>,
    /// Why the store refuses what was read; `None` if it does not.
    pub stalled: Option<String>,
    /// Saved folds that could not be loaded since the start.
    pub folds_broken: u64,
    /// Changes are found by scanning only.
    pub is_watch_degraded: bool,
    /// One entry for each configured folder.
    pub sources: Vec<SourceStatus>,
}

/// A fork whose base is missing; the first by its thread's id.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct MissingBase {
    pub thread_id: String,
    /// The thread that it continues.
    pub base: String,
}

#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) is_catching_up: AtomicBool,
    /// Notified whenever nothing is left to read or nothing can be stored.
    pub(crate) idle: tokio::sync::Notify,
    pub(crate) queued_files: AtomicU64,
    pub(crate) queued_bytes: AtomicU64,
    pub(crate) bytes_done: AtomicU64,
    pub(crate) last_scan_at_ms: AtomicI64,
    folds_broken: AtomicU64,
    pub(crate) is_watch_degraded: AtomicBool,
    pub(crate) folders: Mutex<Vec<(String, String)>>,
    stalled: Mutex<Option<SyncError>>,
    totals: Mutex<Option<(u64, Instant, Totals)>>,
}

/// How long totals stay valid while files are being read: adding up fifty thousand takes tens of milliseconds.
const TOTALS_HOLD: Duration = Duration::from_secs(1);

/// Sums over the catalogue. Cached while its revision is unchanged, and for a second while files are being read,
/// since status is requested often and there may be fifty thousand files.
#[derive(Debug, Clone, Default)]
struct Totals {
    counts: Counts,
    bases_missing: u64,
    missing_base: Option<MissingBase>,
    errors: Vec<(String, String)>,
    sources: Vec<SourceStatus>,
}

impl Counters {
    pub(crate) fn add_bytes(&self, bytes: u64) {
        self.bytes_done.fetch_add(bytes, Ordering::Relaxed);
        let left = self.queued_bytes.load(Ordering::Relaxed).saturating_sub(bytes);
        self.queued_bytes.store(left, Ordering::Relaxed);
    }

    /// Counts a saved fold that cannot be loaded and is rebuilt from its transcript.
    pub(crate) fn note_broken_fold(&self, path: &str, error: &FoldError) {
        tracing::warn!(path, %error, "cannot load a saved state: rebuilding it");
        self.folds_broken.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn set_stalled(&self, reason: Option<SyncError>) {
        *self.stalled.lock().unwrap_or_else(PoisonError::into_inner) = reason;
        self.idle.notify_waiters();
    }

    /// Why the store refuses what was read; `None` if it does not.
    pub(crate) fn stalled(&self) -> Option<SyncError> {
        self.stalled.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn set_unreadable_folders(&self, folders: Vec<(String, String)>) {
        *self.folders.lock().unwrap_or_else(PoisonError::into_inner) = folders;
    }

    pub(crate) fn snapshot(&self, roots: &[Root], catalogue: &Catalogue) -> Progress {
        let number = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let bytes_done = number(&self.bytes_done);
        let totals = self.totals(roots, catalogue);
        let mut errors = self.folders.lock().unwrap_or_else(PoisonError::into_inner).clone();
        errors.extend(totals.errors);
        errors.truncate(ERRORS_MAX);
        Progress {
            is_catching_up: self.is_catching_up.load(Ordering::Relaxed),
            queued_files: number(&self.queued_files),
            bytes_done,
            bytes_total: bytes_done + number(&self.queued_bytes),
            last_scan_at_ms: self.last_scan_at_ms.load(Ordering::Relaxed),
            counts: totals.counts,
            bases_missing: totals.bases_missing,
            missing_base: totals.missing_base,
            errors,
            stalled: self.stalled().map(|why| why.to_string()),
            folds_broken: number(&self.folds_broken),
            is_watch_degraded: self.is_watch_degraded.load(Ordering::Relaxed),
            sources: totals.sources,
        }
    }

    fn totals(&self, roots: &[Root], catalogue: &Catalogue) -> Totals {
        let mut kept = self.totals.lock().unwrap_or_else(PoisonError::into_inner);
        let revision = catalogue.revision();
        let is_reading = self.is_catching_up.load(Ordering::Relaxed);
        if let Some((of, at, totals)) = kept.as_ref()
            && (*of == revision || (is_reading && at.elapsed() < TOTALS_HOLD))
        {
            return totals.clone();
        }
        let mut totals = Totals::default();
        let mut folders: Vec<FolderTotals<'_>> = roots.iter().map(FolderTotals::of).collect();
        let entries = catalogue.lock();
        totals.counts = entries.gone_counts();
        for (path, entry) in entries.iter() {
            folders.iter_mut().for_each(|folder| folder.add(path, entry));
            if let Some(known) = &entry.known {
                totals.counts.add(known.counts);
                totals.note_base(known);
            }
            if let Some(failed) = &entry.failed {
                totals.errors.push((path.to_string(), failed.why.clone()));
            }
        }
        drop(entries);
        totals.sources = folders.into_iter().map(FolderTotals::end).collect();
        totals.errors.sort();
        totals.errors.truncate(ERRORS_MAX);
        *kept = Some((revision, Instant::now(), totals.clone()));
        totals
    }
}

impl Totals {
    fn note_base(&mut self, known: &KnownFile) {
        if !known.is_missing_base() {
            return;
        }
        self.bases_missing += 1;
        if let (Some(thread_id), Some(base)) = (&known.thread_id, &known.base_thread) {
            let found = MissingBase { thread_id: thread_id.to_string(), base: base.to_string() };
            self.missing_base = self.missing_base.take().into_iter().chain([found]).min();
        }
    }
}

/// Sums over the files of one folder.
struct FolderTotals<'a> {
    root: &'a Root,
    /// Its resolved path with a trailing slash; `None` if it does not exist.
    top: Option<String>,
    files: u64,
    bytes: u64,
    /// Digests of thread ids.
    threads: HashSet<u64>,
}

impl<'a> FolderTotals<'a> {
    fn of(root: &'a Root) -> Self {
        let top = root.resolved().map(|top| format!("{}/", top.to_string_lossy()));
        Self { root, top, files: 0, bytes: 0, threads: HashSet::new() }
    }

    fn add(&mut self, path: &str, entry: &Entry) {
        let is_below = self.top.as_ref().is_some_and(|top| path.starts_with(top.as_str()));
        let Some(stat) = entry.listed.filter(|_| is_below) else { return };
        self.files += 1;
        self.bytes += stat.size;
        let thread_id = entry.known.as_ref().and_then(|known| known.thread_id.as_deref());
        self.threads.extend(thread_id.map(|id| xxhash_rust::xxh3::xxh3_64(id.as_bytes())));
    }

    fn end(self) -> SourceStatus {
        SourceStatus {
            source: self.root.source.name().to_owned(),
            root: self.root.path.display().to_string(),
            exists: self.top.is_some(),
            files: self.files,
            threads: self.threads.len() as u64,
            bytes: self.bytes,
        }
    }
}
