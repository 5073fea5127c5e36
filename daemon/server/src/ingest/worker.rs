//! The task that schedules all reading: it decides what to read next, and nothing else reads.

mod lost;
mod problems;
#[cfg(test)]
mod tests;

use std::collections::{HashSet, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use longhaul_store::StoreError;
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Duration, Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;

use super::batch::{Outcome, PassEnd};
use super::catch_up::read_slice;
use super::commit;
use super::error::SyncError;
use super::events::WarningKind;
use super::recheck::{self, Rechecks};
use super::shared::Shared;
use super::worker::lost::LostTexts;
use crate::discovery::catalogue::KnownFile;
use crate::discovery::plan::{Job, plan};
use crate::discovery::scan::{self, ListedFile, Listing};
use crate::discovery::watch::Watch;
use crate::heap;

/// Maximum files handed to the reading thread at a time.
const FILES_PER_SLICE: usize = 256;

/// After this many files without a pause, unused heap is returned to the system: reading many needs memory that
/// later tasks would hold in addition to their own.
const FILES_MANY: usize = 4_096;

/// Batches between the reading thread and the store. Each holds a few MiB at most.
const BATCHES: usize = 2;

/// Requests from the handle to the worker.
pub(crate) enum Request {
    /// Catch this file up before anything else.
    File(PathBuf, Reply),
    Scan(Reply),
    /// Have the transcripts that continue this thread folded again.
    Disown(String, Reply),
}

pub(crate) type Reply = oneshot::Sender<Result<(), SyncError>>;

enum PathState {
    Tracked(Job),
    New(String),
    Nothing,
}

pub(crate) struct Worker {
    shared: Arc<Shared>,
    requests: mpsc::Receiver<Request>,
    /// A request that ended a pause; accepted next.
    held: Option<Request>,
    cancel: CancellationToken,
    watch: Watch,
    /// Jobs requested by a client, found by a hint, found by a scan, found in the archive: in this order.
    urgent: VecDeque<Job>,
    hinted: VecDeque<Job>,
    scanned: VecDeque<Job>,
    lost: LostTexts,
    waiting: Vec<(String, Reply)>,
    rechecks: Rechecks,
    /// Files read since the last pause.
    read: usize,
    next_scan: Instant,
    pause: Duration,
    warned: HashSet<(WarningKind, Option<String>)>,
    /// A file was read without its base, which may be one of those read since.
    may_find_base: bool,
}

impl Worker {
    pub(crate) fn new(
        shared: Arc<Shared>,
        requests: mpsc::Receiver<Request>,
        cancel: CancellationToken,
    ) -> Self {
        let watch = Watch::new(&shared.hints);
        Self {
            shared,
            requests,
            held: None,
            cancel,
            watch,
            urgent: VecDeque::new(),
            hinted: VecDeque::new(),
            scanned: VecDeque::new(),
            lost: LostTexts::default(),
            waiting: Vec::new(),
            rechecks: Rechecks::default(),
            read: 0,
            next_scan: Instant::now(),
            pause: Duration::ZERO,
            warned: HashSet::new(),
            may_find_base: false,
        }
    }

    /// Runs until cancelled.
    pub(crate) async fn run(mut self) {
        while !self.cancel.is_cancelled() {
            match self.shared.load().await {
                Ok(()) => break,
                Err(error) => {
                    self.shared.catalogue.clear();
                    self.on_refusal(&error).await;
                }
            }
        }
        self.rechecks.begin(&self.shared, Instant::now() + self.shared.limits.rest);
        while !self.cancel.is_cancelled() {
            // Cleared first: a later request sets it again and stops the next slice.
            self.shared.stop.store(false, Ordering::Relaxed);
            while let Some(request) = self.held.take().or_else(|| self.requests.try_recv().ok()) {
                self.accept(request).await;
            }
            self.take_hints().await;
            // A client that waits for a file at start does not wait for the first listing.
            if self.is_scan_due()
                && (self.urgent.is_empty() || self.shared.is_listed())
                && let Err(error) = self.scan().await
            {
                self.on_refusal(&error).await;
            }
            self.find_lost().await;
            self.count_queue();
            let slice = self.next_slice();
            if slice.is_empty() {
                self.rest().await;
            } else {
                self.work(slice).await;
            }
        }
    }

    /// Waits for work.
    async fn rest(&mut self) {
        if std::mem::take(&mut self.may_find_base) {
            self.next_scan = Instant::now();
            return;
        }
        if std::mem::take(&mut self.read) >= FILES_MANY {
            self.scanned.shrink_to_fit();
            // Trimming blocks allocators, so run it off the runtime threads.
            tokio::task::spawn_blocking(heap::release).await.ok();
        }
        self.shared.progress.is_catching_up.store(false, Ordering::Relaxed);
        self.shared.progress.idle.notify_waiters();
        let hints = Arc::clone(&self.shared.hints);
        tokio::select! {
            () = self.cancel.cancelled() => {}
            request = self.requests.recv() => match request {
                Some(request) => self.accept(request).await,
                None => self.cancel.cancel(),
            },
            // An agent's turn is many small writes: read them in one pass.
            () = hints.arrived() => sleep(self.shared.limits.debounce).await,
            () = sleep_until(self.next_scan) => {}
            () = self.rechecks.due() => self.recheck().await,
        }
    }

    /// Runs one step of a recheck.
    async fn recheck(&mut self) {
        let Some(path) = self.rechecks.step(&self.shared).await else { return };
        tracing::warn!(path, "lines already read have changed: reading the file again");
        let entries = self.shared.catalogue.lock();
        let Some(entry) = entries.get(path.as_str()) else { return };
        let job = Job { restart: true, ..Job::of(path, entry.source, entry.archived) };
        drop(entries);
        self.hinted.push_back(job);
    }

    async fn accept(&mut self, request: Request) {
        match request {
            Request::Scan(reply) => {
                let listed = self.scan().await;
                // Before the pause that a refusal brings. The caller may have given up.
                reply.send(listed.as_ref().copied().map_err(SyncError::refused)).ok();
                if let Err(error) = listed {
                    self.on_refusal(&error).await;
                }
            }
            Request::Disown(thread_id, reply) => {
                reply.send(self.disown(&thread_id).await).ok();
            }
            Request::File(path, reply) => {
                let job = match self.inspect(path).await {
                    PathState::Tracked(job) => Ok(job),
                    PathState::New(path) => {
                        if !self.scanned.iter().any(|job| job.path == path)
                            && let Err(error) = self.scan().await
                        {
                            reply.send(Err(SyncError::refused(&error))).ok();
                            return self.on_refusal(&error).await;
                        }
                        self.promote(&path).ok_or_else(|| self.shared.catalogue.why_failed(&path))
                    }
                    PathState::Nothing => Err(None),
                };
                match job {
                    Ok(job) => {
                        self.waiting.push((job.path.clone(), reply));
                        self.urgent.push_back(job);
                    }
                    Err(why) => {
                        let why = why.unwrap_or_else(|| "no such transcript".to_owned());
                        reply.send(Err(SyncError::Failed(why))).ok();
                    }
                }
            }
        }
    }

    async fn take_hints(&mut self) {
        if self.shared.hints.take_scan() {
            self.next_scan = self.next_scan.min(Instant::now());
        }
        if self.shared.hints.take_lost() {
            self.lost.begin();
        }
        for path in self.shared.hints.take_doubted() {
            self.rechecks.put(path.to_string_lossy().into_owned(), Instant::now());
        }
        for path in self.shared.hints.take() {
            let shared = Arc::clone(&self.shared);
            let affected =
                tokio::task::spawn_blocking(move || scan::affected_by(&shared.roots, &path));
            let affected = affected.await.unwrap_or_default();
            if affected.is_empty() {
                // Gone or moved: only a listing can tell.
                self.next_scan = self.next_scan.min(Instant::now());
            }
            for file in affected {
                if !self.shared.is_stored(&file) {
                    self.take_hint(file);
                }
            }
        }
    }

    fn take_hint(&mut self, file: ListedFile) {
        match self.path_state(file) {
            PathState::Tracked(job) if self.hinted.contains(&job) => {}
            PathState::Tracked(job) => self.hinted.push_back(job),
            PathState::New(path) => match self.promote(&path) {
                Some(job) => self.hinted.push_back(job),
                None => self.next_scan = self.next_scan.min(Instant::now()),
            },
            PathState::Nothing => {}
        }
    }

    /// Inspects one file.
    async fn inspect(&self, path: PathBuf) -> PathState {
        let shared = Arc::clone(&self.shared);
        let looked = tokio::task::spawn_blocking(move || scan::inspect(&shared.roots, &path)).await;
        match looked {
            Ok(Ok(Some(file))) => self.path_state(file),
            _ => PathState::Nothing,
        }
    }

    /// An unknown file may be a moved one, which only a listing can tell.
    fn path_state(&self, file: ListedFile) -> PathState {
        let entry =
            self.shared.catalogue.lock().get(file.path.as_str()).map(|entry| entry.known.is_some());
        if entry != Some(true) {
            return PathState::New(file.path);
        }
        self.shared.catalogue.list_one(&file);
        PathState::Tracked(Job::of(file.path, file.source, file.archived))
    }

    /// Takes the job that a listing queued for a file, to run it first; `None` if there is none.
    fn promote(&mut self, path: &str) -> Option<Job> {
        let at = self.scanned.iter().position(|job| job.path == path)?;
        self.scanned.remove(at)
    }

    fn is_scan_due(&self) -> bool {
        Instant::now() >= self.next_scan
    }

    /// Lists everything and queues the changed files.
    ///
    /// # Errors
    /// The store refuses; the caller reports it with `on_refusal`.
    async fn scan(&mut self) -> Result<(), StoreError> {
        if self.shared.database.is_recovery_unfinished() {
            self.shared.recover().await?;
        }
        self.watch();
        self.next_scan = Instant::now() + self.shared.limits.scan_period;
        let shared = Arc::clone(&self.shared);
        let listed = tokio::task::spawn_blocking(move || {
            let listing = scan::list(&shared.roots, &shared.databases, (shared.now_ms)());
            shared.catalogue.list(&listing);
            listing
        });
        let Ok(mut listing) = listed.await else { return Ok(()) };
        self.shared.recall(listing.files.iter().map(|file| &file.path)).await?;
        // The catalogue has them now.
        listing.files = Vec::new();
        let shared = Arc::clone(&self.shared);
        let planned = tokio::task::spawn_blocking(move || {
            let plan = plan(&shared.catalogue, &listing);
            (listing, plan)
        });
        let Ok((listing, plan)) = planned.await else { return Ok(()) };
        let progress = &self.shared.progress;
        // 0 means "never", even on a clock that starts at 0.
        progress.last_scan_at_ms.store((self.shared.now_ms)().max(1), Ordering::Relaxed);
        progress.queued_bytes.store(plan.bytes, Ordering::Relaxed);
        progress.is_catching_up.store(!plan.jobs.is_empty(), Ordering::Relaxed);
        self.report(&listing);
        self.scanned = plan.jobs.into();
        self.mark(&plan.gone, true).await?;
        self.mark(&plan.back, false).await
    }

    fn watch(&mut self) {
        let unwatched = self.watch.cover(&self.shared.roots);
        let is_degraded = !unwatched.is_empty();
        self.shared.progress.is_watch_degraded.store(is_degraded, Ordering::Relaxed);
        if !is_degraded {
            self.warned.retain(|(kind, _)| *kind != WarningKind::WatchDegraded);
        }
        for (folder, error) in unwatched {
            let folder = folder.map(|folder| folder.to_string_lossy().into_owned());
            self.warn(WarningKind::WatchDegraded, folder, &error);
        }
    }

    fn report(&mut self, listing: &Listing) {
        let progress = &self.shared.progress;
        let folders: Vec<(String, String)> = listing
            .unreadable
            .iter()
            .take(16)
            .map(|(folder, error)| (folder.to_string_lossy().into_owned(), error.clone()))
            .collect();
        progress.set_unreadable_folders(folders.clone());
        for (folder, error) in folders {
            self.warn(WarningKind::Unreadable, Some(folder), &error);
        }
        if listing.is_cut {
            self.warn(WarningKind::TooManyFiles, None, "only the first files are read");
        }
    }

    /// Marks files as gone or back, in the store first and then in memory.
    async fn mark(&self, paths: &[String], gone: bool) -> Result<(), StoreError> {
        if paths.is_empty() {
            return Ok(());
        }
        let at_ms = gone.then(|| (self.shared.now_ms)());
        self.shared.projection.mark_gone(paths, at_ms).await?;
        self.shared.folds.clear();
        match gone {
            true => self.shared.events.files_gone(),
            false => paths.iter().for_each(|path| self.shared.events.file_stored(path)),
        }
        let mut entries = self.shared.catalogue.lock();
        for path in paths {
            if gone {
                entries.forget(path);
            } else if let Some(entry) = entries.get_mut(path.as_str()) {
                entry.known.iter_mut().for_each(|known| known.gone = false);
            }
        }
        Ok(())
    }

    fn next_slice(&mut self) -> Vec<Job> {
        for queue in [&mut self.urgent, &mut self.hinted, &mut self.scanned, &mut self.lost.jobs] {
            if !queue.is_empty() {
                let count = queue.len().min(FILES_PER_SLICE);
                return queue.drain(..count).collect();
            }
        }
        Vec::new()
    }

    fn count_queue(&self) {
        let queues = [&self.urgent, &self.hinted, &self.scanned, &self.lost.jobs];
        let queued: usize = queues.map(VecDeque::len).iter().sum();
        let progress = &self.shared.progress;
        progress.queued_files.store(queued as u64, Ordering::Relaxed);
        progress.is_catching_up.store(queued > 0 || self.may_find_base, Ordering::Relaxed);
        if queued == 0 {
            progress.queued_bytes.store(0, Ordering::Relaxed);
        }
    }

    /// Reads a slice on a blocking thread while storing its batches here.
    async fn work(&mut self, slice: Vec<Job>) {
        let restarts: Vec<Job> = slice.iter().filter(|job| job.restart).cloned().collect();
        if let Err(error) = self.shared.recall(slice.iter().map(|job| &job.path)).await {
            self.hinted.extend(restarts);
            return self.on_refusal(&error).await;
        }
        let (out, batches) = mpsc::channel(BATCHES);
        let shared = Arc::clone(&self.shared);
        let runtime = Handle::current();
        let reader =
            tokio::task::spawn_blocking(move || read_slice(&shared, &runtime, slice, &out));
        let drained = commit::drain(&self.shared, batches).await;
        let unread = reader.await.unwrap_or_default();
        match drained {
            Ok(ended) => {
                self.pause = Duration::ZERO;
                self.shared.progress.set_stalled(None);
                self.read += ended.len();
                for end in ended {
                    self.on_ended(end);
                }
                for job in unread.into_iter().rev() {
                    self.requeue(job);
                }
            }
            Err(error) => {
                self.hinted.extend(restarts);
                self.lost.begin();
                self.on_refusal(&error).await;
            }
        }
    }

    fn on_ended(&mut self, end: PassEnd) {
        match end.result {
            Ok(Outcome::Stopped) => return self.requeue(end.job),
            _ if end.job.archived_text.is_some() => return self.on_lost_ended(&end),
            Ok(Outcome::Gone) => self.next_scan = self.next_scan.min(Instant::now()),
            Ok(Outcome::CaughtUp) => self.after_reading(&end.job),
            Ok(Outcome::Unchanged) => {}
            Err(ref error) => self.on_unreadable(&end.job, error),
        }
        let answer = end.result.map(drop).map_err(SyncError::Failed);
        let (done, waiting) = std::mem::take(&mut self.waiting)
            .into_iter()
            .partition(|(path, _)| *path == end.job.path);
        self.waiting = waiting;
        for (_, reply) in Vec::from_iter::<Vec<_>>(done) {
            reply.send(answer.clone()).ok();
        }
    }

    /// Requeues a stopped pass by its urgency. A listing replaces the jobs that a scan found, and does not see that a file
    /// must be read again.
    fn requeue(&mut self, job: Job) {
        if job.archived_text.is_some() {
            self.lost.jobs.push_front(job);
        } else if self.waiting.iter().any(|(path, _)| *path == job.path) {
            self.urgent.push_front(job);
        } else if job.restart {
            self.hinted.push_front(job);
        } else {
            self.scanned.push_front(job);
        }
    }

    fn after_reading(&mut self, job: &Job) {
        // The presumed moved file is a different one: list again to find the first one gone.
        let held = |path: &String| self.shared.catalogue.lock().contains_key(path.as_str());
        if job.moved_from.as_ref().is_some_and(held) {
            self.next_scan = self.next_scan.min(Instant::now());
        }
        let known =
            self.shared.catalogue.lock().get(job.path.as_str()).and_then(|e| e.known.clone());
        if known.as_deref().is_some_and(recheck::is_long) && !job.restart {
            self.rechecks.put(job.path.clone(), Instant::now() + self.shared.limits.rest);
        }
        if known.as_deref().is_some_and(KnownFile::is_missing_base) {
            self.on_missing_base(&job.path);
        }
    }
}
