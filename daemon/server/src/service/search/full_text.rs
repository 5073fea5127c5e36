//! Owns the search index and its worker; starts and stops them.

use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use longhaul_store::{FileTable, PageTable, SearchIndex};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::indexer::Indexer;
use super::progress::IndexProgress;
use crate::ingest::Ingest;

/// Name of the index in the state folder.
const INDEX: &str = "search.db";

pub struct FullText {
    index: Arc<OnceLock<SearchIndex>>,
    pub(in crate::service) progress: Arc<IndexProgress>,
    cancel: CancellationToken,
    task: Mutex<Option<JoinHandle<()>>>,
}

impl FullText {
    /// Starts the indexer and returns at once; the index is opened in the background.
    pub fn start(
        state_dir: &Path,
        files: FileTable,
        pages: PageTable,
        ingest: Arc<Ingest>,
        progress: Arc<IndexProgress>,
    ) -> Self {
        let (index, cancel) = (Arc::<OnceLock<SearchIndex>>::default(), CancellationToken::new());
        // Until it has checked the files, the index must not count as complete.
        progress.hint_all();
        let indexer = Indexer {
            path: state_dir.join(INDEX),
            index: Arc::clone(&index),
            files,
            pages,
            ingest,
            progress: Arc::clone(&progress),
            cancel: cancel.clone(),
        };
        let task = Mutex::new(Some(tokio::spawn(indexer.run())));
        Self { index, progress, cancel, task }
    }

    /// The index, once it is open.
    pub fn index(&self) -> Option<&SearchIndex> {
        self.index.get()
    }

    /// Stops after the current batch.
    pub async fn stop(&self) {
        self.cancel.cancel();
        let task = self.task.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(task) = task
            && let Err(error) = task.await
        {
            tracing::error!(%error, "the indexer failed");
        }
        if let Some(index) = self.index.get() {
            index.close().await;
        }
    }
}
