//! Transcripts of clients that write none: opened, appended to, never lost.
//!
//! # Theory of operation
//!
//! *Owns* the files below `<state>/threads`: no one else writes there, and only one daemon has the
//! state folder. One file is one thread, in the Codex envelope, so that every later stage reads one
//! kind of input; the file is the only memory there is. What is held here of it (`Log`: its length,
//! its lines, which client ids stand in it) is a cache that is read back from the file.
//!
//! *One writer a thread.* A `Log` stands behind a mutex that serves in order; the lock moves into the
//! blocking thread that writes, so a client that hangs up does not let the next one in too early. Of
//! the logs that nobody uses the least recently used are let go, so memory is bounded.
//!
//! *Opening.* The id is made from the client's name and key, so the same key leads to the same file
//! with no table of keys. The first lines are written under another name, synced and linked to
//! theirs ([`crate::new_file`]), the folders synced. A crash before that leaves nothing that is listed; after it, the thread.
//!
//! *Appending.* One write for the whole batch, one `fdatasync`, then the answer.
//! - Killed before the write: nothing. In the middle: whole lines and a torn one. After: all lines.
//! - The next append compares the file with the cache. If they differ (after a start there is no
//!   cache) the file is read: the torn line is cut off, or ended where only its newline is missing,
//!   and what stands is synced before any of it is called a duplicate.
//! - A write that fails (full disk) is taken back by cutting the file to its old length. Should that
//!   fail too, the cache is forgotten and the next append repairs the file as after a crash.
//!
//! An id that comes again with other content refuses the batch: content is what stands in the file, the
//! time of writing left out and secrets replaced.
//!
//! So an item that was answered is there exactly once, and one that was not is there once or not at
//! all, and sending it again is right in either case.
//!
//! *Does not* know the wire, check or redact items (`service::recording`), or read for others: that
//! is `ingest`, for which these files are one more source.

mod file;
mod held;
mod log;
mod place;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use longhaul_core::digest::Digest128;
use longhaul_core::rollout::compose::Opening;
use tokio::sync::{Mutex, OwnedMutexGuard};
use uuid::{Builder, Variant, Version};

use crate::clock::Clock;
use held::Held;
use log::Log;

pub use log::{Appended, Line};

/// Why a thread was not written.
#[derive(Debug, thiserror::Error)]
pub enum RecorderError {
    /// No thread of ours has that id.
    #[error("no thread {0:?} was opened here")]
    NotFound(String),
    /// Others have appended.
    #[error("the thread is at seq {present}, not {expected}")]
    Stale {
        /// What the caller expected.
        expected: u64,
        present: u64,
    },
    /// The transcript is as long as one may be.
    #[error("the thread is full: {limit} is {max}")]
    Full { limit: &'static str, max: u64, given: u64 },
    /// An addition has the client's id of one that says something else.
    #[error("items[{index}] has the id of another item of the thread")]
    Conflict {
        /// Which one of the batch.
        index: usize,
        client_item_id: String,
    },
    #[error("{}: {source}", path.display())]
    File { path: PathBuf, source: std::io::Error },
    /// A task of ours died.
    #[error("a background task ended early")]
    Task(#[from] tokio::task::JoinError),
}

/// Which thread a client opens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Key {
    Thread(String),
    /// The one this client has under its own key.
    Client(String),
    New,
}

/// A thread that is open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opened {
    pub thread_id: String,
    pub path: PathBuf,
    /// Seq of its last line.
    pub seq: u64,
    /// Whether it was begun just now.
    pub created: bool,
}

/// Writes the threads of clients without transcripts.
#[derive(Debug)]
pub struct Recorder {
    folder: PathBuf,
    clock: Clock,
    held: Held,
    /// Held while a thread is looked for and begun, so that one key begins one thread.
    opening: Arc<Mutex<()>>,
}

impl Recorder {
    /// Writes below `folder`, which is made when the first thread begins.
    pub fn new(folder: PathBuf, clock: Clock) -> Self {
        Self { folder, clock, held: Held::default(), opening: Arc::default() }
    }

