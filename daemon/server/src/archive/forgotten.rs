//! Threads not to archive, in a separate file: the index can be rebuilt, but this list must survive that.
//!
//! A line is the SHA-256 of a thread's id, so the file does not reveal which threads were forgotten. It is written before
//! anything of the thread is deleted; when no byte of it is left, a second line says so (`HASH erased`). After a crash in
//! between, the next start continues.

use std::collections::HashSet;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use longhaul_core::digest::ContentHash;

const FILE: &str = "forgotten";

/// After the name of a thread of which no byte is left.
const ERASED: &str = " erased";

/// The forgotten threads.
#[derive(Debug, Default)]
pub struct ForgottenThreads {
    names: HashSet<String>,
    unfinished: HashSet<String>,
}

fn name_of(thread_id: &str) -> String {
    ContentHash::of(thread_id.as_bytes()).as_str().to_owned()
}

impl ForgottenThreads {
    /// Blocking.
    pub fn read(folder: &Path) -> io::Result<Self> {
        let text = match std::fs::read_to_string(folder.join(FILE)) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Self::default()),
            text => text?,
        };
        let (mut names, mut unfinished) = (HashSet::new(), HashSet::new());
        for line in text.lines().filter(|line| !line.is_empty()) {
            if let Some(name) = line.strip_suffix(ERASED) {
                unfinished.remove(name);
            } else {
                names.insert(line.to_owned());
                unfinished.insert(line.to_owned());
            }
        }
        Ok(Self { names, unfinished })
    }

    pub fn has(&self, thread_id: &str) -> bool {
        !self.names.is_empty() && self.names.contains(&name_of(thread_id))
    }

    /// Whether the archive may still contain bytes of this thread.
    pub fn is_unfinished(&self, thread_id: &str) -> bool {
        self.unfinished.contains(&name_of(thread_id))
    }

    /// Whether it may still contain bytes of any of them.
    pub fn is_any_unfinished(&self) -> bool {
        !self.unfinished.is_empty()
    }

    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Adds a thread, or marks it as unfinished again; durably. Blocking.
    pub fn add(&self, folder: &Path, thread_id: &str) -> io::Result<()> {
        match self.is_unfinished(thread_id) {
            true => Ok(()),
            false => append(folder, &format!("\n{}\n", name_of(thread_id))),
        }
    }

    /// Records that no byte of these threads is left. Blocking.
    pub fn finish(&self, folder: &Path) -> io::Result<()> {
        let lines: String =
            self.unfinished.iter().map(|name| format!("\n{name}{ERASED}\n")).collect();
        append(folder, &lines)
    }
}

/// Appends lines. The first newline ends a line that a crash left half written.
fn append(folder: &Path, lines: &str) -> io::Result<()> {
    let path = folder.join(FILE);
    let mut file = OpenOptions::new().create(true).append(true).mode(0o600).open(path)?;
    file.write_all(lines.as_bytes())?;
    file.sync_all()?;
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt as _;

    use super::*;

    fn read(folder: &Path) -> ForgottenThreads {
        ForgottenThreads::read(folder).unwrap()
    }

    #[test]
    fn a_forgotten_thread_is_listed_once_and_not_by_its_id() {
        let folder = tempfile::tempdir().unwrap();
        assert!(read(folder.path()).is_empty(), "no file yet");
        for thread_id in ["a-thread", "another", "a-thread"] {
            read(folder.path()).add(folder.path(), thread_id).unwrap();
        }
        let listed = read(folder.path());
        assert!(listed.has("a-thread") && listed.has("another") && !listed.has("a third"));
        let text = std::fs::read_to_string(folder.path().join(FILE)).unwrap();
        assert_eq!(text.matches(&name_of("a-thread")).count(), 1);
        assert!(!text.contains("a-thread"), "{text}");
        let mode = std::fs::metadata(folder.path().join(FILE)).unwrap().mode();
        assert_eq!(mode & 0o777, 0o600, "only its owner reads it");
    }

    #[test]
    fn a_thread_stays_forgotten_after_its_bytes_are_erased() {
        let folder = tempfile::tempdir().unwrap();
        read(folder.path()).add(folder.path(), "a-thread").unwrap();
        let begun = read(folder.path());
        assert!(begun.is_unfinished("a-thread") && begun.is_any_unfinished());
        begun.finish(folder.path()).unwrap();
        let erased = read(folder.path());
        assert!(erased.has("a-thread") && !erased.is_any_unfinished());
        erased.add(folder.path(), "a-thread").unwrap();
        assert!(read(folder.path()).is_unfinished("a-thread"), "an older index had it");
    }

    #[test]
    fn a_line_torn_by_a_crash_hides_no_later_one() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(FILE), &name_of("torn")[..20]).unwrap();
        read(folder.path()).add(folder.path(), "a-thread").unwrap();
        let listed = read(folder.path());
        assert!(listed.has("a-thread") && !listed.has("torn"));
        listed.finish(folder.path()).unwrap();
        assert!(!read(folder.path()).is_any_unfinished());
    }
}
