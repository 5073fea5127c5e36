//! What the indexer has to do and how far it is, shared with those who tell it and those who ask.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use tokio::sync::watch;

use crate::service::hints::{Hints, PendingHints};

/// Hints to the indexer, and its figures.
#[derive(Debug, Default)]
pub struct IndexProgress {
    hints: Hints,
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

impl IndexProgress {
    /// A transcript has something new in the store. Does not block.
    pub fn hint(&self, path: &str) {
        self.is_working.store(true, Ordering::Relaxed);
        self.hints.hint(path);
    }

    /// Anything may have changed.
    pub fn hint_all(&self) {
        self.is_working.store(true, Ordering::Relaxed);
        self.hints.hint_all();
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

    pub(super) fn take(&self) -> PendingHints {
        self.hints.take()
    }

    /// Asks for the index to be made anew and waits until it holds all that is ingested.
    pub(super) async fn made_anew(&self) {
        let mut anew = self.anew.subscribe();
        self.anew.send_replace(Anew::Asked);
        self.hints.wake();
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
        self.hints.arrived().await;
    }

    /// Nothing is left to do, unless a hint has come meanwhile.
    pub(super) fn set_idle(&self) {
        self.hints.if_none(|| {
            self.is_working.store(false, Ordering::Relaxed);
            self.anew.send_if_modified(|anew| {
                let fills = *anew == Anew::Fills;
                if fills {
                    *anew = Anew::Done;
                }
                fills
            });
        });
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
}
