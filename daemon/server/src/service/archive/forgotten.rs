//! Threads that are not to be archived, in a file of its own: the index may be made anew, and this may not be lost.
//!
//! A line is the SHA-256 of a thread's id, so that the file itself does not name what was forgotten.

use std::collections::HashSet;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use longhaul_core::digest::ContentHash;

const FILE: &str = "forgotten";

pub(super) fn name_of(thread_id: &str) -> String {
    ContentHash::of(thread_id.as_bytes()).as_str().to_owned()
}

/// The names of all of them. Blocking.
pub(super) fn read(folder: &Path) -> io::Result<HashSet<String>> {
    match std::fs::read_to_string(folder.join(FILE)) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(HashSet::new()),
        text => Ok(text?.lines().map(str::to_owned).collect()),
    }
}

/// Adds a thread; it is on the disk when this returns. Blocking.
pub(super) fn add(folder: &Path, thread_id: &str) -> io::Result<()> {
    let name = name_of(thread_id);
    if read(folder)?.contains(&name) {
        return Ok(());
    }
    let path = folder.join(FILE);
    let mut file = OpenOptions::new().create(true).append(true).mode(0o600).open(path)?;
    // The newline before it ends a line that a crash left half written.
    file.write_all(format!("\n{name}\n").as_bytes())?;
    file.sync_all()?;
    File::open(folder)?.sync_all()
}
