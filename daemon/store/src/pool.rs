//! One writer, few readers: the connections and their settings.
//!
//! Eight writers on one SQLite file are slower than one, and their tail latency is fifty times longer because they
//! sleep in `busy_timeout` (measured). So the write pool has exactly one connection and hands it out in order.
//! Readers see the last committed state and never wait.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use sqlx::sqlite::{
    SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteSynchronous,
};
use sqlx::{Connection, SqliteConnection};
use tokio::sync::MutexGuard;

use crate::descriptor::{self, Identity};
use crate::erased::Erased;
use crate::error::{StoreError, primary_code};
use crate::path::{if_there, sync_folder_of, with_suffix};
use crate::seal;
use crate::wal::Log;

mod transaction;

pub(crate) use transaction::WriteTransaction;

/// Milliseconds a writer waits for another process's write lock.
pub const BUSY_TIMEOUT_MS: u64 = 5_000;

/// Read-only connections: one for a long list, one for concurrent requests.
const READERS: u32 = 2;

/// Page cache of a connection in KiB. The working set is a few index pages and one page of items; the kernel
/// caches the rest.
const CACHE_KIB: u32 = 1_024;

/// Log pages (4 KiB each) at which a commit itself checkpoints and waits for the disk: a bound for bursts, since the
/// `wal` task checkpoints much earlier.
///
/// # Source
/// Chosen: 32 MiB, what ingestion writes in a second or two.
const WAL_PAGES_MAX: u32 = 8_192;

/// Maximum rows of a cached multi-row statement. A statement for hundreds of rows takes half a MiB, and the next
/// batch has another number of rows.
const CACHED_ROWS_MAX: usize = 4;

/// Whether to cache a statement for this many rows.
pub(crate) const fn is_cached(rows: usize) -> bool {
    rows <= CACHED_ROWS_MAX
}

/// Maximum bytes of the write-ahead log's file after a checkpoint.
const WAL_BYTES_KEPT: u32 = 4 << 20;

/// The current connections, shared by all handles.
///
/// Locked only so that a recovery can replace them; never held across an await.
#[derive(Debug, Clone)]
pub(crate) struct Connections(Arc<RwLock<Pools>>);

impl Connections {
    pub(crate) fn new(pools: Pools) -> Self {
        Self(Arc::new(RwLock::new(pools)))
    }

    pub(crate) fn pools(&self) -> Pools {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn replace(&self, mut pools: Pools) {
        let before = self.pools();
        (pools.erased, pools.generation) = (before.erased, before.generation + 1);
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = pools;
    }
}

/// The connections to one database file.
#[derive(Debug, Clone)]
pub(crate) struct Pools {
    pub(crate) path: PathBuf,
    pub(crate) erased: Erased,
    /// How often the database was replaced since the start.
    generation: u64,
    writer: SqlitePool,
    reader: SqlitePool,
    log: Log,
    is_refused: Arc<AtomicBool>,
    /// The opened file: someone may remove or replace it.
    identity: Option<Identity>,
    /// Held as long as connections may exist.
    _descriptor: Option<Arc<File>>,
}

/// A state of the database: equal as long as nothing was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Revision {
    generation: u64,
    writes: u64,
}

fn identity(path: &Path) -> Option<Identity> {
    fs::metadata(path).ok().map(|found| (found.dev(), found.ino()))
}

impl Pools {
    /// Opens the writer, creating the file if necessary. The readers connect when first used.
    pub(crate) async fn open(path: &Path) -> Result<Self, StoreError> {
        Self::open_with(path, SqliteSynchronous::Normal).await
    }

    /// The same for a database whose commits are on disk when they return.
    pub(crate) async fn open_durable(path: &Path) -> Result<Self, StoreError> {
        Self::open_with(path, SqliteSynchronous::Full).await
    }

    async fn open_with(path: &Path, synchronous: SqliteSynchronous) -> Result<Self, StoreError> {
        make_private(path).map_err(|error| StoreError::classify(path, sqlx::Error::Io(error)))?;
        let descriptor = descriptor::of(path).ok();
        let options = settings(path).synchronous(synchronous).create_if_missing(true);
        let (is_refused, log) = (Arc::<AtomicBool>::default(), Log::default());
        let writer = writer(Arc::clone(&is_refused), log.clone())
            .connect_with(options.clone())
            .await
            .map_err(|error| StoreError::classify(path, error))?;
        let reader = pool(READERS).connect_lazy_with(settings(path).read_only(true));
        let keeping = options.create_if_missing(false).busy_timeout(Duration::ZERO);
        log.start(keeping, path, &writer);
        Ok(Self {
            path: path.to_owned(),
            erased: Erased::default(),
            generation: 0,
            writer,
            reader,
            log,
            is_refused,
            identity: identity(path),
            _descriptor: descriptor,
        })
    }

