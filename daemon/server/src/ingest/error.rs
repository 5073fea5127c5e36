//! Why a transcript is not caught up, and why its state cannot be had.

use longhaul_core::fold::FoldError;
use longhaul_store::StoreError;

/// Why a sync did not reach what was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SyncError {
    /// No transcript of that thread, or none at that path.
    #[error("no transcript found for {0}")]
    NotFound(String),
    /// The path lies outside all folders that are read.
    #[error("{0} is outside the folders that are read")]
    Outside(String),
    /// The time is up; ingesting goes on.
    #[error("not caught up in time")]
    Deadline,
    /// The file cannot be read or the store refuses it.
    #[error("{0}")]
    Failed(String),
    /// The store has no room for what was read; it is tried again.
    #[error("{0}")]
    DiskFull(String),
    #[error("ingesting is stopping")]
    Stopping,
}

impl SyncError {
    /// What the store's refusal is to those who wait for what was read.
    pub(crate) fn refused(error: &StoreError) -> Self {
        match error {
            StoreError::DiskFull { .. } => Self::DiskFull(error.to_string()),
            _ => Self::Failed(error.to_string()),
        }
    }
}

/// Why a fold could not be had.
#[derive(Debug, thiserror::Error)]
pub enum FoldLoadError {
    /// The store cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Another version saved it; the file is being folded anew.
    #[error(transparent)]
    Fold(#[from] FoldError),
    /// The transcript cannot be read.
    #[error("{path}: {cause}")]
    Transcript { path: String, cause: std::io::Error },
    #[error("interrupted")]
    Interrupted,
}
