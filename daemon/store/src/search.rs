//! The full-text index over items, in a separate database file.
//!
//! # Theory of operation
//!
//! *Owns* `search.db`: how far each transcript is indexed, and an FTS5 table of words. It is a projection that may be
//! deleted at any time, with its own writer, so that indexing never blocks the main database's writer.
//!
//! *Writing.* [`SearchIndex::commit`] stores words and cursors in one transaction: after a kill both are present or
//! neither. Item numbers rise with time, and a batch is written in their order, since FTS5 writes a segment each time
//! the order reverses.
//!
//! *Reading.* Newest first and bounded: a word in every item costs no more than a rare one. Filters are words in a
//! separate column, which FTS5 intersects like any other.
//!
//! *Deleting.* [`SearchIndex::drop_file`] hides a file at once; [`SearchIndex::sweep`] deletes its words in batches.
//!
//! *Damage* and other versions: [`SearchIndex::open`] and [`SearchIndex::rebuild`] delete the file and create a new
//! one; it contains nothing that exists only here.

mod query;
mod write;

use std::path::Path;
use std::sync::Arc;

use longhaul_core::digest::Digest128;
use longhaul_core::fold::Source;
use longhaul_core::item::ItemKind;
use strum::VariantArray as _;

use crate::error::StoreError;
use crate::open;
use crate::path;
use crate::pool::{Connections, Pools};
use crate::schema::{IndexFormat, prepare_index};

pub use query::{Match, SearchFilter};
pub use write::{IndexItem, IndexPart, IndexedFile};

/// Format version: the tables, how text is split into words, which part of an item is indexed, and how it is redacted. An index of another
/// version is rebuilt.
pub const INDEX_VERSION: u32 = 5;

/// "lhSX".
const FORMAT: IndexFormat = IndexFormat {
    application_id: 0x6c68_5358,
    version: INDEX_VERSION,
    sql: include_str!("../search.sql"),
};

/// The index. Cheap to clone; all clones share the connections.
#[derive(Debug, Clone)]
pub struct SearchIndex {
    path: Arc<Path>,
    connections: Connections,
}

impl SearchIndex {
    /// Opens or creates the index at `path`, whose folder must exist. A damaged one or one of another version is deleted
    /// and created again.
    ///
    /// # Errors
    /// `Access` (permissions), `Busy`, `DiskFull`.
    pub async fn open(path: &Path) -> Result<Self, StoreError> {
        let pools = match try_open(path).await {
            Err(StoreError::Corrupt { detail, .. }) => {
                tracing::warn!(path = %path.display(), detail, "rebuilding the search index");
                open::remove(path)?;
                try_open(path).await?
            }
            other => other?,
        };
        Ok(Self { path: path.into(), connections: Connections::new(pools) })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn bytes(&self) -> u64 {
        path::bytes(&self.path)
    }

    /// Deletes the index and creates an empty one, after a `Corrupt` error. Running calls fail with `Closed`.
    ///
    /// # Errors
    /// `Access` or `DiskFull` if no new index can be created: the index is closed until another rebuild succeeds.
    pub async fn rebuild(&self) -> Result<(), StoreError> {
        self.pools().close().await;
        open::remove(&self.path)?;
        self.connections.replace(try_open(&self.path).await?);
        Ok(())
    }

    /// Whether it was closed, or a rebuild failed.
    pub fn is_closed(&self) -> bool {
        self.pools().is_closed()
    }

    pub async fn release_memory(&self) -> Result<(), StoreError> {
        self.pools().release_memory().await
    }

    pub async fn close(&self) {
        self.pools().close().await;
    }

    fn pools(&self) -> Pools {
        self.connections.pools()
    }
}

async fn try_open(path: &Path) -> Result<Pools, StoreError> {
    let pools = Pools::open(path).await?;
    pools.or_closed(prepare_index(&pools, &FORMAT).await).await?;
    Ok(pools)
}

fn kind_number(kind: ItemKind) -> i64 {
    match kind {
        ItemKind::UserMessage => 1,
        ItemKind::AssistantMessage => 2,
        ItemKind::Context => 3,
        ItemKind::Reasoning => 4,
        ItemKind::ToolCall => 5,
        ItemKind::ToolOutput => 6,
        ItemKind::Compaction => 7,
        ItemKind::Oversized => 8,
        ItemKind::Other => 9,
    }
}

fn kind_of(number: i64) -> ItemKind {
    let kind = ItemKind::VARIANTS.iter().find(|kind| kind_number(**kind) == number);
    kind.copied().unwrap_or(ItemKind::Other)
}

/// Words for filters. Folders and ids may contain any character, so their digests are used.
mod scope {
    use super::{Digest128, ItemKind, Source, kind_number};

    pub(super) fn source(source: Source) -> String {
        format!("s{}", source.name())
    }

    pub(super) fn kind(kind: ItemKind) -> String {
        format!("k{}", kind_number(kind))
    }

    pub(super) fn cwd(cwd: &str) -> String {
        format!("c{}", Digest128::of(cwd.as_bytes()))
    }

    pub(super) fn thread(thread_id: &str) -> String {
        format!("t{}", Digest128::of(thread_id.as_bytes()))
    }
}
