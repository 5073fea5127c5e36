//! The only descriptor of a database besides SQLite's own.
//!
//! # Theory of operation
//! When a process closes any descriptor of a file, POSIX drops all its locks on that file, including SQLite's. Another
//! process that then opens and closes the database would consider itself the last one and delete a log that is still
//! in use. So pages are read through one shared descriptor per database. Every connection pool holds it, and it is
//! closed after the last of them.

use std::collections::BTreeMap;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// Open descriptors by device and inode.
static OPEN: Mutex<BTreeMap<(u64, u64), Weak<File>>> = Mutex::new(BTreeMap::new());

/// The descriptor of an existing database. Shared, so read only at explicit offsets.
pub(crate) fn of(database: &Path) -> io::Result<Arc<File>> {
    let identity = |found: &Metadata| (found.dev(), found.ino());
    let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    open.retain(|_, file| file.strong_count() > 0);
    let known = open.get(&identity(&fs::metadata(database)?)).and_then(Weak::upgrade);
    if let Some(file) = known {
        return Ok(file);
    }
    let file = Arc::new(OpenOptions::new().read(true).write(true).open(database)?);
    open.insert(identity(&file.metadata()?), Arc::downgrade(&file));
    Ok(file)
}
