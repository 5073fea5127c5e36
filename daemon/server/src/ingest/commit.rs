//! Stores batches: several small files share a transaction, a large one takes several.

use longhaul_store::{FileCommit, FileOutcome, RetryClass, StoreError};
use tokio::sync::mpsc;
use tokio::time::{Duration, sleep};

use super::batch::{Batch, Effect, PassEnd};
use super::events::ThreadUpdated;
use super::shared::Shared;

/// Attempts to store a batch while another process holds the database lock.
const ATTEMPTS: u32 = 5;

/// Stores batches until the sender is dropped. Returns the passes that ended and are stored.
///
/// # Errors
/// The store refused a batch permanently: what was not stored will be read again.
pub(crate) async fn drain(
    shared: &Shared,
    mut batches: mpsc::Receiver<Batch>,
) -> Result<Vec<PassEnd>, StoreError> {
    let mut ended = Vec::new();
    while let Some(mut batch) = batches.recv().await {
        ended.append(&mut batch.ended);
        if !batch.effects.is_empty() {
            store(shared, batch).await?;
        }
    }
    Ok(ended)
}

async fn store(shared: &Shared, batch: Batch) -> Result<(), StoreError> {
    let Batch { commits, effects, .. } = batch;
    let committed = commit(shared, &commits).await?;
    for ((file, done), Effect { bytes, fold, compacted }) in
        commits.iter().zip(&committed).zip(effects)
    {
        let is_new = shared.catalogue.stored(file, done.file_id);
        shared.progress.add_bytes(bytes);
        let Some(thread_id) = &file.thread_id else { continue };
        shared.events.file_stored(&file.path);
        shared.folds.replace(thread_id, done, &file.cursor, fold);
        if done.is_current {
            shared.events.thread_updated(&ThreadUpdated {
                thread_id: thread_id.clone(),
                path: file.path.clone(),
                offset: file.cursor.offset,
                next_seq: file.cursor.next_seq,
                items: file.head.items,
                tokens: file.head.tokens,
                compacted: compacted && is_new,
            });
        }
    }
    Ok(())
}

async fn commit(shared: &Shared, batch: &[FileCommit]) -> Result<Vec<FileOutcome>, StoreError> {
    let mut attempt = 1;
    loop {
        match shared.projection.commit(batch).await {
            Err(error) if error.retry_class() == RetryClass::Backoff && attempt < ATTEMPTS => {
                tracing::debug!(%error, attempt, "store is busy: retrying the batch");
                sleep(Duration::from_millis(50 << attempt)).await;
                attempt += 1;
            }
            other => return other,
        }
    }
}
