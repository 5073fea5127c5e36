//! The index of the archive, in a separate database file.
//!
//! # Theory of operation
//!
//! *Owns* `index.db` next to the packs: the archived texts, their chunks, and the chunks' positions in the packs. A pack
//! is on disk before the index names it, and is deleted after its entry. So a crash leaves packs without an entry, never
//! entries without a pack. For that, commits wait for the disk.
//!
//! *Damage*: [`ArchiveIndex::open`] fails with `Corrupt`; the owner of the packs then creates a new index from the packs'
//! contents tables.
//!
//! *Does not* read or write packs.

mod packs;
mod threads;
mod transcripts;

pub use packs::ArchivePackTable;
pub use threads::ArchiveThreadTable;
pub use transcripts::{ArchiveTranscriptTable, REPLACED_MAX, TextProgress};

use std::path::Path;

use longhaul_core::archive::chunk::ChunkDigest;
use longhaul_core::archive::pack::PackedChunk;
use longhaul_core::digest::Digest128;
use longhaul_core::fold::Source;
use longhaul_core::redact;
use sqlx::sqlite::SqliteRow;

use crate::error::StoreError;
use crate::open;
use crate::pool::Pools;
use crate::row::{get, unsigned};
use crate::schema::{IndexFormat, prepare_index};

/// "lhAX". An index of another version is rebuilt.
const FORMAT: IndexFormat =
    IndexFormat { application_id: 0x6c68_4158, version: 1, sql: include_str!("../archive.sql") };

/// The index, with one handle for each group of tables. Cheap to clone; all clones share the connections.
#[derive(Debug, Clone)]
pub struct ArchiveIndex {
    pub transcripts: ArchiveTranscriptTable,
    pub threads: ArchiveThreadTable,
    pub packs: ArchivePackTable,
    pools: Pools,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArchivedTranscript {
    /// 0 before it is stored.
    pub id: i64,
    pub path: String,
    /// Generation of the file when it was archived; negative if the file was replaced since.
    pub generation: i64,
    pub thread_id: String,
    pub source: Source,
    pub cwd: Option<String>,
    /// Index of its first line in the thread's lineage.
    pub first_seq: u64,
    /// Archived bytes of the transcript, or [`SOURCE_BYTES_UNKNOWN`].
    pub source_bytes: u64,
    /// Bytes of the archived text; differs only if it was redacted.
    pub text_bytes: u64,
    /// How far it was verified against ingestion, and the chained digest of those lines.
    pub checked_bytes: u64,
    pub checked_chain: Digest128,
    pub is_redacted: bool,
    /// When the transcript last grew, Unix milliseconds.
    pub updated_ms: i64,
    /// Age of the database when it was last archived, or [`LIVED_UNKNOWN`].
    pub lived_ms: i64,
    /// Number of the pack that described it first; 0 if the index was made before that was recorded.
    pub first_pack: i64,
    /// Version of the rules that redacted it; 0 also if it is plain.
    pub redaction: u32,
}

/// [`ArchivedTranscript::lived_ms`] in a rebuilt index, since packs do not have it.
pub const LIVED_UNKNOWN: i64 = -1;

/// [`ArchivedTranscript::source_bytes`] of a redacted text whose packs do not say it: a transcript is not that long, so
/// its text is archived again.
pub const SOURCE_BYTES_UNKNOWN: u64 = u64::MAX;

/// A chunk's position in a text and in its pack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    pub offset: u64,
    /// Lines of the text before it.
    pub lines_before: u64,
    pub digest: ChunkDigest,
    pub bytes: u64,
    pub pack: i64,
    /// First byte in the pack's text.
    pub pack_offset: u64,
}

