//! Owns the search index and its worker; starts and stops them.

use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use longhaul_store::{FileTable, PageTable, SearchIndex};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::indexer::Indexer;
use super::progress::IndexProgress;
use crate::archive::Archive;
use crate::ingest::Ingest;
use crate::service::error::ServiceError;

/// Name of the index in the state folder.
const INDEX: &str = "search.db";

pub struct FullText {
    index: Arc<OnceLock<SearchIndex>>,
    turn: Arc<tokio::sync::Mutex<()>>,
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
        (ingest, archive): (Arc<Ingest>, Arc<Archive>),
        progress: Arc<IndexProgress>,
    ) -> Self {
        let turn = Arc::<tokio::sync::Mutex<()>>::default();
        let (index, cancel) = (Arc::<OnceLock<SearchIndex>>::default(), CancellationToken::new());
        // Until it has checked the files, the index must not count as complete.
        progress.hint_all();
        let indexer = Indexer {
            path: state_dir.join(INDEX),
            index: Arc::clone(&index),
            files,
            pages,
            ingest,
            archive,
            turn: Arc::clone(&turn),
            progress: Arc::clone(&progress),
            cancel: cancel.clone(),
        };
        let task = Mutex::new(Some(tokio::spawn(indexer.run())));
        Self { index, turn, progress, cancel, task }
    }

    /// The index, once it is open.
    pub fn index(&self) -> Option<&SearchIndex> {
        self.index.get()
    }

    /// Deletes the words of a thread, also those of a batch that is being read.
    ///
    /// # Errors
    /// The index is not open yet, or cannot be written.
    pub async fn erase_thread(&self, thread_id: &str) -> Result<(), ServiceError> {
        let index = self.index().ok_or(ServiceError::IndexNotOpen)?;
        let _turn = self.turn.lock().await;
        Ok(index.erase_thread(thread_id).await?)
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
