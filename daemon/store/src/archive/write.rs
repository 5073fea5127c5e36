//! Changes the index of the archive.

use longhaul_core::archive::chunk::ChunkDigest;
use sqlx::{QueryBuilder, Sqlite, SqliteConnection};

use super::{ArchiveIndex, ArchivedPart, ArchivedTranscript, NewPack};
use crate::error::StoreError;
use crate::pool::is_cached;
use crate::row::digest_bytes;

/// Rows per statement, below SQLite's limit of 32,766 values.
const ROWS_PER_STATEMENT: usize = 500;

/// Maximum replaced generations kept per file.
const REPLACED_MAX: i64 = 4;

impl ArchiveIndex {
    /// Stores packs with their chunks, and the pieces of texts, in one transaction that is on disk when this returns. An
    /// existing chunk stays where it is, unless its pack is damaged. On an error nothing was stored.
    pub async fn commit(
        &self,
        packs: &[NewPack],
        parts: &[ArchivedPart],
    ) -> Result<(), StoreError> {
        let classify = |error| self.pools.classify(error);
        let mut transaction = self.pools.begin().await?;
        for pack in packs {
            put_pack(&mut transaction, pack).await.map_err(classify)?;
        }
        for part in parts {
            put_part(&mut transaction, part).await.map_err(classify)?;
        }
        transaction.commit().await.map_err(classify)
    }

    /// Marks a text's generation as replaced; deletes the oldest replaced ones.
    pub async fn replace(&self, transcript: &ArchivedTranscript) -> Result<(), StoreError> {
        let classify = |error| self.pools.classify(error);
        let mut transaction = self.pools.begin().await?;
        sqlx::query(
            "UPDATE transcript SET generation = \
             (SELECT min(0, min(generation)) - 1 FROM transcript WHERE path = ?2) WHERE transcript = ?1",
        )
            .bind(transcript.id)
            .bind(&transcript.path)
            .execute(&mut *transaction)
            .await
            .map_err(classify)?;
        sqlx::query(
            "DELETE FROM transcript WHERE transcript IN (SELECT transcript FROM transcript \
             WHERE path = ?1 AND generation < 0 ORDER BY generation LIMIT -1 OFFSET ?2)",
        )
        .bind(&transcript.path)
        .bind(REPLACED_MAX)
        .execute(&mut *transaction)
        .await
        .map_err(classify)?;
        transaction.commit().await.map_err(classify)
    }

    /// Sets a text's generation after its file was found again.
    pub async fn relabel(&self, transcript: i64, generation: i64) -> Result<(), StoreError> {
        sqlx::query("UPDATE transcript SET generation = ?2 WHERE transcript = ?1")
            .bind(transcript)
            .bind(generation)
            .execute(self.pools.writer())
            .await
            .map_err(|error| self.pools.classify(error))?;
        Ok(())
    }

    /// Removes texts; their chunks stay until [`ArchiveIndex::sweep`].
    pub async fn remove_transcripts(&self, ids: &[i64]) -> Result<(), StoreError> {
        let classify = |error| self.pools.classify(error);
        let mut transaction = self.pools.begin().await?;
        for id in ids {
            sqlx::query("DELETE FROM transcript WHERE transcript = ?1")
                .bind(id)
                .execute(&mut *transaction)
                .await
                .map_err(classify)?;
        }
        transaction.commit().await.map_err(classify)
    }

    /// Removes the texts of threads to free space, and records their size, so that they are archived again only after they
    /// grow.
    pub async fn evict(&self, threads: &[String]) -> Result<(), StoreError> {
        let classify = |error| self.pools.classify(error);
        let mut transaction = self.pools.begin().await?;
        for thread in threads {
            for sql in [
                "INSERT OR REPLACE INTO evicted (path, source_bytes) \
                 SELECT path, source_bytes FROM transcript WHERE thread_id = ?1 AND generation >= 0",
                "DELETE FROM transcript WHERE thread_id = ?1",
            ] {
                sqlx::query(sql).bind(thread).execute(&mut *transaction).await.map_err(classify)?;
            }
        }
        transaction.commit().await.map_err(classify)
    }

