//! Transcripts into the store: found, read, folded, kept up with.
//!
//! # Theory of operation
//!
//! *Owns* the reading of transcripts. Nothing here ever writes, renames or truncates one. One task
//! (`worker`) decides what is read next; one blocking thread at a time reads and folds; the task stores
//! what it hands over. So there is one reader and one writer, and a queue of two batches between them.
//!
//! *Steps.*
//! 1. [`crate::discovery`] says which files may have changed: by a hint, or by a listing every
//!    [`Limits::scan_period`]. The newest come first; a file that a client waits for ([`Ingest::sync`])
//!    before all.
//! 2. `catch_up` opens the file ([`crate::transcript`]) and lets `identity` judge whether what was read
//!    still stands. If not, a new *generation* starts from nothing. `folding` folds its lines, on top of
//!    another transcript where the file continues one.
//! 3. Every few MiB what was folded (rows, fold, cursor and what the host saw of touched files, by
//!    `observe`) goes into a `batch`, small files together, and `commit` stores it in one transaction.
//!
//! *At a start* the catalogue is filled from the store and then by a listing. Who asks for one thread before that is served by
//! the store's rows of it: its files are read before fifty thousand others are listed.
//!
//! *A crash* before the transaction: the same lines are read again, to the same rows. After it: the
//! cursor stands behind them. A pass that was cut short leaves a stat that no listing shows, so it is
//! taken up. The state after any batch equals that of reading the file once from its start.
//!
//! *A change in the middle* of a long file that grew at the same time is found when it rests, by `recheck`, and one that
//! leaves size and time as they were by its hourly rounds.
//!
//! *Bad input* is never an error of the file: a torn last line waits, an unknown or malformed line is
//! counted by the fold, an over-long one is skipped in the stream. A file that cannot be read is
//! reported and tried again when it or its rights change, and now and then. A file that is deleted keeps its rows, marked gone, and
//! no place in memory; one that moved keeps its number.
//!
//! *A store that refuses* (full disk, lock) is tried again with growing pauses; a damaged one is moved
//! aside by the store and filled again from the transcripts.
//!
//! *Does not* interpret lines (that is `longhaul_core::fold`), or know the wire.

mod batch;
mod cache;
mod catch_up;
mod commit;
mod error;
mod events;
mod folding;
mod identity;
mod limits;
mod observe;
mod progress;
mod recheck;
mod shared;
mod sync;
#[cfg(test)]
mod tests;
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
pub(crate) use identity::{Compared, Walk, compare};
pub use limits::Limits;
pub use progress::{Progress, SourceProgress};
pub use shared::NowMs;
pub use sync::{SyncPoint, SyncTarget, Synced};

use crate::archive::Archive;
use crate::discovery::catalogue::Catalogue;
use crate::discovery::databases::Databases;
use crate::discovery::scan::{self, Outside};
use crate::discovery::watch::Hints;
use shared::Shared;
use worker::{Request, Worker};

/// Requests of clients that wait to be taken up.
const REQUESTS_MAX: usize = 64;

/// Files of one thread that a sync catches up.
const SYNC_FILES_MAX: usize = 8;

/// How often a sync that waits for bytes not yet written looks again.
const SYNC_POLL: Duration = Duration::from_millis(50);

/// Files that wait after a start for which nobody is kept waiting, and when that is looked at first.
///
/// # Source
/// Chosen: a busy person's files of a week are read in a second; a listing that takes longer is of very many.
const MUCH_FILES: u64 = 1_024;
const MUCH_AFTER: Duration = Duration::from_millis(80);

/// How often [`Ingest::settle`] looks whether the queue is empty.
const SETTLE_POLL: Duration = Duration::from_millis(10);

pub struct IngestDeps {
    pub store: Store,
    pub roots: Vec<Root>,
    pub events: Arc<dyn IngestEvents>,
    /// Where the lines of a transcript that is gone are read.
    pub archive: Option<Arc<Archive>>,
    /// The clock, Unix milliseconds.
    pub now_ms: NowMs,
    pub limits: Limits,
}

