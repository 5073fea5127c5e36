//! Reads the index of the archive.

use std::collections::HashSet;

use longhaul_core::archive::chunk::ChunkDigest;
use longhaul_core::archive::pack::{PackContents, PackedChunk, PackedPiece, TranscriptName};
use sqlx::sqlite::SqliteRow;
use sqlx::{QueryBuilder, Row as _, Sqlite};

use super::{ArchiveIndex, ArchiveTotals, ArchivedTranscript, PackRow, Piece, ThreadAge};
use crate::error::StoreError;
use crate::file::FILES_AT_ONCE;
use crate::row::{digest, get, named, push_list, unsigned};

/// Values per statement, below SQLite's limit of 32,766.
const VALUES_PER_STATEMENT: usize = 500;

const TRANSCRIPT: &str = "SELECT transcript, path, generation, thread_id, source, cwd, first_seq, source_bytes, \
    text_bytes, checked_bytes, checked_chain, redacted, updated_ms, lived_ms FROM transcript";

impl ArchiveIndex {
    /// All archived texts, in no particular order.
    pub async fn transcripts(&self) -> Result<Vec<ArchivedTranscript>, StoreError> {
        sqlx::query(TRANSCRIPT)
            .try_map(|row| transcript(&row))
            .fetch_all(self.pools.reader())
            .await
            .map_err(|error| self.pools.classify(error))
    }

    /// Archive progress of the next [`FILES_AT_ONCE`] texts after number `last`, with their paths, generations and numbers;
    /// start with 0.
    pub async fn progress_after(
        &self,
        last: i64,
    ) -> Result<Vec<(i64, String, i64, u64)>, StoreError> {
        sqlx::query(
            "SELECT transcript, path, generation, source_bytes FROM transcript \
             WHERE transcript > ?1 ORDER BY transcript LIMIT ?2",
        )
        .bind(last)
        .bind(FILES_AT_ONCE)
        .try_map(|row| {
            let reached = unsigned(&row, "source_bytes")?;
            Ok((get(&row, "transcript")?, get(&row, "path")?, get(&row, "generation")?, reached))
        })
        .fetch_all(self.pools.reader())
        .await
        .map_err(|error| self.pools.classify(error))
    }

    /// The archived text of one generation of a file.
    pub async fn transcript_of(
        &self,
        path: &str,
        generation: i64,
    ) -> Result<Option<ArchivedTranscript>, StoreError> {
        let sql = format!("{TRANSCRIPT} WHERE path = ?1 AND generation = ?2");
        sqlx::query(sqlx::AssertSqlSafe(sql))
            .bind(path)
            .bind(generation)
            .try_map(|row| transcript(&row))
            .fetch_optional(self.pools.reader())
            .await
            .map_err(|error| self.pools.classify(error))
    }

    /// The archived texts of all generations of a file, without replaced ones.
    pub async fn transcripts_at(&self, path: &str) -> Result<Vec<ArchivedTranscript>, StoreError> {
        let sql =
            format!("{TRANSCRIPT} WHERE path = ?1 AND generation >= 0 ORDER BY generation DESC");
        sqlx::query(sqlx::AssertSqlSafe(sql))
            .bind(path)
            .try_map(|row| transcript(&row))
            .fetch_all(self.pools.reader())
            .await
            .map_err(|error| self.pools.classify(error))
    }

    /// The archived texts with a chunk in this pack.
    pub async fn transcripts_in(&self, pack: i64) -> Result<Vec<ArchivedTranscript>, StoreError> {
        let sql = format!(
            "{TRANSCRIPT} WHERE transcript IN \
             (SELECT p.transcript FROM piece p JOIN chunk c USING (chunk) WHERE c.pack = ?1)"
        );
        sqlx::query(sqlx::AssertSqlSafe(sql))
            .bind(pack)
            .try_map(|row| transcript(&row))
            .fetch_all(self.pools.reader())
            .await
            .map_err(|error| self.pools.classify(error))
    }

