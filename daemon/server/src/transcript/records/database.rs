//! Sessions in database rows. A session's path is the database's path followed by the session id.

use std::collections::HashSet;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use longhaul_store::{FileStat, SessionDatabase, SessionState, StoreError};
use tokio::runtime::Handle;

use super::StoredSession;

/// Suffixes of SQLite's log and its index.
const COMPANIONS: [&str; 2] = ["-wal", "-shm"];

/// The database that a file belongs to: itself, or the one whose log it is.
pub(crate) fn database_of(path: &Path) -> Option<PathBuf> {
    let path = path.to_str()?;
    let name = COMPANIONS.iter().find_map(|end| path.strip_suffix(end)).unwrap_or(path);
    name.ends_with(".db").then(|| PathBuf::from(name))
}

/// The sessions of a database with their states: all, or those written to last.
pub(crate) fn sessions_of(path: &Path, is_recent: bool) -> io::Result<Vec<SessionState>> {
    fs::symlink_metadata(path)?;
    let database = SessionDatabase::at(path);
    match is_recent {
        true => wait(database.recent()),
        false => wait(database.sessions()),
    }
}

/// The ids of a database's sessions.
pub(in crate::transcript) fn ids_of(path: &Path) -> io::Result<HashSet<String>> {
    Ok(wait(SessionDatabase::at(path).ids())?.into_iter().collect())
}

pub(super) fn stat(path: &Path) -> io::Result<Option<FileStat>> {
    let Some((database, id)) = split(path) else { return Ok(None) };
    Ok(wait(database.session(id))?.map(|state| state.stat))
}

pub(super) fn read(path: &Path, bytes_max: u64) -> io::Result<Option<StoredSession>> {
    let Some((database, id)) = split(path) else { return Ok(None) };
    let content = wait(database.content(id, bytes_max))?;
    Ok(content.map(|content| StoredSession { stat: content.state.stat, session: content.records }))
}

/// `None` if the database does not exist.
fn split(path: &Path) -> Option<(SessionDatabase, &str)> {
    let (database, id) = (path.parent()?, path.file_name()?.to_str()?);
    database.is_file().then(|| (SessionDatabase::at(database), id))
}

/// Transcripts are read on blocking threads; the database answers from its own thread.
fn wait<T>(answer: impl Future<Output = Result<T, StoreError>>) -> io::Result<T> {
    let runtime = Handle::try_current().map_err(io::Error::other)?;
    runtime.block_on(answer).map_err(|error| match error {
        StoreError::Busy { .. } => io::Error::new(ErrorKind::ResourceBusy, error),
        error => io::Error::other(error),
    })
}
