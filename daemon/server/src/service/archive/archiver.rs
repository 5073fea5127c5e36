//! The task that archives while ingestion is idle.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use longhaul_store::{
    ArchiveIndex, ArchivedTranscript, FileId, FileRow, FileState, FileTable, StoreError,
    SupersededText,
};
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;

use super::bounds::{self, EvictionFacts};
use super::known_text::{KnownText, KnownTexts};
use super::reading::{self, NewPart, ReadOutcome, Tail};
use super::shared::{ArchiveShared, BATCH_BYTES};
use super::{forgetting, publishing, redacting, upkeep};
use crate::archive::{ArchivedFiles, ArchivedText, ForgottenThreads};
use crate::heap;
use crate::ingest::Ingest;
use crate::service::error::ServiceError;

const BATCH_FILES: usize = 512;

/// After archiving this many texts in one pass, release the heap before packs are merged.
const RELEASE_TEXTS: usize = 4_096;

/// Time to collect hints for one pass.
const SETTLE: Duration = Duration::from_millis(200);

/// Pause between two passes: an agent at work writes a line every few seconds, and each pass writes a pack.
const BETWEEN: Duration = Duration::from_secs(1);

/// Maximum rest after a batch.
const REST_MAX: Duration = Duration::from_millis(500);

/// Maximum pause after a failure.
const PAUSE_MAX: Duration = Duration::from_secs(60);

/// Time between two rounds of reading whole packs.
const CHECK_PERIOD: Duration = Duration::from_secs(3_600);

pub(super) struct Archiver {
    pub(super) shared: Arc<ArchiveShared>,
    pub(super) files: FileTable,
    pub(super) facts: EvictionFacts,
    pub(super) ingest: Arc<Ingest>,
    pub(super) known: KnownTexts,
    pub(super) cancel: CancellationToken,
}

impl Archiver {
    /// Runs until cancelled.
    pub(super) async fn run(self) {
        let mut pause = Duration::from_secs(1);
        while !self.cancel.is_cancelled() {
            let Err(error) = self.work(&mut pause).await else { return };
            tracing::warn!(%error, "cannot write the archive");
            self.shared.progress.set_stalled(Some(error.to_string()));
            if let ServiceError::Store(StoreError::Corrupt { .. }) = error {
                self.shared.archive.close().await;
            }
            tokio::select! {
                () = self.cancel.cancelled() => {}
                () = sleep(pause) => {}
            }
            pause = (pause * 2).min(PAUSE_MAX);
            // Scan all files to find what was not stored.
            self.shared.hints.hint_all();
        }
    }

    async fn work(&self, pause: &mut Duration) -> Result<(), ServiceError> {
        let index = {
            let _turn = self.shared.turn.lock().await;
            match self.shared.archive.index() {
                Some(index) => {
                    // The failure that this follows may have left some.
                    self.shared.archive.remove_orphans(&index).await?;
                    index
                }
                None => self.shared.archive.open().await?,
            }
        };
        forgetting::resume(&self.shared, &index).await?;
        // Ages of a lost database are recognized while the new one is young: they lie ahead of its own.
        index.threads.begin_ages(self.facts.age.lived_ms().await?).await?;
        self.ingest.find_lost();
        let mut next_check = Instant::now() + CHECK_PERIOD;
        let mut was_enabled = true;
        loop {
            let is_hinted = tokio::select! {
                () = self.cancel.cancelled() => return Ok(()),
                () = self.shared.hints.arrived() => true,
                () = sleep_until(next_check) => false,
            };
            if is_hinted && self.cancel.run_until_cancelled(sleep(SETTLE)).await.is_none() {
                return Ok(());
            }
            self.shared.progress.is_idle.store(false, Ordering::Relaxed);
            let is_enabled = *self.shared.config.now().archive.enabled;
            if is_enabled && !std::mem::replace(&mut was_enabled, is_enabled) {
                self.shared.hints.hint_all();
            }
            was_enabled = is_enabled;
            if is_enabled && !self.pass(&index).await? {
                return Ok(());
            }
            let progress = &self.shared.progress;
            self.shared.hints.if_none(|| progress.is_idle.store(true, Ordering::Relaxed));
            if Instant::now() >= next_check {
                next_check = Instant::now() + CHECK_PERIOD;
                self.shared.archive.check_index().await?;
                upkeep::check_some(&self.shared, &index).await?;
                self.shared.progress.is_redaction_blocked.store(false, Ordering::Relaxed);
            }
            *pause = Duration::from_secs(1);
            self.shared.progress.set_stalled(None);
            if self.cancel.run_until_cancelled(sleep(BETWEEN)).await.is_none() {
                return Ok(());
            }
        }
    }

