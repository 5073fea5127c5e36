//! Threads that this process erased: work that began before must not store what it has of them.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use sqlx::SqliteConnection;

/// Maximum threads remembered; the oldest go first. Work does not last for that many calls.
const THREADS_MAX: usize = 1_024;

/// Shared by the connections to a database. Only the holder of the single writing connection may rely on what it finds.
#[derive(Debug, Clone, Default)]
pub(crate) struct Erased(Arc<Mutex<ErasedThreads>>);

#[derive(Debug, Default)]
struct ErasedThreads {
    ids: VecDeque<String>,
    /// Number of erasures, of threads or from memory.
    count: u64,
}

impl Erased {
    pub(crate) fn add(&self, thread_id: &str) {
        self.note();
        let mut erased = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if erased.ids.iter().any(|known| known == thread_id) {
            return;
        }
        if erased.ids.len() == THREADS_MAX {
            erased.ids.pop_front();
        }
        erased.ids.push_back(thread_id.to_owned());
    }

    /// Counts an erasure.
    pub(crate) fn note(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).count += 1;
    }

    /// The number of erasures so far.
    pub(crate) fn count(&self) -> u64 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).count
    }

    /// A thread that was erased, was not stored again since, and is selected by `is_meant`.
    pub(crate) async fn find(
        &self,
        connection: &mut SqliteConnection,
        is_meant: impl Fn(&str) -> bool,
    ) -> Result<Option<String>, sqlx::Error> {
        let meant: Vec<String> = {
            let erased = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            erased.ids.iter().filter(|id| is_meant(id)).cloned().collect()
        };
        for thread_id in meant {
            let stored = sqlx::query("SELECT 1 FROM thread WHERE thread_id = ?1").bind(&thread_id);
            if stored.fetch_optional(&mut *connection).await?.is_none() {
                return Ok(Some(thread_id));
            }
        }
        Ok(None)
    }
}
