//! Transcripts that their agent keeps as records: in many files, or in rows of a database. Their lines are made
//! here of all records, and their state (which a listing compares) is that of the newest record and of all bytes.

mod database;
mod folders;

use std::io::{self, ErrorKind};
use std::path::Path;
use std::sync::Arc;

use longhaul_core::rollout::records::{RecordStorage, Records, SessionRecords};
use longhaul_store::FileStat;

pub(crate) use database::{database_of, sessions_of};
pub(crate) use folders::{messages_folder, session_of};

use super::open::ASSEMBLED_BYTES_MAX;

/// The state of a session; `None` when it is not there. Blocking, on a thread of the runtime.
///
/// # Errors
/// It cannot be looked at.
pub(crate) fn stat(storage: RecordStorage, path: &Path) -> io::Result<Option<FileStat>> {
    match storage {
        RecordStorage::Folders(folders) => folders::stat(folders, path),
        RecordStorage::Database => database::stat(path),
    }
}

/// The lines of a session, and the state they were read in. Blocking, on a thread of the runtime.
///
/// # Errors
/// It is not there, too large, or cannot be read.
pub(super) fn read(records: Records, path: &Path) -> io::Result<(FileStat, Arc<[u8]>)> {
    let found = match records.storage {
        RecordStorage::Folders(folders) => folders::read(folders, path, ASSEMBLED_BYTES_MAX)?,
        RecordStorage::Database => database::read(path, ASSEMBLED_BYTES_MAX)?,
    };
    let StoredSession { stat, session } = found.ok_or(ErrorKind::NotFound)?;
    let session = session.ok_or_else(super::open::too_large)?;
    Ok((stat, (records.lines)(&session).into()))
}

/// A session that was read.
struct StoredSession {
    stat: FileStat,
    /// `None` when it is too large.
    session: Option<SessionRecords>,
}