    /// Archives everything new; `false` if cancelled.
    async fn pass(&self, index: &ArchiveIndex) -> Result<bool, ServiceError> {
        if self.cancel.run_until_cancelled(self.ingest.idle()).await.is_none() {
            return Ok(false);
        }
        if bounds::readmit(&self.shared, index).await? {
            self.shared.hints.hint_all();
        }
        let mut queue = self.queue(index).await?;
        let mut archived = 0;
        loop {
            self.shared.progress.set_behind(queue.len());
            if self.cancel.run_until_cancelled(self.ingest.idle()).await.is_none() {
                return Ok(false);
            }
            let began = Instant::now();
            let is_done = {
                let _turn = self.shared.turn.lock().await;
                let reads = self.batch(index, &mut queue).await?;
                archived += reads.len();
                if !reads.is_empty() {
                    publishing::publish(&self.shared, index, reads).await?;
                }
                queue.is_empty()
            };
            if is_done {
                break;
            }
            // Leave half of the processor to others.
            let rest = sleep((began.elapsed() / 2).min(REST_MAX));
            if self.cancel.run_until_cancelled(rest).await.is_none() {
                return Ok(false);
            }
        }
        if !self.redact(index).await? {
            return Ok(false);
        }
        if archived >= RELEASE_TEXTS {
            tokio::task::spawn_blocking(heap::release).await?;
        }
        let _turn = self.shared.turn.lock().await;
        bounds::enforce(&self.shared, index, &self.facts).await?;
        self.shared.progress.set_behind(0);
        Ok(true)
    }

    /// Redacts what was archived before `archive.redact` was on; `false` if cancelled.
    async fn redact(&self, index: &ArchiveIndex) -> Result<bool, ServiceError> {
        let is_blocked = &self.shared.progress.is_redaction_blocked;
        if !*self.shared.config.now().archive.redact
            || is_blocked.load(Ordering::Relaxed)
            || index.packs.are_redacted().await?
        {
            return Ok(true);
        }
        let mut last = 0;
        loop {
            if self.cancel.run_until_cancelled(self.ingest.idle()).await.is_none() {
                return Ok(false);
            }
            let began = Instant::now();
            {
                let _turn = self.shared.turn.lock().await;
                match redacting::redact_some(&self.shared, index, last).await? {
                    Some(redacted) => last = redacted,
                    None => break,
                }
            }
            let rest = sleep((began.elapsed() / 2).min(REST_MAX));
            if self.cancel.run_until_cancelled(rest).await.is_none() {
                return Ok(false);
            }
        }
        let _turn = self.shared.turn.lock().await;
        let is_done = redacting::erase(&self.shared, index).await?;
        is_blocked.store(!is_done, Ordering::Relaxed);
        Ok(true)
    }

    /// The files that may have new text: the hinted ones, or all that differ from the index.
    async fn queue(&self, index: &ArchiveIndex) -> Result<VecDeque<FileId>, ServiceError> {
        let hints = self.shared.hints.take();
        if !hints.all {
            let mut queue = VecDeque::new();
            for path in hints.paths {
                queue.extend(self.files.by_path(&path).await?.map(|file| file.file_id));
            }
            return Ok(queue);
        }
        let archived = ArchivedFiles::of(index).await?;
        let (mut behind, mut last) = (Vec::new(), FileId(0));
        loop {
            let files = self.files.states_after(last).await?;
            let Some(file) = files.last() else { break };
            last = file.file_id;
            let is_behind = |file: &FileState| !file.is_gone && !archived.is_up_to_date(file);
            let files = files.into_iter().filter(is_behind);
            behind.extend(files.map(|file| (file.mtime_ns, file.file_id)));
        }
        // Newest first: they would be missed first.
        behind.sort_by_key(|(mtime_ns, _)| std::cmp::Reverse(*mtime_ns));
        Ok(behind.into_iter().map(|(_, file)| file).collect())
    }

    /// Reads the new text of the next files, up to the bounds of a batch.
    async fn batch(
        &self,
        index: &ArchiveIndex,
        queue: &mut VecDeque<FileId>,
    ) -> Result<Vec<NewPart>, ServiceError> {
        let excluded = self.excluded(index).await?;
        let (mut reads, mut bytes) = (Vec::new(), 0);
        while bytes < BATCH_BYTES && reads.len() < BATCH_FILES {
            let Some(number) = queue.pop_front() else { break };
            let Some(file) = self.files.get(number).await? else { continue };
            if excluded.has(&file) {
                continue;
            }
            let Some(read) = self.read(index, file, BATCH_BYTES - bytes).await? else { continue };
            bytes += read.text.len() as u64;
            let is_whole = read.is_whole;
            reads.push(read);
            if !is_whole {
                queue.push_front(number);
                break;
            }
        }
        Ok(reads)
    }

