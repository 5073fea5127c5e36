//! Errors of catching up a transcript and of loading its fold.

use longhaul_core::fold::FoldError;
use longhaul_store::StoreError;

/// Why a sync failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SyncError {
    /// No transcript of that thread or at that path.
    #[error("no transcript found for {0}")]
    NotFound(String),
    /// The path is outside all configured folders.
    #[error("{0} is outside the folders that are read")]
    Outside(String),
    /// The timeout expired; ingestion continues.
    #[error("not caught up in time")]
    Deadline,
    /// The file cannot be read, or the store refuses it.
    #[error("{0}")]
    Failed(String),
    /// The disk is full; the batch is retried.
    #[error("{0}")]
    DiskFull(String),
    #[error("ingesting is stopping")]
    Stopping,
}

impl SyncError {
    /// Converts a refusal of the store for callers that wait for a file.
    pub(crate) fn refused(error: &StoreError) -> Self {
        match error {
            StoreError::DiskFull { .. } => Self::DiskFull(error.to_string()),
            _ => Self::Failed(error.to_string()),
        }
    }
}

/// Why a fold cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub enum FoldLoadError {
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Another version saved it; the file is being folded again.
    #[error(transparent)]
    Fold(#[from] FoldError),
    /// There is nothing to fold: the archive does not have it either.
    #[error("the transcript {path} is gone")]
    Gone { path: String },
    #[error("{path}: {cause}")]
    Transcript { path: String, cause: std::io::Error },
    #[error("interrupted")]
    Interrupted,
}