    /// Waits until all commits are on disk.
    pub(crate) async fn sync(&self) -> Result<(), StoreError> {
        let path = self.path.clone();
        let synced = tokio::task::spawn_blocking(move || sync(&path)).await;
        let synced = synced.unwrap_or_else(|panic| Err(io::Error::other(panic)));
        synced
            .map_err(|error| StoreError::Io { path: self.path.clone(), detail: error.to_string() })
    }

    pub(crate) fn reader(&self) -> &SqlitePool {
        &self.reader
    }

    /// The writer outside a transaction: for pragmas and single-statement changes.
    pub(crate) fn writer(&self) -> &SqlitePool {
        &self.writer
    }

    /// The current state; `None` while a write may be under way.
    pub(crate) fn revision(&self) -> Option<Revision> {
        // First the count: a write is counted while it has the connection, so if that is free now, all that were counted
        // have ended.
        let writes = self.log.writes();
        let is_at_rest = u32::try_from(self.writer.num_idle()) == Ok(self.writer.size());
        is_at_rest.then_some(Revision { generation: self.generation, writes })
    }

    /// Releases the connections' page caches; busy connections keep theirs.
    pub(crate) async fn release_memory(&self) -> Result<(), StoreError> {
        for pool in [&self.writer, &self.reader] {
            // Acquire all at once, or the pool might hand out the same one twice.
            let idle = (0..pool.num_idle()).map_while(|_| pool.try_acquire());
            for mut connection in idle.collect::<Vec<_>>() {
                let shrink = sqlx::query("PRAGMA shrink_memory").execute(&mut *connection);
                shrink.await.map_err(|error| self.classify(error))?;
            }
        }
        Ok(())
    }

    /// Rewrites the file and truncates the log: afterwards deleted data is in neither file. `secure_delete` overwrites a
    /// deleted row, but not the copies of it that SQLite left in free parts of pages when it balanced them.
    ///
    /// This reads and writes the whole database, and needs free space for two copies of it, one of them in the folder for
    /// temporary files. A call must not be omitted because it deletes nothing: the one before it may have failed here.
    ///
    /// # Errors
    /// Such as a full disk, or a reader that did not end in time: the data is deleted, but may still be in the bytes until
    /// a call succeeds.
    pub(crate) async fn scrub(&self) -> Result<(), StoreError> {
        let _at_rest = self.log.hold().await;
        self.break_seal()?;
        let rewriting = sqlx::query("VACUUM").execute(self.writer());
        rewriting.await.map_err(|error| self.classify(error))?;
        // A reader of the old pages keeps them in the file; SQLite reports that as a success.
        let empty = sqlx::query_scalar("PRAGMA wal_checkpoint(TRUNCATE)").fetch_one(&self.writer);
        match empty.await.map_err(|error| self.classify(error))? {
            0_i64 => self.sync().await, // a power cut would bring back the longer log
            _ => Err(StoreError::Busy { path: self.path.clone() }),
        }
    }

    /// Rows of a query over ids: `?1` is their prefix, `?2` the last character, `?3` the limit, `?4` an id before them.
    pub(crate) async fn with_prefix<R>(
        &self,
        query: &'static str,
        (prefix, after, limit): (&str, &str, u32),
    ) -> Result<Vec<R>, StoreError>
    where
        R: for<'r> sqlx::FromRow<'r, sqlx::sqlite::SqliteRow> + Send + Unpin,
    {
        let query = sqlx::query_as(query).bind(prefix).bind(char::MAX.to_string());
        let rows = query.bind(limit).bind(after).fetch_all(self.reader()).await;
        rows.map_err(|error| self.classify(error))
    }

    /// Classifies an error, with the path of this database.
    pub(crate) fn classify(&self, error: sqlx::Error) -> StoreError {
        if is_readonly(&error) {
            self.is_refused.store(true, Ordering::Relaxed);
        }
        StoreError::classify(&self.path, error)
    }

    /// Whether the open database is still the file at its path.
    pub(crate) fn is_in_place(&self) -> bool {
        identity(&self.path).is_some_and(|there| Some(there) == self.identity)
    }

    /// Closes all connections; the last one checkpoints the write-ahead log.
    ///
    /// A removed database stays open until the process ends: closing it makes SQLite delete the log by name, and that may
    /// be the log of another daemon's new database by now.
    pub(crate) async fn close(&self) {
        if !self.is_in_place() {
            return std::mem::forget(self.clone());
        }
        let _at_rest = self.log.hold().await;
        let is_broken = self.break_seal();
        self.close_connections().await;
        if let Err(error) =
            is_broken.map_err(io::Error::other).and_then(|()| seal::write(&self.path))
        {
            tracing::warn!(%error, "closing the database without a seal");
        }
    }

