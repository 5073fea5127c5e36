//! Finds archived texts of transcripts that are gone, of which the store has nothing: it is new, or from a backup. Forks
//! that exist are folded again on top of such a text.
//!
//! Only looks while nothing else is to be read, at a page of the archive's index at a time. A text is folded like a
//! transcript, and its file is stored as gone from its first batch on. So an interrupted pass leaves a gone file that ends
//! before its text, and the next start resumes it. A text without an archived row, such as that of a forgotten thread, is
//! not found.

use std::collections::{HashMap, VecDeque};
use std::path::Path;
use std::sync::atomic::Ordering;

use longhaul_store::{ArchivedTranscript, FileRow, StoreError, TextProgress};
use tokio::time::Instant;

use super::Worker;
use crate::archive::{Archive, ForgottenThreads};
use crate::discovery::plan::Job;
use crate::discovery::scan::Root;
use crate::ingest::batch::PassEnd;
use crate::ingest::error::SyncError;
use crate::transcript::Presence;

/// Progress of the search.
#[derive(Debug, Default)]
pub(super) struct LostTexts {
    /// Found texts.
    pub(super) jobs: VecDeque<Job>,
    /// Number of the last text that was compared; `None` if all were.
    compared: Option<i64>,
}

impl LostTexts {
    /// Searches from the first text.
    pub(super) fn begin(&mut self) {
        self.jobs.clear();
        self.compared = Some(0);
    }
}

impl Worker {
    /// Queues the next lost texts if nothing else is queued.
    pub(super) async fn find_lost(&mut self) {
        let is_queued =
            !self.urgent.is_empty() || !self.hinted.is_empty() || !self.scanned.is_empty();
        if is_queued || !self.shared.is_listed() {
            return;
        }
        if self.lost.compared == Some(0) {
            self.rejoin_forks().await;
        }
        while let Some(compared) = self.lost.compared
            && self.lost.jobs.is_empty()
            && !self.shared.stop.load(Ordering::Relaxed)
        {
            match self.lost_after(compared).await {
                Ok((compared, jobs)) => self.lost = LostTexts { jobs, compared },
                Err(error) => {
                    // Retried after the next listing.
                    tracing::warn!(%error, "cannot compare the archive with the store");
                    return;
                }
            }
        }
    }

    /// Queues the forks that were folded without their base because it is gone, and could not be read while the index was
    /// closed.
    async fn rejoin_forks(&mut self) {
        let Some(index) = self.shared.archive.as_ref().and_then(|archive| archive.index()) else {
            return;
        };
        let forks: Vec<(Job, Box<str>)> = {
            let entries = self.shared.catalogue.lock();
            let forks = entries.iter().filter_map(|(path, entry)| {
                let known = entry.known.as_ref().filter(|known| known.is_missing_base())?;
                let path = entry.listed.map(|_| path.to_string())?;
                let job = Job { restart: true, ..Job::of(path, entry.source, entry.archived) };
                Some((job, known.base_thread.clone()?))
            });
            forks.collect()
        };
        for (job, base) in forks {
            match index.transcripts.of_thread(&base).await {
                Ok(texts) => {
                    let has_base = texts.iter().any(|text| text.path != job.path);
                    self.hinted.extend(has_base.then_some(job));
                }
                Err(error) => {
                    return tracing::warn!(%error, "cannot find the bases of forks in the archive");
                }
            }
        }
    }

