//! Reads of memory by commands of agents, noticed when their thread is extracted.
//!
//! Lines that an earlier extraction has seen are not counted again. A crash between the extraction and the count
//! loses the count: it is a hint of what is useful, and too few is better than the same read twice.

use std::sync::Arc;

use longhaul_core::memory::read_log::ReadLog;
use longhaul_store::Store;

use super::citations::Citations;
use super::publications::Publications;
use crate::service::error::ServiceError;
use crate::transcript::each_line;

/// Finds and counts reads of memory in transcripts.
pub struct ReadCounter {
    store: Store,
    publications: Arc<Publications>,
    citations: Arc<Citations>,
}

impl ReadCounter {
    pub fn new(
        (store, publications): (Store, Arc<Publications>),
        citations: Arc<Citations>,
    ) -> Self {
        Self { store, publications, citations }
    }

    /// Paths of memory files that the thread has read since it was last extracted; none where that cannot be told.
    pub(super) async fn unseen(&self, thread_id: &str) -> Vec<String> {
        let found = self.find(thread_id).await;
        found.unwrap_or_else(|error| {
            tracing::info!(thread_id, %error, "reads of memory are not counted");
            Vec::new()
        })
    }

    async fn find(&self, thread_id: &str) -> Result<Vec<String>, ServiceError> {
        let Some(row) = self.store.thread_get(thread_id).await? else { return Ok(Vec::new()) };
        let from_seq = self.store.extraction_get(thread_id).await?.map_or(0, |row| row.next_seq);
        if row.file.gone_at_ms.is_some() || from_seq >= row.file.cursor.next_seq {
            return Ok(Vec::new());
        }
        let cwd = row.file.head.as_ref().and_then(|head| head.cwd.clone());
        let mut log =
            ReadLog::new(row.file.source, cwd, self.publications.folder().roots(), from_seq);
        let (path, running) = (row.file.path.clone(), Arc::new(()));
        let wanted = Arc::downgrade(&running);
        let reading = tokio::task::spawn_blocking(move || {
            // Whoever asks may be gone: the job was taken back.
            each_line(&row.file, |place, line| {
                log.line(place, line);
                wanted.strong_count() > 0
            })?;
            Ok(log.into_paths())
        });
        let found = reading.await?.map_err(|source| ServiceError::File { path, source });
        drop(running);
        found
    }

    /// Counts them, by kind of file and by the thread whose summary it is.
    pub(super) async fn count(&self, paths: Vec<String>) {
        if paths.is_empty() {
            return;
        }
        if let Err(error) = self.citations.count(None, Vec::new(), paths).await {
            tracing::info!(%error, "reads of memory are not counted");
        }
    }
}
