//! Prompts for recall: the daemon's own file, and Codex's, which is only read.
//!
//! # Theory of operation
//!
//! *State*: `message_history.jsonl` in the state folder. Its first line has the log's id and the number of entries
//! trimmed so far; every other line is one prompt. An entry's number is that count plus its index, so it never changes.
//!
//! *Writers* hold `message_history.lock` (a kernel lock, which ends with its holder). It is a separate file, because
//! trimming replaces the log. Several processes may write; they wait for each other, up to a bound.
//!
//! *Appending* is one write at the end and a sync. A torn last line from a crash is cut off first. *Trimming* writes the
//! remaining entries to another file, syncs it and renames it: a crash leaves either the old file or the new one, both
//! complete.
//!
//! *Erasing* a thread's prompts replaces the file in the same way; an empty object stays in the place of each.
//!
//! *Readers* take no lock: they open one file, which is always complete, and skip a torn last line.

mod log;
mod lookup;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use longhaul_core::message_history::Message;
use tokio::sync::Mutex;

use crate::clock::Clock;
use crate::lock::{self, Lock, LockError};

pub use log::PromptEntry;
pub use lookup::{Filter, Page, Place, PromptMatch};

const LOCK: &str = "message_history.lock";

/// Why prompts could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum MessageHistoryError {
    /// Another process holds the lock for too long.
    #[error("the message history is held by another process")]
    Busy,
    #[error("{}: {source}", path.display())]
    File { path: PathBuf, source: std::io::Error },
    #[error("a background task ended early")]
    Task(#[from] tokio::task::JoinError),
}

/// The program that writes a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[derive(strum::IntoStaticStr, strum::EnumString, strum::VariantArray)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum LogOwner {
    /// Codex: `$CODEX_HOME/history.jsonl`.
    Codex,
    Longhaul,
}

#[derive(Debug, Clone)]
pub struct MessageHistory {
    folder: PathBuf,
    codex_home: PathBuf,
    /// Maximum bytes of the daemon's file; `None` stores no prompts.
    max_bytes: Option<u64>,
    clock: Clock,
    /// Orders the writers of this process; other processes wait at the lock. Holds the last prompt whose append failed: it
    /// may be in the file nevertheless.
    turn: Arc<Mutex<Option<Message>>>,
}

impl MessageHistory {
    /// The prompts of the state folder `folder` and of Codex. Without `max_bytes`, none are stored.
    pub fn new(folder: &Path, codex_home: &Path, max_bytes: Option<u64>, clock: Clock) -> Self {
        let (folder, codex_home) = (folder.to_owned(), codex_home.to_owned());
        Self { folder, codex_home, max_bytes, clock, turn: Arc::default() }
    }

    pub fn path(&self) -> PathBuf {
        self.folder.join("message_history.jsonl")
    }

    fn logs(&self) -> [(LogOwner, PathBuf); 2] {
        [
            (LogOwner::Longhaul, self.path()),
            (LogOwner::Codex, self.codex_home.join("history.jsonl")),
        ]
    }

    /// Stores a redacted prompt with the current time. `None` if prompts are not stored.
    ///
    /// # Errors
    /// The prompt was not stored; earlier prompts are unaffected.
    pub async fn append(
        &self,
        message: Message,
    ) -> Result<Option<PromptEntry>, MessageHistoryError> {
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

    /// Erases the prompts of a thread from the daemon's file; returns how many there were.
    pub async fn erase(&self, thread_id: &str) -> Result<u64, MessageHistoryError> {
        let turn = Arc::clone(&self.turn).lock_owned().await;
        let lock = self.lock().await?;
        let (path, thread_id) = (self.path(), thread_id.to_owned());
        let erased = tokio::task::spawn_blocking(move || {
            let _held = (turn, lock);
            log::erase(&path, &thread_id)
                .map_err(|source| MessageHistoryError::File { path, source })
        });
        erased.await?
    }

    /// Removes an unfinished file that a crash left.
    pub fn sweep(&self) {
        let new = log::unfinished(&self.path());
        // Without the lock, another process may be writing it.
        if new.exists()
            && let Ok(_lock) = Lock::take(&self.folder.join(LOCK))
            && let Err(error) = std::fs::remove_file(&new)
        {
            tracing::warn!(%error, path = %new.display(), "cannot remove an unfinished file");
        }
    }

    /// Prompts of both logs, the newest first.
    pub async fn lookup(&self, filter: Filter) -> Result<Page, MessageHistoryError> {
        let logs = self.logs();
        tokio::task::spawn_blocking(move || lookup::lookup(&logs, &filter)).await?
    }

    async fn lock(&self) -> Result<Lock, MessageHistoryError> {
        let path = self.folder.join(LOCK);
        let is_held = |error: &LockError| matches!(error, LockError::Held { .. });
        lock::soon(|| Lock::take(&path), is_held).await.map_err(|error| match error {
            LockError::Held { .. } => MessageHistoryError::Busy,
            LockError::Failed { path, source } => MessageHistoryError::File { path, source },
        })
    }
}

#[cfg(test)]
mod tests;
