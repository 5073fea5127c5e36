//! `thread/forget`: removes everything that the daemon has of a thread.
//!
//! # Theory of operation
//!
//! A transcript of another program is not ours to delete, and would be read again: while one exists, the call is refused.
//! Each step is durable before the next begins: the transcript that the recorder wrote, the archive (which records that the
//! thread must not be archived again), the state of threads that continue it, memory (likewise), the search index, prompts, databases that were moved aside, and
//! the rows of the database last. No step needs the rows that an earlier one deleted, and the list of forgotten threads
//! knows the id: so after an error or a crash the same call finishes the work.
//!
//! Work on the thread may be under way. A pass of ingestion and a batch of the indexer end before their step; memory
//! excludes the thread; whatever else ends later, such as a compaction, is refused by the store.

use std::sync::Arc;

use longhaul_core::thread::Source;
use longhaul_protocol::thread::ThreadForgetResult;
use longhaul_store::{Database, Exclusion, ThreadEraser};

use super::archive::ArchiveKeeper;
use super::error::ServiceError;
use super::memory::MemoryNotes;
use super::search::FullText;
use crate::ingest::Ingest;
use crate::message_history::MessageHistory;
use crate::recorder::Recorder;

/// What follows transcripts, and has text of its own.
pub(super) struct Followers {
    pub(super) ingest: Arc<Ingest>,
    pub(super) archive: Arc<ArchiveKeeper>,
    pub(super) full_text: Arc<FullText>,
    pub(super) notes: Arc<MemoryNotes>,
}

pub struct Forgetting {
    pub(super) eraser: ThreadEraser,
    pub(super) database: Database,
    pub(super) recorder: Arc<Recorder>,
    pub(super) prompts: MessageHistory,
    pub(super) followers: Followers,
}

impl Forgetting {
    /// Removes a thread; returns when no file of the state folder has its text. `named` is its id or a unique prefix.
    ///
    /// # Errors
    /// [`ServiceError::ThreadNotFound`]; [`ServiceError::TranscriptExists`], and nothing is changed, unless it was restored
    /// during the call; or a step fails, and another call continues.
    pub async fn forget(&self, named: &str) -> Result<ThreadForgetResult, ServiceError> {
        let Followers { ingest, archive, full_text, notes } = &self.followers;
        let thread_id = archive.known_thread(named).await?;
        // Before anything is erased.
        full_text.index().ok_or(ServiceError::IndexNotOpen)?;
        // A transcript may have been moved. No pass that began before this still runs, and could store the thread again.
        ingest.scan().await?;
        has_no_transcript(ingest, &thread_id)?;
        if self.recorder.remove(&thread_id).await? {
            ingest.scan().await?;
        }
        let archived_bytes = archive.forget(&thread_id).await?.removed_bytes;
        // Ends a pass that still reads the archived text; later ones do not find it.
        ingest.scan().await?;
        // It may have been restored since.
        has_no_transcript(ingest, &thread_id)?;
        ingest.disown(&thread_id).await?;
        notes.erase(&Exclusion::Thread(thread_id.clone())).await?;
        full_text.erase_thread(&thread_id).await?;
        let prompts = self.prompts.erase(&thread_id).await?;
        self.database.remove_aside()?;
        // By now a prefix names it no longer.
        let again = || format!("longhaul thread forget {thread_id}");
        let erased = self.eraser.erase(&thread_id).await;
        let compactions =
            erased.map_err(|cause| ServiceError::BytesLeft { again: again(), cause })?;
        ingest.forget_folds();
        tracing::info!(thread_id, "forgot a thread");
        Ok(ThreadForgetResult { thread_id, archived_bytes, compactions, prompts })
    }
}

/// Checks that no transcript of another program is listed.
fn has_no_transcript(ingest: &Ingest, thread_id: &str) -> Result<(), ServiceError> {
    let mut transcripts = ingest.transcripts(thread_id).into_iter();
    match transcripts.find(|(_, source)| *source != Source::Longhaul) {
        Some((path, _)) => Err(ServiceError::TranscriptExists(path.display().to_string())),
        None => Ok(()),
    }
}
