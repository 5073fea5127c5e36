//! Memory of a store that was lost, which the memory folder still has.

use super::generation::encoded;
use super::{Exclusion, Generation, GenerationTable, NoteRow};
use crate::error::StoreError;

/// The memory folder was read into this database, or written from it.
pub(super) const MARK: &str =
    "INSERT OR IGNORE INTO meta (key, value) VALUES ('memory_folder', 'known')";

impl GenerationTable {
    /// Whether the memory folder was read into this database, or written from it. It was not if the database is new.
    pub async fn knows_folder(&self) -> Result<bool, StoreError> {
        let mark = sqlx::query("SELECT 1 FROM meta WHERE key = 'memory_folder'");
        let mark = self.0.pools().read(async |pool| mark.fetch_optional(&pool).await).await?;
        Ok(mark.is_some())
    }

    /// Adds what the folder has and the store lacks. Notes are taken only if the store has no newer generation, which may
    /// have forgotten them. Returns the number of added rows.
    pub async fn take_over(
        &self,
        generation: &Generation,
        notes: &[NoteRow],
        exclusions: &[Exclusion],
    ) -> Result<u64, StoreError> {
        let pools = self.0.pools();
        let classify = |error| pools.classify(error);
        let edits = encoded(&generation.edits).map_err(classify)?;
        let files = encoded(&generation.files).map_err(classify)?;
        let mut transaction = pools.begin().await?;
        let mut added = 0;
        for exclusion in exclusions {
            if matches!(exclusion, Exclusion::Note(_)) {
                continue;
            }
            let (kind, subject) = exclusion.parts();
            let insert = sqlx::query(
                "INSERT OR IGNORE INTO memory_exclusion (kind, subject, at_ms) VALUES (?1, ?2, ?3)",
            );
            let insert = insert.bind(kind).bind(subject).bind(generation.at_ms);
            added += transaction.execute(insert).await?.rows_affected();
        }
        let newest =
            sqlx::query_scalar("SELECT coalesce(max(generation), 0) FROM memory_generation");
        let newest: i64 = transaction.run(async |it| newest.fetch_one(it).await).await?;
        if newest <= generation.generation.cast_signed() {
            for note in notes {
                let insert = sqlx::query(
                    "INSERT OR IGNORE INTO memory_note (note_id, project, at_ms, text, origin) \
                     VALUES (?1, ?2, ?3, ?4, ?5)",
                );
                let insert = insert
                    .bind(note.note_id.as_str())
                    .bind(note.project.as_deref())
                    .bind(note.at_ms)
                    .bind(note.text.as_str())
                    .bind(note.origin.name());
                added += transaction.execute(insert).await?.rows_affected();
            }
            let insert = sqlx::query(
                "INSERT OR IGNORE INTO memory_generation \
                 (generation, at_ms, input, threads, handbook, edits, files) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            );
            let insert = insert
                .bind(generation.generation.cast_signed())
                .bind(generation.at_ms)
                .bind(generation.input.as_str())
                .bind(generation.threads.cast_signed())
                .bind(generation.handbook.as_str())
                .bind(edits)
                .bind(files);
            added += transaction.execute(insert).await?.rows_affected();
        }
        transaction.execute(sqlx::query(MARK)).await?;
        transaction.commit_durably().await?;
        Ok(added)
    }
}