    /// The archived texts of a thread: replaced ones last, then the longest first.
    pub async fn transcripts_of_thread(
        &self,
        thread_id: &str,
    ) -> Result<Vec<ArchivedTranscript>, StoreError> {
        let sql = format!(
            "{TRANSCRIPT} WHERE thread_id = ?1 \
             ORDER BY generation < 0, first_seq + text_bytes DESC, transcript DESC"
        );
        sqlx::query(sqlx::AssertSqlSafe(sql))
            .bind(thread_id)
            .try_map(|row| transcript(&row))
            .fetch_all(self.pools.reader())
            .await
            .map_err(|error| self.pools.classify(error))
    }

    /// Ids of archived threads with this prefix, at most `limit`, in order.
    pub async fn threads_with_prefix(
        &self,
        prefix: &str,
        limit: u32,
    ) -> Result<Vec<String>, StoreError> {
        let query = "SELECT DISTINCT thread_id FROM transcript \
             WHERE thread_id >= ?1 AND thread_id < ?1 || ?2 ORDER BY thread_id LIMIT ?3";
        let rows: Vec<(String,)> = self.pools.with_prefix(query, prefix, limit).await?;
        Ok(rows.into_iter().map(|(id,)| id).collect())
    }

    /// In order.
    pub async fn pieces(&self, transcript: i64) -> Result<Vec<Piece>, StoreError> {
        sqlx::query(
            "SELECT p.offset, p.lines_before, c.digest, c.bytes, c.pack, c.offset AS pack_offset \
             FROM piece p JOIN chunk c USING (chunk) WHERE p.transcript = ?1 ORDER BY p.offset",
        )
        .bind(transcript)
        .try_map(|row| piece(&row))
        .fetch_all(self.pools.reader())
        .await
        .map_err(|error| self.pools.classify(error))
    }

    /// The last piece of a text.
    pub async fn last_piece(&self, transcript: i64) -> Result<Option<Piece>, StoreError> {
        sqlx::query(
            "SELECT p.offset, p.lines_before, c.digest, c.bytes, c.pack, c.offset AS pack_offset \
             FROM piece p JOIN chunk c USING (chunk) WHERE p.transcript = ?1 ORDER BY p.offset DESC LIMIT 1",
        )
        .bind(transcript)
        .try_map(|row| piece(&row))
        .fetch_optional(self.pools.reader())
        .await
        .map_err(|error| self.pools.classify(error))
    }

    /// The `digests` whose chunks are in a sound pack.
    pub async fn stored_chunks(
        &self,
        digests: &[ChunkDigest],
    ) -> Result<HashSet<ChunkDigest>, StoreError> {
        let mut stored = HashSet::new();
        for chunk in digests.chunks(VALUES_PER_STATEMENT) {
            let mut query = QueryBuilder::<Sqlite>::new(
                "SELECT c.digest FROM chunk c JOIN pack p USING (pack) WHERE p.damaged = 0 AND c.digest IN ",
            );
            push_list(&mut query, chunk.iter().map(|digest| digest.0.to_vec()));
            let rows = query
                .build()
                .persistent(false)
                .try_map(|row: SqliteRow| chunk_digest(&row))
                .fetch_all(self.pools.reader())
                .await
                .map_err(|error| self.pools.classify(error))?;
            stored.extend(rows);
        }
        Ok(stored)
    }

    /// Number of the last pack; 0 if there is none.
    pub async fn last_pack(&self) -> Result<i64, StoreError> {
        sqlx::query_scalar("SELECT coalesce(max(pack), 0) FROM pack")
            .fetch_one(self.pools.reader())
            .await
            .map_err(|error| self.pools.classify(error))
    }

