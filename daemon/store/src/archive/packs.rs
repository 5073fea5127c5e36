//! The packs, their chunks, and which pieces of texts these are.

use std::collections::HashSet;

use longhaul_core::archive::chunk::ChunkDigest;
use longhaul_core::archive::pack::{
    PackContents, PackedChunk, PackedPiece, TextState, TranscriptName,
};
use sqlx::sqlite::SqliteRow;
use sqlx::{QueryBuilder, Sqlite, SqliteConnection};

use super::{NewPack, PackRow, Piece, transcripts};
use crate::error::StoreError;
use crate::pool::{Pools, is_cached};
use crate::row::{digest_of, get, named, push_list, unsigned};

/// Rows or values per statement, below SQLite's limit of 32,766 values.
const ROWS_PER_STATEMENT: usize = 500;

/// A query for the pieces of a text.
macro_rules! select_pieces {
    ($order:literal) => {
        concat!(
            "SELECT p.offset, p.lines_before, c.digest, c.bytes, c.pack, c.offset AS pack_offset \
             FROM piece p JOIN chunk c USING (chunk) WHERE p.transcript = ?1 ",
            $order
        )
    };
}

/// Packs, chunks and pieces.
#[derive(Debug, Clone)]
pub struct ArchivePackTable(pub(super) Pools);

impl ArchivePackTable {
    /// All packs, in order. Reads every chunk's row.
    pub async fn all(&self) -> Result<Vec<PackRow>, StoreError> {
        let packs = sqlx::query(
            "SELECT p.pack, p.bytes, p.text_bytes, p.checked_ms, p.damaged, \
             coalesce(sum(c.bytes), 0) AS used, count(c.chunk) AS chunks \
             FROM pack p LEFT JOIN chunk c USING (pack) GROUP BY p.pack ORDER BY p.pack",
        )
        .try_map(|row| {
            Ok(PackRow {
                pack: get(&row, "pack")?,
                bytes: unsigned(&row, "bytes")?,
                text_bytes: unsigned(&row, "text_bytes")?,
                used_bytes: unsigned(&row, "used")?,
                chunks: unsigned(&row, "chunks")?,
                checked_ms: get(&row, "checked_ms")?,
                is_damaged: get(&row, "damaged")?,
            })
        });
        self.0.read(async |pool| packs.fetch_all(&pool).await).await
    }

    /// The highest number that a pack has had; 0 if there never was one.
    pub async fn last(&self) -> Result<i64, StoreError> {
        let last = sqlx::query_scalar(
            "SELECT coalesce(max(pack), 0) FROM \
             (SELECT pack FROM pack UNION ALL SELECT pack FROM last_pack)",
        );
        self.0.read(async |pool| last.fetch_one(&pool).await).await
    }

    /// The contents of a pack that are in use: its chunks in the order of the texts, and all their positions.
    pub async fn contents(&self, pack: i64) -> Result<PackContents, StoreError> {
        let mut builder = PackContentsBuilder::default();
        // Row by row: tens of thousands of rows need much more memory than the result.
        let rows = sqlx::query(
            "SELECT t.transcript, t.path, t.generation, t.thread_id, t.source, t.cwd, t.first_seq, t.redacted, \
             t.updated_ms, t.source_bytes, coalesce(f.first_pack, 0) AS first_pack, p.offset AS place, p.lines_before, c.digest, c.bytes, c.offset \
             FROM chunk c JOIN piece p USING (chunk) JOIN transcript t USING (transcript) \
             LEFT JOIN text_start f USING (transcript) WHERE c.pack = ?1 ORDER BY t.transcript, p.offset",
        )
        .bind(pack)
        .try_map(|row| builder.add(&row));
        self.0.read(async |pool| rows.fetch_all(&pool).await).await?;
        Ok(builder.contents)
    }

    /// In order.
    pub async fn pieces(&self, transcript: i64) -> Result<Vec<Piece>, StoreError> {
        let pieces = sqlx::query(select_pieces!("ORDER BY p.offset")).bind(transcript);
        let pieces = pieces.try_map(|row| piece(&row));
        self.0.read(async |pool| pieces.fetch_all(&pool).await).await
    }

    pub async fn last_piece(&self, transcript: i64) -> Result<Option<Piece>, StoreError> {
        let last = sqlx::query(select_pieces!("ORDER BY p.offset DESC LIMIT 1")).bind(transcript);
        let last = last.try_map(|row| piece(&row));
        self.0.read(async |pool| last.fetch_optional(&pool).await).await
    }

