//! Batches into the store: several small files share a transaction, a large one takes several.

use std::collections::HashSet;

use longhaul_store::{Batch, FileOutcome, RetryClass, StoreError};
use tokio::sync::mpsc;
use tokio::time::{Duration, sleep};

use super::catch_up::{Batched, Job, Outcome};
use super::events::ThreadUpdated;
use super::shared::Shared;

/// Files in one transaction.
const FILES_PER_COMMIT: usize = 128;

/// Times a batch is offered to a store whose lock another process holds.
const ATTEMPTS: u32 = 5;

/// What the reading thread sends.
pub(crate) enum Parcel {
    /// Something to store.
    Batch(Box<Batched>),
    /// A pass ended; its batches came before.
    Ended(Ended),
}

impl Parcel {
    /// Bytes of state in it that are to be stored.
    pub(crate) fn saved_bytes(&self) -> usize {
        match self {
            Self::Batch(batched) => batched.commit.saved_bytes(),
            Self::Ended(_) => 0,
        }
    }
}

/// A pass that ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) job: Job,
    pub(crate) result: Result<Outcome, String>,
}

/// Stores what arrives until the sender is done. Returns the passes that ended and are stored.
///
/// # Errors
/// The store refused a batch for good: what was not stored will be read again.
pub(crate) async fn drain(
    shared: &Shared,
    mut packets: mpsc::Receiver<Vec<Parcel>>,
) -> Result<Vec<Ended>, StoreError> {
    let mut ended = Vec::new();
    let mut group = Group::default();
    while let Some(packet) = packets.recv().await {
        for parcel in packet {
            match parcel {
                Parcel::Ended(end) => ended.push(end),
                Parcel::Batch(batched) => {
                    if !group.has_room_for(&batched, shared.limits.batch_bytes) {
                        store(shared, std::mem::take(&mut group)).await?;
                    }
                    group.push(*batched);
                }
            }
        }
    }
    store(shared, group).await?;
    Ok(ended)
}

/// Batches for one transaction, each of another file.
#[derive(Default)]
struct Group {
    batches: Vec<Batched>,
    paths: HashSet<String>,
    bytes: u64,
}

impl Group {
    fn has_room_for(&self, batched: &Batched, bytes_max: u64) -> bool {
        self.batches.is_empty()
            || (self.bytes + batched.bytes <= bytes_max
                && self.batches.len() < FILES_PER_COMMIT
                && !self.paths.contains(&batched.commit.path))
    }

    fn push(&mut self, batched: Batched) {
        self.bytes += batched.bytes;
        self.paths.insert(batched.commit.path.clone());
        self.batches.push(batched);
    }
}

async fn store(shared: &Shared, group: Group) -> Result<(), StoreError> {
    if group.batches.is_empty() {
        return Ok(());
    }
    let mut folds = Vec::with_capacity(group.batches.len());
    let mut batch = Batch::default();
    for batched in group.batches {
        folds.push((batched.fold, batched.bytes, batched.compacted));
        batch.files.push(batched.commit);
    }
    let committed = commit(shared, &batch).await?;
    for ((file, done), (fold, bytes, compacted)) in batch.files.iter().zip(&committed).zip(folds) {
        shared.catalogue.stored(file, done.file_id);
        shared.progress.add_bytes(bytes);
        let Some(thread_id) = &file.thread_id else { continue };
        shared.folds.replace(thread_id, done, &file.cursor, fold);
        if done.is_current {
            shared.events.thread_updated(&ThreadUpdated {
                thread_id: thread_id.clone(),
                path: file.path.clone(),
                offset: file.cursor.offset,
                next_seq: file.cursor.next_seq,
                items: file.head.items,
                tokens: file.head.tokens,
                compacted,
            });
        }
    }
    Ok(())
}

async fn commit(shared: &Shared, batch: &Batch) -> Result<Vec<FileOutcome>, StoreError> {
    let mut attempt = 1;
    loop {
        match shared.store.commit_batch(batch).await {
            Err(error) if error.retry_class() == RetryClass::Backoff && attempt < ATTEMPTS => {
                tracing::debug!(%error, attempt, "batch not stored yet");
                sleep(Duration::from_millis(50 << attempt)).await;
                attempt += 1;
            }
            other => return other,
        }
    }
}
