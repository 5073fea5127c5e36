//! Finds, reads and folds transcripts, and keeps the store current.
//!
//! # Theory of operation
//!
//! *Owns* the reading of transcripts; never writes, renames or truncates one. One task (`worker`) decides what to
//! read next; one blocking thread at a time reads and folds; the task stores the batches that thread sends. So
//! there is one reader and one writer, with a queue of two batches between them.
//!
//! *Steps.*
//! 1. [`crate::discovery`] lists the files that may have changed: from a hint, or from a full listing every
//!    [`Limits::scan_period`]. Newest first; a file that a client waits for ([`Ingest::sync`]) before all others.
//! 2. `catch_up` opens the file ([`crate::transcript`]), and `file_change` checks whether the part already read is
//!    unchanged. If it changed, a new *generation* starts from nothing. `folding` folds the lines, on top of
//!    another transcript if the file continues one.
//! 3. Every few MiB, the folded data (rows, fold, cursor, and the host's view of touched files from
//!    `touched_files`) goes into a `batch`, small files together, and `commit` stores it in one transaction.
//!
//! *At a start* the catalogue is filled from the store and then by a listing. A request for one thread before that
//! uses the store's rows: its files are read before fifty thousand others are listed.
//!
//! *A crash* before the transaction: the same lines are read again, to the same rows. After it: the cursor is past
//! them. An interrupted pass leaves a stat that no listing shows, so it is resumed. The state after any batch
//! equals that of reading the file once from its start.
//!
//! *A change in the middle* of a long file that also grew is found by `recheck` once the file stops growing; one that
//! keeps size and time, by its hourly rounds.
//!
//! *Bad input* is never an error of the file: a torn last line waits, an unknown or malformed line is counted by
//! the fold, an over-long one is skipped in the stream. A file that cannot be read is reported and retried when it
//! or its permissions change, and periodically. A deleted file keeps its rows, marked gone, and takes no memory; a
//! moved file keeps its id.
//!
//! *A new store*, or one from a backup, lacks transcripts that are gone. When nothing else is to be read, their archived
//! texts are folded (`worker::lost`), as files that are gone.
//!
//! *If the store refuses a batch* (full disk, lock), it is retried with growing pauses; a damaged database is
//! moved aside by the store and rebuilt from the transcripts.
//!
//! *Does not* interpret lines (`longhaul_core::fold` does), or know the wire.

mod batch;
mod cache;
mod catch_up;
mod commit;
mod error;
mod events;
mod file_change;
mod folding;
mod limits;
mod progress;
mod recheck;
mod shared;
mod sync_params;
#[cfg(test)]
mod tests;
mod touched_files;
mod worker;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use longhaul_core::fold::{Fold, Source};
use longhaul_store::{Store, StoreError};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

pub use crate::discovery::{Counts, Root};
pub use error::{FoldLoadError, SyncError};
pub use events::{IngestEvents, IngestWarning, ThreadUpdated, WarningKind};
pub(crate) use file_change::{Compared, Walk, compare};
pub(crate) use folding::may_continue;
pub use limits::Limits;
pub use progress::{MissingBase, Progress};
pub use shared::NowMs;
pub use sync_params::{SyncPoint, SyncResult, SyncTarget};

use crate::archive::Archive;
use crate::discovery::catalogue::Catalogue;
use crate::discovery::databases::Databases;
use crate::discovery::scan::{self, Outside};
use crate::discovery::watch::Hints;
use crate::transcript::Presence;
use shared::Shared;
use worker::{Reply, Request, Worker};

const REQUESTS_MAX: usize = 64;

/// How long a call waits until a thread that it began is listed. Its transcript is on disk in any case.
pub(crate) const LISTED_WITHIN: Duration = Duration::from_millis(1_500);

/// Maximum files of one thread that a sync catches up.
const SYNC_FILES_MAX: usize = 8;

/// Polling interval of a sync that waits for bytes not yet written.
const SYNC_POLL: Duration = Duration::from_millis(50);

/// After a start with more files queued than this, no caller waits for them; and the delay before the first check.
///
/// # Source
/// Chosen: a busy week of files is read within a second; a listing that takes longer has very many.
const MUCH_FILES: u64 = 1_024;
const MUCH_AFTER: Duration = Duration::from_millis(80);

const SETTLE_POLL: Duration = Duration::from_millis(10);

pub struct IngestDeps {
    pub store: Store,
    pub roots: Vec<Root>,
    pub events: Arc<dyn IngestEvents>,
    /// Source of the lines of deleted transcripts.
    pub archive: Option<Arc<Archive>>,
    pub now_ms: NowMs,
    pub limits: Limits,
}

