//! What the memory folder keeps in case the store is lost: of memory, the store alone has the notes, the exclusions, what
//! was published, and the person's changes so far.
//!
//! Each generation has one, which is removed with it: what is forgotten is in neither.

use longhaul_core::memory::edits::Edits;
use longhaul_core::memory::{Files, Origin};
use longhaul_store::{Exclusion, Generation, NoteRow};
use serde::{Deserialize, Serialize};

/// Raised when the form changes.
const VERSION: u32 = 1;

/// A generation, and what memory is built from besides transcripts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Journal {
    pub(super) generation: Generation,
    pub(super) notes: Vec<NoteRow>,
    pub(super) exclusions: Vec<Exclusion>,
}

#[derive(Serialize, Deserialize)]
struct JournalText {
    version: u32,
    generation: u64,
    at_ms: i64,
    threads: u64,
    handbook: String,
    edits: Edits,
    files: Files,
    notes: Vec<NoteText>,
    /// Kind and subject.
    exclusions: Vec<(String, String)>,
}

#[derive(Serialize, Deserialize)]
struct NoteText {
    note_id: String,
    project: Option<String>,
    at_ms: i64,
    text: String,
    origin: String,
}

impl Journal {
    pub(super) fn text(&self) -> Result<String, serde_json::Error> {
        let generation = self.generation.clone();
        let notes = self.notes.iter().cloned().map(|note| NoteText {
            note_id: note.note_id,
            project: note.project,
            at_ms: note.at_ms,
            text: note.text,
            origin: note.origin.name().to_owned(),
        });
        let exclusions = self.exclusions.iter().cloned().filter_map(|exclusion| match exclusion {
            Exclusion::Thread(id) => Some(("thread".to_owned(), id)),
            Exclusion::Project(project) => Some(("project".to_owned(), project)),
            Exclusion::Entry(id) => Some(("entry".to_owned(), id)),
            Exclusion::Note(_) => None,
        });
        serde_json::to_string(&JournalText {
            version: VERSION,
            generation: generation.generation,
            at_ms: generation.at_ms,
            threads: generation.threads,
            handbook: generation.handbook,
            edits: generation.edits,
            files: generation.files,
            notes: notes.collect(),
            exclusions: exclusions.collect(),
        })
    }

    /// `None` if it is damaged or of another version.
    pub(super) fn read(text: &str) -> Option<Self> {
        let text: JournalText = serde_json::from_str(text).ok()?;
        if text.version != VERSION {
            return None;
        }
        let notes = text.notes.into_iter().map(|note| NoteRow {
            note_id: note.note_id,
            project: note.project,
            at_ms: note.at_ms,
            text: note.text,
            // An unknown origin counts as unconfirmed.
            origin: Origin::stored(&note.origin).unwrap_or(Origin::CLIENT),
        });
        let exclusions =
            text.exclusions.into_iter().filter_map(|(kind, subject)| match kind.as_str() {
                "thread" => Some(Exclusion::Thread(subject)),
                "project" => Some(Exclusion::Project(subject)),
                "entry" => Some(Exclusion::Entry(subject)),
                _ => None,
            });
        let generation = Generation {
            generation: text.generation,
            at_ms: text.at_ms,
            // The next build is compared with nothing.
            input: String::new(),
            threads: text.threads,
            handbook: text.handbook,
            edits: text.edits,
            files: text.files,
            found: None,
        };
        Some(Self { generation, notes: notes.collect(), exclusions: exclusions.collect() })
    }
}