    /// All packs, in order. Reads every chunk's row.
    pub async fn packs(&self) -> Result<Vec<PackRow>, StoreError> {
        sqlx::query(
            "SELECT p.pack, p.bytes, p.text_bytes, p.checked_ms, p.damaged, \
             coalesce(sum(c.bytes), 0) AS used, count(c.chunk) AS chunks \
             FROM pack p LEFT JOIN chunk c USING (pack) GROUP BY p.pack ORDER BY p.pack",
        )
        .try_map(|row: SqliteRow| {
            Ok(PackRow {
                pack: get(&row, "pack")?,
                bytes: unsigned(&row, "bytes")?,
                text_bytes: unsigned(&row, "text_bytes")?,
                used_bytes: unsigned(&row, "used")?,
                chunks: unsigned(&row, "chunks")?,
                checked_ms: get(&row, "checked_ms")?,
                is_damaged: get(&row, "damaged")?,
            })
        })
        .fetch_all(self.pools.reader())
        .await
        .map_err(|error| self.pools.classify(error))
    }

    /// The contents of a pack that are in use: its chunks in the order of the texts, and all their positions.
    pub async fn contents(&self, pack: i64) -> Result<PackContents, StoreError> {
        let mut builder = PackContentsBuilder::default();
        // Row by row: tens of thousands of rows need much more memory than the result.
        sqlx::query(
            "SELECT t.transcript, t.path, t.generation, t.thread_id, t.source, t.cwd, t.first_seq, t.redacted, \
             t.updated_ms, p.offset AS place, p.lines_before, c.digest, c.bytes, c.offset \
             FROM chunk c JOIN piece p USING (chunk) JOIN transcript t USING (transcript) \
             WHERE c.pack = ?1 ORDER BY t.transcript, p.offset",
        )
        .bind(pack)
        .try_map(|row| builder.add(&row))
        .fetch_all(self.pools.reader())
        .await
        .map_err(|error| self.pools.classify(error))?;
        Ok(builder.contents)
    }

    /// Ages of all archived threads.
    pub async fn thread_ages(&self) -> Result<Vec<ThreadAge>, StoreError> {
        sqlx::query(
            "SELECT thread_id, max(updated_ms) AS updated_ms, max(lived_ms) AS lived_ms FROM transcript \
             GROUP BY thread_id",
        )
        .try_map(|row| {
            let (updated_ms, lived_ms) = (get(&row, "updated_ms")?, get(&row, "lived_ms")?);
            Ok(ThreadAge { thread_id: get(&row, "thread_id")?, updated_ms, lived_ms })
        })
        .fetch_all(self.pools.reader())
        .await
        .map_err(|error| self.pools.classify(error))
    }

    /// The archived threads, each with the bytes of the chunks that no other thread uses.
    pub async fn exclusive_bytes(&self) -> Result<Vec<(String, u64)>, StoreError> {
        let rows: Vec<(String, i64)> = sqlx::query_as(
            "SELECT t.thread_id, sum(CASE WHEN o.threads = 1 THEN o.bytes ELSE 0 END) FROM \
             (SELECT p.chunk, c.bytes, min(t.thread_id) AS thread_id, count(DISTINCT t.thread_id) AS threads \
              FROM piece p JOIN transcript t USING (transcript) JOIN chunk c USING (chunk) GROUP BY p.chunk) o \
             JOIN (SELECT DISTINCT thread_id FROM transcript) t ON t.thread_id = o.thread_id GROUP BY t.thread_id",
        )
        .fetch_all(self.pools.reader())
        .await
        .map_err(|error| self.pools.classify(error))?;
        Ok(rows.into_iter().map(|(thread, bytes)| (thread, bytes.cast_unsigned())).collect())
    }

    /// Evicted texts, with the bytes of their transcripts at that time.
    pub async fn evicted(&self) -> Result<Vec<(String, u64)>, StoreError> {
        let rows: Vec<(String, i64)> = sqlx::query_as("SELECT path, source_bytes FROM evicted")
            .fetch_all(self.pools.reader())
            .await
            .map_err(|error| self.pools.classify(error))?;
        Ok(rows.into_iter().map(|(path, bytes)| (path, bytes.cast_unsigned())).collect())
    }

