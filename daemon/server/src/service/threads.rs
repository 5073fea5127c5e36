//! `thread/*`: the threads found in the transcripts.

mod items;

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use longhaul_core::thread::Source;
use longhaul_protocol::limit;
use longhaul_store::{FileRow, PageTable, ThreadCursor, ThreadFilter, ThreadRow, ThreadTable};

use super::error::ServiceError;
use crate::archive::Archive;
use crate::config::Live;
use crate::ingest::{Ingest, SyncError, SyncPoint, SyncResult, SyncTarget};
use crate::thread_names;

pub use items::{ItemRange, Items};

/// How long the first list after a start waits for the existing transcripts.
const FIRST_READ_TIMEOUT: Duration = Duration::from_millis(1_500);

pub const SYNC_TIMEOUT_DEFAULT: Duration = Duration::from_millis(limit::SYNC_TIMEOUT_MS_DEFAULT);

/// Longest wait a caller may request.
const SYNC_TIMEOUT_MAX: Duration = Duration::from_millis(limit::SYNC_TIMEOUT_MS_MAX);

pub struct Threads {
    pub(super) pages: PageTable,
    pub(super) threads: ThreadTable,
    pub(super) ingest: Arc<Ingest>,
    pub(super) archive: Arc<Archive>,
    pub(super) config: Live,
}

impl Threads {
    /// Threads, newest first.
    pub async fn list(
        &self,
        filter: &ThreadFilter,
        limit: u32,
        after: Option<&ThreadCursor>,
    ) -> Result<(Vec<ThreadRow>, Option<ThreadCursor>), ServiceError> {
        self.ingest.wait_for_first_read(FIRST_READ_TIMEOUT).await;
        let (mut rows, next) = self.threads.list(filter, limit, after).await?;
        self.name(&mut rows).await?;
        Ok((rows, next))
    }

    /// Replaces titles by the names that people gave the threads.
    async fn name(&self, rows: &mut [ThreadRow]) -> Result<(), ServiceError> {
        if rows.iter().all(|row| row.file.source != Source::Codex) {
            return Ok(());
        }
        let home = self.config.now().home(Source::Codex).to_owned();
        let ids: HashSet<String> = rows.iter().map(|row| row.thread_id.clone()).collect();
        let reading = move || thread_names::read(&home, |id| ids.contains(id));
        let mut names = tokio::task::spawn_blocking(reading).await?;
        for row in rows {
            if let (Some(head), Some(name)) = (&mut row.file.head, names.remove(&row.thread_id)) {
                head.title = Some(name);
            }
        }
        Ok(())
    }

    /// A thread and all its files, each with its archived bytes.
    pub async fn get(
        &self,
        thread_id: &str,
    ) -> Result<(ThreadRow, Vec<(FileRow, u64)>), ServiceError> {
        let row = self.threads.get(thread_id).await?;
        let mut row = row.ok_or_else(|| ServiceError::ThreadNotFound(thread_id.to_owned()))?;
        self.name(std::slice::from_mut(&mut row)).await?;
        let archived = match self.archive.index() {
            Some(index) => index.transcripts.of_thread(thread_id).await?,
            None => Vec::new(),
        };
        let bytes_of = |file: &FileRow| {
            let generation = i64::try_from(file.cursor.generation).unwrap_or(i64::MAX);
            let mut kept = archived.iter();
            let kept = kept.find(|row| row.path == file.path && row.generation == generation);
            kept.map_or(0, |row| row.source_bytes)
        };
        let files = self.threads.files(thread_id).await?;
        let with_bytes = |file: FileRow| {
            let bytes = bytes_of(&file);
            (file, bytes)
        };
        Ok((row, files.into_iter().map(with_bytes).collect()))
    }

    /// At most `limit` items of a thread's current transcript.
    pub async fn items(
        &self,
        thread_id: &str,
        range: ItemRange,
        limit: usize,
    ) -> Result<Items, ServiceError> {
        items::items(self, thread_id, range, limit).await
    }

    /// Waits until everything written before the call, and everything up to `reach`, is read.
    pub async fn sync(
        &self,
        target: SyncTarget,
        reach: SyncPoint,
        timeout: Duration,
    ) -> Result<SyncResult, ServiceError> {
        let asked = match &target {
            SyncTarget::Thread(thread_id) => thread_id.clone(),
            SyncTarget::Path(path) => path.display().to_string(),
        };
        match self.ingest.sync_to(target, reach, timeout.min(SYNC_TIMEOUT_MAX)).await {
            Err(SyncError::NotFound(_)) => Err(ServiceError::ThreadNotFound(asked)),
            other => Ok(other?),
        }
    }
}

/// The target named by the caller: a thread or a file, not both.
pub fn target(thread_id: Option<String>, path: Option<String>) -> Result<SyncTarget, ServiceError> {
    match (thread_id, path) {
        (Some(thread_id), None) => Ok(SyncTarget::Thread(thread_id)),
        (None, Some(path)) if path.starts_with('/') => Ok(SyncTarget::Path(PathBuf::from(path))),
        (None, Some(_)) => Err(ServiceError::invalid("path", "must be absolute")),
        _ => Err(ServiceError::invalid("thread_id", "give either thread_id or path")),
    }
}

#[cfg(test)]
mod tests;
