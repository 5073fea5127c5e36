//! The archived texts.

use longhaul_core::archive::chunk::ChunkDigest;
use longhaul_core::archive::pack::TranscriptName;
use longhaul_core::digest::Digest128;
use longhaul_core::redact;
use sqlx::query::Query;
use sqlx::sqlite::{SqliteArguments, SqliteRow};
use sqlx::{Sqlite, SqliteConnection};

use super::threads::drop_eviction;
use super::{ArchivedPart, ArchivedTranscript, SupersededText};
use crate::error::StoreError;
use crate::file::FILES_AT_ONCE;
use crate::pool::Pools;
use crate::row::{digest, digest_bytes, get, named, unsigned};

/// Maximum replaced generations kept per file: undamaged ones, and as many of which a part is damaged.
pub const REPLACED_MAX: usize = 4;

/// A query for [`transcript`].
macro_rules! select_transcripts {
    ($condition:literal) => {
        concat!(
            "SELECT transcript, path, generation, thread_id, source, cwd, first_seq, source_bytes, text_bytes, \
             checked_bytes, checked_chain, redacted, updated_ms, lived_ms, coalesce(first_pack, 0) AS first_pack \
             FROM transcript LEFT JOIN text_start USING (transcript) ",
            $condition
        )
    };
}

/// How far a transcript is archived.
#[derive(Debug, Clone)]
pub struct TextProgress {
    pub id: i64,
    pub path: String,
    pub generation: i64,
    pub source_bytes: u64,
    /// The chain of its lines; `None` if its end was not compared with ingestion's.
    pub chain: Option<Digest128>,
}

type SelectTranscripts<'q> = Query<'q, Sqlite, SqliteArguments>;

/// The texts, one for each generation of a transcript.
#[derive(Debug, Clone)]
pub struct ArchiveTranscriptTable(pub(super) Pools);

impl ArchiveTranscriptTable {
    /// All archived texts, in no particular order.
    pub async fn all(&self) -> Result<Vec<ArchivedTranscript>, StoreError> {
        self.list(sqlx::query(select_transcripts!(""))).await
    }

    /// Archive progress of the next [`FILES_AT_ONCE`] texts after number `last`; start with 0.
    pub async fn progress_after(&self, last: i64) -> Result<Vec<TextProgress>, StoreError> {
        let progress = sqlx::query(
            "SELECT transcript, path, generation, source_bytes, checked_bytes, checked_chain FROM transcript \
             WHERE transcript > ?1 ORDER BY transcript LIMIT ?2",
        )
        .bind(last)
        .bind(FILES_AT_ONCE)
        .try_map(|row| {
            let source_bytes = unsigned(&row, "source_bytes")?;
            let is_checked = unsigned(&row, "checked_bytes")? == source_bytes;
            Ok(TextProgress {
                id: get(&row, "transcript")?,
                path: get(&row, "path")?,
                generation: get(&row, "generation")?,
                source_bytes,
                chain: is_checked.then(|| digest(&row, "checked_chain")).transpose()?,
            })
        });
        self.0.read(async |pool| progress.fetch_all(&pool).await).await
    }

    /// The archived text of one generation of a file.
    pub async fn get(
        &self,
        path: &str,
        generation: i64,
    ) -> Result<Option<ArchivedTranscript>, StoreError> {
        let found = sqlx::query(select_transcripts!("WHERE path = ?1 AND generation = ?2"));
        self.find(found.bind(path).bind(generation)).await
    }

    /// The archived texts of all generations of a file, without replaced ones.
    pub async fn at(&self, path: &str) -> Result<Vec<ArchivedTranscript>, StoreError> {
        let texts = sqlx::query(select_transcripts!(
            "WHERE path = ?1 AND generation >= 0 ORDER BY generation DESC"
        ));
        self.list(texts.bind(path)).await
    }

    /// The next [`FILES_AT_ONCE`] texts after number `last` that were not redacted, or by older rules only; start with 0.
    pub async fn plain_after(&self, last: i64) -> Result<Vec<ArchivedTranscript>, StoreError> {
        let texts = sqlx::query(select_transcripts!(
            "WHERE redacted <= ?3 AND transcript > ?1 ORDER BY transcript LIMIT ?2"
        ));
        self.list(texts.bind(last).bind(FILES_AT_ONCE).bind(redact::VERSION)).await
    }

