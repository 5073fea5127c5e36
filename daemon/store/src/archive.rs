//! The index of the archive, in a separate database file.
//!
//! # Theory of operation
//!
//! *Owns* `index.db` beside the packs: the archived texts, their chunks, and the chunks' positions in the packs. A pack
//! is on disk before the index names it, and is deleted after its entry. So a crash leaves packs without an entry, never
//! entries without a pack. For that, commits wait for the disk.
//!
//! *Damage*: [`ArchiveIndex::open`] fails with `Corrupt`; the owner of the packs then creates a new index from the packs'
//! contents tables.
//!
//! *Does not* read or write packs.

mod read;
mod write;

use std::path::Path;
use std::sync::Arc;

use longhaul_core::archive::chunk::ChunkDigest;
use longhaul_core::archive::pack::PackedChunk;
use longhaul_core::digest::Digest128;
use longhaul_core::fold::Source;

use crate::error::StoreError;
use crate::open;
use crate::pool::Pools;
use crate::schema::{IndexFormat, prepare_index};

/// "lhAX". An index of another version is rebuilt.
const FORMAT: IndexFormat =
    IndexFormat { application_id: 0x6c68_4158, version: 1, sql: include_str!("../archive.sql") };

/// The index. Cheap to clone; all clones share the connections.
#[derive(Debug, Clone)]
pub struct ArchiveIndex {
    path: Arc<Path>,
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
    /// Archived bytes of the transcript.
    pub source_bytes: u64,
    /// Bytes of the archived text; differs only if it was redacted.
    pub text_bytes: u64,
    /// How far it was verified against ingestion, and the chained digest of those lines.
    pub checked_bytes: u64,
    pub checked_chain: Digest128,
    pub is_redacted: bool,
    /// When the transcript last grew, Unix milliseconds.
    pub updated_ms: i64,
    /// Age of the database when it was last archived.
    pub lived_ms: i64,
}

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
    pub transcript: ArchivedTranscript,
    /// The new pieces replace those from this byte of the text on.
    pub from: u64,
    pub pieces: Vec<NewPiece>,
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

/// Ages of an archived thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadAge {
    pub thread_id: String,
    /// When one of its transcripts last grew, Unix milliseconds.
    pub updated_ms: i64,
    /// Age of the database when the thread was last archived.
    pub lived_ms: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ArchiveTotals {
    pub packs: u64,
    /// Bytes of the packs on disk.
    pub bytes: u64,
    /// Bytes of all chunks, each once.
    pub chunk_bytes: u64,
    pub transcripts: u64,
    pub threads: u64,
    /// Bytes of all texts.
    pub text_bytes: u64,
    /// When the longest idle thread last grew.
    pub oldest_ms: Option<i64>,
    /// Oldest time a pack was verified; `None` if one never was.
    pub checked_ms: Option<i64>,
    pub damaged_packs: u64,
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
        match prepare(&pools).await {
            Ok(()) => Ok(Self { path: path.into(), pools }),
            Err(error) => {
                pools.close().await;
                Err(error)
            }
        }
    }

    /// Deletes an unusable index.
    pub fn remove(path: &Path) -> Result<(), StoreError> {
        open::remove(path)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes of the file, without its log.
    pub fn bytes(&self) -> u64 {
        std::fs::metadata(&self.path).map_or(0, |meta| meta.len())
    }

    /// Checkpoints and truncates the log: afterwards deleted data is in neither file.
    pub async fn scrub(&self) -> Result<(), StoreError> {
        self.pools.scrub().await
    }

    pub async fn release_memory(&self) -> Result<(), StoreError> {
        self.pools.release_memory().await
    }

    pub async fn close(&self) {
        self.pools.close().await;
    }
}

async fn prepare(pools: &Pools) -> Result<(), StoreError> {
    match prepare_index(pools, &FORMAT).await? {
        true => open::check(pools).await,
        false => Ok(()),
    }
}
