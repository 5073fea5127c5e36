//! What is open as long as the daemon runs: the transcripts' reader, the search index, the database.

use std::sync::Arc;

use longhaul_store::Store;
use tokio::sync::{RwLock, RwLockReadGuard};

use super::search::FullText;
use crate::ingest::Ingest;

/// Closes what is open, in its order.
pub struct Storage {
    ingest: Arc<Ingest>,
    full_text: Arc<FullText>,
    store: Store,
    settling: RwLock<()>,
}

impl Storage {
    #[must_use]
    pub fn new(ingest: Arc<Ingest>, full_text: Arc<FullText>, store: Store) -> Self {
        Self { ingest, full_text, store, settling: RwLock::default() }
    }

    /// Held by whoever must settle something in the store before it closes.
    pub async fn settle(&self) -> RwLockReadGuard<'_, ()> {
        self.settling.read().await
    }

    /// Waits until reading has ended, which it does by itself only through a defect.
    pub async fn reading_ended(&self) {
        self.ingest.ended().await;
    }

    /// Ends reading, then closes the database: what was read is stored.
    pub async fn stop(&self) {
        self.ingest.stop().await;
        self.full_text.stop().await;
        drop(self.settling.write().await);
        self.store.close().await;
    }
}