    /// The archived texts with a chunk in this pack.
    pub async fn in_pack(&self, pack: i64) -> Result<Vec<ArchivedTranscript>, StoreError> {
        let texts = sqlx::query(select_transcripts!(
            "WHERE transcript IN \
             (SELECT p.transcript FROM piece p JOIN chunk c USING (chunk) WHERE c.pack = ?1)"
        ));
        self.list(texts.bind(pack)).await
    }

    /// The archived texts of a thread: replaced ones last, then the longest first.
    pub async fn of_thread(&self, thread_id: &str) -> Result<Vec<ArchivedTranscript>, StoreError> {
        let texts = sqlx::query(select_transcripts!(
            "WHERE thread_id = ?1 \
             ORDER BY generation < 0, first_seq + text_bytes DESC, transcript DESC"
        ));
        self.list(texts.bind(thread_id)).await
    }

    /// The archived text that packs describe by this name.
    pub async fn named(
        &self,
        name: &TranscriptName,
    ) -> Result<Option<ArchivedTranscript>, StoreError> {
        let identity = name.identity();
        let found = sqlx::query(select_transcripts!(
            "WHERE path = ?1 AND redacted = ?2 AND coalesce(first_pack, 0) = ?3 \
             AND (?3 > 0 OR generation = ?4)"
        ))
        .bind(&name.path)
        .bind(redacted(identity.is_redacted, identity.redaction))
        .bind(identity.first_pack)
        .bind(identity.generation);
        self.find(found).await
    }

    async fn list(
        &self,
        texts: SelectTranscripts<'_>,
    ) -> Result<Vec<ArchivedTranscript>, StoreError> {
        let texts = texts.try_map(|row| transcript(&row));
        self.0.read(async |pool| texts.fetch_all(&pool).await).await
    }

    async fn find(
        &self,
        text: SelectTranscripts<'_>,
    ) -> Result<Option<ArchivedTranscript>, StoreError> {
        let text = text.try_map(|row| transcript(&row));
        self.0.read(async |pool| text.fetch_optional(&pool).await).await
    }

    /// Marks a text's generation as replaced; deletes the oldest replaced ones. Damaged ones are counted separately, so that
    /// repeated damage does not cost undamaged ones.
    pub async fn replace(&self, transcript: &ArchivedTranscript) -> Result<(), StoreError> {
        let mut transaction = self.0.begin().await?;
        transaction.run(async |it| replace(it, transcript.id, &transcript.path).await).await?;
        transaction.commit().await
    }

    /// Removes texts; their chunks stay until [`ArchivePackTable::sweep`](super::ArchivePackTable::sweep).
    pub async fn remove(&self, ids: &[i64]) -> Result<(), StoreError> {
        let mut transaction = self.0.begin().await?;
        for id in ids {
            transaction.run(async |it| remove(it, *id).await).await?;
        }
        transaction.commit().await
    }
}

fn transcript(row: &SqliteRow) -> Result<ArchivedTranscript, sqlx::Error> {
    let (is_redacted, redaction) = redaction(row)?;
    Ok(ArchivedTranscript {
        id: get(row, "transcript")?,
        path: get(row, "path")?,
        generation: get(row, "generation")?,
        thread_id: get(row, "thread_id")?,
        source: named(row, "source")?,
        cwd: get(row, "cwd")?,
        first_seq: unsigned(row, "first_seq")?,
        source_bytes: unsigned(row, "source_bytes")?,
        text_bytes: unsigned(row, "text_bytes")?,
        checked_bytes: unsigned(row, "checked_bytes")?,
        checked_chain: digest(row, "checked_chain")?,
        is_redacted,
        updated_ms: get(row, "updated_ms")?,
        lived_ms: get(row, "lived_ms")?,
        first_pack: get(row, "first_pack")?,
        redaction,
    })
}

/// The column `redacted`: 0 for a plain text, else one more than the version of the rules.
fn redacted(is_redacted: bool, redaction: u32) -> i64 {
    if is_redacted { 1 + i64::from(redaction) } else { 0 }
}

/// The inverse of [`redacted`].
pub(super) fn redaction(row: &SqliteRow) -> Result<(bool, u32), sqlx::Error> {
    let redacted: u32 = get(row, "redacted")?;
    Ok((redacted > 0, redacted.saturating_sub(1)))
}

async fn remove(connection: &mut SqliteConnection, id: i64) -> Result<(), sqlx::Error> {
    let removing = sqlx::query("DELETE FROM transcript WHERE transcript = ?1").bind(id);
    removing.execute(connection).await.map(drop)
}

