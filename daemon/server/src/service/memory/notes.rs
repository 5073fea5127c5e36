//! What a person or an agent tells memory: notes, and what to forget.

use std::sync::Arc;

use longhaul_core::memory::{Origin, names_hazard};
use longhaul_core::redact::redact;
use longhaul_core::rollout::contextual::quoted;
use longhaul_protocol::limit::NOTE_BYTES_MAX;
use longhaul_store::{Exclusion, NoteOutcome, NoteRow, Store};

use super::project::project_or_folder;
use super::publications::Publications;
use super::publish::{Publisher, Purge};
use crate::clock::Clock;
use crate::service::archive::ArchiveKeeper;
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
    archive: Arc<ArchiveKeeper>,
    clock: Clock,
}

impl MemoryNotes {
    pub fn new(
        (store, publications): (Store, Arc<Publications>),
        (publisher, archive): (Arc<Publisher>, Arc<ArchiveKeeper>),
        clock: Clock,
    ) -> Self {
        Self { store, publications, publisher, archive, clock }
    }

    /// Takes a note and publishes it. One that is not the person's is of a project, and recommends nothing that
    /// memory would not.
    ///
    /// # Errors
    /// It is blank, too long, or may not be taken; those of the store and of the folder.
    pub async fn add(
        &self,
        text: &str,
        cwd: Option<String>,
        origin: Origin,
    ) -> Result<NewNote, ServiceError> {
        let invalid = |reason: String| ServiceError::Invalid { field: "text", reason };
        let text = text.trim();
        if text.is_empty() {
            return Err(invalid("not blank".to_owned()));
        }
        if text.len() > NOTE_BYTES_MAX {
            return Err(invalid(format!("at most {NOTE_BYTES_MAX} bytes, not {}", text.len())));
        }
        if !origin.is_person() && cwd.is_none() {
            let reason =
                "a note that is not the person's is for the project of a folder".to_owned();
            return Err(ServiceError::Invalid { field: "cwd", reason });
        }
        if !origin.is_person() && names_hazard(text) {
            return Err(invalid("it names a command that memory must not recommend".to_owned()));
        }
        let note = self.note(text, cwd.as_deref().map(project_or_folder), origin);
        // Who is told that a note could not be published says it again.
        let is_same = |known: &NoteRow| {
            (&known.text, &known.project, known.origin) == (&note.text, &note.project, note.origin)
        };
        let known = self.store.notes().await?.into_iter().find(is_same);
        let note = match known {
            Some(known) => known,
            None => {
                taken(self.store.note_add(&note).await?)?;
                note
            }
        };
        let (generation, _) = self.publisher.publish(Purge::No, None).await?;
        Ok(NewNote { note, generation })
    }

    /// A new note of these words.
    fn note(&self, text: &str, project: Option<String>, origin: Origin) -> NoteRow {
        NoteRow {
            note_id: format!("note_{}", self.clock.new_id()),
            project,
            at_ms: self.clock.now_ms(),
            text: redact(&quoted(text)).text.into_owned(),
            origin,
        }
    }

    /// All notes, oldest first, those of the project of `cwd` alone where it is given.
    pub async fn list(&self, cwd: Option<String>) -> Result<Vec<NoteRow>, ServiceError> {
        let project = cwd.as_deref().map(project_or_folder);
        let mut notes = self.store.notes().await?;
        notes.retain(|note| project.is_none() || note.project == project);
        notes.sort_by(|a, b| a.note_id.cmp(&b.note_id));
        Ok(notes)
    }

    /// Makes a note of the person's of one that waits, in its place. `origin` is whose decision it is.
    pub async fn confirm(&self, note_id: &str, origin: Origin) -> Result<NewNote, ServiceError> {
        let waiting = self.waiting(note_id, origin).await?;
        let note = self.note(&waiting.text, waiting.project, origin);
        taken(self.store.note_confirm(note_id, &note).await?)?;
        let (generation, _) = self.publisher.publish(Purge::No, None).await?;
        Ok(NewNote { note, generation })
    }

    /// Discards a note that waits; answers the number of the memory without it.
    pub async fn discard(&self, note_id: &str, origin: Origin) -> Result<u64, ServiceError> {
        self.waiting(note_id, origin).await?;
        Ok(self.forget(Exclusion::Note(note_id.to_owned())).await?.generation)
    }

    async fn waiting(&self, note_id: &str, origin: Origin) -> Result<NoteRow, ServiceError> {
        if !origin.is_person() {
            let reason = "only a person decides about notes".to_owned();
            return Err(ServiceError::Invalid { field: "note_id", reason });
        }
        let mut notes = self.store.notes().await?.into_iter();
        let waiting = notes.find(|note| note.note_id == note_id && !note.origin.is_person());
        waiting.ok_or_else(no_such_note)
    }

    /// Forgets, and publishes without it before it returns.
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
        if let Exclusion::Thread(id) = &what {
            self.archive.forget(id).await?;
        }
        let gone = self.store.forget(&what, self.clock.now_ms()).await?;
        if gone == 0 && matches!(what, Exclusion::Note(_)) {
            return Err(no_such_note());
        }
        let (generation, _) = self.publisher.publish(Purge::Yes(summary), None).await?;
        // Pages of the database still hold what was there, in the note and in the memory that was replaced.
        if let Err(error) = self.store.scrub().await {
            tracing::warn!(%error, "the database's log is emptied later");
        }
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

fn taken(outcome: NoteOutcome) -> Result<(), ServiceError> {
    match outcome {
        NoteOutcome::Stored => Ok(()),
        NoteOutcome::Full { max } => {
            let max = u64::from(max);
            Err(ServiceError::Limit { limit: "notes", max, given: max + 1 })
        }
        NoteOutcome::NotThere => Err(no_such_note()),
    }
}

fn no_such_note() -> ServiceError {
    ServiceError::Invalid { field: "note_id", reason: "no such note".to_owned() }
}
