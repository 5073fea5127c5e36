//! Transcripts changed since a background task last ran.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// Maximum queued paths; on overflow, all files are scanned.
const HINTS_MAX: usize = 1_024;

/// Hints for one task; sending one never blocks.
#[derive(Debug, Default)]
pub struct Hints {
    waiting: Mutex<PendingHints>,
    arrived: Notify,
}

#[derive(Debug, Default)]
pub struct PendingHints {
    pub paths: BTreeSet<String>,
    pub all: bool,
}

impl Hints {
    /// Queues a transcript with new data in the store.
    pub fn hint(&self, path: &str) {
        let mut waiting = self.lock();
        match waiting.paths.len() < HINTS_MAX {
            true => drop(waiting.paths.insert(path.to_owned())),
            false => waiting.all = true,
        }
        drop(waiting);
        self.arrived.notify_one();
    }

    /// Hints that any file may have changed.
    pub fn hint_all(&self) {
        self.lock().all = true;
        self.wake();
    }

    /// Wakes the task without adding a hint.
    pub fn wake(&self) {
        self.arrived.notify_one();
    }

    pub fn take(&self) -> PendingHints {
        std::mem::take(&mut *self.lock())
    }

    /// Waits for a hint; an earlier unconsumed one counts.
    pub async fn arrived(&self) {
        self.arrived.notified().await;
    }

    /// Calls `then` if no hint is queued, before another can be added.
    pub fn if_none(&self, then: impl FnOnce()) {
        let waiting = self.lock();
        if waiting.paths.is_empty() && !waiting.all {
            then();
        }
    }

    fn lock(&self) -> MutexGuard<'_, PendingHints> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
