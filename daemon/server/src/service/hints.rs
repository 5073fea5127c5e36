//! Which transcripts have something new, for a task that works in the wake of ingestion.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// Paths that are remembered; beyond, all files are looked through.
const HINTS_MAX: usize = 1_024;

/// Hints to one task; giving one never blocks.
#[derive(Debug, Default)]
pub struct Hints {
    waiting: Mutex<Hinted>,
    arrived: Notify,
}

/// What may have changed.
#[derive(Debug, Default)]
pub struct Hinted {
    pub paths: BTreeSet<String>,
    pub all: bool,
}

impl Hints {
    /// A transcript has something new in the store.
    pub fn hint(&self, path: &str) {
        let mut waiting = self.lock();
        match waiting.paths.len() < HINTS_MAX {
            true => drop(waiting.paths.insert(path.to_owned())),
            false => waiting.all = true,
        }
        drop(waiting);
        self.arrived.notify_one();
    }

    /// Anything may have changed.
    pub fn hint_all(&self) {
        self.lock().all = true;
        self.wake();
    }

    /// Wakes the task without a hint.
    pub fn wake(&self) {
        self.arrived.notify_one();
    }

    pub fn take(&self) -> Hinted {
        std::mem::take(&mut *self.lock())
    }

    /// Waits for a hint; one that came before counts.
    pub async fn arrived(&self) {
        self.arrived.notified().await;
    }

    /// Calls `then` if no hint waits, before any more can come.
    pub fn if_none(&self, then: impl FnOnce()) {
        let waiting = self.lock();
        if waiting.paths.is_empty() && !waiting.all {
            then();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Hinted> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
