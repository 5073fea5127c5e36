//! Checkpoints the write-ahead log in a background task.
//!
//! # Theory of operation
//! A commit appends to the log without waiting for the disk. From time to time the log must be copied into the
//! database and synced. By default SQLite does that in the commit that brings the log over a bound, and that commit
//! waited 100–200 ms on a busy disk (measured). Here a task does it on its own connection, [`PERIOD`] after the first
//! write since its last checkpoint; readers and the writer continue during it. So commits also survive a power cut
//! after about a second. If the whole log is copied and nothing was written during it, it is truncated.
//!
//! After [`REST`] without a write, or longer for a large database, the task seals the database (`seal`). It removes
//! the seal before a checkpoint: while the log has content, a seal is not valid. A transaction that changed nothing, as
//! when a worker finds no job, leaves the log empty and the seal in place. A new seal would describe damage that the old
//! one reveals.
//!
//! SQLite's own bound stays as a limit for bursts that outrun the task. *A crash* at any point costs nothing: SQLite
//! reads the log at the next start. Without writes the task sleeps and has no connection open.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection, SqlitePool};
use sqlx::{ConnectOptions as _, Connection as _};
use tokio::sync::{Mutex, MutexGuard, Notify};
use tokio::time::Instant;

use crate::{path, seal};

/// Time from a write to the checkpoint.
const PERIOD: Duration = Duration::from_secs(1);

/// Time without a write after which the database is sealed.
const REST: Duration = Duration::from_secs(30);

/// A larger database rests longer, one second per this many bytes: sealing reads all of it, and this limits that to a
/// hundredth of the time.
const REST_BYTES_IN_A_SECOND: u64 = 4 << 20;

/// Maximum rounds of one checkpoint: each copies the commits made during the previous one, which get fewer.
const ROUNDS_MAX: usize = 4;

/// Signals writes to the task; clones share the signal.
#[derive(Debug, Clone, Default)]
pub(crate) struct Log(Arc<WriteSignal>);

#[derive(Debug, Default)]
struct WriteSignal {
    count: AtomicU64,
    more: Notify,
    /// Held during a checkpoint and while the database is closed, so that no connection is left open.
    turn: Mutex<()>,
}

impl Log {
    /// Starts the task, which ends when `pool` is closed.
    pub(crate) fn start(&self, options: SqliteConnectOptions, path: &Path, pool: &SqlitePool) {
        let (written, closed, path) = (Arc::clone(&self.0), pool.close_event(), path.to_owned());
        tokio::spawn(async move {
            let mut closed = std::pin::pin!(closed);
            let mut seal_at = Some(Instant::now() + rest(&path));
            loop {
                let is_rested = tokio::select! {
                    () = &mut closed => return,
                    () = written.more.notified() => false,
                    () = until(seal_at) => true,
                };
                if !is_rested {
                    tokio::select! {
                        () = &mut closed => return,
                        () = tokio::time::sleep(PERIOD) => {}
                    }
                }
                let _turn = written.turn.lock().await;
                let is_written = seal::has_log(&path);
                if is_written {
                    on_seal(&path, seal::remove).await;
                    // Left to the next checkpoint, or to SQLite's bound.
                    if let Err(error) = write(&options, &written).await {
                        tracing::debug!(%error, "the checkpoint failed and is retried later");
                    }
                }
                if is_rested {
                    on_seal(&path, seal::write).await;
                    // A reader may have kept the checkpoint from emptying the log.
                    seal_at = seal::has_log(&path).then(|| Instant::now() + rest(&path));
                } else if is_written || (seal_at.is_none() && !seal::exists(&path)) {
                    seal_at = Some(Instant::now() + rest(&path));
                }
            }
        });
    }

    /// Waits until the task is idle, and blocks it while the guard is held.
    pub(crate) async fn hold(&self) -> MutexGuard<'_, ()> {
        self.0.turn.lock().await
    }

    /// Signals a write.
    pub(crate) fn note(&self) {
        self.0.count.fetch_add(1, Ordering::AcqRel);
        self.0.more.notify_one();
    }

    /// Writes signalled so far.
    pub(crate) fn writes(&self) -> u64 {
        self.0.count.load(Ordering::Acquire)
    }
}

/// Waits until then; forever for `None`.
async fn until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}

fn rest(path: &Path) -> Duration {
    REST.max(Duration::from_secs(path::bytes(path) / REST_BYTES_IN_A_SECOND))
}

