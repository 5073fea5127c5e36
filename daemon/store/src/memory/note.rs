//! Notes and exclusions.

use longhaul_core::memory::Origin;
use serde::{Deserialize, Deserializer, Serialize};
use sqlx::SqliteConnection;

use crate::error::StoreError;
use crate::pool::{Connections, WriteTransaction};
use crate::row::get;

/// Maximum notes of the person, and of all others together, so that agents cannot crowd out the person's notes. At the
/// limit new notes are rejected; old ones are never deleted automatically.
pub const NOTES_MAX: u32 = 1_000;
pub const CLAIMS_MAX: u32 = 500;

/// Result of storing a note.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoteOutcome {
    Stored,
    /// The limit is reached; nothing was stored.
    Full {
        max: u32,
    },
    /// The note to confirm does not exist; nothing was stored.
    NotThere,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NoteRow {
    pub note_id: String,
    /// `None` is global.
    pub project: Option<String>,
    /// Unix milliseconds.
    pub at_ms: i64,
    /// Redacted by the caller.
    pub text: String,
    /// Who wrote it.
    #[serde(deserialize_with = "read_origin")]
    pub origin: Origin,
}

fn read_origin<'de, D: Deserializer<'de>>(origin: D) -> Result<Origin, D::Error> {
    Ok(stored_origin(&String::deserialize(origin)?))
}

/// An unknown origin counts as unconfirmed.
fn stored_origin(name: &str) -> Origin {
    Origin::stored(name).unwrap_or(Origin::CLIENT)
}

/// Something to exclude from memory.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Exclusion {
    Thread(String),
    /// All threads of a project.
    Project(String),
    /// One entry, by its id.
    Entry(String),
    /// A note; it is only deleted.
    Note(String),
}

impl Exclusion {
    /// Its kind and its subject, as they are stored.
    pub fn parts(&self) -> (&'static str, &str) {
        match self {
            Self::Thread(id) => ("thread", id),
            Self::Project(project) => ("project", project),
            Self::Entry(id) => ("entry", id),
            Self::Note(id) => ("note", id),
        }
    }

    /// The inverse of [`Exclusion::parts`]; `None` for a note, and for a kind that this version does not know.
    pub fn of(kind: &str, subject: String) -> Option<Self> {
        match kind {
            "thread" => Some(Self::Thread(subject)),
            "project" => Some(Self::Project(subject)),
            "entry" => Some(Self::Entry(subject)),
            _ => None,
        }
    }
}

/// Notes, and what memory must forget.
#[derive(Debug, Clone)]
pub struct NoteTable(pub(crate) Connections);

impl NoteTable {
    pub async fn add(&self, note: &NoteRow) -> Result<NoteOutcome, StoreError> {
        store(self.0.pools().begin().await?, note).await
    }

    /// Replaces another's note by the person's confirmation of it.
    pub async fn confirm(&self, pending: &str, note: &NoteRow) -> Result<NoteOutcome, StoreError> {
        let mut transaction = self.0.pools().begin().await?;
        let gone = "DELETE FROM memory_note WHERE note_id = ?1 AND origin <> 'person'";
        if transaction.execute(sqlx::query(gone).bind(pending)).await?.rows_affected() == 0 {
            return Ok(NoteOutcome::NotThere);
        }
        store(transaction, note).await
    }

    /// Oldest first.
    pub async fn list(&self) -> Result<Vec<NoteRow>, StoreError> {
        let notes = "SELECT note_id, project, at_ms, text, origin FROM memory_note \
                     ORDER BY at_ms, note_id";
        let notes = sqlx::query(notes).try_map(|row| {
            Ok(NoteRow {
                note_id: get(&row, "note_id")?,
                project: get(&row, "project")?,
                at_ms: get(&row, "at_ms")?,
                text: get(&row, "text")?,
                // An unknown origin counts as unconfirmed.
                origin: stored_origin(get(&row, "origin")?),
            })
        });
        self.0.pools().read(async |pool| notes.fetch_all(&pool).await).await
    }

