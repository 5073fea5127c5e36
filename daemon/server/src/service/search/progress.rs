//! What the indexer has to do and how far it is, shared with those who tell it and those who ask.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, watch};

/// Paths that are remembered; beyond, all files are looked through.
const HINTS_MAX: usize = 1_024;

/// Hints to the indexer, and its figures.
#[derive(Debug, Default)]
pub struct IndexProgress {
    hints: Mutex<Hints>,
    arrived: Notify,
    is_working: AtomicBool,
    is_stalled: AtomicBool,
    items: AtomicU64,
    files_behind: AtomicU64,
    bytes: AtomicU64,
    anew: watch::Sender<Anew>,
}

/// How far the index is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IndexState {
    pub work: IndexWork,
    pub items: u64,
    pub files_behind: u64,
    pub bytes: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexWork {
    Idle,
    Indexing,
    /// The index cannot be written; it is tried again.
    Stalled,
}

/// How far the index is with being made anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Anew {
    /// Nobody asks for it, or it is done.
    #[default]
    Done,
    Asked,
    /// It was emptied and fills.
    Fills,
}

/// What may have changed.
#[derive(Debug, Default)]
pub(super) struct Hints {
    pub(super) paths: BTreeSet<String>,
    pub(super) all: bool,
}

impl IndexProgress {
    /// A transcript has something new in the store. Does not block.
    pub fn hint(&self, path: &str) {
        let mut hints = self.lock();
        match hints.paths.len() < HINTS_MAX {
            true => drop(hints.paths.insert(path.to_owned())),
            false => hints.all = true,
        }
        drop(hints);
        self.is_working.store(true, Ordering::Relaxed);
        self.arrived.notify_one();
    }

    /// Anything may have changed.
    pub fn hint_all(&self) {
        self.lock().all = true;
        self.is_working.store(true, Ordering::Relaxed);
        self.arrived.notify_one();
    }

    /// How far the index is.
    #[must_use]
    pub fn state(&self) -> IndexState {
        let number = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let work = match (
            self.is_stalled.load(Ordering::Relaxed),
            self.is_working.load(Ordering::Relaxed),
        ) {
            (true, _) => IndexWork::Stalled,
            (false, true) => IndexWork::Indexing,
            (false, false) => IndexWork::Idle,
        };
        IndexState {
            work,
            items: number(&self.items),
            files_behind: number(&self.files_behind),
            bytes: number(&self.bytes),
        }
    }

    pub(super) fn take(&self) -> Hints {
        std::mem::take(&mut *self.lock())
    }

    /// Asks for the index to be made anew and waits until it holds all that is ingested.
    pub(super) async fn made_anew(&self) {
        let mut anew = self.anew.subscribe();
        self.anew.send_replace(Anew::Asked);
        self.arrived.notify_one();
        // The sender lives as long as `self`.
        drop(anew.wait_for(|anew| *anew == Anew::Done).await);
    }

    /// Whether the index is to be emptied; asked once, the answer counts.
    pub(super) fn take_anew(&self) -> bool {
        self.anew.send_if_modified(|anew| {
            let is_asked = *anew == Anew::Asked;
            if is_asked {
                *anew = Anew::Fills;
            }
            is_asked
        })
    }

    /// Waits for a hint; one that came before counts.
    pub(super) async fn arrived(&self) {
        self.arrived.notified().await;
    }

    /// Nothing is left to do, unless a hint has come meanwhile.
    pub(super) fn set_idle(&self) {
        let hints = self.lock();
        if hints.paths.is_empty() && !hints.all {
            self.is_working.store(false, Ordering::Relaxed);
            self.anew.send_if_modified(|anew| {
                let fills = *anew == Anew::Fills;
                if fills {
                    *anew = Anew::Done;
                }
                fills
            });
        }
    }

    pub(super) fn set_stalled(&self, is_stalled: bool) {
        self.is_stalled.store(is_stalled, Ordering::Relaxed);
    }

    pub(super) fn set_behind(&self, files: usize) {
        self.files_behind.store(files as u64, Ordering::Relaxed);
    }

    pub(super) fn set_size(&self, items: u64, bytes: u64) {
        self.items.store(items, Ordering::Relaxed);
        self.bytes.store(bytes, Ordering::Relaxed);
    }

    fn lock(&self) -> MutexGuard<'_, Hints> {
        self.hints.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
