//! What can go wrong with the database, and who must act.

use std::path::{Path, PathBuf};

/// What a caller does about an error, in order of rising effort.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetryClass {
    /// The same request fails again; a person or the caller must change something.
    Never,
    /// State differs from what the caller thought: read again, then decide anew.
    Refresh,
    /// The same request may succeed a little later.
    Backoff,
}

/// An error of the store, with the database it happened in.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Another process kept the write lock longer than [`crate::BUSY_TIMEOUT_MS`].
    #[error("the database {path} is locked by another process")]
    Busy {
        /// The database.
        path: PathBuf,
    },
    /// No room on the device; nothing of the call was stored.
    #[error("no space left for the database {path}")]
    DiskFull {
        /// The database.
        path: PathBuf,
    },
    /// The file is not a sound database; [`crate::Store::recover`] moves it aside.
    #[error("the database {path} is corrupt: {detail}")]
    Corrupt {
        /// The database.
        path: PathBuf,
        /// What SQLite or the check said.
        detail: String,
    },
    /// Written by a newer longhauld; this one would damage it.
    #[error(
        "the database {path} has schema {found}, this longhauld knows up to {known}: update longhauld"
    )]
    SchemaTooNew {
        /// The database.
        path: PathBuf,
        /// Version in the file.
        found: u32,
        /// Newest version known here.
        known: u32,
    },
    /// The file or its folder cannot be read or written by this user.
    #[error("the database {path} cannot be opened or written: {detail}")]
    Access {
        /// The database.
        path: PathBuf,
        /// What the system said.
        detail: String,
    },
    /// Reading or writing failed in the device or the file system.
    #[error("input/output error in the database {path}: {detail}")]
    Io {
        /// The database.
        path: PathBuf,
        /// What the system said.
        detail: String,
    },
    /// A stored page, head or update is not what this version writes; re-ingesting repairs it.
    #[error("a stored {what} cannot be read: {detail}")]
    Undecodable {
        /// Kind of value.
        what: &'static str,
        /// What the parser said.
        detail: String,
    },
    /// The run that made it does not own its job any more; nothing was stored.
    #[error("nothing was stored: {0}")]
    Fenced(longhaul_core::job::Lost),
    /// The store was closed.
    #[error("the database {path} is closed")]
    Closed {
        /// The database.
        path: PathBuf,
    },
    /// Anything else: a fault in this program.
    #[error("unexpected database error in {path}: {source}")]
    Internal {
        /// The database.
        path: PathBuf,
        /// The cause.
        source: sqlx::Error,
    },
}

impl StoreError {
    /// What the caller does about it.
    pub fn retry_class(&self) -> RetryClass {
        match self {
            Self::Busy { .. } | Self::Io { .. } => RetryClass::Backoff,
            Self::Undecodable { .. } | Self::Fenced(_) => RetryClass::Refresh,
            Self::DiskFull { .. }
            | Self::Corrupt { .. }
            | Self::SchemaTooNew { .. }
            | Self::Access { .. }
            | Self::Closed { .. }
            | Self::Internal { .. } => RetryClass::Never,
        }
    }

    /// Sorts an error of sqlx by SQLite's primary result code.
    pub(crate) fn sorted(path: &Path, error: sqlx::Error) -> Self {
        let path = path.to_owned();
        match &error {
            sqlx::Error::PoolClosed => return Self::Closed { path },
            sqlx::Error::PoolTimedOut => return Self::Busy { path },
            sqlx::Error::Io(cause) => {
                return Self::Access { path, detail: cause.to_string() };
            }
            _ => {}
        }
        let Some(database) = error.as_database_error() else {
            return Self::Internal { path, source: error };
        };
        let code = database.code().and_then(|code| code.parse::<u32>().ok()).unwrap_or(1);
        let detail = database.message().to_owned();
        match code & 0xff {
            5 | 6 => Self::Busy { path },
            13 => Self::DiskFull { path },
            11 | 26 => Self::Corrupt { path, detail },
            3 | 8 | 14 | 23 => Self::Access { path, detail },
            10 => Self::Io { path, detail },
            _ => Self::Internal { path, source: error },
        }
    }
}
