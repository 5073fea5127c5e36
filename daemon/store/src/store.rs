//! The handles; opening, recovering and closing the file.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use crate::age::AgeTable;
use crate::commit::ProjectionWriter;
use crate::compaction::CompactionTable;
use crate::erase::ThreadEraser;
use crate::error::StoreError;
use crate::file::FileTable;
use crate::gauge::GaugeTable;
use crate::job::JobTable;
use crate::memory::{CurationTable, ExtractionTable, GenerationTable, NoteTable, UseTable};
use crate::model::ModelTable;
use crate::open::{self, OpenReport};
use crate::page::PageTable;
use crate::path;
use crate::policy::PolicyTable;
use crate::pool::{Connections, Pools, Revision};
use crate::salvage::SalvageReport;
use crate::thread::ThreadTable;
use crate::update::UpdateTable;

/// One handle for each group of tables; all are cheap to clone and share the connections.
#[derive(Debug, Clone)]
pub struct Store {
    pub database: Database,
    pub projection: ProjectionWriter,
    pub files: FileTable,
    pub pages: PageTable,
    pub threads: ThreadTable,
    pub gauges: GaugeTable,
    pub updates: UpdateTable,
    pub compactions: CompactionTable,
    pub policies: PolicyTable,
    pub extractions: ExtractionTable,
    pub notes: NoteTable,
    pub generations: GenerationTable,
    pub curation: CurationTable,
    pub uses: UseTable,
    pub jobs: JobTable,
    pub models: ModelTable,
    pub age: AgeTable,
    pub eraser: ThreadEraser,
}

/// The database as a file. Cheap to clone; all clones share the connections.
#[derive(Debug, Clone)]
pub struct Database {
    path: Arc<Path>,
    pub(crate) connections: Connections,
    recovering: Arc<tokio::sync::Mutex<Recovery>>,
    rebuilt: Arc<RwLock<Option<RebuildReport>>>,
    pages_repaired: Arc<AtomicUsize>,
}

/// The replacement of a database that was damaged or of an older version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RebuildReport {
    pub moved_to: PathBuf,
    pub salvaged: Option<SalvageReport>,
}

impl RebuildReport {
    /// Whether the replaced database was sound, and of an older version.
    pub fn is_of_older_version(&self) -> bool {
        self.moved_to.file_name().is_some_and(|name| name.to_string_lossy().contains(path::OLDER))
    }
}

/// A recovery under way. It may fail, as on a full disk, or be dropped; the next call goes on from there.
#[derive(Debug, Default)]
struct Recovery {
    /// Whether closing the damaged database has begun.
    is_closed: bool,
    /// New path of the damaged file.
    moved: Option<PathBuf>,
}

impl Store {
    /// Opens or creates the database at `path`, whose folder must exist.
    ///
    /// A file that is damaged (`<name>.corrupt-<time>`) or of an older version (`<name>.older-<time>`) is moved aside.
    ///
    /// # Errors
    /// `SchemaTooNew` (written by a newer longhauld; the file is not changed), `Access` (permissions), `Busy`,
    /// `DiskFull`. A file that is moved aside is not an error.
    pub async fn open(path: &Path, now_ms: i64) -> Result<(Self, OpenReport), StoreError> {
        let (pools, opened) = open::open(path, now_ms).await?;
        let connections = Connections::new(pools);
        let shared = || connections.clone();
        let store = Self {
            database: Database {
                path: path.into(),
                connections: shared(),
                recovering: Arc::default(),
                rebuilt: Arc::new(RwLock::new(rebuild_report(
                    opened.moved_aside.as_ref(),
                    &opened,
                ))),
                pages_repaired: Arc::new(AtomicUsize::new(opened.pages_repaired)),
            },
            projection: ProjectionWriter(shared()),
            files: FileTable(shared()),
            pages: PageTable(shared()),
            threads: ThreadTable(shared()),
            gauges: GaugeTable(shared()),
            updates: UpdateTable(shared()),
            compactions: CompactionTable(shared()),
            policies: PolicyTable(shared()),
            extractions: ExtractionTable(shared()),
            notes: NoteTable(shared()),
            generations: GenerationTable(shared()),
            curation: CurationTable(shared()),
            uses: UseTable(shared()),
            jobs: JobTable(shared()),
            models: ModelTable(shared()),
            age: AgeTable(shared()),
            eraser: ThreadEraser(shared()),
        };
        Ok((store, opened))
    }
}