    async fn excluded(&self, index: &ArchiveIndex) -> Result<Exclusions, ServiceError> {
        let forgotten = self.shared.forgotten().await?;
        Ok(Exclusions { forgotten, evicted: index.threads.evicted().await?.into_iter().collect() })
    }

    /// Reads the new text of a file; `None` if there is none, or the file cannot be read now.
    async fn read(
        &self,
        index: &ArchiveIndex,
        file: FileRow,
        bytes_max: u64,
    ) -> Result<Option<NewPart>, ServiceError> {
        let is_redacted = *self.shared.config.now().archive.redact;
        let KnownText { row: mut known, is_relabeled, superseded } =
            self.known.of(index, &file, is_redacted).await?;
        known.updated_ms = file.head.as_ref().map_or(known.updated_ms, |head| head.updated_at_ms);
        known.lived_ms = self.facts.age.lived_ms().await?;
        // A relabeled one is described again, for a rebuild of the index.
        if known.source_bytes >= file.cursor.offset && !is_relabeled {
            return Ok(None);
        }
        let tail = match index.packs.last_piece(known.id).await? {
            Some(last) => {
                let text = self.shared.archive.text(index, known.clone()).await?;
                let pack = last.pack;
                let read = move || {
                    let mut chunk = vec![0; usize::try_from(last.bytes).unwrap_or(0)];
                    let count = text.read_at(last.offset, &mut chunk)?;
                    chunk.truncate(count);
                    Ok::<_, std::io::Error>(Tail {
                        offset: last.offset,
                        lines_before: last.lines_before,
                        chunk,
                    })
                };
                match tokio::task::spawn_blocking(read).await? {
                    Ok(tail) => tail,
                    Err(error) => {
                        tracing::warn!(path = file.path, %error, "an archived text cannot be continued");
                        if ArchivedText::is_damage(&error) {
                            // Repairs the pack, and has the transcripts in it archived again.
                            upkeep::check_if_there(&self.shared, index, pack).await?;
                        }
                        return Ok(None);
                    }
                }
            }
            None => Tail::default(),
        };
        let (path, before) = (file.path.clone(), known.clone());
        let reading = move || reading::read(&file, known, tail, bytes_max);
        match tokio::task::spawn_blocking(reading).await? {
            Ok(ReadOutcome::New(mut read)) => {
                read.part.superseded = superseded;
                if read.is_whole {
                    let moved = self.moved(index, &read.part.transcript).await?;
                    read.part.superseded.extend(moved.into_iter().map(SupersededText::Removed));
                }
                Ok(Some(*read))
            }
            Ok(ReadOutcome::Gone) => Ok(None),
            Ok(ReadOutcome::Changed) => {
                // Its lines differ from the archived ones, or from the ingested ones. In the first case, archive the file
                // again; in the second, ingestion will notice and send a hint.
                if before.id != 0 {
                    index.transcripts.replace(&before).await?;
                    self.shared.hints.hint(&path);
                }
                Ok(None)
            }
            Err(error) => {
                tracing::warn!(path, %error, "cannot read a transcript for the archive");
                Ok(None)
            }
        }
    }

    /// Rows with the same text under a path without a file: the file was moved or compressed.
    async fn moved(
        &self,
        index: &ArchiveIndex,
        whole: &ArchivedTranscript,
    ) -> Result<Vec<i64>, ServiceError> {
        let mut moved = Vec::new();
        for row in index.transcripts.of_thread(&whole.thread_id).await? {
            let is_same = row.path != whole.path
                && row.checked_bytes > 0
                && (row.checked_bytes, row.checked_chain)
                    == (whole.checked_bytes, whole.checked_chain);
            if is_same && self.files.by_path(&row.path).await?.is_none() {
                moved.push(row.id);
            }
        }
        Ok(moved)
    }
}

/// Threads and files not to archive.
struct Exclusions {
    forgotten: ForgottenThreads,
    evicted: HashMap<String, u64>,
}

impl Exclusions {
    fn has(&self, file: &FileRow) -> bool {
        let Some(thread_id) = file.thread_id.as_deref() else { return true };
        let is_ephemeral = file.head.as_ref().is_some_and(|head| head.is_ephemeral);
        is_ephemeral
            || file.gone_at_ms.is_some()
            || self.evicted.get(&file.path) == Some(&file.cursor.offset)
            || self.forgotten.has(thread_id)
    }
}
