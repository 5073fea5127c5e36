//! What a person or an agent tells memory: notes, and what to forget.

use std::sync::Arc;

use longhaul_core::redact::redact;
use longhaul_protocol::limit::NOTE_BYTES_MAX;
use longhaul_store::{Exclusion, NoteRow, Store};

use super::project::project_or_folder;
use super::publications::Publications;
use super::publish::{Publisher, Purge};
use crate::clock::Clock;
use crate::service::error::ServiceError;

/// A note that was taken.
#[derive(Debug)]
pub struct NewNote {
    pub note: NoteRow,
    /// Number of the memory that holds it.
    pub generation: u64,
}

#[derive(Debug)]
pub struct ForgetResult {
    /// Extractions and notes that went.
    pub gone: u64,
    /// Number of the memory without it.
    pub generation: u64,
}

/// Notes, and what is to be forgotten: both are published at once.
pub struct MemoryNotes {
    store: Store,
    publications: Arc<Publications>,
    publisher: Arc<Publisher>,
    clock: Clock,
}

impl MemoryNotes {
    #[must_use]
    pub fn new(
        (store, publications): (Store, Arc<Publications>),
        publisher: Arc<Publisher>,
        clock: Clock,
    ) -> Self {
        Self { store, publications, publisher, clock }
    }

    /// Takes a note and publishes it.
    ///
    /// # Errors
    /// It is blank or too long; those of the store and of the folder.
    pub async fn add(&self, text: &str, cwd: Option<String>) -> Result<NewNote, ServiceError> {
        let invalid = |reason: String| ServiceError::Invalid { field: "text", reason };
        let text = text.trim();
        if text.is_empty() {
            return Err(invalid("not blank".to_owned()));
        }
        if text.len() > NOTE_BYTES_MAX {
            return Err(invalid(format!("at most {NOTE_BYTES_MAX} bytes, not {}", text.len())));
        }
        let note = NoteRow {
            note_id: format!("note_{}", self.clock.new_id()),
            project: cwd.as_deref().map(project_or_folder),
            at_ms: self.clock.now_ms(),
            text: redact(text).text.into_owned(),
        };
        self.store.note_add(&note).await?;
        let (generation, _) = self.publisher.publish(Purge::No, None).await?;
        Ok(NewNote { note, generation })
    }

    /// Forgets, and publishes without it before it returns.
    ///
    /// # Errors
    /// There is no such thread; those of the store and of the folder.
    pub async fn forget(&self, what: Exclusion) -> Result<ForgetResult, ServiceError> {
        let what = match what {
            Exclusion::Project(cwd) => Exclusion::Project(project_or_folder(&cwd)),
            Exclusion::Thread(id) => {
                let is_known = self.store.thread_get(&id).await?.is_some()
                    || self.store.extraction_get(&id).await?.is_some();
                if !is_known {
                    return Err(ServiceError::ThreadNotFound(id));
                }
                Exclusion::Thread(id)
            }
            what => what,
        };
        let summary = match &what {
            Exclusion::Thread(id) => self.summary_path(id).await?,
            _ => None,
        };
        let gone = self.store.forget(&what, self.clock.now_ms()).await?;
        if gone == 0 && matches!(what, Exclusion::Note(_)) {
            let reason = "no such note".to_owned();
            return Err(ServiceError::Invalid { field: "note_id", reason });
        }
        let (generation, _) = self.publisher.publish(Purge::Yes(summary), None).await?;
        Ok(ForgetResult { gone, generation })
    }

    /// The file with the summary of a thread.
    async fn summary_path(&self, thread_id: &str) -> Result<Option<String>, ServiceError> {
        let published = self.publications.newest().await?;
        let mut tasks = published.handbook.projects.values().flat_map(|project| &project.tasks);
        let task = tasks.find(|task| task.thread_id == thread_id);
        Ok(task.map(|task| task.summary_path.clone()))
    }
}
