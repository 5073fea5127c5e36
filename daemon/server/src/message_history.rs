//! Prompts for recall: our own file of them, and Codex's, which is only read.
//!
//! # Theory of operation
//!
//! *Owns* `message_history.jsonl` in the state folder. Its first line names the log and says how many
//! entries were trimmed before; the others are one prompt each. An entry's number is that count plus
//! its place, so it stays the same for ever.
//!
//! *Writers* hold `message_history.lock` (the kernel's lock, free when its holder dies). It stands
//! beside the file and not on it, since a trim puts another file in its place. Several processes may
//! write; one waits for the other, a bounded time.
//!
//! *Appending* is one write at the end and a sync; a torn last line of an earlier crash is cut off
//! before. *Trimming* writes what stays under another name, syncs it and renames it: a crash leaves
//! the old file or the new one, never less than either.
//!
//! *Readers* take no lock: they open one file, whole by construction, and leave a torn last line out.

mod log;
mod lookup;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use longhaul_core::message_history::Message;
use tokio::sync::Mutex;

use crate::clock::Clock;
use crate::lock::{Lock, LockError};

pub use log::Kept;
pub use lookup::{Filter, Found, LogInfo, Page, Place};

/// How often a lock that another process holds is tried, and the pause between.
///
/// # Source
/// Codex waits a second in all.
const LOCK_TRIES: u32 = 50;
const LOCK_PAUSE: Duration = Duration::from_millis(20);

const LOCK: &str = "message_history.lock";

/// Why prompts were not written or read.
#[derive(Debug, thiserror::Error)]
pub enum MessageHistoryError {
    /// Another process holds the lock for too long.
    #[error("the message history is held by another process")]
    Busy,
    #[error("{}: {source}", path.display())]
    File { path: PathBuf, source: std::io::Error },
    /// A task of ours died.
    #[error("a background task ended early")]
    Task(#[from] tokio::task::JoinError),
}

/// The program that keeps a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[derive(strum::IntoStaticStr, strum::EnumString, strum::VariantArray)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum Origin {
    /// Codex: `$CODEX_HOME/history.jsonl`.
    Codex,
    /// We.
    Longhaul,
}

#[derive(Debug, Clone)]
pub struct MessageHistory {
    folder: PathBuf,
    codex_home: PathBuf,
    /// Bytes of our file; `None` keeps nothing.
    max_bytes: Option<u64>,
    clock: Clock,
    /// Writers of this process, in order; others wait at the lock. With the prompt that could not be kept last, which
    /// may be in the file all the same.
    turn: Arc<Mutex<Option<Message>>>,
}

impl MessageHistory {
    /// The prompts of the state folder `folder` and of Codex. With no `max_bytes` none is kept.
    pub fn new(folder: &Path, codex_home: &Path, max_bytes: Option<u64>, clock: Clock) -> Self {
        let (folder, codex_home) = (folder.to_owned(), codex_home.to_owned());
        Self { folder, codex_home, max_bytes, clock, turn: Arc::default() }
    }

    pub fn path(&self) -> PathBuf {
        self.folder.join("message_history.jsonl")
    }

    fn logs(&self) -> [(Origin, PathBuf); 2] {
        [(Origin::Longhaul, self.path()), (Origin::Codex, self.codex_home.join("history.jsonl"))]
    }

    /// Keeps a prompt, its secrets already replaced; `at_ms` is set here. `None`: nothing is kept.
    ///
    /// # Errors
    /// [`MessageHistoryError`]; the prompt was not kept, the others stand.
    pub async fn append(&self, message: Message) -> Result<Option<Kept>, MessageHistoryError> {
        let Some(max_bytes) = self.max_bytes else { return Ok(None) };
        let mut turn = Arc::clone(&self.turn).lock_owned().await;
        let lock = self.lock().await?;
        let message = Message { at_ms: self.clock.now_ms(), ..message };
        let (path, new_log_id) = (self.path(), self.clock.new_id());
        let kept = tokio::task::spawn_blocking(move || {
            let _held = lock;
            let is_again = turn.as_ref().is_some_and(|failed| log::is_same(failed, &message));
            let kept = log::append(&path, &message, (max_bytes, is_again), new_log_id);
            *turn = kept.is_err().then_some(message);
            kept.map_err(|source| MessageHistoryError::File { path, source })
        });
        kept.await?.map(Some)
    }

    /// Removes what a crash left of a file that was being made.
    pub fn sweep(&self) {
        let new = log::unfinished(&self.path());
        // Where another process makes one, it is not left.
        if new.exists()
            && let Ok(_lock) = Lock::take(&self.folder.join(LOCK))
            && let Err(error) = std::fs::remove_file(&new)
        {
            tracing::warn!(%error, path = %new.display(), "an unfinished file stays");
        }
    }

    /// Prompts of both logs, the newest first.
    pub async fn lookup(&self, filter: Filter) -> Result<Page, MessageHistoryError> {
        let logs = self.logs();
        tokio::task::spawn_blocking(move || lookup::lookup(&logs, &filter)).await?
    }

    async fn lock(&self) -> Result<Lock, MessageHistoryError> {
        let path = self.folder.join(LOCK);
        for _ in 0..LOCK_TRIES {
            match Lock::take(&path) {
                Ok(lock) => return Ok(lock),
                Err(LockError::Held { .. }) => tokio::time::sleep(LOCK_PAUSE).await,
                Err(LockError::Failed { path, source }) => {
                    return Err(MessageHistoryError::File { path, source });
                }
            }
        }
        Err(MessageHistoryError::Busy)
    }
}

#[cfg(test)]
mod tests;
