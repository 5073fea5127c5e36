//! The write-ahead log, written into its database beside those who write.
//!
//! # Theory of operation
//! A commit appends to the log and waits for no disk. Now and then the log has to be written into the database
//! and synced, and SQLite by itself lets that commit do it which brings the log over a bound: that one waited
//! 100–200 ms on a busy disk (measured), whoever it belonged to. Here a task does it, on a connection of its own,
//! [`PERIOD`] after the first write since it last did; nothing waits for it, since readers and the writer go on
//! meanwhile. What was committed is safe from a power cut a second later, too. When the whole log is written and
//! nothing was written meanwhile, it is emptied.
//!
//! When nothing was written for [`REST`], or longer for a large one, the database is sealed (`seal`). The seal is broken before the log is
//! emptied: while the log holds something, a seal counts for nothing.
//!
//! The bound of SQLite stays far above, for a burst of writes that outruns the task. *A crash* at any point costs
//! nothing: the log is read again at the next start. Without a write the task sleeps, and no connection is open.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection, SqlitePool};
use sqlx::{ConnectOptions as _, Connection as _};
use tokio::sync::{Mutex, MutexGuard, Notify};

use crate::{open, seal};

/// Time from a write until the log is written into the database.
const PERIOD: Duration = Duration::from_secs(1);

/// Time without a write after which the database is sealed.
const REST: Duration = Duration::from_secs(30);

/// A large database rests longer, by its bytes in a second: to seal it is to read it, which is then a hundredth of the
/// time at most.
const REST_BYTES_IN_A_SECOND: u64 = 4 << 20;

/// Rounds at a time: each takes what was committed during the one before, which is ever less.
const ROUNDS_MAX: usize = 4;

/// Signals writes to the task; clones share the signal.
#[derive(Debug, Clone, Default)]
pub(crate) struct Log(Arc<WriteSignal>);

#[derive(Debug, Default)]
struct WriteSignal {
    count: AtomicU64,
    more: Notify,
    /// Held while the log is written and while the database is closed, so that no connection is left behind.
    turn: Mutex<()>,
}

impl Log {
    /// Starts the task, which ends when `pool` is closed.
    pub(crate) fn keep(options: SqliteConnectOptions, path: &Path, pool: &SqlitePool) -> Self {
        let log = Self::default();
        let (written, closed, path) = (Arc::clone(&log.0), pool.close_event(), path.to_owned());
        tokio::spawn(async move {
            let mut closed = std::pin::pin!(closed);
            let mut is_sealed = false;
            loop {
                tokio::select! {
                    () = &mut closed => return,
                    () = written.more.notified() => is_sealed = false,
                    () = tokio::time::sleep(rest(&path)), if !is_sealed => {
                        let _turn = written.turn.lock().await;
                        on_seal(&path, seal::write).await;
                        is_sealed = true;
                        continue;
                    }
                }
                tokio::select! {
                    () = &mut closed => return,
                    () = tokio::time::sleep(PERIOD) => {}
                }
                let _turn = written.turn.lock().await;
                on_seal(&path, seal::remove).await;
                // Left to the next time, or to the bound: nothing depends on it.
                if let Err(error) = write(&options, &written).await {
                    tracing::debug!(%error, "the log is written into the database later");
                }
            }
        });
        log
    }

    /// Waits until the task is at rest, and keeps it there.
    pub(crate) async fn hold(&self) -> MutexGuard<'_, ()> {
        self.0.turn.lock().await
    }

    /// Something was or will be written.
    pub(crate) fn note(&self) {
        self.0.count.fetch_add(1, Ordering::Relaxed);
        self.0.more.notify_one();
    }
}

fn rest(path: &Path) -> Duration {
    REST.max(Duration::from_secs(open::bytes(path) / REST_BYTES_IN_A_SECOND))
}

/// A step of the seal, which no write waits for.
async fn on_seal(path: &Path, step: fn(&Path) -> io::Result<()>) {
    let path = path.to_owned();
    let done = tokio::task::spawn_blocking(move || step(&path)).await;
    if let Err(error) = done.unwrap_or_else(|panic| Err(io::Error::other(panic))) {
        tracing::warn!(%error, "the database is not sealed");
    }
}

/// Checkpoints what is committed, without waiting for anybody.
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
            // Whoever writes meanwhile would have to wait for this, and begins the log anew as well.
            if count() == before {
                sqlx::query("PRAGMA wal_checkpoint(TRUNCATE)").execute(&mut connection).await?;
            }
            break;
        }
        Ok(())
    };
    let written = rounds.await;
    // Closed in any case: one that ends by itself may be the last one, after all others, and leave the log.
    connection.close().await.and(written)
}

/// Frames of the log, and those of them that are in the database.
async fn checkpoint(connection: &mut SqliteConnection) -> Result<(i64, i64), sqlx::Error> {
    let (_busy, frames, done): (i64, i64, i64) =
        sqlx::query_as("PRAGMA wal_checkpoint(PASSIVE)").fetch_one(connection).await?;
    Ok((frames, done))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use longhaul_core::fold::{Fold, Source};

    use crate::{BaseState, Batch, Cursor, FileCommit, FileStat, Store};

    fn batch(files: usize) -> Batch {
        let fold = Fold::new(Source::Codex);
        let file = |number: usize| FileCommit {
            source: Source::Codex,
            path: format!("/{number}"),
            moved_from: None,
            archived: false,
            stat: FileStat::default(),
            cursor: Cursor::default(),
            base: BaseState::None,
            thread_id: Some(format!("t{number}")),
            head: fold.head().clone(),
            fold: vec![7; 64 << 10],
            pages: Vec::new(),
            observations: Vec::new(),
        };
        Batch { files: (0..files).map(file).collect() }
    }

    #[tokio::test]
    async fn what_is_written_comes_into_the_database_by_itself() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.db");
        let (store, _) = Store::open(&path, 1).await.unwrap();
        store.commit_batch(&batch(4)).await.unwrap();
        let written = async {
            while std::fs::metadata(&path).unwrap().len() < 4 * (64 << 10) {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(20), written).await.unwrap();
        store.release_memory().await.unwrap();
        assert_eq!(
            store.files_after(crate::FileId(0)).await.unwrap().len(),
            4,
            "all is read as before"
        );
    }

    #[tokio::test]
    async fn statements_for_many_rows_are_not_kept() {
        use sqlx::Connection as _;

        let folder = tempfile::tempdir().unwrap();
        let (store, _) = Store::open(&folder.path().join("x.db"), 1).await.unwrap();
        let kept = async || {
            let writer = store.pools().writer().acquire().await.unwrap();
            writer.cached_statements_size()
        };
        store.commit_batch(&batch(1)).await.unwrap();
        let before = kept().await;
        for files in 20..30 {
            store.commit_batch(&batch(files)).await.unwrap();
        }
        assert_eq!(kept().await, before, "each batch was of another size");
    }
}
