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

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt as _;

    use super::*;

    #[test]
    fn a_forgotten_thread_is_listed_once_and_not_by_its_id() {
        let folder = tempfile::tempdir().unwrap();
        assert!(read(folder.path()).unwrap().is_empty(), "no file yet");
        for thread_id in ["a-thread", "another", "a-thread"] {
            add(folder.path(), thread_id).unwrap();
        }
        let names = read(folder.path()).unwrap();
        assert!(names.contains(&name_of("a-thread")) && names.contains(&name_of("another")));
        assert!(!names.contains(&name_of("a third")));
        let text = std::fs::read_to_string(folder.path().join(FILE)).unwrap();
        assert_eq!(text.matches(&name_of("a-thread")).count(), 1);
        assert!(!text.contains("a-thread"), "{text}");
        let mode = std::fs::metadata(folder.path().join(FILE)).unwrap().mode();
        assert_eq!(mode & 0o777, 0o600, "only its owner reads it");
    }

    #[test]
    fn a_line_torn_by_a_crash_hides_no_later_one() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(FILE), &name_of("torn")[..20]).unwrap();
        add(folder.path(), "a-thread").unwrap();
        let names = read(folder.path()).unwrap();
        assert!(names.contains(&name_of("a-thread")) && !names.contains(&name_of("torn")));
    }
}
