//! The index of the archive, in a database file of its own.
//!
//! # Theory of operation
//!
//! *Owns* `index.db` beside the packs: which texts are archived, of which chunks, and where these stand in the packs.
//! A pack is on the disk before it is named here, and is removed after it is named here no more; so a crash leaves
//! packs without a name, never names without a pack. For that a commit waits for the disk.
//!
//! *Damage*: [`ArchiveIndex::open`] says `Corrupt`; the owner of the packs then begins an index anew and imports what
//! they say of themselves.
//!
//! *Does not* read or write packs.

mod read;
mod write;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use longhaul_core::archive::chunk::ChunkDigest;
use longhaul_core::archive::pack::PackedChunk;
use longhaul_core::digest::Digest128;
use longhaul_core::fold::Source;

use crate::error::StoreError;
use crate::open;
use crate::pool::Pools;

/// Version of the index's form. One of another version is made anew.
const ARCHIVE_VERSION: u32 = 1;

/// Marks the file as ours (`application_id`): "lhAX".
const APPLICATION_ID: u32 = 0x6c68_4158;

/// The index. Cheap to clone; all clones share the connections.
#[derive(Debug, Clone)]
pub struct ArchiveIndex {
    path: Arc<Path>,
    pools: Pools,
}

/// An archived text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArchivedTranscript {
    /// Number of its row; 0 before it is stored.
    pub id: i64,
    pub path: String,
    /// Of the file when it was archived; a negative one was replaced since.
    pub generation: i64,
    pub thread_id: String,
    pub source: Source,
    pub cwd: Option<String>,
    /// Index in the thread's lineage of its first line.
    pub first_seq: u64,
    /// Bytes of the transcript that are archived.
    pub source_bytes: u64,
    /// Bytes of the archived text; as many, unless secrets were replaced.
    pub text_bytes: u64,
    /// How far it was compared with what was ingested, and the digest chained over those lines.
    pub checked_bytes: u64,
    pub checked_chain: Digest128,
    pub is_redacted: bool,
    /// When the transcript last grew, Unix milliseconds.
    pub updated_ms: i64,
    /// How long the database had been in use when it was archived last.
    pub lived_ms: i64,
}

/// A chunk's place in a text, and where its bytes are.
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

/// A piece to be stored; its chunk is stored, or in the same commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NewPiece {
    pub offset: u64,
    pub lines_before: u64,
    pub digest: ChunkDigest,
}

/// A pack that was published.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewPack {
    pub pack: i64,
    pub bytes: u64,
    pub text_bytes: u64,
    pub chunks: Vec<PackedChunk>,
}

/// What was archived of one text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArchivedPart {
    pub transcript: ArchivedTranscript,
    /// Pieces from this byte of the text on are replaced by the new ones.
    pub from: u64,
    pub pieces: Vec<NewPiece>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PackRow {
    pub pack: i64,
    /// On the disk.
    pub bytes: u64,
    pub text_bytes: u64,
    /// Of its text, what is still in use, and in how many chunks.
    pub used_bytes: u64,
    pub chunks: u64,
    pub checked_ms: i64,
    pub is_damaged: bool,
}

/// How long an archived thread rests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadAge {
    pub thread_id: String,
    /// When a transcript of it last grew, Unix milliseconds.
    pub updated_ms: i64,
    /// How long the database had been in use when the thread was archived last.
    pub lived_ms: i64,
}

/// What the archive holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ArchiveTotals {
    pub packs: u64,
    /// Of the packs, on the disk.
    pub bytes: u64,
    /// Of all chunks, each once.
    pub chunk_bytes: u64,
    pub transcripts: u64,
    pub threads: u64,
    /// Of all texts.
    pub text_bytes: u64,
    /// When the thread that rests for longest last grew.
    pub oldest_ms: Option<i64>,
    /// When the pack that waits for longest was last read whole; `None` where one never was.
    pub checked_ms: Option<i64>,
    pub damaged_packs: u64,
}

impl ArchiveIndex {
    /// Opens or creates the index at `path`, whose folder must exist.
    ///
    /// # Errors
    /// `Corrupt` (damaged, or of another version: [`ArchiveIndex::remove`] it and begin anew), `Access`, `Busy`,
    /// `DiskFull`.
    pub async fn open(path: &Path) -> Result<Self, StoreError> {
        open::check_seal(path).await?;
        let pools = Pools::open_durable(path).await?;
        match prepare(&pools).await {
            Ok(()) => Ok(Self { path: path.into(), pools }),
            Err(error) => {
                pools.close().await;
                Err(error)
            }
        }
    }

    /// Deletes an index that cannot be used.
    ///
    /// # Errors
    /// `Access`.
    pub fn remove(path: &Path) -> Result<(), StoreError> {
        for suffix in ["-wal", "-shm", ".seal", ""] {
            let path: PathBuf = open::with_suffix(path, suffix);
            match std::fs::remove_file(&path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(StoreError::Access { path, detail: error.to_string() });
                }
                _ => {}
            }
        }
        Ok(())
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes of the file; its log comes and goes.
    pub fn bytes(&self) -> u64 {
        std::fs::metadata(&self.path).map_or(0, |meta| meta.len())
    }

    /// Writes the log into the database and empties it: what was deleted before is then in neither.
    ///
    /// # Errors
    /// Those of writing.
    pub async fn scrub(&self) -> Result<(), StoreError> {
        self.pools.scrub().await
    }

    /// Gives back what the connections keep of the file in memory, as [`crate::Store::release_memory`].
    ///
    /// # Errors
    /// Those of reading.
    pub async fn release_memory(&self) -> Result<(), StoreError> {
        self.pools.release_memory().await
    }

    pub async fn close(&self) {
        self.pools.close().await;
    }
}

/// Makes the tables of an empty file; another version counts as damage.
async fn prepare(pools: &Pools) -> Result<(), StoreError> {
    let sorted = |error| pools.sorted(error);
    let (version, application): (i64, i64) = sqlx::query_as(
        "SELECT v.user_version, a.application_id FROM pragma_user_version v, pragma_application_id a",
    )
    .fetch_one(pools.writer())
    .await
    .map_err(sorted)?;
    if (version, application) == (i64::from(ARCHIVE_VERSION), i64::from(APPLICATION_ID)) {
        return open::check(pools).await;
    }
    if (version, application) != (0, 0) {
        let detail = format!("version {version} of {application:#x}");
        return Err(StoreError::Corrupt { path: pools.path.clone(), detail });
    }
    let stamp = format!(
        "PRAGMA user_version = {ARCHIVE_VERSION}; PRAGMA application_id = {APPLICATION_ID};"
    );
    let mut transaction = pools.begin().await?;
    for sql in [include_str!("../archive.sql"), stamp.as_str()] {
        let query = sqlx::raw_sql(sqlx::AssertSqlSafe(sql.to_owned()));
        query.execute(&mut *transaction).await.map_err(sorted)?;
    }
    transaction.commit().await.map_err(sorted)
}
