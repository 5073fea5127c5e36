//! Records the transcripts of clients that write none.
//!
//! # Theory of operation
//!
//! *State*: the files below `<state>/threads`. Nothing else writes there, and only one daemon has the state folder. A
//! file is one thread in Codex's format, so that later stages read a single kind of input, and it is the only durable
//! state. The `Log` of a file (its length, its lines, the client ids in it) is a cache that can be rebuilt from it.
//!
//! *One writer per thread.* A `Log` is behind a fair mutex. Its guard moves into the blocking thread that writes, so a
//! client that disconnects does not admit the next one too early. The least recently used of the idle logs are dropped,
//! which bounds memory.
//!
//! *Opening.* The id is derived from the client's name and key, so the same key leads to the same file without a table
//! of keys. The first lines are written to a temporary file, synced and linked to their name ([`crate::new_file`]), and
//! the folders are synced. A crash before that leaves nothing visible; after it, the thread exists.
//!
//! *Appending.* One write for the whole batch, one `fdatasync`, then the answer.
//! - Killed before the write: nothing is written. During it: complete lines and a torn one. After it: all lines.
//! - The next append compares the file with the cache. If they differ, or there is no cache after a start, the file is
//!   read: a torn line is cut off, or completed if only its newline is missing, and the file is synced before any line
//!   counts as a duplicate. After a power cut a line may have a hole, with later lines of its batch behind it: the batch
//!   is cut off from there on. Only a whole line counts as a duplicate.
//! - A failed write (full disk) is reverted by truncating the file to its old length. If that fails too, the cache is
//!   dropped, and the next append repairs the file as after a crash.
//!
//! An id sent again with other content rejects the batch. The content is what is in the file, redacted and without the
//! time of writing.
//!
//! So an acknowledged item is in the file exactly once, an unacknowledged one at most once, and sending it again is
//! always right.
//!
//! The recorder does not know the wire, does not check or redact items (`service::recording`), and does not read for
//! others: `ingest` reads these files as one more source.

mod log;
mod open_logs;
mod place;

use std::path::PathBuf;
use std::sync::Arc;

use longhaul_core::digest::Digest128;
use longhaul_core::rollout::compose::Opening;
use tokio::sync::{Mutex, OwnedMutexGuard};
use uuid::{Builder, Variant, Version};

use crate::clock::Clock;
use log::Log;
use open_logs::OpenLogs;

pub use log::{AppendReport, Line};

/// Why a thread was not written.
#[derive(Debug, thiserror::Error)]
pub enum RecorderError {
    /// The recorder has no thread with that id.
    #[error("no thread {0:?} was opened here")]
    NotFound(String),
    /// Another client has appended.
    #[error("the thread is at seq {present}, not {expected}")]
    Stale { expected: u64, present: u64 },
    /// The transcript has its maximum size.
    #[error("the thread is full: {limit} is {max}")]
    Full { limit: &'static str, max: u64, given: u64 },
    /// An addition reuses a client id with other content.
    #[error("items[{index}] has the id of another item of the thread")]
    Conflict {
        /// Its index in the batch.
        index: usize,
        client_item_id: String,
    },
    #[error("{}: {source}", path.display())]
    File { path: PathBuf, source: std::io::Error },
    #[error("a background task ended early")]
    Task(#[from] tokio::task::JoinError),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Key {
    Thread(String),
    /// The client's thread with this key.
    Client(String),
    New,
}

/// A thread opened for writing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenThread {
    pub thread_id: String,
    pub path: PathBuf,
    pub seq: u64,
    /// Whether it was created by this call.
    pub created: bool,
}

/// Writes the threads of clients without transcripts.
#[derive(Debug)]
pub struct Recorder {
    folder: PathBuf,
    clock: Clock,
    logs: OpenLogs,
    /// Locked while a thread is looked up and created, so that a key creates one thread.
    opening: Arc<Mutex<()>>,
}

impl Recorder {
    /// Writes below `folder`, which is created with the first thread.
    pub fn new(folder: PathBuf, clock: Clock) -> Self {
        Self { folder, clock, logs: OpenLogs::default(), opening: Arc::default() }
    }

    /// Opens a thread, creating it with `opening` if necessary (its `thread_id` is set here).
    pub async fn open(&self, key: Key, opening: Opening) -> Result<OpenThread, RecorderError> {
        let thread_id = match &key {
            Key::Thread(thread_id) => thread_id.clone(),
            Key::Client(name) => id_of_key(&opening.originator, name),
            Key::New => self.clock.new_id(),
        };
        let guard = Arc::clone(&self.opening).lock_owned().await;
        let (folder, at_ms) = (self.folder.clone(), self.clock.now_ms());
        let opening = Opening { thread_id: thread_id.clone(), ..opening };
        let found = tokio::task::spawn_blocking(move || {
            let _guard = guard;
            match place::find(&folder, &opening.thread_id)? {
                Some(path) => {
                    place::sweep_beside(&path);
                    Ok(Some((path, false)))
                }
                None if matches!(key, Key::Thread(_)) => Ok(None),
                None => place::begin(&folder, &opening, at_ms).map(|path| Some((path, true))),
            }
        });
        let found = found.await?.map_err(|source| self.failed(source))?;
        let (path, created) = found.ok_or_else(|| RecorderError::NotFound(thread_id.clone()))?;
        let mut log = self.logs.log(&thread_id, path.clone()).lock_owned().await;
        if log.path() != path {
            // The file was deleted or moved; this is its current path.
            *log = Log::at(thread_id.clone(), path);
        }
        let (path, seq) = on_blocking(move || log.place()).await?;
        Ok(OpenThread { thread_id, path, seq, created })
    }