async fn replace(
    connection: &mut SqliteConnection,
    id: i64,
    path: &str,
) -> Result<(), sqlx::Error> {
    sqlx::query(
        "UPDATE transcript SET generation = \
         (SELECT min(0, min(generation)) - 1 FROM transcript WHERE path = ?2) WHERE transcript = ?1",
    )
    .bind(id)
    .bind(path)
    .execute(&mut *connection)
    .await?;
    sqlx::query(
        "DELETE FROM transcript WHERE transcript IN (SELECT transcript FROM \
         (SELECT transcript, row_number() OVER (PARTITION BY is_damaged ORDER BY generation) AS age FROM \
          (SELECT t.transcript, t.generation, EXISTS (SELECT 1 FROM piece p JOIN chunk c USING (chunk) \
            JOIN pack k USING (pack) WHERE p.transcript = t.transcript AND k.damaged = 1) AS is_damaged \
           FROM transcript t WHERE t.path = ?1 AND t.generation < 0)) WHERE age > ?2)",
    )
    .bind(path)
    .bind(i64::try_from(REPLACED_MAX).unwrap_or(i64::MAX))
    .execute(connection)
    .await
    .map(drop)
}

pub(super) async fn put_part(
    connection: &mut SqliteConnection,
    part: &ArchivedPart,
) -> Result<(), sqlx::Error> {
    for superseded in &part.superseded {
        match superseded {
            SupersededText::Replaced(id) => {
                replace(connection, *id, &part.transcript.path).await?;
            }
            SupersededText::Removed(id) => remove(connection, *id).await?,
        }
    }
    let id = put_transcript(connection, &part.transcript).await?;
    sqlx::query("DELETE FROM piece WHERE transcript = ?1 AND offset >= ?2")
        .bind(id)
        .bind(part.from.cast_signed())
        .execute(&mut *connection)
        .await?;
    for piece in &part.pieces {
        let ChunkDigest(digest) = piece.digest;
        sqlx::query(
            "INSERT INTO piece (transcript, offset, lines_before, chunk) \
             SELECT ?1, ?2, ?3, chunk FROM chunk WHERE digest = ?4",
        )
        .bind(id)
        .bind(piece.offset.cast_signed())
        .bind(piece.lines_before.cast_signed())
        .bind(digest.to_vec())
        .execute(&mut *connection)
        .await?;
    }
    Ok(())
}

async fn put_transcript(
    connection: &mut SqliteConnection,
    row: &ArchivedTranscript,
) -> Result<i64, sqlx::Error> {
    drop_eviction(&row.path).execute(&mut *connection).await?;
    if !row.is_redacted {
        sqlx::query("DELETE FROM all_redacted").execute(&mut *connection).await?;
    }
    // It may have another generation now.
    sqlx::query("UPDATE transcript SET generation = ?2 WHERE transcript = ?1")
        .bind(row.id)
        .bind(row.generation)
        .execute(&mut *connection)
        .await?;
    let id = sqlx::query_scalar(
        "INSERT INTO transcript (path, generation, thread_id, source, cwd, first_seq, source_bytes, text_bytes, \
         checked_bytes, checked_chain, redacted, updated_ms, lived_ms) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13) \
         ON CONFLICT (path, generation) DO UPDATE SET thread_id = excluded.thread_id, cwd = excluded.cwd, \
         source_bytes = excluded.source_bytes, text_bytes = excluded.text_bytes, \
         checked_bytes = excluded.checked_bytes, checked_chain = excluded.checked_chain, \
         redacted = excluded.redacted, updated_ms = excluded.updated_ms, lived_ms = excluded.lived_ms \
         RETURNING transcript",
    )
    .bind(&row.path)
    .bind(row.generation)
    .bind(&row.thread_id)
    .bind(row.source.name())
    .bind(row.cwd.as_deref())
    .bind(row.first_seq.cast_signed())
    .bind(row.source_bytes.cast_signed())
    .bind(row.text_bytes.cast_signed())
    .bind(row.checked_bytes.cast_signed())
    .bind(digest_bytes(row.checked_chain))
    .bind(redacted(row.is_redacted, row.redaction))
    .bind(row.updated_ms)
    .bind(row.lived_ms)
    .fetch_one(&mut *connection)
    .await?;
    if row.id == 0 && row.first_pack > 0 {
        sqlx::query("INSERT OR REPLACE INTO text_start (transcript, first_pack) VALUES (?1, ?2)")
            .bind(id)
            .bind(row.first_pack)
            .execute(connection)
            .await?;
    }
    Ok(id)
}