impl Database {
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Handles a `Corrupt` error: checks every page and, if one is damaged, moves the file aside and continues with an
    /// empty one. Returns the new path of the old file; `None` if it is sound.
    ///
    /// Running calls fail with `Closed`; later ones use the new database. Concurrent callers share one recovery.
    ///
    /// # Errors
    /// `Access` or `DiskFull` if no new database can be created: calls fail with `Closed` until another recovery succeeds.
    pub async fn recover(&self, now_ms: i64) -> Result<Option<PathBuf>, StoreError> {
        let mut recovery = self.recovering.lock().await;
        if !recovery.is_closed && !self.is_damaged().await? {
            return Ok(None);
        }
        self.move_aside(&mut recovery, now_ms).await?;
        let (pools, opened) = open::open(&self.path, now_ms).await?;
        let moved = std::mem::take(&mut *recovery).moved;
        *self.rebuilt.write().unwrap_or_else(PoisonError::into_inner) =
            rebuild_report(moved.as_ref(), &opened);
        self.connections.replace(pools);
        Ok(moved)
    }

    async fn is_damaged(&self) -> Result<bool, StoreError> {
        // Checked twice, as in `open`.
        for _ in 0..2 {
            match self.check().await {
                Err(StoreError::Corrupt { .. }) => {}
                found => return found.map(|()| false),
            }
        }
        Ok(true)
    }

    /// Closes a damaged database and moves it aside; goes on where an earlier call failed or was dropped. From then on
    /// the database is never asked again whether it is damaged: another may be in its place.
    async fn move_aside(&self, recovery: &mut Recovery, now_ms: i64) -> Result<(), StoreError> {
        recovery.is_closed = true;
        if recovery.moved.is_none() {
            self.connections.pools().close_damaged().await;
            recovery.moved = Some(open::move_aside(&self.path, path::DAMAGED, now_ms)?);
        }
        Ok(())
    }

    /// Whether the open database is still the file at its path. It is not after someone removed the database or its
    /// folder. While a damaged one is being replaced, it counts as in place.
    pub fn is_in_place(&self) -> bool {
        let is_current = || self.connections.pools().is_in_place();
        let is_replaced = || self.recovering.try_lock().map_or(true, |recovery| recovery.is_closed);
        // In this order: a replacement may begin after the first question and end before the last.
        is_current() || is_replaced() || is_current()
    }

    /// Whether a recovery closed the old database and could not create a new one: call [`Database::recover`] again.
    pub fn is_recovery_unfinished(&self) -> bool {
        self.recovering.try_lock().is_ok_and(|recovery| recovery.is_closed)
    }

    /// Compares the pages of a database at rest with its seal.
    ///
    /// # Errors
    /// `Corrupt`: call [`Database::recover`].
    pub async fn check_pages(&self) -> Result<(), StoreError> {
        let pools = self.connections.pools();
        let _at_rest = pools.at_rest().await;
        let repaired = open::check_seal(&self.path).await?;
        self.pages_repaired.fetch_add(repaired, Ordering::Relaxed);
        Ok(())
    }

    /// Number of pages whose flipped bit was repaired, at the start and since.
    pub fn pages_repaired(&self) -> usize {
        self.pages_repaired.load(Ordering::Relaxed)
    }

    /// Deletes the databases that were moved aside. What could be read of them was copied when the database was opened.
    pub fn remove_aside(&self) -> Result<(), StoreError> {
        open::remove_aside(&self.path)
    }

