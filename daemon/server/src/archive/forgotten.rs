//! Threads not to archive, apart from the index: that can be rebuilt, and this must survive it.
//!
//! Each is an empty file in the folder `forgotten`. Its name is the SHA-256 of the thread's id, so it does not reveal the
//! thread. It is made before anything of the thread is deleted, and stays forever. Until no byte of the thread is left, a
//! second file is next to it (`HASH.unfinished`), and the next start continues.

use std::collections::HashSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use longhaul_core::digest::ContentHash;

use crate::folder::make_synced;

/// In the archive's folder.
const FOLDER: &str = "forgotten";

/// After the name of a thread of which bytes may be left.
const UNFINISHED: &str = ".unfinished";

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
    pub fn read(archive: &Path) -> io::Result<Self> {
        let mut threads = Self::default();
        let entries = match fs::read_dir(archive.join(FOLDER)) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(threads),
            entries => entries?,
        };
        for entry in entries {
            let Ok(mut name) = entry?.file_name().into_string() else { continue };
            if let Some(unfinished) = name.strip_suffix(UNFINISHED) {
                name = unfinished.to_owned();
                threads.unfinished.insert(name.clone());
            }
            threads.names.insert(name);
        }
        Ok(threads)
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

    pub fn count(&self) -> u64 {
        self.names.len() as u64
    }

    /// Adds a thread, or marks it as unfinished again; durably. Blocking.
    pub fn add(archive: &Path, thread_id: &str) -> io::Result<()> {
        add_names(archive, &[name_of(thread_id)])
    }

    /// Records that no byte of these threads is left. If a power cut undoes that, the next start looks once more. Blocking.
    pub fn finish(&self, archive: &Path) -> io::Result<()> {
        let folder = archive.join(FOLDER);
        let mut files =
            self.unfinished.iter().map(|name| folder.join(format!("{name}{UNFINISHED}")));
        files.try_for_each(fs::remove_file)
    }
}

fn add_names(archive: &Path, names: &[String]) -> io::Result<()> {
    let folder = archive.join(FOLDER);
    make_synced(&folder)?;
    for name in names {
        for file in [format!("{name}{UNFINISHED}"), name.clone()] {
            OpenOptions::new().create(true).append(true).mode(0o600).open(folder.join(file))?;
        }
    }
    File::open(folder)?.sync_all()
}

/// Turns the lists of builds before this one into files, once. The next start looks for bytes of all these threads. Blocking.
pub(super) fn convert_lists(archive: &Path) -> io::Result<()> {
    let lists = ["forgotten.list", "forgotten.copy"].map(|name| archive.join(name));
    if archive.join(FOLDER).is_file() {
        fs::rename(archive.join(FOLDER), &lists[0])?;
    }
    for list in lists.iter().filter(|list| list.exists()) {
        let text = String::from_utf8_lossy(&fs::read(list)?).into_owned();
        let names = text.lines().filter_map(|line| line.get(..64));
        let is_name = |name: &&str| name.bytes().all(|byte| byte.is_ascii_hexdigit());
        add_names(archive, &names.filter(is_name).map(str::to_owned).collect::<Vec<_>>())?;
        fs::remove_file(list)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(archive: &Path) -> ForgottenThreads {
        ForgottenThreads::read(archive).unwrap()
    }

    #[test]
    fn a_thread_stays_forgotten_after_its_bytes_are_erased() {
        let archive = tempfile::tempdir().unwrap();
        assert!(read(archive.path()).is_empty(), "no folder yet");
        ForgottenThreads::add(archive.path(), "a-thread").unwrap();
        let begun = read(archive.path());
        assert!(begun.has("a-thread") && !begun.has("another"));
        assert!(begun.is_unfinished("a-thread") && begun.is_any_unfinished());
        assert!(begun.names.iter().all(|name| !name.contains("a-thread")), "not by its id");
        begun.finish(archive.path()).unwrap();
        let erased = read(archive.path());
        assert!(erased.has("a-thread") && !erased.is_any_unfinished());
        ForgottenThreads::add(archive.path(), "a-thread").unwrap();
        assert!(read(archive.path()).is_unfinished("a-thread"), "an older index had it");
    }

    #[test]
    fn either_file_of_a_thread_is_enough() {
        let archive = tempfile::tempdir().unwrap();
        for thread_id in ["one", "two"] {
            ForgottenThreads::add(archive.path(), thread_id).unwrap();
        }
        let folder = archive.path().join(FOLDER);
        fs::remove_file(folder.join(name_of("one"))).unwrap();
        fs::remove_file(folder.join(format!("{}{UNFINISHED}", name_of("two")))).unwrap();
        let listed = read(archive.path());
        assert!(listed.has("one") && listed.is_unfinished("one"));
        assert!(listed.has("two") && !listed.is_unfinished("two"));
    }

    #[test]
    fn the_lists_of_an_older_build_become_files() {
        let archive = tempfile::tempdir().unwrap();
        let [one, two] = ["one", "two"].map(name_of);
        let checked = "0123456789abcdef";
        let text = format!("\n{one} {checked}\n\n{one} erased {checked}\n{}", &two[..20]);
        fs::write(archive.path().join(FOLDER), text).unwrap();
        fs::write(
            archive.path().join("forgotten.copy"),
            format!("{}\n{two}\n", "\u{fffd}".repeat(30)),
        )
        .unwrap();
        for _ in 0..2 {
            convert_lists(archive.path()).unwrap();
            let listed = read(archive.path());
            assert!(listed.has("one") && listed.is_unfinished("two"));
            assert_eq!(listed.names.len(), 2, "neither the torn line nor the damaged one");
        }
        assert_eq!(fs::read_dir(archive.path()).unwrap().count(), 1, "the lists are gone");
    }
}
