//! The indexer: what is ingested becomes findable, when nothing more urgent is to do.
//!
//! # Theory of operation
//!
//! *Owns* the search index, `search.db`, and is its only writer. One task, which waits for a hint (a
//! transcript has grown), then for ingestion to be idle, and then indexes in batches of about a MiB of
//! words. After each batch it rests for half of the time that one took, so that it never takes a whole
//! processor, and gives way to ingestion. Without a hint it does nothing.
//!
//! *Steps* for a file: the index's cursor is compared with the store. If the line before it is not what it
//! was (another generation, a replaced file), the file is dropped and begun anew. Index rows after the
//! cursor say where items stand; their lines are read from the transcript, checked against their digests,
//! redacted, cut into words, and stored together with the cursor. A file that is gone is dropped, unless
//! another file of the thread has the same lines (it was compressed or moved): that one takes its place.
//!
//! *A crash* before a batch is stored: it is read again. After: the cursor stands behind it. *Damage*: the
//! index is deleted and made anew, as it is when the job `reindex` asks for it. A disk that is full is tried again with growing pauses.

use std::cmp::Reverse;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use longhaul_core::digest::Digest128;
use longhaul_store::{FileId, FileRow, IndexPart, IndexedFile, SearchIndex, Store, StoreError};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use super::progress::IndexProgress;
use super::reading::{self, Read};
use crate::ingest::Ingest;

/// Bytes of words in a batch: what a crash costs, and what is held in memory, about twice.
const BATCH_BYTES: usize = 1 << 20;

const BATCH_FILES: usize = 64;

/// Pages of 64 index rows read at a time.
const PAGES: u32 = 16;

/// The same of a compressed file, which is read from its start each time.
const PAGES_COMPRESSED: u32 = 256;

/// Items of dropped files deleted at a time.
const SWEEP_ITEMS: u32 = 1_000;

/// Longest rest after a batch.
const REST_MAX: Duration = Duration::from_millis(500);

/// Longest pause after a failure.
const PAUSE_MAX: Duration = Duration::from_secs(60);

/// How often all files are looked through, provided that something happens: files that are no thread's
/// current one change without a hint.
const LOOK_THROUGH: Duration = Duration::from_secs(300);

/// What the indexer works with.
pub(super) struct Indexer {
    pub(super) path: std::path::PathBuf,
    pub(super) index: Arc<OnceLock<SearchIndex>>,
    pub(super) store: Store,
    pub(super) ingest: Arc<Ingest>,
    pub(super) progress: Arc<IndexProgress>,
    pub(super) cancel: CancellationToken,
}

/// What is to do: of all files only their numbers, since there may be fifty thousand.
#[derive(Default)]
struct Work {
    queue: VecDeque<FileId>,
    /// Files that may have to be deleted from the index: looked at when all others are done.
    lost: Vec<IndexedFile>,
    looked_through: Option<Instant>,
}

