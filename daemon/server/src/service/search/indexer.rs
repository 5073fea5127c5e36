//! Indexes ingested items while ingestion is idle.
//!
//! # Theory of operation
//!
//! *Owns* the search index, `search.db`, and is its only writer. One task waits for a hint (a transcript has
//! grown), then for ingestion to be idle, and then indexes in batches of about a MiB of words. After each batch it
//! rests for half the time the batch took, so that it never uses a whole processor and yields to ingestion.
//! Without a hint it does nothing.
//!
//! *Steps* for a file: compare the index's cursor with the store. If the line before it has changed (another
//! generation, a replaced file), drop the file and start again. Take the index rows after the cursor, read their
//! lines from the transcript, verify their digests, redact them, split them into words, and store them together
//! with the cursor. A deleted file stays, and is read from the archive, as long as that has it and no other file of
//! the thread exists. Otherwise drop it, unless another file of the thread has the same lines (it was compressed or
//! moved): that one replaces it.
//!
//! *A crash* before a batch is stored: it is read again. After: the cursor is past it. *Damage*: the index is
//! deleted and rebuilt, as it is for the job `reindex`. A full disk is retried with growing pauses.

use std::cmp::Reverse;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use longhaul_core::digest::Digest128;
use longhaul_store::{
    FileId, FileRow, FileState, FileTable, IndexPart, IndexedFile, PageTable, SearchIndex,
    StoreError,
};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use super::progress::IndexProgress;
use super::reading::{self, Read};
use crate::archive::{Archive, ArchivedFiles, path_hash};
use crate::ingest::Ingest;
use crate::transcript::Fallback;

/// Bytes of words per batch: the work lost in a crash, and about half the memory used.
const BATCH_BYTES: usize = 1 << 20;

const BATCH_FILES: usize = 64;

/// Pages of 64 index rows read at a time.
const PAGES: u32 = 16;

/// The same for a compressed file, which is read from its start each time.
const PAGES_COMPRESSED: u32 = 256;

/// Items of dropped files deleted at a time.
const SWEEP_ITEMS: u32 = 1_000;

/// Maximum rest after a batch.
const REST_MAX: Duration = Duration::from_millis(500);

/// Maximum pause after a failure.
const PAUSE_MAX: Duration = Duration::from_secs(60);

/// Minimum interval between scans of all files while hints arrive: files that are not their thread's current one
/// change without a hint.
const LOOK_THROUGH: Duration = Duration::from_secs(300);

pub(super) struct Indexer {
    pub(super) path: std::path::PathBuf,
    pub(super) index: Arc<OnceLock<SearchIndex>>,
    pub(super) files: FileTable,
    pub(super) pages: PageTable,
    pub(super) ingest: Arc<Ingest>,
    pub(super) archive: Arc<Archive>,
    /// Locked for a batch: `thread/forget` must not erase a thread while its words are read.
    pub(super) turn: Arc<tokio::sync::Mutex<()>>,
    pub(super) progress: Arc<IndexProgress>,
    pub(super) cancel: CancellationToken,
}

/// Pending work: only the numbers of files, since there may be fifty thousand.
#[derive(Default)]
struct Work {
    queue: VecDeque<FileId>,
    /// Files that may have to be removed from the index; checked after all others.
    lost: Vec<IndexedFile>,
    looked_through: Option<Instant>,
    /// Deleted transcripts are not queued yet, because the archive's index is not open.
    awaits_archive: bool,
}

impl Indexer {
    /// Runs until cancelled.
    pub(super) async fn run(self) {
        let mut pause = Duration::from_secs(1);
        while !self.cancel.is_cancelled() {
            let Err(error) = self.work(&mut pause).await else { return };
            tracing::warn!(%error, "cannot write the search index");
            self.progress.set_stalled(true);
            if let Some(index) = self.index.get()
                && !self.cancel.is_cancelled()
                && (index.is_closed() || is_damage_of(&error, index))
                && index.rebuild().await.is_ok()
            {
                continue;
            }
            tokio::select! {
                () = self.cancel.cancelled() => {}
                () = sleep(pause) => {}
            }
            pause = (pause * 2).min(PAUSE_MAX);
        }
    }

