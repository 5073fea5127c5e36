//! The handle: opening, recovering, closing.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use crate::error::StoreError;
use crate::open::{self, OpenReport};
use crate::pool::Pools;
use crate::salvage::SalvageReport;

/// The database. Cheap to clone; all clones share the connections.
#[derive(Debug, Clone)]
pub struct Store {
    path: Arc<Path>,
    // Behind a lock only so that `recover` can put new connections in; held for a clone, never
    // across an await.
    pools: Arc<RwLock<Pools>>,
    recovering: Arc<tokio::sync::Mutex<()>>,
    rebuilt: Arc<RwLock<Option<RebuildReport>>>,
    pages_mended: Arc<AtomicUsize>,
}

/// A damaged database was replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RebuildReport {
    pub moved_to: PathBuf,
    pub salvaged: Option<SalvageReport>,
}

impl Store {
    /// Opens or creates the database at `path`, whose folder must exist.
    ///
    /// `now_ms` names a damaged file that is moved aside: `<name>.corrupt-<now_ms>`.
    ///
    /// # Errors
    /// `SchemaTooNew` (a newer longhauld wrote it; it is left as it is), `Access` (permissions),
    /// `Busy`, `DiskFull`. A damaged file is not an error.
    pub async fn open(path: &Path, now_ms: i64) -> Result<(Self, OpenReport), StoreError> {
        let (pools, opened) = open::open(path, now_ms).await?;
        let store = Self {
            path: path.into(),
            pools: Arc::new(RwLock::new(pools)),
            recovering: Arc::default(),
            rebuilt: Arc::new(RwLock::new(rebuilt(opened.moved_aside.as_ref(), &opened))),
            pages_mended: Arc::new(AtomicUsize::new(opened.pages_mended)),
        };
        Ok((store, opened))
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Answers a `Corrupt` error: checks every page and, if there is damage, moves the file aside
    /// and goes on with an empty one. Returns where the old one went, `None` if it is sound.
    ///
    /// Calls under way fail with `Closed`; later ones use the new database. Callers that report the
    /// same damage at once are served by one recovery.
    ///
    /// # Errors
    /// `Access` or `DiskFull` when no new database can be made.
    pub async fn recover(&self, now_ms: i64) -> Result<Option<PathBuf>, StoreError> {
        let _turn = self.recovering.lock().await;
        let old = self.pools();
        // Looked at twice, as when it is opened.
        let found = match self.check().await {
            Err(StoreError::Corrupt { .. }) => self.check().await,
            found => found,
        };
        match found {
            Ok(()) => return Ok(None),
            Err(StoreError::Corrupt { .. }) => {}
            Err(error) => return Err(error),
        }
        old.close().await;
        let moved = open::move_aside(&self.path, now_ms)?;
        let (pools, opened) = open::open(&self.path, now_ms).await?;
        *self.rebuilt.write().unwrap_or_else(PoisonError::into_inner) =
            rebuilt(Some(&moved), &opened);
        *self.pools.write().unwrap_or_else(PoisonError::into_inner) = pools;
        Ok(Some(moved))
    }

    /// Whether what is stored is stored in the file that a person sees. It is not once somebody removed the database,
    /// or its folder; while a damaged one is replaced it counts as there.
    pub fn is_in_place(&self) -> bool {
        self.recovering.try_lock().is_err() || self.pools().is_in_place()
    }

    /// Compares the pages of a database at rest with its seal.
    ///
    /// # Errors
    /// `Corrupt`: [`Store::recover`] answers it.
    pub async fn check_pages(&self) -> Result<(), StoreError> {
        let pools = self.pools();
        let _at_rest = pools.at_rest().await;
        let mended = open::check_seal(&self.path).await?;
        self.pages_mended.fetch_add(mended, Ordering::Relaxed);
        Ok(())
    }

    /// Pages in which a flipped bit was turned back, since and at the start.
    pub fn pages_mended(&self) -> usize {
        self.pages_mended.load(Ordering::Relaxed)
    }

    /// The newest replacement of a damaged database since the start, also one that an earlier start did
    /// not finish.
    pub fn rebuilt(&self) -> Option<RebuildReport> {
        self.rebuilt.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub fn bytes(&self) -> u64 {
        open::bytes(&self.path)
    }

    /// Gives back what the connections keep of the file in memory: for a daemon that rests. It is read again when
    /// it is asked for.
    ///
    /// # Errors
    /// Those of reading.
    pub async fn release_memory(&self) -> Result<(), StoreError> {
        self.pools().release_memory().await
    }

    /// Waits until all that was stored is on the disk. What is read from transcripts need not be, and what
    /// only we know is when its call returns.
    ///
    /// # Errors
    /// `Io`.
    pub async fn sync(&self) -> Result<(), StoreError> {
        self.pools().sync().await
    }

    /// Closes all connections and folds the write-ahead log into the file.
    pub async fn close(&self) {
        self.pools().close().await;
    }

    /// Reads every page of the file, through a connection of its own: those in use may still hold pages
    /// as they were before they were damaged.
    async fn check(&self) -> Result<(), StoreError> {
        self.check_pages().await?;
        let fresh = Pools::open(&self.path).await?;
        let verdict = open::check(&fresh).await;
        fresh.close().await;
        verdict
    }

    pub(crate) fn pools(&self) -> Pools {
        self.pools.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn rebuilt(moved: Option<&PathBuf>, opened: &OpenReport) -> Option<RebuildReport> {
    let salvaged = opened.salvaged.clone();
    let moved_to = moved.cloned().or_else(|| Some(salvaged.as_ref()?.from.clone()))?;
    Some(RebuildReport { moved_to, salvaged })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use longhaul_core::fold::{Fold, Source};

    use super::*;
    use crate::{BaseState, Batch, Cursor, FileCommit, FileStat, RetryClass};

    fn big_batch(path: &str) -> Batch {
        let fold = Fold::new(Source::Codex);
        Batch {
            files: vec![FileCommit {
                source: Source::Codex,
                path: path.into(),
                moved_from: None,
                archived: false,
                stat: FileStat::default(),
                cursor: Cursor::default(),
                base: BaseState::None,
                thread_id: Some("t".into()),
                head: fold.head().clone(),
                fold: vec![7; 1 << 20],
                pages: Vec::new(),
                observations: Vec::new(),
            }],
        }
    }

    async fn limit_pages(store: &Store, pages: u32) {
        let sql = format!("PRAGMA max_page_count = {pages}");
        sqlx::raw_sql(sqlx::AssertSqlSafe(sql)).execute(store.pools().writer()).await.unwrap();
    }

    #[tokio::test]
    async fn a_database_that_was_removed_is_told_and_its_end_leaves_the_next_one_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.db");
        let (old, _) = Store::open(&path, 1).await.unwrap();
        old.commit_batch(&big_batch("/a")).await.unwrap();
        assert!(old.is_in_place());
        for suffix in ["", "-wal", "-shm"] {
            fs::remove_file(open::with_suffix(&path, suffix)).unwrap();
        }
        assert!(!old.is_in_place());
        let (new, _) = Store::open(&path, 2).await.unwrap();
        new.commit_batch(&big_batch("/b")).await.unwrap();
        assert!(!old.is_in_place() && new.is_in_place());
        old.close().await;
        assert!(open::with_suffix(&path, "-wal").exists(), "the log of the new one");
        assert_eq!(new.files_after(crate::FileId(0)).await.unwrap().len(), 1);
    }

    #[tokio::test]
    async fn a_full_disk_is_a_typed_error_that_stores_nothing_and_passes() {
        let folder = tempfile::tempdir().unwrap();
        let (store, _) = Store::open(&folder.path().join("x.db"), 1).await.unwrap();
        limit_pages(&store, 100).await;
        let error = store.commit_batch(&big_batch("/a")).await.unwrap_err();
        assert!(matches!(error, StoreError::DiskFull { .. }), "{error:?}");
        assert_eq!(error.retry_class(), RetryClass::Never);
        assert!(store.files_after(crate::FileId(0)).await.unwrap().is_empty());
        limit_pages(&store, 1_000_000).await;
        store.commit_batch(&big_batch("/a")).await.unwrap();
        assert_eq!(store.files_after(crate::FileId(0)).await.unwrap().len(), 1);
    }
}