/// A piece to store; its chunk is already stored or in the same commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NewPiece {
    pub offset: u64,
    pub lines_before: u64,
    pub digest: ChunkDigest,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewPack {
    pub pack: i64,
    pub bytes: u64,
    pub text_bytes: u64,
    pub chunks: Vec<PackedChunk>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArchivedPart {
    /// A new row if its id is 0.
    pub transcript: ArchivedTranscript,
    /// The new pieces replace those from this byte of the text on.
    pub from: u64,
    pub pieces: Vec<NewPiece>,
    /// Other texts that it takes the place of.
    pub superseded: Vec<SupersededText>,
}

/// The row of a text that another one takes the place of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SupersededText {
    /// It stays for its handles.
    Replaced(i64),
    Removed(i64),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PackRow {
    pub pack: i64,
    /// On disk.
    pub bytes: u64,
    pub text_bytes: u64,
    /// Bytes of its text still in use, and their chunks.
    pub used_bytes: u64,
    pub chunks: u64,
    pub checked_ms: i64,
    pub is_damaged: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadAge {
    pub thread_id: String,
    /// When one of its transcripts last grew, Unix milliseconds.
    pub updated_ms: i64,
    /// Age of the database when the thread was last archived.
    pub lived_ms: i64,
}

/// Tables that an older index does not have: the bounds under which texts were evicted, the highest number of a pack that
/// was removed, and a row while evicted text may still be in packs. Not in `archive.sql`, since another version of the index would be rebuilt, and a rebuilt one has lost
/// ages and evictions.
const ADDED: [&str; 5] = [
    "CREATE TABLE IF NOT EXISTS eviction_bounds (one INTEGER PRIMARY KEY CHECK (one = 1), \
     max_bytes INTEGER NOT NULL, max_age_ms INTEGER) STRICT",
    "CREATE TABLE IF NOT EXISTS last_pack (one INTEGER PRIMARY KEY CHECK (one = 1), pack INTEGER NOT NULL) STRICT",
    "CREATE TABLE IF NOT EXISTS unfinished_eviction (one INTEGER PRIMARY KEY CHECK (one = 1)) STRICT",
    // The packs that described the texts first.
    "CREATE TABLE IF NOT EXISTS text_start (transcript INTEGER PRIMARY KEY \
     REFERENCES transcript (transcript) ON DELETE CASCADE, first_pack INTEGER NOT NULL) STRICT",
    // Has a row while no pack has text that was not redacted. An index that does not know it has none.
    "CREATE TABLE IF NOT EXISTS all_redacted (one INTEGER PRIMARY KEY CHECK (one = 1)) STRICT",
];

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ArchiveTotals {
    pub packs: u64,
    /// Bytes of the packs on disk.
    pub bytes: u64,
    /// Bytes of all chunks, each once.
    pub chunk_bytes: u64,
    pub transcripts: u64,
    pub threads: u64,
    pub text_bytes: u64,
    /// When the longest idle thread last grew.
    pub oldest_ms: Option<i64>,
    /// Oldest time a pack was verified; `None` if one never was.
    pub checked_ms: Option<i64>,
    pub damaged_packs: u64,
    /// Texts that were not redacted, or by older rules only.
    pub plain_texts: u64,
}

/// Bytes of the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IndexSpace {
    /// Of pages that are not in use.
    pub free: u64,
    /// That an empty index takes, too.
    pub fixed: u64,
    /// That rows of texts and chunks take.
    pub rows: u64,
}

impl ArchiveIndex {
    /// Opens or creates the index at `path`, whose folder must exist.
    ///
    /// # Errors
    /// `Corrupt` (damaged or of another version: [`ArchiveIndex::remove`] it and create a new one), `Access`, `Busy`,
    /// `DiskFull`.
    pub async fn open(path: &Path) -> Result<Self, StoreError> {
        open::check_seal(path).await?;
        let pools = Pools::open_durable(path).await?;
        pools.or_closed(prepare(&pools).await).await?;
        Ok(Self {
            transcripts: ArchiveTranscriptTable(pools.clone()),
            threads: ArchiveThreadTable(pools.clone()),
            packs: ArchivePackTable(pools.clone()),
            pools,
        })
    }

    /// Deletes an unusable index.
    pub fn remove(path: &Path) -> Result<(), StoreError> {
        open::remove(path)
    }

    /// Bytes of the file, without its log.
    pub fn bytes(&self) -> u64 {
        std::fs::metadata(&self.pools.path).map_or(0, |meta| meta.len())
    }

    /// What the bytes of the file are used for.
    pub async fn space(&self) -> Result<IndexSpace, StoreError> {
        let pages = sqlx::query_as::<_, (i64, i64, i64, i64)>(
            "SELECT s.page_size, c.page_count, f.freelist_count, \
             (SELECT count(*) + 1 FROM sqlite_schema WHERE rootpage > 0) \
             FROM pragma_page_size s, pragma_page_count c, pragma_freelist_count f",
        );
        let (page, pages, free, roots) =
            self.pools.read(async |pool| pages.fetch_one(&pool).await).await?;
        let bytes = |pages: i64| (page * pages.max(0)).cast_unsigned();
        let free = free.min(pages);
        Ok(IndexSpace {
            free: bytes(free),
            fixed: bytes(roots.min(pages - free)),
            rows: bytes(pages - free - roots),
        })
    }

    /// Stores packs with their chunks, and the pieces of texts, in one transaction that is on disk when this returns. An
    /// existing chunk stays where it is, unless its pack is damaged. On an error nothing was stored.
    pub async fn commit(
        &self,
        packs: &[NewPack],
        parts: &[ArchivedPart],
    ) -> Result<(), StoreError> {
        let mut transaction = self.pools.begin().await?;
        for pack in packs {
            transaction.run(async |it| packs::put_pack(it, pack).await).await?;
        }
        for part in parts {
            transaction.run(async |it| transcripts::put_part(it, part).await).await?;
        }
        transaction.commit().await
    }

    pub async fn totals(&self) -> Result<ArchiveTotals, StoreError> {
        let found = sqlx::query(
            "SELECT p.packs, p.bytes, p.checked_ms, p.damaged, c.chunk_bytes, t.* FROM \
             (SELECT count(*) AS packs, coalesce(sum(bytes), 0) AS bytes, nullif(min(checked_ms), 0) AS checked_ms, \
              coalesce(sum(damaged), 0) AS damaged FROM pack) p, \
             (SELECT coalesce(sum(bytes), 0) AS chunk_bytes FROM chunk) c, \
             (SELECT count(*) AS transcripts, count(DISTINCT thread_id) AS threads, \
              coalesce(sum(text_bytes), 0) AS text_bytes, min(updated_ms) AS oldest_ms, \
              coalesce(sum(redacted <= ?1), 0) AS plain FROM transcript) t",
        )
        .bind(redact::VERSION)
        .try_map(|row| totals(&row));
        self.pools.read(async |pool| found.fetch_one(&pool).await).await
    }

    /// Rewrites the file and empties the log: afterwards deleted data is in neither, and the free pages are back with the disk.
    pub async fn scrub(&self) -> Result<(), StoreError> {
        self.pools.scrub().await
    }

    pub async fn release_memory(&self) -> Result<(), StoreError> {
        self.pools.release_memory().await
    }

    /// Compares the pages of an index at rest with its seal.
    ///
    /// # Errors
    /// `Corrupt`: close it with [`ArchiveIndex::close_damaged`].
    pub async fn check_pages(&self) -> Result<(), StoreError> {
        let _at_rest = self.pools.at_rest().await;
        open::check_seal(&self.pools.path).await.map(drop)
    }

    pub async fn close(&self) {
        self.pools.close().await;
    }

    /// Closes it and keeps its seal, so that the next [`ArchiveIndex::open`] finds the damage, too.
    pub async fn close_damaged(&self) {
        self.pools.close_damaged().await;
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
        plain_texts: unsigned(row, "plain")?,
    })
}

async fn prepare(pools: &Pools) -> Result<(), StoreError> {
    if prepare_index(pools, &FORMAT).await? {
        open::check(pools).await?;
    }
    for table in ADDED {
        pools.execute(sqlx::query(table)).await?;
    }
    // Texts that older rules redacted are redacted again.
    let outdated = "DELETE FROM all_redacted \
         WHERE EXISTS (SELECT 1 FROM transcript WHERE redacted <= ?1)";
    pools.execute(sqlx::query(outdated).bind(redact::VERSION)).await.map(drop)
}
