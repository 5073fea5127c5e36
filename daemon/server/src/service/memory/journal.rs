//! What the memory folder keeps in case the store is lost: of memory, the store alone has the notes, the exclusions, what
//! was published, and the person's changes so far.
//!
//! Each generation has one, which is removed with it: what is forgotten is in neither.

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
    #[serde(flatten)]
    generation: Generation,
    notes: Vec<NoteRow>,
    /// Kind and subject.
    exclusions: Vec<(String, String)>,
}

impl Journal {
    pub(super) fn text(self) -> Result<String, serde_json::Error> {
        let Self { generation, notes, exclusions } = self;
        let exclusions = exclusions.iter().map(|exclusion| {
            let (kind, subject) = exclusion.parts();
            (kind.to_owned(), subject.to_owned())
        });
        let exclusions = exclusions.collect();
        serde_json::to_string(&JournalText { version: VERSION, generation, notes, exclusions })
    }

    /// `None` if it is damaged or of another version.
    pub(super) fn read(text: &str) -> Option<Self> {
        let JournalText { version, generation, notes, exclusions } =
            serde_json::from_str(text).ok()?;
        let exclusions = exclusions.into_iter();
        let exclusions = exclusions.filter_map(|(kind, subject)| Exclusion::of(&kind, subject));
        (version == VERSION).then(|| Self { generation, notes, exclusions: exclusions.collect() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Journals of earlier versions must stay readable, so this text may only change with the version.
    #[test]
    fn the_form_of_a_journal_is_stable() {
        let text = concat!(
            r##"{"version":1,"generation":3,"at_ms":4,"threads":5,"handbook":"{}","edits":{"added":[{"path":"MEMORY.md","##,
            r##""section":["Rules"],"text":"Use tabs.","at_ms":6}],"removed":[],"files":{"skills/a.md":null}},"##,
            r##""files":{"MEMORY.md":"# Memory\n"},"notes":[{"note_id":"n1","project":null,"at_ms":7,"text":"Ask first.","##,
            r##""origin":"person"}],"exclusions":[["thread","t1"],["project","p"],["entry","e1"]]}"##
        );
        let journal = Journal::read(text).unwrap();
        assert_eq!((journal.generation.generation, journal.notes.len()), (3, 1));
        assert!(journal.notes[0].origin.is_person());
        assert_eq!(journal.exclusions.len(), 3);
        assert_eq!(journal.text().unwrap(), text);
        let unknown = text.replace("\"person\"", "\"oracle\"").replace("\"entry\"", "\"planet\"");
        let journal = Journal::read(&unknown).unwrap();
        assert!(!journal.notes[0].origin.is_person());
        assert_eq!(journal.exclusions.len(), 2);
        assert_eq!(Journal::read(&text.replace("\"version\":1", "\"version\":2")), None);
    }
}
