//! The full-text index over items, in a database file of its own.
//!
//! # Theory of operation
//!
//! *Owns* `search.db`: which transcripts are indexed how far, and an FTS5 table of their words. It is a
//! projection that may be deleted at any time, and it has a writer of its own, so that indexing never holds
//! the one of the main database.
//!
//! *Writing.* [`SearchIndex::commit`] stores words and the cursors that say how far they reach in one
//! transaction: after a kill both are there or neither. Numbers of items rise with their time, and a batch
//! is written in their order, since FTS5 writes a segment each time the order turns.
//!
//! *Reading.* Newest first and bounded: a word that stands in every item costs no more than a rare one.
//! Filters are words of a column of their own, so that FTS5 intersects them like any other.
//!
//! *Deleting.* [`SearchIndex::drop_file`] hides a file at once; [`SearchIndex::sweep`] deletes its words in
//! pieces.
//!
//! *Damage* and other versions: [`SearchIndex::open`] and [`SearchIndex::rebuild`] delete the file and begin
//! anew; nothing in it is known only here.

mod query;
mod write;

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use longhaul_core::digest::Digest128;
use longhaul_core::fold::Source;
use longhaul_core::item::ItemKind;

use crate::error::StoreError;
use crate::open;
use crate::pool::Pools;

pub use query::{Match, SearchFilter};
pub use write::{IndexItem, IndexPart, IndexedFile};

/// Version of the index's form: its tables, how text is cut into words, what of an item is indexed. One of
/// another version is made anew.
pub const INDEX_VERSION: u32 = 3;

/// Marks the file as ours (`application_id`): "lhSX".
const APPLICATION_ID: u32 = 0x6c68_5358;

/// The index. Cheap to clone; all clones share the connections.
#[derive(Debug, Clone)]
pub struct SearchIndex {
    path: Arc<Path>,
    // Behind a lock only so that `rebuild` can put new connections in; held for a clone, never across an await.
    pools: Arc<RwLock<Pools>>,
}

impl SearchIndex {
    /// Opens or creates the index at `path`, whose folder must exist. One that is damaged or of another
    /// version is deleted and begun anew.
    ///
    /// # Errors
    /// `Access` (permissions), `Busy`, `DiskFull`.
    pub async fn open(path: &Path) -> Result<Self, StoreError> {
        let pools = match try_open(path).await {
            Err(StoreError::Corrupt { detail, .. }) => {
                tracing::warn!(path = %path.display(), detail, "the search index is made anew");
                remove(path)?;
                try_open(path).await?
            }
            other => other?,
        };
        Ok(Self { path: path.into(), pools: Arc::new(RwLock::new(pools)) })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn bytes(&self) -> u64 {
        open::bytes(&self.path)
    }

    /// Deletes everything and begins anew: the answer to a `Corrupt` error. Calls under way fail with `Closed`.
    ///
    /// # Errors
    /// `Access` or `DiskFull` when no new index can be made.
    pub async fn rebuild(&self) -> Result<(), StoreError> {
        self.pools().close().await;
        remove(&self.path)?;
        let pools = try_open(&self.path).await?;
        *self.pools.write().unwrap_or_else(PoisonError::into_inner) = pools;
        Ok(())
    }

    /// Gives back what the connections keep of the file in memory, as [`crate::Store::release_memory`].
    ///
    /// # Errors
    /// Those of reading.
    pub async fn release_memory(&self) -> Result<(), StoreError> {
        self.pools().release_memory().await
    }

    pub async fn close(&self) {
        self.pools().close().await;
    }

    fn pools(&self) -> Pools {
        self.pools.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

async fn try_open(path: &Path) -> Result<Pools, StoreError> {
    let pools = Pools::open(path).await?;
    match prepare(&pools).await {
        Ok(()) => Ok(pools),
        Err(error) => {
            pools.close().await;
            Err(error)
        }
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
    if (version, application) == (i64::from(INDEX_VERSION), i64::from(APPLICATION_ID)) {
        return Ok(());
    }
    if (version, application) != (0, 0) {
        let detail = format!("version {version} of {application:#x}");
        return Err(StoreError::Corrupt { path: pools.path.clone(), detail });
    }
    let stamp =
        format!("PRAGMA user_version = {INDEX_VERSION}; PRAGMA application_id = {APPLICATION_ID};");
    let mut transaction = pools.begin().await?;
    for sql in [include_str!("../search.sql"), stamp.as_str()] {
        let query = sqlx::raw_sql(sqlx::AssertSqlSafe(sql.to_owned()));
        query.execute(&mut *transaction).await.map_err(sorted)?;
    }
    transaction.commit().await.map_err(sorted)
}

fn remove(path: &Path) -> Result<(), StoreError> {
    for suffix in ["-wal", "-shm", ""] {
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

/// The number a kind is stored as.
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
    match number {
        1 => ItemKind::UserMessage,
        2 => ItemKind::AssistantMessage,
        3 => ItemKind::Context,
        4 => ItemKind::Reasoning,
        5 => ItemKind::ToolCall,
        6 => ItemKind::ToolOutput,
        7 => ItemKind::Compaction,
        8 => ItemKind::Oversized,
        _ => ItemKind::Other,
    }
}

/// The words that filters look for. A folder or an id may hold any character: its digest stands for it.
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
