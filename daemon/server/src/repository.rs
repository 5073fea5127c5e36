//! Inspects the repositories that threads work in, with the machine's `git`.
//!
//! # Theory of operation
//! *State*: the last inspection of each folder, at most `FOLDERS_MAX`. One younger than `FRESH` is reused. Otherwise a
//! new one runs, one at a time per folder and `CONCURRENT_MAX` in all, and the caller waits for it up to its own limit. If
//! the limit passes, the caller gets the previous result, and the next call gets the new one. An inspection is bounded in
//! time and in bytes read; one that exceeds them is killed. *A crash* loses nothing of value: results are in memory only,
//! and those that a decision used are stored with the decision.
//!
//! A folder may be hostile: an unpacked archive can contain a configuration that names programs. git runs in a sandbox,
//! and in addition everything it would run for the repository is disabled (see `git.rs`). Without a sandbox, no
//! repository is inspected, and `daemon/status` says why.

mod git;
mod graphite;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use longhaul_core::policy::repository::Repository;
use tokio::sync::Semaphore;

use crate::clock::Clock;
use crate::config::repository::RepositorySettings;
use git::Git;

/// Maximum folders with a cached result.
const FOLDERS_MAX: usize = 64;

const CONCURRENT_MAX: usize = 2;

/// How long a result counts as current.
const FRESH: Duration = Duration::from_millis(1_000);

/// Inspects the repositories of threads.
#[derive(Debug, Clone)]
pub struct Repositories(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    clock: Clock,
    git: Git,
    folders: Mutex<HashMap<String, Folder>>,
    permits: Arc<Semaphore>,
}

/// The last inspection of a folder.
#[derive(Debug, Clone, Default)]
struct Folder {
    /// When it was last requested, since the daemon's start.
    asked: Duration,
    /// When it last finished; `None`: never.
    taken: Option<Duration>,
    found: Option<Repository>,
    /// Whether one is running.
    is_busy: bool,
}

impl Repositories {
    /// `program` is `longhauld`, which becomes git.
    pub fn new(clock: Clock, program: PathBuf) -> Self {
        let permits = Arc::new(Semaphore::new(CONCURRENT_MAX));
        Self(Arc::new(Inner { clock, git: Git::new(program), folders: Mutex::default(), permits }))
    }

    /// The repository of a folder. Waits at most `wait` for a new inspection; `None` if there is no repository, or no
    /// result yet.
    pub async fn inspect(
        &self,
        folder: &str,
        settings: RepositorySettings,
        wait: Duration,
    ) -> Option<Repository> {
        if !settings.observe || !Path::new(folder).is_absolute() {
            return None;
        }
        if let Lookup::Cached(known) = self.begin(folder) {
            return known.map(|known| *known);
        }
        let (this, name) = (self.clone(), folder.to_owned());
        let looking = tokio::spawn(async move { this.take(&name, settings).await });
        match tokio::time::timeout(wait, looking).await {
            Ok(found) => found.ok().flatten(),
            Err(_) => self.known(folder),
        }
    }

    /// Why repositories cannot be inspected on this machine, if that was found.
    pub fn unavailable(&self) -> Option<String> {
        self.0.git.unavailable()
    }

    /// Whether the caller must run an inspection.
    fn begin(&self, folder: &str) -> Lookup {
        let now = self.0.clock.elapsed();
        let mut folders = self.0.folders.lock().unwrap_or_else(PoisonError::into_inner);
        if folders.len() >= FOLDERS_MAX && !folders.contains_key(folder) {
            let oldest = folders.iter().filter(|(_, known)| !known.is_busy);
            let oldest = oldest.min_by_key(|(_, known)| known.asked).map(|(name, _)| name.clone());
            match oldest {
                Some(oldest) => folders.remove(&oldest),
                None => return Lookup::Cached(None),
            };
        }
        let known = folders.entry(folder.to_owned()).or_default();
        known.asked = now;
        let is_fresh = known.taken.is_some_and(|taken| now.saturating_sub(taken) < FRESH);
        if is_fresh || known.is_busy {
            return Lookup::Cached(known.found.clone().map(Box::new));
        }
        known.is_busy = true;
        Lookup::Run
    }

    async fn take(&self, folder: &str, settings: RepositorySettings) -> Option<Repository> {
        let inner = &self.0;
        // The semaphore is never closed.
        let _permit = Arc::clone(&inner.permits).acquire_owned().await.ok();
        let now_ms = inner.clock.now_ms();
        let looking = inner.git.inspect(folder, settings.graphite, now_ms);
        let found = match tokio::time::timeout(settings.timeout, looking).await {
            Ok(found) => found,
            Err(_) => {
                tracing::debug!(folder, "the inspection of a repository timed out");
                None
            }
        };
        let mut folders = inner.folders.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = folders.get_mut(folder) {
            known.is_busy = false;
            known.taken = Some(inner.clock.elapsed());
            known.found.clone_from(&found);
        }
        found
    }

    fn known(&self, folder: &str) -> Option<Repository> {
        let folders = self.0.folders.lock().unwrap_or_else(PoisonError::into_inner);
        folders.get(folder).and_then(|known| known.found.clone())
    }
}

/// Whether the caller runs an inspection, or the result to use.
enum Lookup {
    Run,
    Cached(Option<Box<Repository>>),
}

#[cfg(test)]
mod tests;
