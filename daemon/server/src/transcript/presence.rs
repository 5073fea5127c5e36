//! Tells whether transcripts are in their places: as files, or as sessions in a database.

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};

use super::records;

/// Answers for many transcripts: the sessions of a database are listed once.
#[derive(Debug, Default)]
pub(crate) struct Presence {
    databases: HashMap<PathBuf, HashSet<String>>,
}

impl Presence {
    /// Whether the transcript exists; an empty file is none. Blocking, on a thread of the runtime.
    ///
    /// # Errors
    /// It cannot be determined.
    pub(crate) fn has(&mut self, path: &Path) -> io::Result<bool> {
        // Below a file there are no files, only the sessions of a database.
        let database = path.parent().filter(|parent| parent.is_file());
        let (Some(database), Some(id)) = (database, path.file_name()) else {
            return match path.metadata() {
                Ok(meta) => Ok(!meta.is_file() || meta.len() > 0),
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
                Err(error) => Err(error),
            };
        };
        if !self.databases.contains_key(database) {
            self.databases.insert(database.to_owned(), records::ids_of(database)?);
        }
        let ids = self.databases.get(database);
        Ok(ids.zip(id.to_str()).is_some_and(|(ids, id)| ids.contains(id)))
    }

    /// Whether it is certain that the transcript does not exist. Blocking, on a thread of the runtime.
    pub(crate) fn is_gone(&mut self, path: &Path) -> bool {
        matches!(self.has(path), Ok(false))
    }
}