impl Indexer {
    /// Runs until cancelled.
    pub(super) async fn run(self) {
        let mut pause = Duration::from_secs(1);
        while !self.cancel.is_cancelled() {
            let Err(error) = self.work(&mut pause).await else { return };
            tracing::warn!(%error, "the search index cannot be written");
            self.progress.set_stalled(true);
            if let (StoreError::Corrupt { path, .. }, Some(index)) = (&error, self.index.get())
                && path == index.path()
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

    /// Indexes until cancelled, or until something fails.
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
            if self.progress.take_anew() {
                index.rebuild().await?;
                work = Work::default();
                self.progress.hint_all();
            }
            self.take_hints(&index, &mut work).await?;
            self.progress.set_behind(work.queue.len());
            let began = Instant::now();
            if !self.step(&index, &mut work).await? {
                self.progress.set_idle();
                tokio::select! {
                    () = self.cancel.cancelled() => return Ok(()),
                    () = self.progress.arrived() => {}
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

    /// Does one batch of something; `false` when nothing is left.
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

    /// Queues what hints say, and all that differs from the store when that is due.
    async fn take_hints(&self, index: &SearchIndex, work: &mut Work) -> Result<(), StoreError> {
        let hints = self.progress.take();
        let is_due = work.looked_through.is_none_or(|at| at.elapsed() >= LOOK_THROUGH);
        if hints.all || (is_due && !hints.paths.is_empty()) {
            return self.look_through(index, work).await;
        }
        for path in hints.paths {
            // A new file may be an old one under another name, and only all of them together tell.
            if index.file_by_path(&path).await?.is_none() {
                return self.look_through(index, work).await;
            }
            let Some(file) = self.store.file_by_path(&path).await? else { continue };
            if !work.queue.contains(&file.file_id) {
                work.queue.push_back(file.file_id);
            }
        }
        Ok(())
    }

    /// Queues all files of which the store has more than the index, or another content.
    async fn look_through(&self, index: &SearchIndex, work: &mut Work) -> Result<(), StoreError> {
        let (mut known, mut last) = (HashMap::new(), 0);
        loop {
            let files = index.files_after(last).await?;
            let Some((number, _)) = files.last() else { break };
            last = *number;
            let state = |file: &IndexedFile| (file.generation, file.next_seq);
            known.extend(files.iter().map(|(_, file)| (key(&file.path), state(file))));
        }
        let (mut behind, mut last) = (Vec::new(), FileId(0));
        loop {
            let files = self.store.file_states_after(last).await?;
            let Some(file) = files.last() else { break };
            last = file.file_id;
            for file in files.iter().filter(|file| !file.is_gone) {
                let is_behind = match known.remove(&key(&file.path)) {
                    Some((generation, next_seq)) => {
                        generation != file.generation || next_seq < file.next_seq
                    }
                    None => file.next_seq > 0,
                };
                behind.extend(is_behind.then_some((file.mtime_ns, file.file_id)));
            }
        }
        // The newest are looked for first.
        behind.sort_by_key(|(mtime_ns, _)| Reverse(*mtime_ns));
        work.queue = behind.into_iter().map(|(_, file)| file).collect();
        // A database that was begun anew knows of no file yet.
        let is_begun = last != FileId(0);
        work.lost = if is_begun { lost(index, &known).await? } else { Vec::new() };
        work.looked_through = Some(Instant::now());
        Ok(())
    }

    /// Words of the next files, up to the bounds of a batch.
    async fn batch(
        &self,
        index: &SearchIndex,
        work: &mut Work,
    ) -> Result<Vec<IndexPart>, StoreError> {
        let (mut parts, mut bytes) = (Vec::new(), 0);
        while bytes < BATCH_BYTES && parts.len() < BATCH_FILES {
            let Some(number) = work.queue.pop_front() else { break };
            let Some(row) = self.store.file(number).await? else { continue };
            if row.gone_at_ms.is_some() {
                continue;
            }
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

    /// Where to go on with a file. What the index holds of another content of it is dropped first.
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
        if let Some(known) = index.file_by_path(&row.path).await? {
            if self.is_continued(row, &known).await? {
                return Ok(going_on(&known, fresh));
            }
            index.drop_file(&row.path).await?;
            return Ok(fresh);
        }
        for at in 0..work.lost.len() {
            let known = &work.lost[at];
            if known.thread_id == fresh.thread_id && self.is_continued(row, known).await? {
                index.move_file(&known.path, &row.path).await?;
                return Ok(going_on(&work.lost.swap_remove(at), fresh));
            }
        }
        Ok(fresh)
    }

    /// Whether the file has the line that was indexed last.
    async fn is_continued(&self, row: &FileRow, known: &IndexedFile) -> Result<bool, StoreError> {
        if known.last_digest == Digest128::default() {
            return Ok(true);
        }
        let item = self.store.item_at(row.file_id, row.cursor.generation, known.last_seq).await?;
        Ok(item.is_some_and(|item| item.digest == known.last_digest))
    }

    /// The words after the cursor; `None` when there is nothing new or the file cannot be read now.
    async fn read(
        &self,
        row: &FileRow,
        cursor: IndexedFile,
        bytes_max: usize,
    ) -> Result<Option<Read>, StoreError> {
        let pages = if row.path.ends_with(".zst") { PAGES_COMPRESSED } else { PAGES };
        let (generation, from, end) = (row.cursor.generation, cursor.next_seq, row.cursor.next_seq);
        let rows = self.store.rows_from(row.file_id, generation, from, pages).await?;
        let Some(last) = rows.last().map(|row| row.seq) else {
            // Lines without an item: passed, so that they are not looked at again.
            let part =
                IndexPart { file: IndexedFile { next_seq: end, ..cursor }, items: Vec::new() };
            return Ok((end > from).then_some(Read { part, bytes: 0, is_whole: true }));
        };
        let read =
            tokio::task::spawn_blocking(move || reading::read(cursor, &rows, bytes_max)).await;
        let failed = match read {
            Ok(Ok(mut read)) => {
                let reached = read.part.file.next_seq;
                // What stops before the last row has met a changed line: ingestion will hint.
                read.is_whole = read.is_whole && (reached <= last || reached >= end);
                return Ok((reached > from).then_some(read));
            }
            Ok(Err(error)) => error.to_string(),
            Err(error) => error.to_string(),
        };
        tracing::warn!(path = row.path, failed, "a transcript cannot be read for the index");
        Ok(None)
    }
}

/// The cursor of `known` for the file as it is now.
fn going_on(known: &IndexedFile, now: IndexedFile) -> IndexedFile {
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
        lost.extend(files.filter(|file| keys.contains_key(&key(&file.path))));
    }
    Ok(lost)
}

/// Stands for a path where there may be very many.
fn key(path: &str) -> u128 {
    xxhash_rust::xxh3::xxh3_128(path.as_bytes())
}
