//! Whether what is acknowledged is kept.
//!
//! # Theory of operation
//! A person, or a program that cleans up, may remove the state folder or the database under a running daemon. SQLite
//! goes on with the file that has no name any more, and all that is stored is lost with the process. So the lock
//! file of the folder and the database are looked at by their paths: after every request that was carried out,
//! before it is answered, and once a second. When one of them is not the file that was opened, the answer is
//! `state_lost`, and the daemon ends as soon as that is noticed. It closes no database then: another daemon may
//! have begun a new one under the same name. The next start makes a new folder and reads the transcripts again.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use longhaul_store::{OpenReport, Store, StoreError};

use super::error::ServiceError;
use crate::clock::Clock;
use crate::lock::Lock;

/// Time between two looks without a request.
const LOOK: Duration = Duration::from_secs(1);

/// Opens the database. What is made from now on counts as made now, not when it was in use last.
///
/// # Errors
/// As [`Store::open`].
pub async fn open(path: &Path, clock: &Clock) -> Result<(Store, OpenReport), StoreError> {
    let (store, opened) = Store::open(path, clock.now_ms()).await?;
    store.advance_age(clock.moment()).await?;
    Ok((store, opened))
}

/// Looks whether the state folder is the daemon's.
#[derive(Debug)]
pub struct Keeping {
    folder: PathBuf,
    /// None where nobody else could have the folder, as in tests of the parts.
    lock: Option<Arc<Lock>>,
    store: Store,
}

impl Keeping {
    #[must_use]
    pub fn new(folder: PathBuf, lock: Option<Arc<Lock>>, store: Store) -> Self {
        Self { folder, lock, store }
    }

    /// # Errors
    /// [`ServiceError::StateLost`]: what was stored is in no file that has a name.
    pub fn check(&self) -> Result<(), ServiceError> {
        let is_ours = self.lock.as_ref().is_none_or(|lock| lock.is_in_place());
        match is_ours && self.store.is_in_place() {
            true => Ok(()),
            false => Err(ServiceError::StateLost(self.folder.display().to_string())),
        }
    }

    /// Waits until the state folder is lost.
    pub async fn lost(&self) -> ServiceError {
        let mut looks = tokio::time::interval(LOOK);
        loop {
            looks.tick().await;
            if let Err(lost) = self.check() {
                return lost;
            }
        }
    }
}
