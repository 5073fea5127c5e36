//! Notices from the file system: hints that something may have changed, and nothing more.
//!
//! A hint may be lost, doubled or late; the periodic scan finds what hints missed. The queue of
//! inotify, the number of watches and our own set are all bounded: when one overflows, all hints
//! become one, "look at everything".

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use notify::event::{MetadataKind, ModifyKind};
use notify::{Config, Event, EventKind, RecommendedWatcher, Watcher as _};
use tokio::sync::Notify;

use super::scan::{Root, may_affect_transcript};

/// Paths hinted at and not yet taken.
const HINTS_MAX: usize = 4_096;

/// Hinted paths, filled by the watching thread and taken by the worker.
#[derive(Debug, Default)]
pub(crate) struct Hints {
    paths: Mutex<HashSet<PathBuf>>,
    scan: AtomicBool,
    degraded: AtomicBool,
    wake: Notify,
    stop: Arc<AtomicBool>,
    /// Files that could not be read: a change of their rights is a hint, too.
    unreadable: Mutex<HashSet<PathBuf>>,
    /// Files whose lines are not what was read.
    doubted: Mutex<HashSet<PathBuf>>,
}

impl Hints {
    /// `stop` is raised with each hint, so that a long pass makes way.
    pub(crate) fn new(stop: Arc<AtomicBool>) -> Self {
        Self { stop, ..Self::default() }
    }

    /// Waits for a hint; returns at once when one came since the last call.
    pub(crate) async fn arrived(&self) {
        self.wake.notified().await;
    }

    pub(crate) fn take(&self) -> Vec<PathBuf> {
        std::mem::take(&mut *self.paths.lock().unwrap_or_else(PoisonError::into_inner))
            .into_iter()
            .collect()
    }

    /// Whether everything should be looked at; answered once.
    pub(crate) fn take_scan(&self) -> bool {
        self.scan.swap(false, Ordering::Relaxed)
    }

    /// Notices were lost or cannot be had since the last call.
    pub(crate) fn take_degraded(&self) -> bool {
        self.degraded.swap(false, Ordering::Relaxed)
    }

    /// Takes a change of the rights of this file for a hint, once.
    pub(crate) fn look_for_rights(&self, path: &Path) {
        let mut unreadable = self.unreadable.lock().unwrap_or_else(PoisonError::into_inner);
        if unreadable.len() < HINTS_MAX {
            unreadable.insert(path.to_owned());
        }
    }

    /// Asks for the lines of this file to be compared with what was read.
    pub(crate) fn doubt(&self, path: &Path) {
        let mut doubted = self.doubted.lock().unwrap_or_else(PoisonError::into_inner);
        if doubted.len() < HINTS_MAX && doubted.insert(path.to_owned()) {
            drop(doubted);
            self.call();
        }
    }

    pub(crate) fn take_doubted(&self) -> HashSet<PathBuf> {
        std::mem::take(&mut *self.doubted.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn is_looked_for(&self, path: &Path) -> bool {
        self.unreadable.lock().unwrap_or_else(PoisonError::into_inner).remove(path)
    }

    fn hint(&self, path: &Path) {
        let mut paths = self.paths.lock().unwrap_or_else(PoisonError::into_inner);
        if paths.len() < HINTS_MAX {
            paths.insert(path.to_owned());
        } else {
            self.scan.store(true, Ordering::Relaxed);
        }
        drop(paths);
        self.call();
    }

    /// Asks for everything to be looked at.
    pub(crate) fn hint_all(&self) {
        self.scan.store(true, Ordering::Relaxed);
        self.call();
    }

    fn call(&self) {
        self.stop.store(true, Ordering::Relaxed);
        self.wake.notify_one();
    }

    pub(crate) fn on_event(&self, event: notify::Result<Event>) {
        match event {
            Err(error) => {
                tracing::debug!(%error, "watch reported an error");
                self.degraded.store(true, Ordering::Relaxed);
                self.hint_all();
            }
            Ok(event) if event.need_rescan() => self.hint_all(),
            Ok(Event { kind: EventKind::Access(_), .. }) => {}
            // Our own reading opens files, too, and SQLite's sets the owner of a log it opens as root.
            Ok(Event { kind: METADATA, paths, .. }) => {
                paths
                    .iter()
                    .filter(|path| self.is_looked_for(path))
                    .for_each(|path| self.hint(path));
            }
            Ok(event) => {
                for path in &event.paths {
                    if may_affect_transcript(path) {
                        self.hint(path);
                    } else if event.kind.is_create() || is_rename(&event.kind) {
                        // A folder that appears may hold files that came before its watch.
                        self.hint_all();
                    }
                }
            }
        }
    }
}

/// A change of owner, rights or times.
const METADATA: EventKind = EventKind::Modify(ModifyKind::Metadata(MetadataKind::Any));

fn is_rename(kind: &EventKind) -> bool {
    matches!(kind, EventKind::Modify(ModifyKind::Name(_)))
}

/// The watches on all roots.
pub(crate) struct Watch {
    watcher: Option<RecommendedWatcher>,
    /// Folders that are watched, by the path of their root.
    watched: HashMap<PathBuf, HashSet<PathBuf>>,
}

impl Watch {
    /// A watch on nothing yet. Without inotify there are no hints, which is no error.
    pub(crate) fn new(hints: &Arc<Hints>) -> Self {
        let on = Arc::clone(hints);
        let made = RecommendedWatcher::new(move |event| on.on_event(event), Config::default());
        let watcher = match made {
            Ok(watcher) => Some(watcher),
            Err(error) => {
                tracing::warn!(%error, "file changes are not reported, scanning only");
                hints.degraded.store(true, Ordering::Relaxed);
                None
            }
        };
        Self { watcher, watched: HashMap::new() }
    }

    /// Watches the roots that have appeared since the last call. Returns what could not be watched.
    pub(crate) fn cover(&mut self, roots: &[Root]) -> Vec<(PathBuf, String)> {
        let mut failed = Vec::new();
        let Some(watcher) = &mut self.watcher else {
            return failed;
        };
        for root in roots {
            let Some(top) = root.resolved() else {
                // Deleted: should it come back, its old watch is dead.
                self.watched.remove(&root.path);
                continue;
            };
            let watched = self.watched.entry(root.path.clone()).or_default();
            for (folder, mode) in root.watched(&top) {
                if watched.contains(&folder) {
                    continue;
                }
                match watcher.watch(&folder, mode) {
                    Ok(()) => _ = watched.insert(folder),
                    Err(error) => failed.push((folder, error.to_string())),
                }
            }
        }
        failed
    }
}

#[cfg(test)]
mod tests {
    use notify::event::{AccessKind, DataChange};

    use super::*;

    #[test]
    fn a_change_of_content_is_a_hint_and_reading_or_a_change_of_owner_is_none() {
        for (kind, is_hint) in [
            (EventKind::Modify(ModifyKind::Data(DataChange::Any)), true),
            (METADATA, false),
            (EventKind::Access(AccessKind::Any), false),
        ] {
            let hints = Hints::default();
            let path = "/h/.codex/sessions/rollout-2026-01-01T00-00-00-a.jsonl";
            hints.on_event(Ok(Event::new(kind).add_path(path.into())));
            assert_eq!(!hints.take().is_empty(), is_hint, "{kind:?}");
            hints.look_for_rights(path.as_ref());
            hints.on_event(Ok(Event::new(METADATA).add_path(path.into())));
            assert!(!hints.take().is_empty(), "of one that could not be read");
        }
    }
}
