//! Threads not to archive, in a separate list: the index can be rebuilt, but this list must survive that.
//!
//! A line is the SHA-256 of a thread's id, so the list does not reveal which threads were forgotten. It is written before
//! anything of the thread is deleted; when no byte of it is left, a second line says so (`HASH erased`). After a crash in
//! between, the next start continues.
//!
//! *Damage*: each line ends with a check, and the list is in two files. A line that one of them has counts, and the damaged
//! file is written anew. A line that is damaged in both is lost: its thread may be archived again, which the status
//! reports as long as the damaged line is there. Lists of older versions have no checks and one file.

use std::collections::{BTreeMap, HashSet};
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use longhaul_core::digest::ContentHash;

use crate::folder;

/// Both have the same lines.
const FILES: [&str; 2] = ["forgotten", "forgotten.copy"];

/// A file that is being written anew.
const PART: &str = "forgotten.part";

/// After the name of a thread of which no byte is left.
const ERASED: &str = " erased";

/// Characters of a name, and of the check behind it.
const NAME_CHARS: usize = 64;
const CHECK_CHARS: usize = 16;

/// The forgotten threads.
#[derive(Debug, Default)]
pub struct ForgottenThreads {
    names: HashSet<String>,
    unfinished: HashSet<String>,
    lost: u64,
    is_sound: bool,
}

fn name_of(thread_id: &str) -> String {
    ContentHash::of(thread_id.as_bytes()).as_str().to_owned()
}

impl ForgottenThreads {
    /// Blocking.
    pub fn read(folder: &Path) -> io::Result<Self> {
        let [first, second] = FILES.map(|file| ListFile::read(&folder.join(file)));
        let (first, second) = match (first, second) {
            (Err(error), Err(_)) => return Err(error),
            (first, second) => (first.unwrap_or_default(), second.unwrap_or_default()),
        };
        let mut list = Self { lost: lost(&first, &second), ..Self::default() };
        list.is_sound = first.is_sound && second.is_sound && first.lines == second.lines;
        for file in [first, second] {
            // The last line of a thread counts.
            let is_erased: BTreeMap<String, bool> = file.lines.into_iter().flatten().collect();
            let unfinished = is_erased.iter().filter(|(_, is_erased)| !**is_erased);
            list.unfinished.extend(unfinished.map(|(name, _)| name.clone()));
            list.names.extend(is_erased.into_keys());
        }
        Ok(list)
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

    /// Lines that are damaged in both files.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Adds a thread, or marks it as unfinished again; durably. Blocking.
    pub fn add(&self, folder: &Path, thread_id: &str) -> io::Result<()> {
        match self.is_unfinished(thread_id) {
            true => Ok(()),
            false => self.append(folder, &format!("\n{}\n", line(&name_of(thread_id), false))),
        }
    }

    /// Records that no byte of these threads is left. Blocking.
    pub fn finish(&self, folder: &Path) -> io::Result<()> {
        let lines = self.unfinished.iter().map(|name| format!("\n{}\n", line(name, true)));
        self.append(folder, &lines.collect::<String>())
    }

    /// Appends lines. The first newline ends a line that a crash left half written.
    fn append(&self, folder: &Path, lines: &str) -> io::Result<()> {
        self.repair(folder)?;
        for name in FILES {
            let path = folder.join(name);
            let mut file = OpenOptions::new().create(true).append(true).mode(0o600).open(path)?;
            file.write_all(lines.as_bytes())?;
            file.sync_all()?;
        }
        File::open(folder)?.sync_all()
    }

    /// Writes both files anew if one of them is damaged, of an older version or behind the other. If a line is lost, both
    /// stay as they are. Blocking.
    pub fn repair(&self, folder: &Path) -> io::Result<()> {
        if self.is_sound || self.lost > 0 || self.names.is_empty() {
            return Ok(());
        }
        let mut names: Vec<&String> = self.names.iter().collect();
        names.sort_unstable();
        let line = |name: &String| format!("{}\n", line(name, !self.unfinished.contains(name)));
        let text: String = names.into_iter().map(line).collect();
        for name in FILES {
            let write = |file: &mut File| file.write_all(text.as_bytes());
            folder::replace(&folder.join(name), &folder.join(PART), write)?;
        }
        Ok(())
    }
}

/// Names in the order of their lines, and whether they are erased; `None` for a damaged line.
type ListLines = Vec<Option<(String, bool)>>;

/// One of the two files.
#[derive(Default)]
struct ListFile {
    lines: ListLines,
    /// Whether each line has a valid check.
    is_sound: bool,
}

impl ListFile {
    fn read(path: &Path) -> io::Result<Self> {
        let text = match fs::read(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Self::default()),
            text => text?,
        };
        let (mut lines, mut is_sound) = (Vec::new(), true);
        for text in text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            let parsed = parse(text);
            is_sound &= parsed
                .as_ref()
                .is_some_and(|(name, is_erased)| line(name, *is_erased).as_bytes() == text);
            // A shorter one was torn by a crash before its call had returned.
            if parsed.is_some() || text.len() >= NAME_CHARS {
                lines.push(parsed);
            }
        }
        Ok(Self { lines, is_sound })
    }
}

