//! What stays open while the daemon runs: the reader of transcripts, the search index, the database.

use std::sync::Arc;

use longhaul_store::Database;
use tokio::sync::{RwLock, RwLockReadGuard};

use super::archive::ArchiveKeeper;
use super::search::FullText;
use crate::heap;
use crate::ingest::Ingest;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Caches {
    /// Pages of the databases, which are reloaded in microseconds.
    Cheap,
    /// Also folds, which must be recomputed.
    All,
}

/// Closes what is open, in the right order.
pub struct Storage {
    pub(super) ingest: Arc<Ingest>,
    pub(super) full_text: Arc<FullText>,
    archive: Arc<ArchiveKeeper>,
    pub(super) database: Database,
    settling: RwLock<()>,
}

impl Storage {
    pub fn new(
        ingest: Arc<Ingest>,
        full_text: Arc<FullText>,
        archive: Arc<ArchiveKeeper>,
        database: Database,
    ) -> Self {
        Self { ingest, full_text, archive, database, settling: RwLock::default() }
    }

    pub(super) async fn release(&self, caches: Caches) {
        if caches == Caches::All {
            self.ingest.forget_folds();
        }
        let (words, archived) = (self.full_text.index(), self.archive.archive().index());
        let released = async {
            self.database.release_memory().await?;
            if let Some(words) = words {
                words.release_memory().await?;
            }
            match archived {
                Some(archived) => archived.release_memory().await,
                None => Ok(()),
            }
        };
        if let Err(error) = released.await {
            tracing::debug!(%error, "cannot release a database's pages");
        }
        // Trimming blocks allocators, so run it off the runtime threads.
        if let Err(error) = tokio::task::spawn_blocking(heap::release).await {
            tracing::debug!(%error, "cannot release unused heap");
        }
    }

    /// Held by a task that must finish something in the store before it closes.
    pub async fn settle(&self) -> RwLockReadGuard<'_, ()> {
        self.settling.read().await
    }

    /// Waits until reading ends, which without [`Self::stop`] happens only through a defect.
    pub async fn reading_ended(&self) {
        self.ingest.ended().await;
    }

    /// Compares the pages of an idle database with their checksums, and replaces a database that is damaged.
    pub async fn check(&self) {
        if let Err(error) = self.database.check_pages().await {
            tracing::error!(%error, "the database is damaged");
            if let Err(error) = self.ingest.recover().await {
                tracing::error!(%error, "the damaged database cannot be replaced by a new one");
            }
        }
    }

    /// Ends reading, then closes the database, so that everything read is stored.
    pub async fn stop(&self) {
        self.ingest.stop().await;
        self.full_text.stop().await;
        self.archive.stop().await;
        drop(self.settling.write().await);
        self.database.close().await;
    }
}