    /// Appends the lines that `make` returns. It is called on a blocking thread when the batch has its turn. Returns when
    /// the lines are on disk.
    ///
    /// # Errors
    /// Those of `make`, and [`RecorderError`]; then nothing was written.
    pub async fn append<E: From<RecorderError> + Send + 'static>(
        &self,
        thread_id: &str,
        expected_seq: Option<u64>,
        make: impl FnOnce(i64) -> Result<Vec<Line>, E> + Send + 'static,
    ) -> Result<AppendReport, E> {
        let mut log = self.log(thread_id).await?;
        let at_ms = self.clock.now_ms();
        on_blocking(move || Ok(log.append(&make(at_ms)?, expected_seq)?)).await
    }

    /// Appends one line computed from those after `covered_seq`, with no other line in between; returns its seq when it is
    /// on disk. Does nothing if the thread already has a line with this id.
    ///
    /// # Errors
    /// Those of `make`, and [`RecorderError`]; then nothing was written.
    pub async fn append_after<E: From<RecorderError> + Send + 'static>(
        &self,
        thread_id: &str,
        client_item_id: &str,
        covered_seq: u64,
        make: impl FnOnce(i64, Vec<String>) -> Result<Line, E> + Send + 'static,
    ) -> Result<u64, E> {
        let mut log = self.log(thread_id).await?;
        let (at_ms, client_item_id) = (self.clock.now_ms(), client_item_id.to_owned());
        on_blocking(move || {
            if let Some(seq) = log.seq_of(&client_item_id)? {
                return Ok(seq);
            }
            let line = make(at_ms, log.lines_after(covered_seq)?)?;
            Ok(log.append(&[line], None)?.seq)
        })
        .await
    }

    /// Seq of the line appended under a client id.
    pub async fn seq_of(
        &self,
        thread_id: &str,
        client_item_id: &str,
    ) -> Result<Option<u64>, RecorderError> {
        let mut log = self.log(thread_id).await?;
        let client_item_id = client_item_id.to_owned();
        on_blocking(move || log.seq_of(&client_item_id)).await
    }

    /// Drops the cache of a thread, after the current append.
    pub async fn close(&self, thread_id: &str) -> Result<OpenThread, RecorderError> {
        let mut log = self.log(thread_id).await?;
        let read = on_blocking(move || log.place()).await;
        self.logs.drop_idle(thread_id);
        let (path, seq) = read?;
        Ok(OpenThread { thread_id: thread_id.to_owned(), path, seq, created: false })
    }

    /// Deletes the transcript of a thread after the current append; `false` if there is none.
    pub async fn remove(&self, thread_id: &str) -> Result<bool, RecorderError> {
        let log = match self.log(thread_id).await {
            Err(RecorderError::NotFound(_)) => return Ok(false),
            log => log?,
        };
        let remove = move || place::remove(log.path()).map_err(|source| log.failed(source));
        let removed = on_blocking(remove).await;
        self.logs.drop_idle(thread_id);
        removed.map(|()| true)
    }

    async fn log(&self, thread_id: &str) -> Result<OwnedMutexGuard<Log>, RecorderError> {
        let log = match self.logs.get(thread_id) {
            Some(log) => log,
            None => {
                let (folder, wanted) = (self.folder.clone(), thread_id.to_owned());
                let found = tokio::task::spawn_blocking(move || place::find(&folder, &wanted));
                let found = found.await?.map_err(|source| self.failed(source))?;
                let path = found.ok_or_else(|| RecorderError::NotFound(thread_id.to_owned()))?;
                self.logs.log(thread_id, path)
            }
        };
        Ok(log.lock_owned().await)
    }

    fn failed(&self, source: std::io::Error) -> RecorderError {
        RecorderError::File { path: self.folder.clone(), source }
    }
}

async fn on_blocking<T: Send + 'static, E: From<RecorderError> + Send + 'static>(
    work: impl FnOnce() -> Result<T, E> + Send + 'static,
) -> Result<T, E> {
    tokio::task::spawn_blocking(work).await.map_err(RecorderError::from)?
}

/// The id of a client's thread with a key: a UUID of version 8, always the same.
fn id_of_key(originator: &str, key: &str) -> String {
    let named = format!("{originator}\0{key}");
    let digest = Digest128::of(named.as_bytes()).0;
    let uuid = Builder::from_u128(digest).with_variant(Variant::RFC4122);
    uuid.with_version(Version::Custom).into_uuid().to_string()
}

#[cfg(test)]
mod tests;