    /// Forgets at once: deletes extractions and passages, and stores the exclusion. Returns the number of deleted threads,
    /// notes and passages.
    /// On an error nothing is stored.
    pub async fn forget(&self, what: &Exclusion, at_ms: i64) -> Result<u64, StoreError> {
        let mut transaction = self.0.pools().begin().await?;
        let (kind, subject) = what.parts();
        if !matches!(what, Exclusion::Note(_)) {
            let exclusion = sqlx::query(
                "INSERT OR REPLACE INTO memory_exclusion (kind, subject, at_ms) VALUES (?1, ?2, ?3)",
            );
            transaction.execute(exclusion.bind(kind).bind(subject).bind(at_ms)).await?;
        }
        let gone = transaction.run(async |it| delete(it, what).await).await?;
        transaction.commit_durably().await?;
        Ok(gone)
    }

    /// Merges the index of words, in which deleted passages stay until then.
    pub async fn merge(&self) -> Result<(), StoreError> {
        let merge = sqlx::query("INSERT INTO memory_text (memory_text) VALUES ('optimize')");
        self.0.pools().execute(merge).await.map(drop)
    }

    /// Rewrites the database and empties the log: afterwards deleted data is in neither file.
    pub async fn scrub(&self) -> Result<(), StoreError> {
        self.0.pools().scrub().await
    }

    pub async fn exclusions(&self) -> Result<Vec<Exclusion>, StoreError> {
        let rows = "SELECT kind, subject FROM memory_exclusion ORDER BY kind, subject";
        let rows = sqlx::query_as::<_, (String, String)>(rows);
        let rows = self.0.pools().read(async |pool| rows.fetch_all(&pool).await).await?;
        Ok(rows.into_iter().filter_map(|(kind, subject)| Exclusion::of(&kind, subject)).collect())
    }
}

/// Stores a note unless the limit for its kind is reached; replacing one with the same id is always possible.
async fn store(
    mut transaction: WriteTransaction,
    note: &NoteRow,
) -> Result<NoteOutcome, StoreError> {
    let is_person = note.origin.is_person();
    let count = "SELECT count(*) FROM memory_note WHERE (origin = 'person') = ?1 AND note_id <> ?2";
    let others = sqlx::query_scalar(count).bind(is_person).bind(note.note_id.as_str());
    let others: u32 = transaction.run(async |it| others.fetch_one(it).await).await?;
    let max = if is_person { NOTES_MAX } else { CLAIMS_MAX };
    if others >= max {
        return Ok(NoteOutcome::Full { max });
    }
    let insert = sqlx::query(
        "INSERT OR REPLACE INTO memory_note (note_id, project, at_ms, text, origin) \
         VALUES (?1, ?2, ?3, ?4, ?5)",
    )
    .bind(note.note_id.as_str())
    .bind(note.project.as_deref())
    .bind(note.at_ms)
    .bind(note.text.as_str())
    .bind(note.origin.name());
    transaction.execute(insert).await?;
    transaction.commit_durably().await?;
    Ok(NoteOutcome::Stored)
}

async fn delete(connection: &mut SqliteConnection, what: &Exclusion) -> Result<u64, sqlx::Error> {
    let (rows, passages) = match what {
        Exclusion::Thread(_) => (
            "DELETE FROM memory_thread WHERE thread_id = ?1",
            "SELECT passage FROM memory_passage WHERE thread_id = ?1",
        ),
        Exclusion::Project(_) => (
            "DELETE FROM memory_thread WHERE project = ?1",
            "SELECT passage FROM memory_passage WHERE project = ?1",
        ),
        Exclusion::Note(_) => ("DELETE FROM memory_note WHERE note_id = ?1", ""),
        Exclusion::Entry(_) => return Ok(0),
    };
    let (_, subject) = what.parts();
    let gone = sqlx::query(rows).bind(subject).execute(&mut *connection).await?.rows_affected();
    if !passages.is_empty() {
        let found = sqlx::query_scalar::<_, i64>(passages).bind(subject);
        for passage in found.fetch_all(&mut *connection).await? {
            for delete in [
                "DELETE FROM memory_text WHERE rowid = ?1",
                "DELETE FROM memory_passage WHERE passage = ?1",
            ] {
                sqlx::query(delete).bind(passage).execute(&mut *connection).await?;
            }
        }
    }
    Ok(gone)
}