    /// Indexes until cancelled or until an error.
    async fn work(&self, pause: &mut Duration) -> Result<(), StoreError> {
        let index = match self.index.get() {
            Some(index) => index.clone(),
            None => {
                let opened = SearchIndex::open(&self.path).await?;
                self.index.get_or_init(|| opened).clone()
            }
        };
        let mut work = Work::default();
        self.measure(&index).await?;
        self.progress.set_stalled(false);
        self.progress.hint_all();
        loop {
            tokio::select! {
                () = self.cancel.cancelled() => return Ok(()),
                () = self.ingest.idle() => {}
            }
            if self.progress.take_rebuild() {
                index.rebuild().await?;
                work = Work::default();
                self.progress.hint_all();
            }
            self.take_hints(&index, &mut work).await?;
            self.progress.set_behind(work.queue.len());
            let began = Instant::now();
            let is_busy = {
                let _turn = self.turn.lock().await;
                self.step(&index, &mut work).await?
            };
            if !is_busy {
                self.progress.set_idle();
                tokio::select! {
                    () = self.cancel.cancelled() => return Ok(()),
                    () = self.progress.arrived() => {}
                    () = self.archive.opened(), if work.awaits_archive => self.progress.hint_all(),
                    () = self.archive.deletion() => self.progress.hint_all(),
                }
                continue;
            }
            *pause = Duration::from_secs(1);
            tokio::select! {
                () = self.cancel.cancelled() => return Ok(()),
                () = sleep((began.elapsed() / 2).min(REST_MAX)) => {}
            }
        }
    }

    /// Processes one batch; `false` if nothing is left.
    async fn step(&self, index: &SearchIndex, work: &mut Work) -> Result<bool, StoreError> {
        if !work.queue.is_empty() {
            let parts = self.batch(index, work).await?;
            if !parts.is_empty() {
                index.commit(&parts).await?;
                self.measure(index).await?;
            }
            return Ok(true);
        }
        if let Some(file) = work.lost.pop() {
            index.drop_file(&file.path).await?;
            if work.lost.is_empty() {
                work.lost = Vec::new();
            }
            return Ok(true);
        }
        let swept = index.sweep(SWEEP_ITEMS).await?;
        if swept {
            self.measure(index).await?;
        }
        Ok(swept)
    }

    async fn measure(&self, index: &SearchIndex) -> Result<(), StoreError> {
        self.progress.set_size(index.items().await?, index.bytes());
        Ok(())
    }

    /// Queues hinted files, and all that differ from the store when a scan is due.
    async fn take_hints(&self, index: &SearchIndex, work: &mut Work) -> Result<(), StoreError> {
        let hints = self.progress.take();
        let is_due = work.looked_through.is_none_or(|at| at.elapsed() >= LOOK_THROUGH);
        if hints.all || (is_due && !hints.paths.is_empty()) {
            return self.look_through(index, work).await;
        }
        for path in hints.paths {
            // A new file may be an old one under another name, which only a scan of all files can tell.
            if index.file_by_path(&path).await?.is_none() {
                return self.look_through(index, work).await;
            }
            let Some(file) = self.files.by_path(&path).await? else { continue };
            if !work.queue.contains(&file.file_id) {
                work.queue.push_back(file.file_id);
            }
        }
        Ok(())
    }