    pub async fn totals(&self) -> Result<ArchiveTotals, StoreError> {
        let row = sqlx::query(
            "SELECT p.packs, p.bytes, p.checked_ms, p.damaged, c.chunk_bytes, t.* FROM \
             (SELECT count(*) AS packs, coalesce(sum(bytes), 0) AS bytes, nullif(min(checked_ms), 0) AS checked_ms, \
              coalesce(sum(damaged), 0) AS damaged FROM pack) p, \
             (SELECT coalesce(sum(bytes), 0) AS chunk_bytes FROM chunk) c, \
             (SELECT count(*) AS transcripts, count(DISTINCT thread_id) AS threads, \
              coalesce(sum(text_bytes), 0) AS text_bytes, min(updated_ms) AS oldest_ms FROM transcript) t",
        )
        .fetch_one(self.pools.reader())
        .await
        .map_err(|error| self.pools.classify(error))?;
        totals(&row).map_err(|error| self.pools.classify(error))
    }
}

/// Builds a pack's contents from its rows.
#[derive(Default)]
struct PackContentsBuilder {
    contents: PackContents,
    last: Option<i64>,
    seen: HashSet<ChunkDigest>,
}

impl PackContentsBuilder {
    fn add(&mut self, row: &SqliteRow) -> Result<(), sqlx::Error> {
        let Self { contents, last, seen } = self;
        let id: i64 = get(row, "transcript")?;
        if last.replace(id) != Some(id) {
            contents.transcripts.push(TranscriptName {
                thread_id: get(row, "thread_id")?,
                source: named(row, "source")?,
                path: get(row, "path")?,
                generation: get(row, "generation")?,
                first_seq: unsigned(row, "first_seq")?,
                cwd: get(row, "cwd")?,
                is_redacted: get(row, "redacted")?,
                updated_ms: get(row, "updated_ms")?,
            });
        }
        let digest = chunk_digest(row)?;
        contents.pieces.push(PackedPiece {
            transcript: contents.transcripts.len() - 1,
            offset: unsigned(row, "place")?,
            lines_before: unsigned(row, "lines_before")?,
            digest,
        });
        if seen.insert(digest) {
            let (offset, bytes) = (unsigned(row, "offset")?, unsigned(row, "bytes")?);
            contents.chunks.push(PackedChunk { digest, offset, bytes });
        }
        Ok(())
    }
}

fn totals(row: &SqliteRow) -> Result<ArchiveTotals, sqlx::Error> {
    Ok(ArchiveTotals {
        packs: unsigned(row, "packs")?,
        bytes: unsigned(row, "bytes")?,
        chunk_bytes: unsigned(row, "chunk_bytes")?,
        transcripts: unsigned(row, "transcripts")?,
        threads: unsigned(row, "threads")?,
        text_bytes: unsigned(row, "text_bytes")?,
        oldest_ms: get(row, "oldest_ms")?,
        checked_ms: get(row, "checked_ms")?,
        damaged_packs: unsigned(row, "damaged")?,
    })
}

fn transcript(row: &SqliteRow) -> Result<ArchivedTranscript, sqlx::Error> {
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
        is_redacted: get(row, "redacted")?,
        updated_ms: get(row, "updated_ms")?,
        lived_ms: get(row, "lived_ms")?,
    })
}

fn piece(row: &SqliteRow) -> Result<Piece, sqlx::Error> {
    Ok(Piece {
        offset: unsigned(row, "offset")?,
        lines_before: unsigned(row, "lines_before")?,
        digest: chunk_digest(row)?,
        bytes: unsigned(row, "bytes")?,
        pack: get(row, "pack")?,
        pack_offset: unsigned(row, "pack_offset")?,
    })
}

fn chunk_digest(row: &SqliteRow) -> Result<ChunkDigest, sqlx::Error> {
    let bytes: Vec<u8> = row.try_get("digest")?;
    let bytes = <[u8; 32]>::try_from(bytes).map_err(|bytes| sqlx::Error::ColumnDecode {
        index: "digest".to_owned(),
        source: format!("a digest of {} bytes", bytes.len()).into(),
    })?;
    Ok(ChunkDigest(bytes))
}
