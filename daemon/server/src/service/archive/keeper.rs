//! Starts and stops the archiver, and forgets threads.

use std::sync::{Arc, Mutex, PoisonError};

use longhaul_protocol::archive::ForgetResult;
use longhaul_store::{ArchiveIndex, FileTable, ThreadTable};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::archiver::Archiver;
use super::bounds::EvictionFacts;
use super::forgetting;
use super::known_text::KnownTexts;
use super::lookup::ArchiveLookup;
use super::shared::ArchiveShared;
use crate::archive::Archive;
use crate::discovery::names::is_uuid;
use crate::ingest::Ingest;
use crate::service::error::ServiceError;
use crate::service::prefix::{CANDIDATES_MAX, only};

pub struct ArchiveKeeper {
    pub(super) shared: Arc<ArchiveShared>,
    pub(super) files: FileTable,
    threads: ThreadTable,
    cancel: CancellationToken,
    task: Mutex<Option<JoinHandle<()>>>,
}

impl ArchiveKeeper {
    /// Starts archiving and returns immediately; the index is opened in the background.
    pub(in crate::service) fn start(
        shared: ArchiveShared,
        (files, threads): (FileTable, ThreadTable),
        facts: EvictionFacts,
        ingest: Arc<Ingest>,
    ) -> Self {
        // Until all files are checked, the archive must not count as complete.
        shared.hints.hint_all();
        let shared = Arc::new(shared);
        let cancel = CancellationToken::new();
        let archiver = Archiver {
            shared: Arc::clone(&shared),
            files: files.clone(),
            facts,
            ingest,
            known: KnownTexts::default(),
            cancel: cancel.clone(),
        };
        let task = Mutex::new(Some(tokio::spawn(archiver.run())));
        Self { shared, files, threads, cancel, task }
    }

    /// Stops after the current batch.
    pub async fn stop(&self) {
        self.cancel.cancel();
        let task = self.task.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(task) = task
            && let Err(error) = task.await
        {
            tracing::error!(%error, "the archiver failed");
        }
        self.shared.archive.close().await;
    }

    /// Applies changed settings at once.
    pub fn settings_changed(&self) {
        self.shared.hints.wake();
    }

    pub fn archive(&self) -> &Arc<Archive> {
        &self.shared.archive
    }

    pub fn lookup(&self) -> ArchiveLookup {
        ArchiveLookup { shared: Arc::clone(&self.shared) }
    }

    pub(super) fn index(&self) -> Result<ArchiveIndex, ServiceError> {
        self.shared.archive.index().ok_or(ServiceError::IndexNotOpen)
    }

    /// The id of the only archived thread whose id begins with `named`. The store does not know threads whose transcripts
    /// are gone, so their ids are completed here.
    pub(super) async fn complete_id(
        &self,
        index: &ArchiveIndex,
        named: &str,
    ) -> Result<String, ServiceError> {
        only("thread", named, index.threads.with_prefix(named, CANDIDATES_MAX).await?)
    }

    /// Whether the store, the index or the list of forgotten threads has a thread with this id.
    async fn knows(&self, index: &ArchiveIndex, thread_id: &str) -> Result<bool, ServiceError> {
        if self.threads.get(thread_id).await?.is_some()
            || !index.transcripts.of_thread(thread_id).await?.is_empty()
        {
            return Ok(true);
        }
        Ok(self.shared.forgotten().await?.has(thread_id))
    }

    /// The id of the thread to forget. A UUID is taken as it is: its transcript may not exist yet.
    ///
    /// # Errors
    /// [`ServiceError::ThreadNotFound`].
    pub async fn thread_to_forget(&self, named: &str) -> Result<String, ServiceError> {
        let thread_id = self.complete_id(&self.index()?, named).await?;
        match is_uuid(&thread_id) {
            true => Ok(thread_id),
            false => self.known_thread(&thread_id).await,
        }
    }

    /// The id of a thread that the store, the archive or the list of forgotten threads knows.
    ///
    /// # Errors
    /// [`ServiceError::ThreadNotFound`].
    pub async fn known_thread(&self, named: &str) -> Result<String, ServiceError> {
        let index = self.index()?;
        let thread_id = self.complete_id(&index, named).await?;
        match self.knows(&index, &thread_id).await? {
            true => Ok(thread_id),
            false => Err(ServiceError::ThreadNotFound(thread_id)),
        }
    }

    /// Deletes everything the archive has of a thread, and records that it must not be archived again.
    ///
    /// # Errors
    /// The archive cannot be written. What was deleted stays deleted, and another call or the next start continues.
    pub async fn forget(&self, thread_id: &str) -> Result<ForgetResult, ServiceError> {
        let index = self.index()?;
        let files = self.threads.files(thread_id).await?.into_iter();
        let files = files.map(|file| file.path).collect();
        let thread_id = thread_id.to_owned();
        let forget = async move |shared: Arc<ArchiveShared>| {
            forgetting::forget(&shared, &index, &thread_id, files).await
        };
        self.shared.in_turn(forget).await
    }
}
