//! Caches the folds of recently requested threads, so that a warm answer needs neither disk nor parser.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use longhaul_core::fold::Fold;
use longhaul_store::{Cursor, FileId, FileOutcome};

/// Maximum cached folds. A fold takes up to a few hundred KiB; an idle daemon must stay under 20 MiB.
const FOLDS_MAX: usize = 8;

/// A fold with its thread and file.
#[derive(Debug, Clone)]
struct CachedFold {
    thread_id: String,
    file_id: FileId,
    fold: Arc<Fold>,
}

/// The cache; most recently used last.
#[derive(Debug, Default)]
pub(crate) struct Folds(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    kept: Vec<CachedFold>,
    /// Counts commits, so that a fold loaded before a commit is not cached after it.
    epoch: u64,
}

impl Folds {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The cached fold of a thread, if any, and the epoch to pass to [`Folds::keep`].
    pub(crate) fn get(&self, thread_id: &str) -> (Option<Arc<Fold>>, u64) {
        let mut inner = self.lock();
        let epoch = inner.epoch;
        let Some(at) = inner.kept.iter().position(|kept| kept.thread_id == thread_id) else {
            return (None, epoch);
        };
        let kept = inner.kept.remove(at);
        let fold = Arc::clone(&kept.fold);
        inner.kept.push(kept);
        (Some(fold), epoch)
    }

    /// Whether the fold of a thread is cached.
    pub(crate) fn holds(&self, thread_id: &str) -> bool {
        self.lock().kept.iter().any(|kept| kept.thread_id == thread_id)
    }

    /// Caches a fold that was loaded in `epoch`, unless a later commit made it stale.
    pub(crate) fn keep(&self, thread_id: &str, file_id: FileId, fold: &Arc<Fold>, epoch: u64) {
        let mut inner = self.lock();
        if inner.epoch == epoch {
            let (thread_id, fold) = (thread_id.to_owned(), Arc::clone(fold));
            inner.put(CachedFold { thread_id, file_id, fold });
        }
    }

    /// Updates the cache after a commit: replaces the thread's cached fold, or drops it if the batch is not the
    /// last of its pass.
    pub(crate) fn replace(
        &self,
        thread_id: &str,
        done: &FileOutcome,
        cursor: &Cursor,
        fold: Option<Fold>,
    ) {
        let mut inner = self.lock();
        inner.epoch += 1;
        let Some(at) = inner.kept.iter().position(|kept| kept.thread_id == thread_id) else {
            return;
        };
        let was_of_file = inner.kept[at].file_id == done.file_id;
        if !done.is_current && !was_of_file {
            return;
        }
        inner.kept.remove(at);
        if let Some(fold) = fold.filter(|_| done.is_current && cursor.offset > 0) {
            let (thread_id, fold) = (thread_id.to_owned(), Arc::new(fold));
            inner.put(CachedFold { thread_id, file_id: done.file_id, fold });
        }
    }

    /// Drops all folds: a thread's current file may have changed.
    pub(crate) fn clear(&self) {
        let mut inner = self.lock();
        inner.epoch += 1;
        inner.kept.clear();
    }
}

impl Inner {
    fn put(&mut self, kept: CachedFold) {
        self.kept.retain(|other| other.thread_id != kept.thread_id);
        if self.kept.len() == FOLDS_MAX {
            self.kept.remove(0);
        }
        self.kept.push(kept);
    }
}

#[cfg(test)]
mod tests {
    use longhaul_core::fold::Source;

    use super::*;

    #[test]
    fn the_folds_used_last_are_kept_and_stale_ones_are_not() {
        let folds = Folds::default();
        let fold = Arc::new(Fold::new(Source::Codex));
        let names: Vec<String> = (0..=FOLDS_MAX).map(|n| n.to_string()).collect();
        for name in &names {
            let (_, epoch) = folds.get(name);
            folds.keep(name, FileId(1), &fold, epoch);
            assert!(folds.get("0").0.is_some() || name == "8", "0 is used all the time");
        }
        assert!(folds.get("1").0.is_none(), "the one unused for longest goes");

        let done = FileOutcome { file_id: FileId(1), is_current: true };
        let (_, epoch) = folds.get("x");
        let cursor = Cursor { offset: 1, ..Cursor::default() };
        folds.replace("8", &done, &cursor, None);
        assert!(folds.get("8").0.is_none(), "half a pass is no state to serve");
        folds.keep("x", FileId(1), &fold, epoch);
        assert!(folds.get("x").0.is_none(), "loaded before a commit");
    }
}