    /// Queues all files of which the store has more than the index, or different content.
    async fn look_through(&self, index: &SearchIndex, work: &mut Work) -> Result<(), StoreError> {
        let archived = self.archived_files(work).await;
        let (mut known, mut last) = (HashMap::new(), 0);
        loop {
            let files = index.files_after(last).await?;
            let Some((number, _)) = files.last() else { break };
            last = *number;
            let state = |file: &IndexedFile| (file.generation, file.next_seq);
            known.extend(files.iter().map(|(_, file)| (path_hash(&file.path), state(file))));
        }
        let (mut behind, mut last) = (Vec::new(), FileId(0));
        loop {
            let files = self.files.states_after(last).await?;
            let Some(file) = files.last() else { break };
            last = file.file_id;
            let is_archived = |file: &FileState| {
                archived.as_ref().is_none_or(|files| files.has(&file.path, file.generation))
            };
            let is_there =
                |file: &&FileState| !file.is_gone || (file.is_current && is_archived(file));
            for file in files.iter().filter(is_there) {
                let is_behind = match known.remove(&path_hash(&file.path)) {
                    Some((generation, next_seq)) => {
                        // More than the store has: of another text, which was there before.
                        generation != file.generation || next_seq != file.next_seq
                    }
                    None => file.next_seq > 0,
                };
                let can_read = !file.is_gone || archived.is_some();
                behind.extend((is_behind && can_read).then_some((file.mtime_ns, file.file_id)));
            }
        }
        // Newest first.
        behind.sort_by_key(|(mtime_ns, _)| Reverse(*mtime_ns));
        work.queue = behind.into_iter().map(|(_, file)| file).collect();
        // A recreated database knows no files yet.
        let is_begun = last != FileId(0);
        work.lost = if is_begun { lost(index, &known).await? } else { Vec::new() };
        work.looked_through = Some(Instant::now());
        Ok(())
    }

    /// What the archive has of deleted transcripts; `None` if that is not known now, and nothing of them is dropped.
    async fn archived_files(&self, work: &mut Work) -> Option<ArchivedFiles> {
        let files = self.archive.files().await.inspect_err(|error| {
            tracing::warn!(%error, "cannot list the archive for the index");
        });
        work.awaits_archive = matches!(files, Ok(None));
        files.ok().flatten()
    }

    /// Words of the next files, up to the limits of a batch.
    async fn batch(
        &self,
        index: &SearchIndex,
        work: &mut Work,
    ) -> Result<Vec<IndexPart>, StoreError> {
        let (mut parts, mut bytes) = (Vec::new(), 0);
        while bytes < BATCH_BYTES && parts.len() < BATCH_FILES {
            let Some(number) = work.queue.pop_front() else { break };
            let Some(row) = self.files.get(number).await? else { continue };
            let cursor = self.cursor(index, &row, work).await?;
            let Some(read) = self.read(&row, cursor, BATCH_BYTES - bytes).await? else { continue };
            bytes += read.bytes;
            if !read.is_whole {
                work.queue.push_front(number);
                parts.push(read.part);
                break;
            }
            parts.push(read.part);
        }
        Ok(parts)
    }

    /// Where to continue a file. Indexed data of different content is dropped first.
    async fn cursor(
        &self,
        index: &SearchIndex,
        row: &FileRow,
        work: &mut Work,
    ) -> Result<IndexedFile, StoreError> {
        let head = row.head.as_ref();
        let fresh = IndexedFile {
            path: row.path.clone(),
            thread_id: row.thread_id.clone().unwrap_or_default(),
            source: row.source,
            cwd: head.and_then(|head| head.cwd.clone()),
            generation: row.cursor.generation,
            next_seq: 0,
            last_seq: 0,
            last_digest: Digest128::default(),
            at_ms: head.map_or(0, |head| head.created_at_ms),
        };
        let mut known = index.file_by_path(&row.path).await?;
        if let Some(file) = &known
            && !self.is_continued(row, file).await?
        {
            index.drop_file(&row.path).await?;
            return Ok(fresh);
        }
        if known.is_none() {
            known = self.moved(index, row, work).await?;
        }
        let Some(known) = known else { return Ok(fresh) };
        let resumed = resume_cursor(&known, fresh);
        if known.generation != resumed.generation {
            // The same lines under another generation: nothing new may follow that would record it.
            index.commit(&[IndexPart { file: resumed.clone(), items: Vec::new() }]).await?;
        }
        Ok(resumed)
    }