pub struct Ingest {
    shared: Arc<Shared>,
    requests: mpsc::Sender<Request>,
    cancel: CancellationToken,
    ended: CancellationToken,
    task: Mutex<Option<JoinHandle<()>>>,
    /// Somebody has waited for the first reading.
    is_begun: AtomicBool,
}

impl Ingest {
    /// Starts ingesting and returns at once; everything else happens in the background.
    pub fn start(deps: IngestDeps) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let shared = Arc::new(Shared {
            store: deps.store,
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
            // Dropped however the worker ends, by a panic too.
            let _guard = guard;
            worker.run().await;
        });
        let (task, is_begun) = (Mutex::new(Some(task)), AtomicBool::new(false));
        Self { shared, requests, cancel, ended, task, is_begun }
    }

    /// Waits until the worker has ended: after [`Ingest::stop`], or through a defect.
    pub async fn ended(&self) {
        self.ended.cancelled().await;
    }

    /// Stops after the batch under way and waits for it.
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

    /// Catches up a thread or file now, before all other files, and answers when everything that was
    /// written before the call is stored, and everything up to `min_offset` (bytes of the file), too.
    ///
    /// # Errors
    /// `NotFound`, `Outside`, `Deadline` after `timeout`, `Failed`, `Stopping`.
    pub async fn sync(
        &self,
        target: SyncTarget,
        min_offset: Option<u64>,
        timeout: Duration,
    ) -> Result<Synced, SyncError> {
        self.sync_to(target, SyncPoint { offset: min_offset, seq: None }, timeout).await
    }

    /// As [`Ingest::sync`], up to an offset or a line that may not be written yet.
    ///
    /// # Errors
    /// As [`Ingest::sync`].
    pub async fn sync_to(
        &self,
        target: SyncTarget,
        reach: SyncPoint,
        timeout: Duration,
    ) -> Result<Synced, SyncError> {
        let reached = async {
            loop {
                let synced = self.sync_once(&target).await?;
                if reach.is_met_by(&synced) {
                    return Ok(synced);
                }
                tokio::time::sleep(SYNC_POLL).await;
            }
        };
        tokio::time::timeout(timeout, reached).await.unwrap_or(Err(SyncError::Deadline))
    }

    /// Lists everything now and waits until all of it is stored.
    ///
    /// # Errors
    /// `Deadline` after `timeout`, `Stopping`.
    pub async fn settle(&self, timeout: Duration) -> Result<(), SyncError> {
        let settled = async {
            let (reply, done) = oneshot::channel();
            self.ask(Request::Scan(reply)).await?;
            done.await.map_err(|_| SyncError::Stopping)?;
            while self.shared.progress.is_catching_up.load(Ordering::Relaxed) {
                tokio::time::sleep(SETTLE_POLL).await;
            }
            Ok(())
        };
        tokio::time::timeout(timeout, settled).await.unwrap_or(Err(SyncError::Deadline))
    }

    async fn sync_once(&self, target: &SyncTarget) -> Result<Synced, SyncError> {
        match target {
            SyncTarget::Path(path) => self.sync_path(path).await,
            SyncTarget::Thread(thread_id) => self.sync_thread(thread_id).await,
        }
    }

    async fn sync_path(&self, path: &Path) -> Result<Synced, SyncError> {
        let shown = path.display().to_string();
        let (shared, wanted) = (Arc::clone(&self.shared), path.to_owned());
        let looked = tokio::task::spawn_blocking(move || scan::look(&shared.roots, &wanted));
        let file = match looked.await.map_err(|_| SyncError::Stopping)? {
            Err(Outside) => return Err(SyncError::Outside(shown)),
            Ok(None) => return Err(SyncError::NotFound(shown)),
            Ok(Some(file)) => file,
        };
        match self.catch_up(PathBuf::from(&file.path)).await {
            // It was there a moment ago, and whoever asks should not be told to wait for it.
            Err(SyncError::Failed(_)) if is_gone(&file.path).await => {
                return Err(SyncError::NotFound(shown));
            }
            caught_up => caught_up?,
        }
        let entries = self.shared.catalogue.lock();
        let known = entries.get(file.path.as_str()).and_then(|entry| entry.known.as_ref());
        let known = known.ok_or(SyncError::NotFound(shown))?;
        Ok(Synced {
            thread_id: known.thread_id.as_deref().map(str::to_owned),
            path: file.path,
            offset: known.cursor.offset,
            next_seq: known.cursor.next_seq,
        })
    }

    async fn sync_thread(&self, thread_id: &str) -> Result<Synced, SyncError> {
        self.catch_up_thread(thread_id).await?;
        let thread = self.shared.store.thread_get(thread_id).await;
        let thread = thread.map_err(|error| SyncError::Failed(error.to_string()))?;
        // While nothing can be stored it may be one that was read.
        let unknown =
            || self.shared.progress.stalled().unwrap_or(SyncError::NotFound(thread_id.to_owned()));
        let thread = thread.ok_or_else(unknown)?;
        Ok(Synced {
            thread_id: Some(thread.thread_id),
            path: thread.file.path,
            offset: thread.file.cursor.offset,
            next_seq: thread.file.cursor.next_seq,
        })
    }

    /// Catches up a thread, as [`Ingest::sync`] does, and answers with nothing but that it is done.
    ///
    /// # Errors
    /// `Deadline` after `timeout`, `Stopping`.
    pub async fn read_thread(&self, thread_id: &str, timeout: Duration) -> Result<(), SyncError> {
        let read = async {
            let files = self.shared.unlisted(thread_id).await;
            if files.is_empty() {
                return self.catch_up_thread(thread_id).await;
            }
            self.read_files(files).await
        };
        tokio::time::timeout(timeout, read).await.unwrap_or(Err(SyncError::Deadline))
    }

    /// Reads what was written to the files of a thread since they were read last.
    async fn catch_up_thread(&self, thread_id: &str) -> Result<(), SyncError> {
        let mut files = self.shared.catalogue.of_thread(thread_id);
        if files.is_empty() {
            let (reply, done) = oneshot::channel();
            self.ask(Request::Scan(reply)).await?;
            done.await.map_err(|_| SyncError::Stopping)?;
            files = self.shared.catalogue.of_thread(thread_id);
        }
        self.read_files(files).await
    }

    async fn read_files(&self, mut files: Vec<(PathBuf, Source)>) -> Result<(), SyncError> {
        files.truncate(SYNC_FILES_MAX);
        let shared = Arc::clone(&self.shared);
        // Mostly nothing was written since: then nobody needs to be asked, and reading elsewhere goes on.
        let unread = tokio::task::spawn_blocking(move || {
            let unread = files.into_iter().filter(|(path, _)| !shared.is_read(path));
            unread.collect::<Vec<_>>()
        });
        for (path, _) in unread.await.map_err(|_| SyncError::Stopping)? {
            // One file of several may be unreadable or just moved; the thread may stand all the same.
            if let Err(error @ (SyncError::Stopping | SyncError::DiskFull(_))) =
                self.catch_up(path).await
            {
                return Err(error);
            }
        }
        Ok(())
    }

    async fn catch_up(&self, path: PathBuf) -> Result<(), SyncError> {
        let (reply, done) = oneshot::channel();
        self.ask(Request::File(path, reply)).await?;
        match done.await {
            Ok(answer) => answer,
            Err(_) => Err(SyncError::Stopping),
        }
    }

    async fn ask(&self, request: Request) -> Result<(), SyncError> {
        self.shared.stop.store(true, Ordering::Relaxed);
        let sent = self.requests.send(request).await;
        self.shared.stop.store(true, Ordering::Relaxed);
        sent.map_err(|_| SyncError::Stopping)
    }

    /// Answers damage that a reader of the store met: the database is moved aside and filled again. `false` when
    /// there is none.
    ///
    /// # Errors
    /// The store cannot be begun anew.
    pub async fn recover(&self) -> Result<bool, StoreError> {
        let is_damaged = self.shared.recover().await?;
        if is_damaged {
            self.shared.hints.hint_all();
        }
        Ok(is_damaged)
    }

    /// Waits until there is nothing left to read.
    pub async fn idle(&self) {
        self.told(|progress| !progress.is_catching_up.load(Ordering::Relaxed)).await;
    }

    /// Waits, `within` at most and for the first caller only, until what stood in the folders at the start
    /// is read: who asks right after a start is not told that there is nothing. Where more stands there than is read
    /// at once, nobody is kept waiting for it.
    pub async fn begun(&self, within: Duration) {
        if self.is_begun.swap(true, Ordering::Relaxed) {
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
        // What is not read by then is listed by the next call.
        tokio::select! {
            _ = tokio::time::timeout(within, self.first_read()) => {}
            () = much => {}
        }
    }

    /// Waits until what stood in the folders at the start is read, and nothing is left to read.
    ///
    /// # Errors
    /// Why the store refuses what was read.
    pub async fn first_read(&self) -> Result<(), SyncError> {
        self.told(|progress| {
            let is_read = progress.last_scan_at_ms.load(Ordering::Relaxed) != 0
                && !progress.is_catching_up.load(Ordering::Relaxed);
            is_read || progress.stalled().is_some()
        })
        .await;
        self.shared.progress.stalled().map_or(Ok(()), Err)
    }

    async fn told(&self, is_so: impl Fn(&progress::Counters) -> bool) {
        loop {
            let mut told = std::pin::pin!(self.shared.progress.idle.notified());
            // Listening before looking: what is told in between is not missed.
            told.as_mut().enable();
            if is_so(&self.shared.progress) {
                return;
            }
            told.await;
        }
    }

    /// A line of this transcript was asked for and is not what was read: its lines are compared soon.
    pub fn doubt(&self, path: &str) {
        self.shared.hints.doubt(Path::new(path));
    }

    pub fn progress(&self) -> Progress {
        self.shared.progress.snapshot(&self.shared.roots, &self.shared.catalogue)
    }

    /// The folded state of a thread; `None` for a thread nobody knows.
    ///
    /// # Errors
    /// The store cannot be read, or another version saved the state and it is being folded anew.
    pub async fn fold(&self, thread_id: &str) -> Result<Option<Arc<Fold>>, FoldLoadError> {
        self.shared.fold(thread_id).await
    }

    /// Drops cached folds; the next read loads from the store.
    pub fn forget_folds(&self) {
        self.shared.folds.clear();
    }

    /// The state of a thread after its line `seq`. Reads the transcript up to there, so it costs time
    /// in proportion.
    ///
    /// # Errors
    /// As [`Ingest::fold`], and the transcript cannot be read.
    pub async fn fold_as_of(
        &self,
        thread_id: &str,
        seq: u64,
    ) -> Result<Option<Arc<Fold>>, FoldLoadError> {
        self.shared.fold_as_of(thread_id, seq).await
    }
}

/// What a simulation does in place of the file system, and looks at.
#[cfg(test)]
impl Ingest {
    pub(crate) fn notice(&self, event: notify::Event) {
        self.shared.hints.on_event(Ok(event));
    }

    pub(crate) async fn scan(&self) {
        let (reply, done) = oneshot::channel();
        self.ask(Request::Scan(reply)).await.unwrap();
        done.await.unwrap();
    }

    pub(crate) fn store(&self) -> &Store {
        &self.shared.store
    }

    /// Files that are held in memory, and for how many there is room.
    pub(crate) fn held_files(&self) -> (usize, usize) {
        let entries = self.shared.catalogue.lock();
        (entries.len(), entries.capacity())
    }

    pub(crate) fn roots(&self) -> &[Root] {
        &self.shared.roots
    }
}

async fn is_gone(path: &str) -> bool {
    let path = PathBuf::from(path);
    let there = tokio::task::spawn_blocking(move || path.try_exists()).await;
    matches!(there, Ok(Ok(false)))
}
