//! The open logs: those in use, and the most recently used of the others.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Mutex as Turns;

use super::log::Log;

/// Maximum idle logs.
///
/// # Source
/// Chosen: more threads than a person keeps open at once.
const LOGS_MAX: usize = 64;

/// Maximum client ids in all idle logs: 24 bytes each, and as much again for the table.
///
/// # Source
/// Chosen: 24 MiB at most; a long thread has a few thousand.
const IDS_MAX: usize = 500_000;

#[derive(Debug, Default)]
pub(super) struct OpenLogs {
    logs: Mutex<Logs>,
}

#[derive(Debug, Default)]
struct Logs {
    by_thread: HashMap<String, OpenLog>,
    /// Counts uses: the larger, the more recent.
    uses: u64,
}

#[derive(Debug)]
struct OpenLog {
    log: Arc<Turns<Log>>,
    used: u64,
}

impl OpenLogs {
    pub(super) fn get(&self, thread_id: &str) -> Option<Arc<Turns<Log>>> {
        let mut logs = self.logs.lock().unwrap_or_else(PoisonError::into_inner);
        logs.uses += 1;
        let used = logs.uses;
        let entry = logs.by_thread.get_mut(thread_id)?;
        entry.used = used;
        Some(Arc::clone(&entry.log))
    }

    /// The log of a thread with its file at `path`.
    pub(super) fn log(&self, thread_id: &str, path: PathBuf) -> Arc<Turns<Log>> {
        if let Some(log) = self.get(thread_id) {
            return log;
        }
        let mut logs = self.logs.lock().unwrap_or_else(PoisonError::into_inner);
        logs.make_room();
        let used = logs.uses;
        // Another task may have opened it in between; two logs of a thread would be two writers.
        let entry = logs.by_thread.entry(thread_id.to_owned());
        let log = || Arc::new(Turns::new(Log::at(thread_id.to_owned(), path)));
        let entry = entry.or_insert_with(|| OpenLog { log: log(), used });
        Arc::clone(&entry.log)
    }

    /// Drops the log of a thread, unless it is in use.
    pub(super) fn drop_idle(&self, thread_id: &str) {
        let mut logs = self.logs.lock().unwrap_or_else(PoisonError::into_inner);
        if logs.by_thread.get(thread_id).is_some_and(OpenLog::is_idle) {
            logs.by_thread.remove(thread_id);
        }
    }
}

impl Logs {
    fn make_room(&mut self) {
        loop {
            let idle = self.by_thread.iter().filter(|(_, entry)| entry.is_idle());
            let ids: usize = idle.clone().map(|(_, entry)| entry.ids()).sum();
            if idle.clone().count() < LOGS_MAX && ids <= IDS_MAX {
                return;
            }
            let oldest = idle.min_by_key(|(_, entry)| entry.used);
            let Some(oldest) = oldest.map(|(thread_id, _)| thread_id.clone()) else { return };
            self.by_thread.remove(&oldest);
        }
    }
}

impl OpenLog {
    /// Whether no task uses it; none can start to while the table is locked.
    fn is_idle(&self) -> bool {
        Arc::strong_count(&self.log) == 1
    }

    fn ids(&self) -> usize {
        self.log.try_lock().map_or(0, |log| log.ids())
    }
}