/// Writes or removes the seal; no write waits for it.
async fn on_seal(path: &Path, step: fn(&Path) -> io::Result<()>) {
    let path = path.to_owned();
    let done = tokio::task::spawn_blocking(move || step(&path)).await;
    if let Err(error) = done.unwrap_or_else(|panic| Err(io::Error::other(panic))) {
        tracing::warn!(%error, "cannot change the seal of the database");
    }
}

/// Checkpoints all commits without waiting for readers or the writer.
async fn write(options: &SqliteConnectOptions, written: &WriteSignal) -> Result<(), sqlx::Error> {
    let count = || written.count.load(Ordering::Relaxed);
    let before = count();
    let mut connection = options.connect().await?;
    let rounds = async {
        for _ in 0..ROUNDS_MAX {
            let (frames, done) = checkpoint(&mut connection).await?;
            if done < frames {
                continue;
            }
            // A concurrent writer would have to wait for this, and restarts the log itself.
            if count() == before {
                sqlx::query("PRAGMA wal_checkpoint(TRUNCATE)").execute(&mut connection).await?;
            }
            break;
        }
        Ok(())
    };
    let written = rounds.await;
    // Always close explicitly: a dropped connection may be the last one and leave the log behind.
    connection.close().await.and(written)
}

/// Frames in the log, and how many of them are checkpointed.
async fn checkpoint(connection: &mut SqliteConnection) -> Result<(i64, i64), sqlx::Error> {
    let (_busy, frames, done): (i64, i64, i64) =
        sqlx::query_as("PRAGMA wal_checkpoint(PASSIVE)").fetch_one(connection).await?;
    Ok((frames, done))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use longhaul_core::job::{Job, Kind};

    use crate::{FileCommit, Store};

    fn batch(files: usize) -> Vec<FileCommit> {
        let file =
            |number| FileCommit::example(&format!("/{number}"), &format!("t{number}"), 64 << 10);
        (0..files).map(file).collect()
    }

    #[tokio::test]
    async fn writes_are_checkpointed_automatically() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.db");
        let (store, _) = Store::open(&path, 1).await.unwrap();
        store.projection.commit(&batch(4)).await.unwrap();
        let written = async {
            while std::fs::metadata(&path).unwrap().len() < 4 * (64 << 10) {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(20), written).await.unwrap();
        store.database.release_memory().await.unwrap();
        assert_eq!(
            store.files.after(crate::FileId(0)).await.unwrap().len(),
            4,
            "all rows are read as before"
        );
    }

    /// Advances all timers by a minute in steps, with real time for the work that each makes due.
    async fn pass_a_minute() {
        for _ in 0..12 {
            tokio::time::pause();
            tokio::time::advance(Duration::from_secs(5)).await;
            tokio::time::resume();
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    #[tokio::test]
    async fn a_transaction_without_a_change_leaves_the_seal_in_place() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.db");
        let seal = path.with_extension("db.seal");
        let (store, _) = Store::open(&path, 1).await.unwrap();
        store.projection.commit(&batch(1)).await.unwrap();
        let sealed = async || {
            for _ in 0..20 {
                if let Ok(seal) = std::fs::metadata(&seal) {
                    return seal.modified().unwrap();
                }
                pass_a_minute().await;
            }
            panic!("no seal");
        };
        let first = sealed().await;
        for _ in 0..3 {
            let nothing = |_: &[Job]| (Vec::new(), ());
            store.jobs.decide_together(Kind::Prune, 1, nothing).await.unwrap();
            pass_a_minute().await;
        }
        assert_eq!(sealed().await, first, "it was not written again");
        store.projection.commit(&batch(2)).await.unwrap();
        pass_a_minute().await;
        assert_ne!(sealed().await, first, "a write ends it");
    }

    #[tokio::test]
    async fn statements_for_many_rows_are_not_cached() {
        use sqlx::Connection as _;

        let folder = tempfile::tempdir().unwrap();
        let (store, _) = Store::open(&folder.path().join("x.db"), 1).await.unwrap();
        let kept = async || {
            let writer = store.database.connections.pools().writer().acquire().await.unwrap();
            writer.cached_statements_size()
        };
        store.projection.commit(&batch(1)).await.unwrap();
        let before = kept().await;
        for files in 20..30 {
            store.projection.commit(&batch(files)).await.unwrap();
        }
        assert_eq!(kept().await, before, "each batch had another size");
    }
}
