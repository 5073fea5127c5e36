//! Checks that acknowledged data is still on disk.
//!
//! # Theory of operation
//! A person or a clean-up program may remove the state folder or the database of a running daemon. SQLite then
//! continues with the unlinked file, and everything stored is lost with the process. So the lock file of the folder
//! and the database are checked by their paths: after every request that waits or computes, before it is answered, and once a
//! second. If either is not the file that was opened, the answer is `state_lost`, and the daemon exits as soon as it
//! notices. It closes no database then, because another daemon may have created a new one at the same path. The next
//! start creates a new folder and reads the transcripts again.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use longhaul_store::{Database, OpenReport, Store, StoreError};

use super::error::ServiceError;
use crate::clock::Clock;
use crate::lock::Lock;

/// Interval between checks without a request.
const CHECK_PERIOD: Duration = Duration::from_secs(1);

/// Opens the database. The lived time counts from now, not from its last use.
pub async fn open(path: &Path, clock: &Clock) -> Result<(Store, OpenReport), StoreError> {
    let (store, opened) = Store::open(path, clock.now_ms()).await?;
    store.age.advance(clock.moment()).await?;
    Ok((store, opened))
}

#[derive(Debug)]
pub struct StateCheck {
    pub(super) folder: PathBuf,
    /// `None` if no other process can have the folder, as in tests of single parts.
    pub(super) lock: Option<Arc<Lock>>,
    pub(super) database: Database,
}

impl StateCheck {
    /// # Errors
    /// [`ServiceError::StateLost`]: the stored data is in an unlinked file.
    pub fn check(&self) -> Result<(), ServiceError> {
        let is_ours = self.lock.as_ref().is_none_or(|lock| lock.is_in_place());
        match is_ours && self.database.is_in_place() {
            true => Ok(()),
            false => Err(ServiceError::StateLost(self.folder.display().to_string())),
        }
    }

    /// Waits until the state folder is lost.
    pub async fn lost(&self) -> ServiceError {
        let mut checks = tokio::time::interval(CHECK_PERIOD);
        loop {
            checks.tick().await;
            if let Err(lost) = self.check() {
                return lost;
            }
        }
    }
}
