//! Looks at the repository a thread works in, by the `git` of the machine.
//!
//! # Theory of operation
//! *Owns* the last look at each folder, at most `FOLDERS_MAX`. A look that is younger than
//! `FRESH` is given again; else one is taken, one at a time for each folder and `LOOKS_MAX` in all, and
//! the asker waits for it at most as long as it says. Who does not wait gets the look before, and the
//! next one finds the new. A look is bounded in time and in bytes read; what goes over is killed. *A
//! crash* leaves nothing: looks are only kept in memory, and those that a decision was made with are kept
//! with it.
//!
//! A folder may be anyone's: an unpacked archive can bring a configuration that names programs. git runs in
//! a sandbox, and what it would run for the repository is switched off besides (see `git.rs`). Where
//! there is no sandbox nothing is looked at, and `daemon/status` tells why.

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

/// Folders whose last look is kept.
const FOLDERS_MAX: usize = 64;

/// Looks at the same time.
const LOOKS_MAX: usize = 2;

/// How long a look counts as the present.
const FRESH: Duration = Duration::from_millis(1_000);

/// The repositories that threads work in.
#[derive(Debug, Clone)]
pub struct Repositories(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    clock: Clock,
    git: Git,
    folders: Mutex<HashMap<String, Folder>>,
    permits: Arc<Semaphore>,
}

/// The last look at a folder.
#[derive(Debug, Clone, Default)]
struct Folder {
    /// When it was asked for last, since the daemon began.
    asked: Duration,
    /// When the look was taken; `None`: never.
    taken: Option<Duration>,
    found: Option<Repository>,
    /// One is being taken.
    is_busy: bool,
}

impl Repositories {
    /// Without any look yet. `program`: `longhauld`, which becomes git for a look.
    pub fn new(clock: Clock, program: PathBuf) -> Self {
        let permits = Arc::new(Semaphore::new(LOOKS_MAX));
        Self(Arc::new(Inner { clock, git: Git::new(program), folders: Mutex::default(), permits }))
    }

    /// The repository of a folder, waiting at most `wait` for a new look; `None` when there is none, or
    /// none was seen yet.
    pub async fn look(
        &self,
        folder: &str,
        settings: RepositorySettings,
        wait: Duration,
    ) -> Option<Repository> {
        if !settings.observe || !Path::new(folder).is_absolute() {
            return None;
        }
        if let Begun::No(known) = self.begin(folder) {
            return known.map(|known| *known);
        }
        let (this, name) = (self.clone(), folder.to_owned());
        let looking = tokio::spawn(async move { this.take(&name, settings).await });
        match tokio::time::timeout(wait, looking).await {
            Ok(found) => found.ok().flatten(),
            Err(_) => self.known(folder),
        }
    }

    /// Why no repository can be looked at on this machine, as far as it was tried.
    pub fn unavailable(&self) -> Option<String> {
        self.0.git.unavailable()
    }

    /// Whether the caller is to take a look.
    fn begin(&self, folder: &str) -> Begun {
        let now = self.0.clock.elapsed();
        let mut folders = self.0.folders.lock().unwrap_or_else(PoisonError::into_inner);
        if folders.len() >= FOLDERS_MAX && !folders.contains_key(folder) {
            let oldest = folders.iter().filter(|(_, known)| !known.is_busy);
            let oldest = oldest.min_by_key(|(_, known)| known.asked).map(|(name, _)| name.clone());
            match oldest {
                Some(oldest) => folders.remove(&oldest),
                None => return Begun::No(None),
            };
        }
        let known = folders.entry(folder.to_owned()).or_default();
        known.asked = now;
        let is_fresh = known.taken.is_some_and(|taken| now.saturating_sub(taken) < FRESH);
        if is_fresh || known.is_busy {
            return Begun::No(known.found.clone().map(Box::new));
        }
        known.is_busy = true;
        Begun::Yes
    }

    async fn take(&self, folder: &str, settings: RepositorySettings) -> Option<Repository> {
        let inner = &self.0;
        // Never closed.
        let _permit = Arc::clone(&inner.permits).acquire_owned().await.ok();
        let now_ms = inner.clock.now_ms();
        let looking = inner.git.look(folder, settings.graphite, now_ms);
        let found = match tokio::time::timeout(settings.timeout, looking).await {
            Ok(found) => found,
            Err(_) => {
                tracing::debug!(folder, "looking at a repository took too long");
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

/// Whether a look was begun.
enum Begun {
    Yes,
    No(Option<Box<Repository>>),
}

#[cfg(test)]
mod tests;
