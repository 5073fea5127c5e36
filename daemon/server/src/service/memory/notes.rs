//! Notes of people and agents, and forgetting.

use std::sync::Arc;

use longhaul_core::memory::{Origin, names_hazard};
use longhaul_core::redact::redact;
use longhaul_core::rollout::contextual::quoted;
use longhaul_protocol::limit::NOTE_BYTES_MAX;
use longhaul_protocol::memory::ForgetResult;
use longhaul_store::{Exclusion, ExtractionTable, NoteOutcome, NoteRow, NoteTable, ThreadTable};

use super::project::project_or_folder;
use super::publications::Publications;
use super::publish::{Publisher, Purge};
use crate::clock::Clock;
use crate::service::archive::ArchiveKeeper;
use crate::service::error::ServiceError;

#[derive(Debug)]
pub struct NewNote {
    pub note: NoteRow,
    /// The generation that contains it.
    pub generation: u64,
}

/// Adds notes and forgets; both are published immediately.
pub struct MemoryNotes {
    pub(in crate::service) threads: ThreadTable,
    pub(in crate::service) extractions: ExtractionTable,
    pub(in crate::service) notes: NoteTable,
    pub(in crate::service) publications: Arc<Publications>,
    pub(in crate::service) publisher: Arc<Publisher>,
    pub(in crate::service) archive: Arc<ArchiveKeeper>,
    pub(in crate::service) clock: Clock,
}

impl MemoryNotes {
    /// Stores a note and publishes it. A note that is not the person's must name a project and must not recommend a
    /// hazardous command.
    ///
    /// # Errors
    /// The note is blank, too long, without a project, or names a hazardous command.
    pub async fn add(
        &self,
        text: &str,
        cwd: Option<String>,
        origin: Origin,
    ) -> Result<NewNote, ServiceError> {
        let invalid = |reason: String| ServiceError::Invalid { field: "text", reason };
        let text = text.trim();
        if text.is_empty() {
            return Err(invalid("must not be blank".to_owned()));
        }
        if text.len() > NOTE_BYTES_MAX {
            return Err(invalid(format!("at most {NOTE_BYTES_MAX} bytes, not {}", text.len())));
        }
        if !origin.is_person() && cwd.is_none() {
            let reason = "only a person's note may apply to all projects: give a folder".to_owned();
            return Err(ServiceError::Invalid { field: "cwd", reason });
        }
        if !origin.is_person() && names_hazard(text) {
            return Err(invalid(
                "it names a hazardous command, which memory must not recommend".to_owned(),
            ));
        }
        let note = self.note(text, cwd.as_deref().map(project_or_folder), origin);
        // A client that got an error when the publication failed may send the note again.
        let is_same = |known: &NoteRow| {
            (&known.text, &known.project, known.origin) == (&note.text, &note.project, note.origin)
        };
        let known = self.notes.list().await?.into_iter().find(is_same);
        let note = match known {
            Some(known) => known,
            None => {
                check_outcome(self.notes.add(&note).await?)?;
                note
            }
        };
        let (generation, _) = self.publisher.publish(Purge::No, None).await?;
        Ok(NewNote { note, generation })
    }

    /// A new note with redacted text.
    fn note(&self, text: &str, project: Option<String>, origin: Origin) -> NoteRow {
        NoteRow {
            note_id: format!("note_{}", self.clock.new_id()),
            project,
            at_ms: self.clock.now_ms(),
            text: redact(&quoted(text)).text.into_owned(),
            origin,
        }
    }

    /// All notes, oldest first; with `cwd`, only those of its project.
    pub async fn list(&self, cwd: Option<String>) -> Result<Vec<NoteRow>, ServiceError> {
        let project = cwd.as_deref().map(project_or_folder);
        let mut notes = self.notes.list().await?;
        notes.retain(|note| project.is_none() || note.project == project);
        notes.sort_by(|a, b| a.note_id.cmp(&b.note_id));
        Ok(notes)
    }

