//! Transcripts that their agent keeps as records: in many files, or in database rows. Their lines are generated
//! from all records; their state (compared by listings) combines the newest record's time and the bytes of all.

mod database;
mod folders;

use std::io::{self, ErrorKind};
use std::path::Path;
use std::sync::Arc;

use longhaul_core::rollout::records::{RecordStorage, Records, SessionRecords};
use longhaul_store::FileStat;

pub(super) use database::ids_of;
pub(crate) use database::{database_of, sessions_of};
pub(crate) use folders::{messages_folder, session_of};

/// Maximum bytes of a transcript that is read as a whole, which is held in memory.
pub(super) const ASSEMBLED_BYTES_MAX: u64 = 256 << 20;

pub(super) fn too_large() -> io::Error {
    io::Error::new(ErrorKind::FileTooLarge, "over 256 MiB, too large to read as a whole")
}

/// The state of a session; `None` if it does not exist. Blocking, on a thread of the runtime.
pub(crate) fn stat(storage: RecordStorage, path: &Path) -> io::Result<Option<FileStat>> {
    match storage {
        RecordStorage::Folders(folders) => folders::stat(folders, path),
        RecordStorage::Database => database::stat(path),
    }
}

/// The lines of a session, and the state in which they were read. Blocking, on a thread of the runtime.
pub(super) fn read(records: Records, path: &Path) -> io::Result<(FileStat, Arc<[u8]>)> {
    let found = match records.storage {
        RecordStorage::Folders(folders) => folders::read(folders, path, ASSEMBLED_BYTES_MAX)?,
        RecordStorage::Database => database::read(path, ASSEMBLED_BYTES_MAX)?,
    };
    let StoredSession { stat, session } = found.ok_or(ErrorKind::NotFound)?;
    let session = session.ok_or_else(too_large)?;
    Ok((stat, (records.lines)(&session).into()))
}

struct StoredSession {
    stat: FileStat,
    /// `None` if it is too large.
    session: Option<SessionRecords>,
}
