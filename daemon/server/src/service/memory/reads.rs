//! Counts reads of memory files by agents' commands, when their thread is extracted.
//!
//! Lines that an earlier extraction read are skipped. A crash between storing the extraction and counting loses the
//! count: it is only a hint of what is useful, and a low count is better than counting a read twice.

use std::sync::Arc;

use longhaul_core::memory::read_log::ReadLog;
use longhaul_store::{ExtractionTable, ThreadTable};

use super::citations::Citations;
use super::publications::Publications;
use crate::archive::Archive;
use crate::service::error::ServiceError;
use crate::transcript::each_line;

pub struct ReadCounter {
    pub(in crate::service) threads: ThreadTable,
    pub(in crate::service) archive: Arc<Archive>,
    pub(in crate::service) extractions: ExtractionTable,
    pub(in crate::service) publications: Arc<Publications>,
    pub(in crate::service) citations: Arc<Citations>,
}

impl ReadCounter {
    /// Paths of memory files that the thread read since its last extraction; empty if they cannot be determined.
    pub(super) async fn unseen(&self, thread_id: &str) -> Vec<String> {
        let found = self.find(thread_id).await;
        found.unwrap_or_else(|error| {
            tracing::info!(thread_id, %error, "cannot find this thread's reads of memory");
            Vec::new()
        })
    }

    async fn find(&self, thread_id: &str) -> Result<Vec<String>, ServiceError> {
        let Some(row) = self.threads.get(thread_id).await? else { return Ok(Vec::new()) };
        let from_seq = self.extractions.get(thread_id).await?.map_or(0, |row| row.next_seq);
        if from_seq >= row.file.cursor.next_seq {
            return Ok(Vec::new());
        }
        let cwd = row.file.head.as_ref().and_then(|head| head.cwd.clone());
        let mut log =
            ReadLog::new(row.file.source, cwd, self.publications.folder().roots(), from_seq);
        let (path, running) = (row.file.path.clone(), Arc::new(()));
        let (wanted, archive) = (Arc::downgrade(&running), Arc::clone(&self.archive));
        let reading = tokio::task::spawn_blocking(move || {
            // Stops when the caller is dropped: the job was taken back.
            each_line(&row.file, &archive, |place, line| {
                log.line(place, line);
                wanted.strong_count() > 0
            })?;
            Ok(log.into_paths())
        });
        let found = reading.await?.map_err(|source| ServiceError::File { path, source });
        drop(running);
        found
    }

    /// Counts the paths, by kind of file and by the thread they summarize.
    pub(super) async fn count(&self, paths: Vec<String>) {
        if paths.is_empty() {
            return;
        }
        if let Err(error) = self.citations.count(None, Vec::new(), paths).await {
            tracing::info!(%error, "cannot count reads of memory");
        }
    }
}