    /// The result of preparing the database, which is closed again if that failed.
    pub(crate) async fn or_closed<T>(
        &self,
        prepared: Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        if prepared.is_err() {
            self.close().await;
        }
        prepared
    }

    /// Closes all connections to a damaged database. Its seal stays, since it says which pages are damaged.
    pub(crate) async fn close_damaged(&self) {
        let _at_rest = self.log.hold().await;
        self.close_connections().await;
        if let Some(identity) = self.identity
            && !descriptor::closed_by_sqlite(identity).await
        {
            tracing::warn!(path = %self.path.display(), "SQLite still has the damaged database open");
        }
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.writer.is_closed()
    }

    async fn close_connections(&self) {
        self.reader.close().await;
        self.writer.close().await;
    }

    /// Blocks checkpoints while the pages are checked: an update of a single bit would look like damage.
    pub(crate) async fn at_rest(&self) -> MutexGuard<'_, ()> {
        self.log.hold().await
    }

    fn break_seal(&self) -> Result<(), StoreError> {
        seal::remove(&self.path).map_err(|error| self.classify(sqlx::Error::Io(error)))
    }
}

/// Syncs the log and the folder, whose names may be new. A log that no longer exists was synced by its checkpoint.
///
/// SQLite holds its locks on other files, so closing this one drops none.
fn sync(database: &Path) -> io::Result<()> {
    match File::open(with_suffix(database, "-wal")) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        log => log?.sync_data()?,
    }
    sync_folder_of(database)
}

/// File mode of a database.
const PRIVATE: u32 = 0o600;

fn pool(connections: u32) -> SqlitePoolOptions {
    // No lifetime and no idle limit: each needs a timer.
    SqlitePoolOptions::new()
        .max_connections(connections)
        .min_connections(0)
        .max_lifetime(None)
        .idle_timeout(None)
        .test_before_acquire(false)
        .before_acquire(|connection, _| Box::pin(async move { Ok(is_fresh(connection)) }))
        .acquire_timeout(Duration::from_secs(30))
}

/// The pool of the single writing connection, which notes in `log` whenever it is taken.
///
/// If SQLite cannot open a file for writing it opens it read-only, and the connection stays read-only. So a
/// connection that was denied a write is replaced.
fn writer(is_refused: Arc<AtomicBool>, log: Log) -> SqlitePoolOptions {
    let of_new = log.clone();
    let new = pool(1).after_connect(move |_, _| {
        of_new.note();
        Box::pin(std::future::ready(Ok(())))
    });
    new.before_acquire(move |connection, _| {
        log.note();
        let is_usable = !is_refused.swap(false, Ordering::Relaxed) && is_fresh(connection);
        Box::pin(std::future::ready(Ok(is_usable)))
    })
}

fn is_readonly(error: &sqlx::Error) -> bool {
    const READONLY: u32 = 8;
    primary_code(error) == Some(READONLY)
}

/// Whether a pooled connection is outside any transaction; otherwise it is replaced.
///
/// SQLite itself rolls back a transaction if a write fails badly (full disk, broken device). The driver does not
/// notice: its own ROLLBACK fails, and it could not begin another transaction on this connection.
fn is_fresh(connection: &SqliteConnection) -> bool {
    !connection.is_in_transaction()
}