    /// Gives a lost file of the same thread and lines the path of this one.
    async fn moved(
        &self,
        index: &SearchIndex,
        row: &FileRow,
        work: &mut Work,
    ) -> Result<Option<IndexedFile>, StoreError> {
        for at in 0..work.lost.len() {
            let lost = &work.lost[at];
            if row.thread_id.as_deref().unwrap_or_default() == lost.thread_id
                && self.is_continued(row, lost).await?
            {
                index.move_file(&lost.path, &row.path).await?;
                return Ok(Some(work.lost.swap_remove(at)));
            }
        }
        Ok(None)
    }

    /// Whether the file still has the last indexed line.
    async fn is_continued(&self, row: &FileRow, known: &IndexedFile) -> Result<bool, StoreError> {
        if known.next_seq > row.cursor.next_seq {
            return Ok(false);
        }
        if known.last_digest == Digest128::default() {
            return Ok(true);
        }
        let item = self.pages.item_at(row.file_id, row.cursor.generation, known.last_seq).await?;
        Ok(item.is_some_and(|item| item.digest == known.last_digest))
    }

    /// The words after the cursor; `None` if there is nothing new or the file cannot be read now.
    async fn read(
        &self,
        row: &FileRow,
        cursor: IndexedFile,
        bytes_max: usize,
    ) -> Result<Option<Read>, StoreError> {
        let pages = if row.path.ends_with(".zst") { PAGES_COMPRESSED } else { PAGES };
        let (generation, from, end) = (row.cursor.generation, cursor.next_seq, row.cursor.next_seq);
        let rows = self.pages.rows_from(row.file_id, generation, from, pages).await?;
        let Some(last) = rows.last().map(|row| row.seq) else {
            // Lines without an item: move the cursor, so that they are not read again.
            let part =
                IndexPart { file: IndexedFile { next_seq: end, ..cursor }, items: Vec::new() };
            return Ok((end > from).then_some(Read { part, bytes: 0, is_whole: true }));
        };
        let fallback = Fallback::of(Arc::clone(&self.archive), row);
        let read = move || reading::read(cursor, &rows, fallback, bytes_max);
        let read = tokio::task::spawn_blocking(read).await;
        let failed = match read {
            Ok(Ok(mut read)) => {
                let reached = read.part.file.next_seq;
                // Stopping before the last row means a changed line: ingestion will send a hint.
                read.is_whole = read.is_whole && (reached <= last || reached >= end);
                return Ok((reached > from).then_some(read));
            }
            Ok(Err(error)) => error.to_string(),
            Err(error) => error.to_string(),
        };
        tracing::warn!(path = row.path, failed, "cannot read a transcript for the index");
        Ok(None)
    }
}

/// Whether the error is damage of the index, not of the database that it is made from.
fn is_damage_of(error: &StoreError, index: &SearchIndex) -> bool {
    matches!(error, StoreError::Corrupt { path, .. } if path == index.path())
}

/// The cursor of `known` for the file as it is now.
fn resume_cursor(known: &IndexedFile, now: IndexedFile) -> IndexedFile {
    IndexedFile {
        next_seq: known.next_seq,
        last_seq: known.last_seq,
        last_digest: known.last_digest,
        at_ms: known.at_ms,
        ..now
    }
}

/// The indexed files whose keys are among `keys`.
async fn lost(
    index: &SearchIndex,
    keys: &HashMap<u128, (u64, u64)>,
) -> Result<Vec<IndexedFile>, StoreError> {
    let (mut lost, mut last) = (Vec::new(), 0);
    while !keys.is_empty() {
        let files = index.files_after(last).await?;
        let Some((number, _)) = files.last() else { break };
        last = *number;
        let files = files.into_iter().map(|(_, file)| file);
        lost.extend(files.filter(|file| keys.contains_key(&path_hash(&file.path))));
    }
    Ok(lost)
}

#[cfg(test)]
mod tests;
