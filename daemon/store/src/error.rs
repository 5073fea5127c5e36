//! Database errors and how to react to them.

use std::io;
use std::path::{Path, PathBuf};

/// How a caller should react.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetryClass {
    /// Retrying fails again; a person or the caller must change something.
    Never,
    /// The caller's view is outdated: read again, then decide.
    Refresh,
    /// A later retry may succeed.
    Backoff,
}

/// An error of the store, with the database it happened in.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A reader or writer, mostly of another process, did not end within [`crate::BUSY_TIMEOUT_MS`].
    #[error("the database {path} is in use by another reader or writer")]
    Busy { path: PathBuf },
    /// No space left; the call stored nothing.
    #[error("no space left for the database {path}")]
    DiskFull { path: PathBuf },
    /// The file is not a sound database; [`crate::Database::recover`] moves it aside.
    #[error("the database {path} is corrupt: {detail}")]
    Corrupt {
        path: PathBuf,
        /// From SQLite or the check.
        detail: String,
    },
    /// Written by a newer longhauld, which this one would damage.
    #[error(
        "the database {path} has schema {found}, this longhauld knows up to {known}: update longhauld"
    )]
    SchemaTooNew {
        path: PathBuf,
        found: u32,
        /// Newest version known here.
        known: u32,
    },
    /// Of a version that is not migrated any more; opening the database moves it aside.
    #[error("the database {path} is of an older version: its schema is {found}")]
    SchemaTooOld { path: PathBuf, found: u32 },
    /// The file or its folder cannot be read or written by this user.
    #[error("the database {path} cannot be opened or written: {detail}")]
    Access { path: PathBuf, detail: String },
    /// Reading or writing failed in the device or the file system.
    #[error("input/output error in the database {path}: {detail}")]
    Io { path: PathBuf, detail: String },
    /// A stored value has an unknown format; re-ingesting repairs it.
    #[error("a stored {what} cannot be read: {detail}")]
    Undecodable { what: &'static str, detail: String },
    /// The run no longer owns its job; nothing was stored.
    #[error("nothing was stored: {0}")]
    Fenced(longhaul_core::job::LeaseLost),
    /// The thread was erased in the meantime; nothing was stored.
    #[error("nothing was stored: the thread {thread_id} was forgotten")]
    Erased { thread_id: String },
    #[error("the database {path} is closed")]
    Closed { path: PathBuf },
    /// Anything else: a bug in this program.
    #[error("unexpected database error in {path}: {source}")]
    Internal { path: PathBuf, source: sqlx::Error },
}

impl StoreError {
    /// The error of a file that cannot be read or written.
    pub fn access(path: &Path, error: &io::Error) -> Self {
        Self::Access { path: path.to_owned(), detail: error.to_string() }
    }

    pub fn retry_class(&self) -> RetryClass {
        match self {
            Self::Busy { .. } | Self::Io { .. } => RetryClass::Backoff,
            Self::Undecodable { .. } | Self::Fenced(_) => RetryClass::Refresh,
            Self::DiskFull { .. }
            | Self::Corrupt { .. }
            | Self::SchemaTooNew { .. }
            | Self::SchemaTooOld { .. }
            | Self::Access { .. }
            | Self::Erased { .. }
            | Self::Closed { .. }
            | Self::Internal { .. } => RetryClass::Never,
        }
    }

    /// Whether a retry may succeed after a change of the disk or of another process.
    pub fn may_pass(&self) -> bool {
        matches!(
            self,
            Self::Busy { .. }
                | Self::Io { .. }
                | Self::DiskFull { .. }
                | Self::Access { .. }
                | Self::Corrupt { .. }
        )
    }

    /// Classifies an error of sqlx by SQLite's primary result code.
    pub(crate) fn classify(path: &Path, error: sqlx::Error) -> Self {
        let path = path.to_owned();
        match &error {
            sqlx::Error::PoolClosed => return Self::Closed { path },
            sqlx::Error::PoolTimedOut => return Self::Busy { path },
            sqlx::Error::Io(cause) => return Self::access(&path, cause),
            _ => {}
        }
        let Some(database) = error.as_database_error() else {
            return Self::Internal { path, source: error };
        };
        let code = database.code().unwrap_or_default();
        let detail = format!("{} (SQLite's code {code})", database.message());
        match primary_code(&error).unwrap_or(1) {
            5 | 6 => Self::Busy { path },
            13 => Self::DiskFull { path },
            11 | 26 => Self::Corrupt { path, detail },
            3 | 8 | 14 | 23 => Self::Access { path, detail },
            10 => Self::Io { path, detail },
            _ => Self::Internal { path, source: error },
        }
    }
}

/// SQLite's primary result code of an error.
pub(crate) fn primary_code(error: &sqlx::Error) -> Option<u32> {
    let code: u32 = error.as_database_error()?.code()?.parse().ok()?;
    Some(code & 0xff)
}