/// Makes the database accessible only to its owner before it has content; also databases of earlier versions. SQLite
/// creates the log and the shared memory file with the same mode.
fn make_private(path: &Path) -> io::Result<()> {
    // Do not open an existing one: closing it would drop SQLite's locks.
    match OpenOptions::new().create_new(true).append(true).mode(PRIVATE).open(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    for ending in ["", "-wal", "-shm"] {
        if_there(fs::set_permissions(with_suffix(path, ending), Permissions::from_mode(PRIVATE)))?;
    }
    Ok(())
}

fn settings(path: &Path) -> SqliteConnectOptions {
    // NORMAL: after a power cut the last commits may be missing, but never torn. They are read from the transcripts
    // again; other data is committed durably.
    SqliteConnectOptions::new()
        .filename(path)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Normal)
        .foreign_keys(true)
        .busy_timeout(Duration::from_millis(BUSY_TIMEOUT_MS))
        .pragma("cache_size", format!("-{CACHE_KIB}"))
        .pragma("mmap_size", "0")
        // Overwrite deleted data, so that no free page contains a forgotten note.
        .pragma("secure_delete", "ON")
        .pragma("wal_autocheckpoint", WAL_PAGES_MAX.to_string())
        .pragma("journal_size_limit", WAL_BYTES_KEPT.to_string())
        .statement_cache_capacity(32)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers from a seed.
    fn numbers(mut seed: u64) -> impl FnMut(u64) -> i64 {
        move |bound| {
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            ((seed >> 33) % bound).cast_signed()
        }
    }

    #[tokio::test]
    async fn deleted_rows_leave_no_copy_in_pages_whose_rows_were_moved() {
        const GOING: &str = "a-forgotten-row";
        let folder = tempfile::tempdir().unwrap();
        // Without the rewriting, SQLite leaves a copy in round 21.
        for round in 16..=25 {
            let path = folder.path().join(format!("{round}.db"));
            let pools = Pools::open(&path).await.unwrap();
            let mut transaction = pools.begin().await.unwrap();
            let tables = "CREATE TABLE t (id, of, body); CREATE UNIQUE INDEX i ON t (of, id)";
            transaction.run_script(tables).await.unwrap();
            let mut number = numbers(round);
            for rows in 1..=80 {
                let of = if number(2) == 0 { "a-row-that-stays" } else { GOING };
                let body = of.repeat(usize::try_from(1 + number(120)).unwrap());
                let row = sqlx::query("INSERT INTO t VALUES (?1, ?2, ?3)");
                let row = row.bind(number(1 << 30)).bind(of).bind(body);
                transaction.execute(row).await.unwrap();
                let cut = sqlx::query("UPDATE t SET body = substr(body, 1, ?1) WHERE rowid = ?2");
                let cut = cut.bind(1 + number(800)).bind(1 + number(rows));
                transaction.execute(cut).await.unwrap();
            }
            transaction.commit().await.unwrap();
            let deleting = sqlx::query("DELETE FROM t WHERE of = ?1").bind(GOING);
            deleting.execute(&pools.writer).await.unwrap();
            pools.scrub().await.unwrap();
            let bytes = fs::read(&path).unwrap();
            let is_there = bytes.windows(GOING.len()).any(|part| part == GOING.as_bytes());
            assert!(!is_there, "round {round}");
        }
    }

    #[tokio::test]
    async fn a_reader_of_what_is_deleted_lets_the_rewriting_fail_until_it_ends() {
        let folder = tempfile::tempdir().unwrap();
        let pools = Pools::open(&folder.path().join("x.db")).await.unwrap();
        for sql in ["PRAGMA busy_timeout = 1", "CREATE TABLE t (x)", "INSERT INTO t VALUES (1)"] {
            sqlx::query(sql).execute(&pools.writer).await.unwrap();
        }
        let mut reading = pools.reader().begin().await.unwrap();
        let read: i64 =
            sqlx::query_scalar("SELECT x FROM t").fetch_one(&mut *reading).await.unwrap();
        sqlx::query("DELETE FROM t").execute(&pools.writer).await.unwrap();
        let busy = pools.scrub().await.unwrap_err();
        assert!(matches!(busy, StoreError::Busy { .. }), "{busy}");
        assert_eq!(read, 1);
        reading.rollback().await.unwrap();
        pools.scrub().await.unwrap();
    }

    /// Simulates a full disk: SQLite ends the transaction without the driver noticing.
    #[tokio::test]
    async fn a_transaction_rolled_back_by_sqlite_does_not_block_the_next() {
        let folder = tempfile::tempdir().unwrap();
        let pools = Pools::open(&folder.path().join("x.db")).await.unwrap();
        for _ in 0..3 {
            let mut transaction = pools.begin().await.unwrap();
            transaction.run_script("ROLLBACK").await.unwrap();
            drop(transaction);
        }
        let mut transaction = pools.begin().await.unwrap();
        transaction.run_script("CREATE TABLE t (x)").await.unwrap();
        transaction.commit().await.unwrap();
        sqlx::raw_sql("SELECT x FROM t").execute(pools.reader()).await.unwrap();
    }

    #[tokio::test]
    async fn a_read_only_connection_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let pools = Pools::open(&folder.path().join("x.db")).await.unwrap();
        // Like a connection that SQLite opened read-only.
        sqlx::raw_sql("PRAGMA query_only = ON").execute(pools.writer()).await.unwrap();
        let create = || sqlx::raw_sql("CREATE TABLE t (x)").execute(pools.writer());
        let refused = pools.classify(create().await.unwrap_err());
        assert!(matches!(refused, StoreError::Access { .. }), "{refused}");
        create().await.unwrap();
    }
}