    /// Opens a thread, which begins as `opening` says (its `thread_id` is set here).
    pub async fn open(&self, key: Key, opening: Opening) -> Result<Opened, RecorderError> {
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
                Some(path) => Ok(Some((path, false))),
                None if matches!(key, Key::Thread(_)) => Ok(None),
                None => place::begin(&folder, &opening, at_ms).map(|path| Some((path, true))),
            }
        });
        let found = found.await?.map_err(|source| self.failed(&self.folder, source))?;
        let (path, created) = found.ok_or_else(|| RecorderError::NotFound(thread_id.clone()))?;
        let mut log = self.held.log(&thread_id, path.clone()).lock_owned().await;
        if log.path() != path {
            // The file was deleted or moved since, and this is where the thread is now.
            *log = Log::at(path);
        }
        let (path, seq) = on_blocking(move || {
            let read = log.seq();
            (log.path().to_owned(), read)
        })
        .await?;
        let seq = seq.map_err(|source| self.failed(&path, source))?;
        Ok(Opened { thread_id, path, seq, created })
    }

    /// Appends lines that `make` makes, which is asked for them when it is this batch's turn and off
    /// the async threads; answers when they are on the disk.
    ///
    /// # Errors
    /// Those of `make`, and [`RecorderError`]; nothing was written then.
    pub async fn append<E: From<RecorderError> + Send + 'static>(
        &self,
        thread_id: &str,
        expected_seq: Option<u64>,
        make: impl FnOnce(i64) -> Result<Vec<Line>, E> + Send + 'static,
    ) -> Result<Appended, E> {
        let mut log = self.log(thread_id).await?;
        let (at_ms, thread_id) = (self.clock.now_ms(), thread_id.to_owned());
        let appended = on_blocking(move || {
            let lines = make(at_ms)?;
            let appended = log.append(&lines, expected_seq);
            appended.map_err(|error| E::from(error.into_recorder(&thread_id, log.path())))
        });
        appended.await?
    }

    /// Appends one line that is made of those after `covered_seq`, with nobody's line between; answers its seq
    /// when it is on the disk. Does nothing where the thread holds a line of that id already.
    ///
    /// # Errors
    /// Those of `make`, and [`RecorderError`]; nothing was written then.
    pub async fn append_after<E: From<RecorderError> + Send + 'static>(
        &self,
        thread_id: &str,
        client_item_id: &str,
        covered_seq: u64,
        make: impl FnOnce(i64, Vec<String>) -> Result<Line, E> + Send + 'static,
    ) -> Result<u64, E> {
        let mut log = self.log(thread_id).await?;
        let (at_ms, thread_id) = (self.clock.now_ms(), thread_id.to_owned());
        let client_item_id = client_item_id.to_owned();
        let appended = on_blocking(move || {
            let path = log.path().to_owned();
            let failed = |source| E::from(RecorderError::File { path: path.clone(), source });
            if let Some(seq) = log.seq_of(&client_item_id).map_err(failed)? {
                return Ok(seq);
            }
            let later = log.lines_after(covered_seq).map_err(failed)?;
            let line = make(at_ms, later)?;
            let appended = log.append(&[line], None);
            let appended = appended.map_err(|error| error.into_recorder(&thread_id, &path));
            Ok(appended.map_err(E::from)?.seq)
        });
        appended.await?
    }

    /// Seq of the line that a client appended under an id.
    pub async fn seq_of(
        &self,
        thread_id: &str,
        client_item_id: &str,
    ) -> Result<Option<u64>, RecorderError> {
        let mut log = self.log(thread_id).await?;
        let client_item_id = client_item_id.to_owned();
        let (path, seq) = on_blocking(move || {
            let seq = log.seq_of(&client_item_id);
            (log.path().to_owned(), seq)
        })
        .await?;
        seq.map_err(|source| self.failed(&path, source))
    }

    /// Lets go of what is held of a thread, when no append is under way.
    pub async fn close(&self, thread_id: &str) -> Result<Opened, RecorderError> {
        let mut log = self.log(thread_id).await?;
        let (path, seq) = on_blocking(move || {
            let read = log.seq();
            (log.path().to_owned(), read)
        })
        .await?;
        self.held.let_go(thread_id);
        let seq = seq.map_err(|source| self.failed(&path, source))?;
        Ok(Opened { thread_id: thread_id.to_owned(), path, seq, created: false })
    }

    /// The log of a thread, alone.
    async fn log(&self, thread_id: &str) -> Result<OwnedMutexGuard<Log>, RecorderError> {
        let log = match self.held.get(thread_id) {
            Some(log) => log,
            None => {
                let (folder, wanted) = (self.folder.clone(), thread_id.to_owned());
                let found = tokio::task::spawn_blocking(move || place::find(&folder, &wanted));
                let found = found.await?.map_err(|source| self.failed(&self.folder, source))?;
                let path = found.ok_or_else(|| RecorderError::NotFound(thread_id.to_owned()))?;
                self.held.log(thread_id, path)
            }
        };
        Ok(log.lock_owned().await)
    }

    fn failed(&self, path: &Path, source: std::io::Error) -> RecorderError {
        RecorderError::File { path: path.to_owned(), source }
    }
}

async fn on_blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, RecorderError> {
    Ok(tokio::task::spawn_blocking(work).await?)
}

/// The id of the thread that a client has under a key: a UUID of version 8, the same at any time.
fn id_of_key(originator: &str, key: &str) -> String {
    let named = format!("{originator}\0{key}");
    let digest = Digest128::of(named.as_bytes()).0;
    let uuid = Builder::from_u128(digest).with_variant(Variant::RFC4122);
    uuid.with_version(Version::Custom).into_uuid().to_string()
}

#[cfg(test)]
mod tests;