    /// The lost texts among the next ones after number `compared`, and the number of the last of these.
    async fn lost_after(&self, compared: i64) -> Result<(Option<i64>, VecDeque<Job>), StoreError> {
        let end = (None, VecDeque::new());
        let Some(archive) = &self.shared.archive else { return Ok(end) };
        // Opening the index begins another search.
        let Some(index) = archive.index() else { return Ok(end) };
        let mut texts = index.transcripts.progress_after(compared).await?;
        let Some(last) = texts.last().map(|text| text.id) else { return Ok(end) };
        {
            let entries = self.shared.catalogue.lock();
            texts.retain(|text| text.generation >= 0 && !entries.contains_key(text.path.as_str()));
        }
        let paths: Vec<String> = texts.iter().map(|text| text.path.clone()).collect();
        let stored = self.shared.files.gone(&paths).await?.into_iter();
        let stored: HashMap<String, FileRow> =
            stored.map(|file| (file.path.clone(), file)).collect();
        let mut lost = Vec::new();
        for TextProgress { path, generation, source_bytes, .. } in texts {
            if !is_missing(stored.get(&path), generation, source_bytes) {
                continue;
            }
            // The newest state of the file.
            let Some(text) = index.transcripts.at(&path).await?.into_iter().next() else {
                continue;
            };
            let bytes = text.source_bytes.min(text.text_bytes);
            if text.generation == generation
                && is_missing(stored.get(&path), generation, bytes)
                && !self.has_transcript(&text.thread_id).await?
            {
                lost.push(text);
            }
        }
        Ok((Some(last), self.jobs_of(archive, lost).await?))
    }

    /// Whether a transcript of the thread exists. Then a missing one was moved, or it is only a part of the thread.
    async fn has_transcript(&self, thread_id: &str) -> Result<bool, StoreError> {
        let thread = self.shared.threads.get(thread_id).await?;
        Ok(thread.is_some_and(|thread| thread.file.gone_at_ms.is_none()))
    }

    /// Jobs for those texts whose files do not exist and whose threads are not forgotten.
    async fn jobs_of(
        &self,
        archive: &Archive,
        mut texts: Vec<ArchivedTranscript>,
    ) -> Result<VecDeque<Job>, StoreError> {
        if texts.is_empty() {
            return Ok(VecDeque::new());
        }
        let folder = archive.folder().to_owned();
        let looking = move || {
            let forgotten = ForgottenThreads::read(&folder)
                .map_err(|error| StoreError::access(&folder, &error))?;
            let mut presence = Presence::default();
            texts.retain(|text| {
                !forgotten.has(&text.thread_id) && presence.is_gone(Path::new(&text.path))
            });
            Ok(texts)
        };
        let Ok(texts) = tokio::task::spawn_blocking(looking).await else {
            return Ok(VecDeque::new());
        };
        let roots = &self.shared.roots;
        let is_below = |root: &Root, path: &str| Path::new(path).starts_with(&root.path);
        let job = |text: ArchivedTranscript| {
            let archived = roots.iter().any(|root| root.archived && is_below(root, &text.path));
            let archived_text = u64::try_from(text.generation).ok();
            Job { archived_text, ..Job::of(text.path, text.source, archived) }
        };
        Ok(texts?.into_iter().map(job).collect())
    }

    /// Deletes what the transcripts that continue a thread have of it, and has them folded again. No pass runs now, so that
    /// none can store it later.
    pub(super) async fn disown(&mut self, thread_id: &str) -> Result<(), SyncError> {
        let disowned = self.shared.projection.disown(thread_id).await;
        for path in disowned.map_err(|error| SyncError::refused(&error))? {
            self.shared.catalogue.distrust(&path);
        }
        self.shared.folds.clear();
        self.next_scan = Instant::now();
        Ok(())
    }

    /// Drops the file from memory, like every one that is gone.
    pub(super) fn on_lost_ended(&mut self, end: &PassEnd) {
        if let Err(error) = &end.result {
            tracing::warn!(path = end.job.path, error, "cannot read an archived text");
        }
        let mut entries = self.shared.catalogue.lock();
        let entry = entries.get(end.job.path.as_str());
        if entry.and_then(|entry| entry.known.as_deref()).is_some_and(|known| known.gone) {
            entries.forget(&end.job.path);
        }
    }
}

/// Whether the store has nothing of a text of `bytes`, or only its beginning, from an interrupted pass.
fn is_missing(stored: Option<&FileRow>, generation: i64, bytes: u64) -> bool {
    stored.is_none_or(|file| {
        let cursor = &file.cursor;
        i64::try_from(cursor.generation) == Ok(generation) && cursor.offset < bytes
    })
}