    /// Replaces a pending note with a note of the person's. `origin` is the caller, who must be the person.
    pub async fn confirm(&self, note_id: &str, origin: Origin) -> Result<NewNote, ServiceError> {
        let pending = self.pending(note_id, origin).await?;
        let note = self.note(&pending.text, pending.project, origin);
        check_outcome(self.notes.confirm(note_id, &note).await?)?;
        let (generation, _) = self.publisher.publish(Purge::No, None).await?;
        Ok(NewNote { note, generation })
    }

    /// Deletes a pending note; returns the first generation without it.
    pub async fn discard(&self, note_id: &str, origin: Origin) -> Result<u64, ServiceError> {
        self.pending(note_id, origin).await?;
        Ok(self.forget(Exclusion::Note(note_id.to_owned())).await?.generation)
    }

    async fn pending(&self, note_id: &str, origin: Origin) -> Result<NoteRow, ServiceError> {
        if !origin.is_person() {
            let reason = "only a person may review notes".to_owned();
            return Err(ServiceError::Invalid { field: "note_id", reason });
        }
        let mut notes = self.notes.list().await?.into_iter();
        let pending = notes.find(|note| note.note_id == note_id && !note.origin.is_person());
        pending.ok_or_else(no_such_note)
    }

    /// Forgets `what`, and returns after a generation without it is published and no file has it.
    ///
    /// # Errors
    /// Those of the store, such as a full disk: it is forgotten then, but may still be in the bytes of the database. After
    /// that, or a crash, the same call finishes the work, although it may answer that there is no such note any more.
    pub async fn forget(&self, what: Exclusion) -> Result<ForgetResult, ServiceError> {
        let what = match what {
            Exclusion::Project(cwd) => Exclusion::Project(project_or_folder(&cwd)),
            Exclusion::Thread(id) => {
                let is_known = self.threads.get(&id).await?.is_some()
                    || self.extractions.get(&id).await?.is_some();
                if !is_known {
                    return Err(ServiceError::ThreadNotFound(id));
                }
                Exclusion::Thread(id)
            }
            what => what,
        };
        if let Exclusion::Thread(id) = &what {
            self.archive.forget(id).await?;
        }
        let is_entry = self.is_entry(&what).await?;
        let mut forgotten = self.erase(&what).await?;
        forgotten.removed += u64::from(is_entry);
        // Pages of the database still contain the deleted text.
        let scrubbed = self.notes.scrub().await;
        let again = || "the same command".to_owned();
        scrubbed.map_err(|cause| ServiceError::BytesLeft { again: again(), cause })?;
        if forgotten.removed == 0 && matches!(what, Exclusion::Note(_)) {
            return Err(no_such_note());
        }
        Ok(forgotten)
    }

    /// Whether `what` is an entry that memory has. One that was forgotten before is none, but may be forgotten again: it may
    /// be left in the bytes of the database.
    ///
    /// # Errors
    /// There is no such entry.
    async fn is_entry(&self, what: &Exclusion) -> Result<bool, ServiceError> {
        let Exclusion::Entry(id) = what else { return Ok(false) };
        let is_entry = self.publications.newest().await?.handbook.has_entry(id);
        if !is_entry && !self.notes.exclusions().await?.contains(what) {
            let reason = "no such entry: its id is at the end of its line in MEMORY.md".to_owned();
            return Err(ServiceError::Invalid { field: "entry_id", reason });
        }
        Ok(is_entry)
    }

    /// Like [`MemoryNotes::forget`], for an exclusion that was checked, and without the archive. The caller scrubs the database.
    pub(in crate::service) async fn erase(
        &self,
        what: &Exclusion,
    ) -> Result<ForgetResult, ServiceError> {
        // A publication would bring back what a new store lacks and the folder has.
        self.publisher.take_over().await?;
        // Looked up first: a publication in between no longer has the thread.
        let summary = match what {
            Exclusion::Thread(id) => self.publications.summary_path(id).await?,
            _ => None,
        };
        let removed = self.notes.forget(what, self.clock.now_ms()).await?;
        let (generation, _) = self.publisher.publish(Purge::Yes(summary), None).await?;
        // Deleted passages stay in the index of words until then.
        self.notes.merge().await?;
        Ok(ForgetResult { removed, generation })
    }
}

fn check_outcome(outcome: NoteOutcome) -> Result<(), ServiceError> {
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
