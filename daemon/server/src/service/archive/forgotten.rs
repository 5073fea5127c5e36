//! Threads not to archive, in a separate file: the index can be rebuilt, but this list must survive that.
//!
//! A line is the SHA-256 of a thread's id, so the file does not reveal which threads were forgotten.

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

/// The names of all forgotten threads. Blocking.
pub(super) fn read(folder: &Path) -> io::Result<HashSet<String>> {
    match std::fs::read_to_string(folder.join(FILE)) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(HashSet::new()),
        text => Ok(text?.lines().map(str::to_owned).collect()),
    }
}

/// Adds a thread, durably. Blocking.
pub(super) fn add(folder: &Path, thread_id: &str) -> io::Result<()> {
    let name = name_of(thread_id);
    if read(folder)?.contains(&name) {
        return Ok(());
    }
    let path = folder.join(FILE);
    let mut file = OpenOptions::new().create(true).append(true).mode(0o600).open(path)?;
    // The leading newline ends a line that a crash left half written.
    file.write_all(format!("\n{name}\n").as_bytes())?;
    file.sync_all()?;
    File::open(folder)?.sync_all()
}
