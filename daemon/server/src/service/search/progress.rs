//! Work and progress of the indexer, shared with those who hint and those who query it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use longhaul_protocol::thread::{IndexState, IndexStatus};
use tokio::sync::watch;

use crate::service::hints::{Hints, PendingHints};

#[derive(Debug, Default)]
pub struct IndexProgress {
    hints: Hints,
    is_working: AtomicBool,
    is_stalled: AtomicBool,
    items: AtomicU64,
    files_behind: AtomicU64,
    bytes: AtomicU64,
    anew: watch::Sender<Rebuild>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Rebuild {
    /// Not requested.
    #[default]
    Done,
    Asked,
    /// Emptied, and being refilled.
    Fills,
}

impl IndexProgress {
    /// A transcript has new data in the store. Does not block.
    pub fn hint(&self, path: &str) {
        self.is_working.store(true, Ordering::Relaxed);
        self.hints.hint(path);
    }

    /// Any file may have changed.
    pub fn hint_all(&self) {
        self.is_working.store(true, Ordering::Relaxed);
        self.hints.hint_all();
    }

    pub fn state(&self) -> IndexStatus {
        let number = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let state = match (
            self.is_stalled.load(Ordering::Relaxed),
            self.is_working.load(Ordering::Relaxed),
        ) {
            (true, _) => IndexState::Stalled,
            (false, true) => IndexState::Indexing,
            (false, false) => IndexState::Idle,
        };
        IndexStatus {
            state,
            items: number(&self.items),
            files_behind: number(&self.files_behind),
            bytes: number(&self.bytes),
        }
    }

    pub(super) fn take(&self) -> PendingHints {
        self.hints.take()
    }

    /// Requests a rebuild of the index and waits until it holds everything ingested.
    pub(super) async fn rebuild(&self) {
        let mut anew = self.anew.subscribe();
        self.anew.send_replace(Rebuild::Asked);
        self.hints.wake();
        // The sender lives as long as `self`.
        drop(anew.wait_for(|anew| *anew == Rebuild::Done).await);
    }

    /// Whether to empty the index; resets the request.
    pub(super) fn take_rebuild(&self) -> bool {
        self.anew.send_if_modified(|anew| {
            let is_asked = *anew == Rebuild::Asked;
            if is_asked {
                *anew = Rebuild::Fills;
            }
            is_asked
        })
    }

    /// Waits for a hint; an earlier unconsumed one counts.
    pub(super) async fn arrived(&self) {
        self.hints.arrived().await;
    }

    /// Marks the index as idle, unless a hint has arrived.
    pub(super) fn set_idle(&self) {
        self.hints.if_none(|| {
            self.is_working.store(false, Ordering::Relaxed);
            self.anew.send_if_modified(|anew| {
                let fills = *anew == Rebuild::Fills;
                if fills {
                    *anew = Rebuild::Done;
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
