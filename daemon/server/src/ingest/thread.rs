//! Catching up one thread, on the way of every request that asks for it.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;

use super::worker::Request;
use super::{Ingest, SyncError};

/// Files of one thread that a sync catches up.
const SYNC_FILES_MAX: usize = 8;

impl Ingest {
    /// Catches up a thread, as [`Ingest::sync`] does, and answers with nothing but that it is done.
    ///
    /// # Errors
    /// `Deadline` after `timeout`, `Stopping`.
    pub async fn read_thread(&self, thread_id: &str, timeout: Duration) -> Result<(), SyncError> {
        let read = tokio::time::timeout(timeout, self.catch_up_thread(thread_id));
        read.await.unwrap_or(Err(SyncError::Deadline))
    }

    /// Reads what was written to the files of a thread since they were read last.
    pub(super) async fn catch_up_thread(&self, thread_id: &str) -> Result<(), SyncError> {
        let mut files = self.shared.catalogue.of_thread(thread_id);
        if files.is_empty() {
            let (reply, done) = oneshot::channel();
            self.ask(Request::Scan(reply)).await?;
            done.await.map_err(|_| SyncError::Stopping)?;
            files = self.shared.catalogue.of_thread(thread_id);
        }
        files.truncate(SYNC_FILES_MAX);
        let (shared, files) = (Arc::clone(&self.shared), files);
        // Mostly nothing was written since: then nobody needs to be asked, and reading elsewhere goes on.
        let unread = tokio::task::spawn_blocking(move || {
            let unread = files.into_iter().filter(|(path, _)| !shared.is_read(path));
            unread.collect::<Vec<_>>()
        });
        for (path, _) in unread.await.map_err(|_| SyncError::Stopping)? {
            // One file of several may be unreadable or just moved; the thread may stand all the same.
            if let Err(error) = self.catch_up(path).await
                && error == SyncError::Stopping
            {
                return Err(error);
            }
        }
        Ok(())
    }
}
