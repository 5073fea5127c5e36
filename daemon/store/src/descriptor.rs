//! The one descriptor of a database beside SQLite's own.
//!
//! # Theory of operation
//! When a process closes any descriptor of a file, the system drops all locks that the process has on that file, SQLite's
//! among them. Another process that opens and closes the database would then believe to be the last one, and delete a log that is
//! still written. So pages are read through one descriptor for each database, which every pool of
//! connections holds, and which is closed when the last of them is gone.

use std::collections::BTreeMap;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// Those that are open, by device and inode.
static OPEN: Mutex<BTreeMap<(u64, u64), Weak<File>>> = Mutex::new(BTreeMap::new());

/// The descriptor of a database, which must be there. Its position is anybody's: read at offsets.
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