fn line(name: &str, is_erased: bool) -> String {
    let text = if is_erased { format!("{name}{ERASED}") } else { name.to_owned() };
    format!("{text} {}", check(&text))
}

fn check(text: &str) -> String {
    ContentHash::of(text.as_bytes()).as_str().chars().take(CHECK_CHARS).collect()
}

/// The name of a line and whether it is erased; `None` if the line is damaged.
fn parse(line: &[u8]) -> Option<(String, bool)> {
    let line = std::str::from_utf8(line).ok()?;
    let text = match line.rsplit_once(' ') {
        Some((text, end)) if end == check(text) => text,
        // Of an older version, or torn by a crash after the name.
        _ => line,
    };
    let (name, is_erased) = text.strip_suffix(ERASED).map_or((text, false), |name| (name, true));
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let is_name = name.len() == NAME_CHARS && name.bytes().all(is_digit);
    is_name.then(|| (name.to_owned(), is_erased))
}

/// Lines that neither file has.
fn lost(first: &ListFile, second: &ListFile) -> u64 {
    let damaged = |file: &ListFile| file.lines.iter().filter(|line| line.is_none()).count();
    let lost = match (first.lines.len(), second.lines.len()) {
        (0, _) | (_, 0) => damaged(first).max(damaged(second)),
        (one, other) if one == other => {
            let both = first.lines.iter().zip(&second.lines);
            both.filter(|lines| matches!(lines, (None, None))).count()
        }
        // It is unknown which lines belong together.
        _ => damaged(first).min(damaged(second)),
    };
    lost as u64
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
        for path in FILES.map(|file| folder.path().join(file)) {
            let text = fs::read_to_string(&path).unwrap();
            assert_eq!(text.matches(&name_of("a-thread")).count(), 1);
            assert!(!text.contains("a-thread"), "{text}");
            let mode = fs::metadata(&path).unwrap().mode();
            assert_eq!(mode & 0o777, 0o600, "only its owner reads it");
        }
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
        fs::write(folder.path().join(FILES[0]), &name_of("torn")[..20]).unwrap();
        read(folder.path()).add(folder.path(), "a-thread").unwrap();
        let listed = read(folder.path());
        assert!(listed.has("a-thread") && !listed.has("torn"));
        assert_eq!(listed.lost(), 0, "its call had not returned");
        listed.finish(folder.path()).unwrap();
        assert!(!read(folder.path()).is_any_unfinished());
    }

    /// A folder with three forgotten threads, of which `three` is not erased.
    fn three() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for thread_id in ["one", "two"] {
            read(folder.path()).add(folder.path(), thread_id).unwrap();
        }
        read(folder.path()).finish(folder.path()).unwrap();
        read(folder.path()).add(folder.path(), "three").unwrap();
        folder
    }

    #[test]
    fn a_flipped_bit_loses_no_name_and_is_repaired() {
        let folder = three();
        let path = folder.path().join(FILES[0]);
        let before = fs::read(&path).unwrap();
        for bit in (0..before.len() * 8).step_by(29) {
            let mut flipped = before.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            fs::write(&path, &flipped).unwrap();
            let listed = read(folder.path());
            for thread_id in ["one", "two", "three"] {
                assert!(listed.has(thread_id), "{thread_id}, bit {bit}");
            }
            assert!(listed.is_unfinished("three"), "bit {bit}");
            assert_eq!((listed.names.len(), listed.lost()), (3, 0), "bit {bit}");
            listed.repair(folder.path()).unwrap();
            assert!(read(folder.path()).is_sound, "bit {bit}");
            for file in FILES {
                fs::write(folder.path().join(file), &before).unwrap();
            }
        }
    }

    #[test]
    fn a_line_that_is_damaged_in_both_files_is_reported_until_it_is_removed() {
        let folder = three();
        for file in FILES.map(|file| folder.path().join(file)) {
            let mut text = fs::read(&file).unwrap();
            text[9] |= 0x80;
            fs::write(&file, text).unwrap();
        }
        let listed = read(folder.path());
        assert_eq!(listed.lost(), 1);
        assert!(listed.has("three") && listed.has("two"));
        listed.repair(folder.path()).unwrap();
        listed.add(folder.path(), "four").unwrap();
        let listed = read(folder.path());
        assert!(listed.has("four") && listed.lost() == 1);
    }

    #[test]
    fn a_list_of_an_older_version_is_read_and_gets_checks() {
        let folder = tempfile::tempdir().unwrap();
        let [one, two] = ["one", "two"].map(name_of);
        let text = format!("\n{one}\n\n{two}\n\n{one} erased\n");
        fs::write(folder.path().join(FILES[0]), text).unwrap();
        for _ in 0..2 {
            let listed = read(folder.path());
            assert!(listed.has("one") && !listed.is_unfinished("one"));
            assert!(listed.is_unfinished("two") && listed.lost() == 0);
            listed.repair(folder.path()).unwrap();
        }
        assert!(read(folder.path()).is_sound);
        fs::remove_file(folder.path().join(FILES[0])).unwrap();
        assert!(read(folder.path()).has("two"), "the other file has it");
    }
}
