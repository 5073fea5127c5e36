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
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use tokio::time::{sleep, timeout};

/// Device and inode.
pub(crate) type Identity = (u64, u64);

/// Open descriptors.
static OPEN: Mutex<BTreeMap<Identity, Weak<File>>> = Mutex::new(BTreeMap::new());

/// Maximum wait for SQLite to close a database, and the interval between two looks.
const CLOSED_MAX: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_millis(10);

/// The descriptor of an existing database. Shared, so read only at explicit offsets.
pub(crate) fn of(database: &Path) -> io::Result<Arc<File>> {
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

/// Waits until SQLite has closed its descriptors of a database whose pools are closed, and returns whether it has. A
/// connection that failed is closed by its thread, after its pool. Closing deletes the log by its name, which must not be
/// that of a new database by then: what was written to a deleted log is lost.
pub(crate) async fn closed_by_sqlite(database: Identity) -> bool {
    let closed = async {
        // Descriptors that cannot be listed may be open.
        while is_open_elsewhere(database).unwrap_or(true) {
            sleep(LOOK).await;
        }
    };
    timeout(CLOSED_MAX, closed).await.is_ok()
}

/// Whether this process has a descriptor of a file besides the shared one.
fn is_open_elsewhere(file: Identity) -> io::Result<bool> {
    let open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    let shared = open.get(&file).and_then(Weak::upgrade).map(|shared| shared.as_raw_fd());
    for entry in fs::read_dir("/dev/fd")? {
        let entry = entry?;
        let number = entry.file_name().to_str().and_then(|name| name.parse().ok());
        // One that was closed in the meantime cannot be inspected.
        let is_of_file = || fs::metadata(entry.path()).is_ok_and(|found| identity(&found) == file);
        if number != shared && is_of_file() {
            return Ok(true);
        }
    }
    Ok(false)
}

fn identity(found: &Metadata) -> Identity {
    (found.dev(), found.ino())
}

#[cfg(test)]
mod tests {
    use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
    use sqlx::{Connection as _, Executor as _};

    use super::*;

    #[tokio::test]
    async fn a_database_counts_as_open_until_sqlite_has_closed_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        let options = SqliteConnectOptions::new().filename(&path).create_if_missing(true);
        let mut connection = SqliteConnection::connect_with(&options).await.unwrap();
        connection.execute("CREATE TABLE a (b)").await.unwrap();
        let _shared = of(&path).unwrap();
        let file = identity(&fs::metadata(&path).unwrap());
        assert!(timeout(5 * LOOK, closed_by_sqlite(file)).await.is_err(), "it is open");
        // Dropped, it is closed by its thread.
        drop(connection);
        assert!(closed_by_sqlite(file).await);
    }
}