    /// The `digests` whose chunks are in a sound pack.
    pub async fn stored_chunks(
        &self,
        digests: &[ChunkDigest],
    ) -> Result<HashSet<ChunkDigest>, StoreError> {
        let mut stored = HashSet::new();
        for chunk in digests.chunks(ROWS_PER_STATEMENT) {
            let mut query = QueryBuilder::<Sqlite>::new(
                "SELECT c.digest FROM chunk c JOIN pack p USING (pack) WHERE p.damaged = 0 AND c.digest IN ",
            );
            push_list(&mut query, chunk.iter().map(|digest| digest.0.to_vec()));
            let rows = query.build().persistent(false).try_map(|row| chunk_digest(&row));
            stored.extend(self.0.read(async |pool| rows.fetch_all(&pool).await).await?);
        }
        Ok(stored)
    }

    /// Removes the chunks that no text uses; returns their packs.
    pub async fn sweep(&self) -> Result<Vec<i64>, StoreError> {
        let packs = sqlx::query_scalar(
            "DELETE FROM chunk WHERE NOT EXISTS (SELECT 1 FROM piece WHERE piece.chunk = chunk.chunk) \
             RETURNING pack",
        );
        let mut packs: Vec<i64> = self.0.write(async |pool| packs.fetch_all(&pool).await).await?;
        packs.sort_unstable();
        packs.dedup();
        Ok(packs)
    }

    /// Replaces the packs `old` by a new pack with their chunks. On an error nothing has changed.
    pub async fn repack(&self, old: &[i64], new: Option<&NewPack>) -> Result<(), StoreError> {
        let mut transaction = self.0.begin().await?;
        if let Some(new) = new {
            transaction.run(async |it| insert_pack(it, new).await).await?;
            for chunk in &new.chunks {
                let moved =
                    sqlx::query("UPDATE chunk SET pack = ?2, offset = ?3 WHERE digest = ?1")
                        .bind(chunk.digest.0.to_vec())
                        .bind(new.pack)
                        .bind(chunk.offset.cast_signed());
                transaction.execute(moved).await?;
            }
        }
        // The index forgets packs only here.
        let last = sqlx::query(
            "INSERT OR REPLACE INTO last_pack (one, pack) SELECT 1, max(pack) FROM pack \
             HAVING max(pack) >= (SELECT coalesce(max(pack), 0) FROM last_pack)",
        );
        transaction.execute(last).await?;
        for pack in old {
            transaction.execute(sqlx::query("DELETE FROM pack WHERE pack = ?1").bind(pack)).await?;
        }
        transaction.commit().await
    }

    /// Whether no pack has text that was not redacted.
    pub async fn are_redacted(&self) -> Result<bool, StoreError> {
        let mark = sqlx::query("SELECT one FROM all_redacted");
        Ok(self.0.read(async |pool| mark.fetch_optional(&pool).await).await?.is_some())
    }

    /// Records that no pack has text that was not redacted, until such a text is stored.
    pub async fn record_redacted(&self) -> Result<(), StoreError> {
        let mark = sqlx::query("INSERT OR REPLACE INTO all_redacted (one) VALUES (1)");
        self.0.execute(mark).await.map(drop)
    }

    /// Records that a pack was verified.
    pub async fn record_check(
        &self,
        pack: i64,
        at_ms: i64,
        is_sound: bool,
    ) -> Result<(), StoreError> {
        let check = sqlx::query("UPDATE pack SET checked_ms = ?2, damaged = ?3 WHERE pack = ?1");
        self.0.execute(check.bind(pack).bind(at_ms).bind(!is_sound)).await.map(drop)
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
            let (is_redacted, redaction) = transcripts::redaction(row)?;
            contents.transcripts.push(TranscriptName {
                thread_id: get(row, "thread_id")?,
                source: named(row, "source")?,
                path: get(row, "path")?,
                generation: get(row, "generation")?,
                first_seq: unsigned(row, "first_seq")?,
                cwd: get(row, "cwd")?,
                is_redacted,
                updated_ms: get(row, "updated_ms")?,
                state: TextState {
                    first_pack: get(row, "first_pack")?,
                    source_bytes: unsigned(row, "source_bytes")?,
                    redaction,
                },
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
    Ok(ChunkDigest(digest_of(row, "digest")?))
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

pub(super) async fn put_pack(
    connection: &mut SqliteConnection,
    pack: &NewPack,
) -> Result<(), sqlx::Error> {
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