    /// The newest replacement of the database since the start, including one that an earlier start began.
    pub fn rebuilt(&self) -> Option<RebuildReport> {
        self.rebuilt.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub fn bytes(&self) -> u64 {
        path::bytes(&self.path)
    }

    /// The current state, for values that are read again only after a write; `None` while a write may be under way. Ask
    /// before reading.
    pub fn revision(&self) -> Option<Revision> {
        self.connections.pools().revision()
    }

    /// Releases the connections' page caches while the daemon is idle.
    pub async fn release_memory(&self) -> Result<(), StoreError> {
        self.connections.pools().release_memory().await
    }

    /// Waits until everything stored is on disk. Rows from transcripts need not be; calls that store other data return
    /// only after it is.
    pub async fn sync(&self) -> Result<(), StoreError> {
        self.connections.pools().sync().await
    }

    /// Closes all connections and checkpoints the write-ahead log.
    pub async fn close(&self) {
        self.connections.pools().close().await;
    }

    /// Reads every page of the file through a new connection: the others may have cached pages from before the damage.
    async fn check(&self) -> Result<(), StoreError> {
        self.check_pages().await?;
        // Opening would create it.
        if !self.path.exists() {
            let (path, detail) = (self.path.to_path_buf(), "it was removed".to_owned());
            return Err(StoreError::Access { path, detail });
        }
        let fresh = Pools::open(&self.path).await?;
        let result = open::check(&fresh).await;
        fresh.close().await;
        result
    }
}

fn rebuild_report(moved: Option<&PathBuf>, opened: &OpenReport) -> Option<RebuildReport> {
    let salvaged = opened.salvaged.clone();
    let moved_to = moved.cloned().or_else(|| Some(salvaged.as_ref()?.from.clone()))?;
    Some(RebuildReport { moved_to, salvaged })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::path::with_suffix;
    use crate::{FileCommit, RetryClass};

    fn big_batch(path: &str) -> [FileCommit; 1] {
        [FileCommit::example(path, "t", 1 << 20)]
    }

    async fn limit_pages(store: &Store, pages: u32) {
        let sql = format!("PRAGMA max_page_count = {pages}");
        sqlx::raw_sql(sqlx::AssertSqlSafe(sql))
            .execute(store.database.connections.pools().writer())
            .await
            .unwrap();
    }

    #[tokio::test]
    async fn a_removed_database_is_noticed_and_closing_it_spares_its_successor() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.db");
        let (old, _) = Store::open(&path, 1).await.unwrap();
        old.projection.commit(&big_batch("/a")).await.unwrap();
        assert!(old.database.is_in_place());
        for suffix in ["", "-wal", "-shm"] {
            fs::remove_file(with_suffix(&path, suffix)).unwrap();
        }
        assert!(!old.database.is_in_place());
        let (new, _) = Store::open(&path, 2).await.unwrap();
        new.projection.commit(&big_batch("/b")).await.unwrap();
        assert!(!old.database.is_in_place() && new.database.is_in_place());
        old.database.close().await;
        assert!(with_suffix(&path, "-wal").exists(), "the log of the new database");
        assert_eq!(new.files.after(crate::FileId(0)).await.unwrap().len(), 1);
    }

    #[tokio::test]
    async fn a_revision_lasts_until_the_next_write() {
        let folder = tempfile::tempdir().unwrap();
        let (store, _) = Store::open(&folder.path().join("x.db"), 1).await.unwrap();
        let rested = async || loop {
            if let Some(revision) = store.database.revision() {
                return revision;
            }
            tokio::task::yield_now().await;
        };
        let first = rested().await;
        store.files.after(crate::FileId(0)).await.unwrap();
        store.database.release_memory().await.unwrap();
        assert_eq!(rested().await, first, "reading is no write");

        let pools = store.database.connections.pools();
        let transaction = pools.begin().await.unwrap();
        assert_eq!(store.database.revision(), None, "it may commit at any moment");
        drop(transaction);
        store.projection.commit(&big_batch("/a")).await.unwrap();
        assert_ne!(store.database.revision(), Some(first));
        let second = rested().await;
        assert_ne!(second, first);
        store.database.connections.replace(pools);
        assert_ne!(rested().await, second, "another database");
    }

    #[tokio::test]
    async fn a_full_disk_is_a_typed_error_and_stores_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let (store, _) = Store::open(&folder.path().join("x.db"), 1).await.unwrap();
        limit_pages(&store, 100).await;
        let error = store.projection.commit(&big_batch("/a")).await.unwrap_err();
        assert!(matches!(error, StoreError::DiskFull { .. }), "{error:?}");
        assert_eq!(error.retry_class(), RetryClass::Never);
        assert!(store.files.after(crate::FileId(0)).await.unwrap().is_empty());
        limit_pages(&store, 1_000_000).await;
        store.projection.commit(&big_batch("/a")).await.unwrap();
        assert_eq!(store.files.after(crate::FileId(0)).await.unwrap().len(), 1);
    }

    #[tokio::test]
    async fn a_recovery_that_could_not_create_a_database_goes_on_where_it_failed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("longhaul.db");
        let (store, _) = Store::open(&path, 1).await.unwrap();
        store.database.close().await;
        let (store, _) = Store::open(&path, 1).await.unwrap();
        let mut bytes = fs::read(&path).unwrap();
        bytes[4_096..].fill(0xa5);
        fs::write(&path, bytes).unwrap();
        let mut recovery = Recovery::default();
        store.database.move_aside(&mut recovery, 2).await.unwrap();
        let moved = recovery.moved.clone();
        assert!(moved.is_some());
        *store.database.recovering.lock().await = recovery;
        assert!(store.database.is_in_place() && store.database.is_recovery_unfinished());
        assert!(store.files.after(crate::FileId(0)).await.is_err());

        assert_eq!(store.database.recover(3).await.unwrap(), moved);
        assert!(store.files.after(crate::FileId(0)).await.unwrap().is_empty());
        assert!(!store.database.is_recovery_unfinished());
        assert_eq!(store.database.recover(4).await.unwrap(), None, "it is sound now");
    }
}