    /// Removes the chunks that no text uses; returns their packs.
    pub async fn sweep(&self) -> Result<Vec<i64>, StoreError> {
        let rows: Vec<(i64,)> = sqlx::query_as(
            "DELETE FROM chunk WHERE NOT EXISTS (SELECT 1 FROM piece WHERE piece.chunk = chunk.chunk) \
             RETURNING pack",
        )
        .fetch_all(self.pools.writer())
        .await
        .map_err(|error| self.pools.classify(error))?;
        let mut packs: Vec<i64> = rows.into_iter().map(|row| row.0).collect();
        packs.sort_unstable();
        packs.dedup();
        Ok(packs)
    }

    /// Replaces the packs `old` by a new pack with their chunks. On an error nothing has changed.
    pub async fn repack(&self, old: &[i64], new: Option<&NewPack>) -> Result<(), StoreError> {
        let classify = |error| self.pools.classify(error);
        let mut transaction = self.pools.begin().await?;
        if let Some(new) = new {
            insert_pack(&mut transaction, new).await.map_err(classify)?;
            for chunk in &new.chunks {
                sqlx::query("UPDATE chunk SET pack = ?2, offset = ?3 WHERE digest = ?1")
                    .bind(chunk.digest.0.to_vec())
                    .bind(new.pack)
                    .bind(chunk.offset.cast_signed())
                    .execute(&mut *transaction)
                    .await
                    .map_err(classify)?;
            }
        }
        for pack in old {
            sqlx::query("DELETE FROM pack WHERE pack = ?1")
                .bind(pack)
                .execute(&mut *transaction)
                .await
                .map_err(classify)?;
        }
        transaction.commit().await.map_err(classify)
    }

    /// Records that a pack was verified.
    pub async fn record_check(
        &self,
        pack: i64,
        at_ms: i64,
        is_sound: bool,
    ) -> Result<(), StoreError> {
        sqlx::query("UPDATE pack SET checked_ms = ?2, damaged = ?3 WHERE pack = ?1")
            .bind(pack)
            .bind(at_ms)
            .bind(!is_sound)
            .execute(self.pools.writer())
            .await
            .map_err(|error| self.pools.classify(error))?;
        Ok(())
    }
}

async fn insert_pack(connection: &mut SqliteConnection, pack: &NewPack) -> Result<(), sqlx::Error> {
    sqlx::query(
        "INSERT INTO pack (pack, bytes, text_bytes, checked_ms, damaged) VALUES (?1, ?2, ?3, 0, 0)",
    )
    .bind(pack.pack)
    .bind(pack.bytes.cast_signed())
    .bind(pack.text_bytes.cast_signed())
    .execute(connection)
    .await?;
    Ok(())
}

async fn put_pack(connection: &mut SqliteConnection, pack: &NewPack) -> Result<(), sqlx::Error> {
    insert_pack(connection, pack).await?;
    for chunks in pack.chunks.chunks(ROWS_PER_STATEMENT) {
        let mut query =
            QueryBuilder::<Sqlite>::new("INSERT INTO chunk (digest, pack, offset, bytes) ");
        query.push_values(chunks, |mut row, chunk| {
            row.push_bind(chunk.digest.0.to_vec())
                .push_bind(pack.pack)
                .push_bind(chunk.offset.cast_signed())
                .push_bind(chunk.bytes.cast_signed());
        });
        query.push(
            " ON CONFLICT (digest) DO UPDATE SET pack = excluded.pack, offset = excluded.offset \
             WHERE NOT EXISTS (SELECT 1 FROM pack p WHERE p.pack = chunk.pack AND p.damaged = 0)",
        );
        query.build().persistent(is_cached(chunks.len())).execute(&mut *connection).await?;
    }
    Ok(())
}

async fn put_part(
    connection: &mut SqliteConnection,
    part: &ArchivedPart,
) -> Result<(), sqlx::Error> {
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
    sqlx::query("DELETE FROM evicted WHERE path = ?1")
        .bind(&row.path)
        .execute(&mut *connection)
        .await?;
    let (id,): (i64,) = sqlx::query_as(
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
    .bind(row.is_redacted)
    .bind(row.updated_ms)
    .bind(row.lived_ms)
    .fetch_one(&mut *connection)
    .await?;
    Ok(id)
}