pub struct Ingest {
    shared: Arc<Shared>,
    requests: mpsc::Sender<Request>,
    cancel: CancellationToken,
    ended: CancellationToken,
    task: Mutex<Option<JoinHandle<()>>>,
    /// A caller has waited for the first reading.
    has_waited: AtomicBool,
}

impl Ingest {
    /// Starts ingestion in the background and returns at once.
    pub fn start(deps: IngestDeps) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let shared = Arc::new(Shared {
            database: deps.store.database,
            projection: deps.store.projection,
            files: deps.store.files,
            pages: deps.store.pages,
            threads: deps.store.threads,
            roots: deps.roots,
            limits: deps.limits,
            now_ms: deps.now_ms,
            events: deps.events,
            archive: deps.archive,
            catalogue: Catalogue::default(),
            databases: Databases::default(),
            folds: cache::Folds::default(),
            progress: progress::Counters::default(),
            hints: Arc::new(Hints::new(Arc::clone(&stop))),
            stop,
        });
        shared.progress.is_catching_up.store(true, Ordering::Relaxed);
        let (requests, receiver) = mpsc::channel(REQUESTS_MAX);
        let cancel = CancellationToken::new();
        let worker = Worker::new(Arc::clone(&shared), receiver, cancel.clone());
        let ended = CancellationToken::new();
        let guard = ended.clone().drop_guard();
        let task = tokio::spawn(async move {
            // Dropped however the worker ends, including by a panic.
            let _guard = guard;
            worker.run().await;
        });
        let (task, has_waited) = (Mutex::new(Some(task)), AtomicBool::new(false));
        Self { shared, requests, cancel, ended, task, has_waited }
    }

    /// Waits until the worker has ended: after [`Ingest::stop`], or because of a bug.
    pub async fn ended(&self) {
        self.ended.cancelled().await;
    }

    /// Stops after the current batch and waits for it.
    pub async fn stop(&self) {
        self.cancel.cancel();
        self.shared.stop.store(true, Ordering::Relaxed);
        let task = self.task.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(task) = task
            && let Err(error) = task.await
        {
            tracing::error!(%error, "ingest task failed");
        }
    }

    /// Catches up a thread or file before all other files. Returns when everything written before the call, and
    /// everything up to `min_offset` (bytes of the file), is stored.
    pub async fn sync(
        &self,
        target: SyncTarget,
        min_offset: Option<u64>,
        timeout: Duration,
    ) -> Result<SyncResult, SyncError> {
        self.sync_to(target, SyncPoint { offset: min_offset, seq: None }, timeout).await
    }

    /// Like [`Ingest::sync`], up to an offset or a line that may not be written yet.
    pub async fn sync_to(
        &self,
        target: SyncTarget,
        reach: SyncPoint,
        timeout: Duration,
    ) -> Result<SyncResult, SyncError> {
        let reached = async {
            loop {
                let synced = match &target {
                    SyncTarget::Path(path) => self.sync_path(path).await?,
                    SyncTarget::Thread(thread_id) => self.sync_thread(thread_id).await?,
                };
                if reach.is_met_by(&synced) {
                    return Ok(synced);
                }
                tokio::time::sleep(SYNC_POLL).await;
            }
        };
        tokio::time::timeout(timeout, reached).await.unwrap_or(Err(SyncError::Deadline))
    }

    /// Lists everything now and waits until it is all stored.
    pub async fn settle(&self, timeout: Duration) -> Result<(), SyncError> {
        let settled = async {
            self.scan().await?;
            while self.shared.progress.is_catching_up.load(Ordering::Relaxed) {
                tokio::time::sleep(SETTLE_POLL).await;
            }
            Ok(())
        };
        tokio::time::timeout(timeout, settled).await.unwrap_or(Err(SyncError::Deadline))
    }

    async fn sync_path(&self, path: &Path) -> Result<SyncResult, SyncError> {
        let shown = path.display().to_string();
        let (shared, wanted) = (Arc::clone(&self.shared), path.to_owned());
        let looked = tokio::task::spawn_blocking(move || scan::inspect(&shared.roots, &wanted));
        let file = match looked.await.map_err(|_| SyncError::Stopping)? {
            Err(Outside) => return Err(SyncError::Outside(shown)),
            Ok(None) => return Err(SyncError::NotFound(shown)),
            Ok(Some(file)) => file,
        };
        match self.catch_up(PathBuf::from(&file.path)).await {
            // It existed a moment ago; the caller should not be told to wait for it.
            Err(SyncError::Failed(_)) if is_gone(&file.path).await => {
                return Err(SyncError::NotFound(shown));
            }
            caught_up => caught_up?,
        }
        let synced = {
            let entries = self.shared.catalogue.lock();
            let known = entries.get(file.path.as_str()).and_then(|entry| entry.known.as_ref());
            let known = known.ok_or(SyncError::NotFound(shown))?;
            SyncResult {
                thread_id: known.thread_id.as_deref().map(str::to_owned),
                path: file.path,
                offset: known.cursor.offset,
                next_seq: known.cursor.next_seq,
            }
        };
        if let Some(thread_id) = &synced.thread_id {
            self.read_lineage(thread_id, Vec::new()).await?;
        }
        Ok(synced)
    }

    async fn sync_thread(&self, thread_id: &str) -> Result<SyncResult, SyncError> {
        self.catch_up_thread(thread_id).await?;
        let thread = self.shared.threads.get(thread_id).await;
        let thread = thread.map_err(|error| SyncError::Failed(error.to_string()))?;
        // While the store refuses writes, the thread may be one that was read but not stored.
        let unknown =
            || self.shared.progress.stalled().unwrap_or(SyncError::NotFound(thread_id.to_owned()));
        let thread = thread.ok_or_else(unknown)?;
        Ok(SyncResult {
            thread_id: Some(thread.thread_id),
            path: thread.file.path,
            offset: thread.file.cursor.offset,
            next_seq: thread.file.cursor.next_seq,
        })
    }

    /// Catches up a thread like [`Ingest::sync`], without returning its position.
    pub async fn read_thread(&self, thread_id: &str, timeout: Duration) -> Result<(), SyncError> {
        let read = async {
            let files = self.shared.unlisted(thread_id).await;
            if files.is_empty() {
                return self.catch_up_thread(thread_id).await;
            }
            self.read_lineage(thread_id, files).await
        };
        tokio::time::timeout(timeout, read).await.unwrap_or(Err(SyncError::Deadline))
    }

    /// Reads what was written to a thread's files since they were last read.
    async fn catch_up_thread(&self, thread_id: &str) -> Result<(), SyncError> {
        let mut files = self.shared.catalogue.of_thread(thread_id);
        if files.is_empty() {
            self.scan().await?;
            files = self.shared.catalogue.of_thread(thread_id);
        }
        self.read_lineage(thread_id, files).await
    }

    /// Reads the files of a thread, then those that it continues: its history has the items of all.
    async fn read_lineage(
        &self,
        thread_id: &str,
        files: Vec<(PathBuf, Source)>,
    ) -> Result<(), SyncError> {
        self.read_files(files).await?;
        let mut threads = vec![thread_id.to_owned()];
        while may_continue(threads.len()) {
            let base = threads.last().and_then(|last| self.shared.catalogue.base_of_thread(last));
            let Some(base) = base.filter(|base| !threads.contains(base)) else { break };
            self.read_files(self.shared.catalogue.of_thread(&base)).await?;
            threads.push(base);
        }
        Ok(())
    }

    async fn read_files(&self, mut files: Vec<(PathBuf, Source)>) -> Result<(), SyncError> {
        files.truncate(SYNC_FILES_MAX);
        let shared = Arc::clone(&self.shared);
        // Usually nothing is new: skip the worker, so that its current reading is not interrupted.
        let unread = tokio::task::spawn_blocking(move || {
            let unread = files.into_iter().filter(|(path, _)| !shared.is_read(path));
            unread.collect::<Vec<_>>()
        });
        for (path, _) in unread.await.map_err(|_| SyncError::Stopping)? {
            // One of several files may be unreadable or just moved; the thread may still be found.
            if let Err(error @ (SyncError::Stopping | SyncError::DiskFull(_))) =
                self.catch_up(path).await
            {
                return Err(error);
            }
        }
        Ok(())
    }

    async fn catch_up(&self, path: PathBuf) -> Result<(), SyncError> {
        self.ask(|reply| Request::File(path, reply)).await
    }

    async fn ask(&self, request: impl FnOnce(Reply) -> Request) -> Result<(), SyncError> {
        let (reply, done) = oneshot::channel();
        self.shared.stop.store(true, Ordering::Relaxed);
        let sent = self.requests.send(request(reply)).await;
        self.shared.stop.store(true, Ordering::Relaxed);
        sent.map_err(|_| SyncError::Stopping)?;
        done.await.unwrap_or(Err(SyncError::Stopping))
    }

    /// Handles damage found by a reader of the store: moves the database aside and rebuilds it. Returns `false` if
    /// there is no damage.
    pub async fn recover(&self) -> Result<bool, StoreError> {
        let is_damaged = self.shared.recover().await?;
        if is_damaged {
            self.shared.hints.hint_all();
        }
        Ok(is_damaged)
    }

    /// Waits until nothing is left to read.
    pub async fn idle(&self) {
        self.wait_until(|progress| !progress.is_catching_up.load(Ordering::Relaxed)).await;
    }

    /// Waits until the files present at start are read, for at most `within` and only for the first caller, so
    /// that a request right after a start does not see an empty daemon. Does not wait if there are too many files.
    pub async fn wait_for_first_read(&self, within: Duration) {
        if self.has_waited.swap(true, Ordering::Relaxed) {
            return;
        }
        let much = async {
            tokio::time::sleep(MUCH_AFTER).await;
            let progress = &self.shared.progress;
            while progress.last_scan_at_ms.load(Ordering::Relaxed) != 0
                && progress.queued_files.load(Ordering::Relaxed) <= MUCH_FILES
            {
                tokio::time::sleep(SETTLE_POLL).await;
            }
        };
        // The next call lists what was not read by then.
        tokio::select! {
            _ = tokio::time::timeout(within, self.first_read()) => {}
            () = much => {}
        }
    }

    /// Waits until the files present at start are read and nothing is left to read.
    pub async fn first_read(&self) -> Result<(), SyncError> {
        self.wait_until(|progress| {
            let is_read = progress.last_scan_at_ms.load(Ordering::Relaxed) != 0
                && !progress.is_catching_up.load(Ordering::Relaxed);
            is_read || progress.stalled().is_some()
        })
        .await;
        self.shared.progress.stalled().map_or(Ok(()), Err)
    }

    async fn wait_until(&self, is_so: impl Fn(&progress::Counters) -> bool) {
        loop {
            let mut idle = std::pin::pin!(self.shared.progress.idle.notified());
            // Subscribe before checking, so that no notification in between is missed.
            idle.as_mut().enable();
            if is_so(&self.shared.progress) {
                return;
            }
            idle.await;
        }
    }

    /// Schedules an early recheck of a transcript whose stored lines no longer match the file.
    pub fn doubt(&self, path: &str) {
        self.shared.hints.doubt(Path::new(path));
    }

    pub fn progress(&self) -> Progress {
        self.shared.progress.snapshot(&self.shared.roots, &self.shared.catalogue)
    }

    /// The folded state of a thread; `None` for an unknown thread.
    ///
    /// # Errors
    /// The store cannot be read, or another version saved the state and it is being folded again.
    pub async fn fold(&self, thread_id: &str) -> Result<Option<Arc<Fold>>, FoldLoadError> {
        self.shared.fold(thread_id).await
    }

    /// Folds archived texts of transcripts that are gone, where the store has nothing of them: called when the archive's
    /// index is open.
    pub fn find_lost(&self) {
        self.shared.hints.hint_lost();
    }

    /// Lists all files now. When this returns, missing ones are marked as gone, and no pass that began before still runs.
    pub async fn scan(&self) -> Result<(), SyncError> {
        self.ask(Request::Scan).await
    }

    /// Deletes what the threads that continue `thread_id` have of it. They are folded again soon, without it if nothing has
    /// its lines by now.
    pub async fn disown(&self, thread_id: &str) -> Result<(), SyncError> {
        self.ask(|reply| Request::Disown(thread_id.to_owned(), reply)).await
    }

    pub fn transcripts(&self, thread_id: &str) -> Vec<(PathBuf, Source)> {
        self.shared.catalogue.of_thread(thread_id)
    }

    /// Drops cached folds; the next read loads from the store.
    pub fn forget_folds(&self) {
        self.shared.folds.clear();
    }

    /// The state of a thread after its line `seq`. Reads the transcript up to there, so its cost grows with `seq`.
    pub async fn fold_as_of(
        &self,
        thread_id: &str,
        seq: u64,
    ) -> Result<Option<Arc<Fold>>, FoldLoadError> {
        self.shared.fold_as_of(thread_id, seq).await
    }
}

async fn is_gone(path: &str) -> bool {
    let path = PathBuf::from(path);
    tokio::task::spawn_blocking(move || Presence::default().is_gone(&path)).await.unwrap_or(false)
}
