//! Sessions in databases, listed again only when the database has changed: a listing asks for the newest row of
//! every session, which is a look at all rows.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use longhaul_store::{DatabaseState, SessionDatabase, SessionState};

use crate::transcript::records::sessions_of;

/// What the last listing of each database found.
#[derive(Debug, Default)]
pub(crate) struct Databases {
    listed: Mutex<HashMap<PathBuf, (DatabaseState, Vec<SessionState>)>>,
}

impl Databases {
    /// All sessions of a database. Blocking, on a thread of the runtime.
    ///
    /// # Errors
    /// It is not there or cannot be read.
    pub(super) fn sessions(&self, path: &Path) -> io::Result<Vec<SessionState>> {
        let state = SessionDatabase::at(path).state()?;
        let lock = || self.listed.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, sessions)) = lock().get(path)
            && *known == state
        {
            return Ok(sessions.clone());
        }
        let sessions = sessions_of(path, false)?;
        lock().insert(path.to_owned(), (state, sessions.clone()));
        Ok(sessions)
    }
}
