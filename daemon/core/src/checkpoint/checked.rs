//! What the disk confirms of a thread's knowledge, item by item, at the moment somebody else takes its work over.

use super::files::FileState;
use super::semantic::Update;
use super::staleness::{self, Standing};
use super::view::{Scene, dependency_holds};
use crate::limits;

/// The files and facts that a thread knows, held against the disk.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Checked {
    /// Files that are as the thread saw them last.
    pub unchanged: usize,
    /// Files with other content than then, the latest touched first, as the agent wrote them.
    pub changed: Vec<String>,
    /// Files that are gone, likewise.
    pub gone: Vec<String>,
    /// Files of which nobody can tell.
    pub unverified: usize,
    /// Facts whose files are as they were.
    pub facts_valid: usize,
    /// Keys of the facts whose files changed or cannot be seen.
    pub facts_suspect: Vec<String>,
}

impl Checked {
    /// Looks at the files that the thread read or changed, and at its facts; lists are bounded, the latest first.
    pub fn of(scene: &Scene<'_>) -> Self {
        let mut checked = Self::default();
        let mut files: Vec<_> = scene.state.files.iter().collect();
        files.sort_by_key(|(_, file)| std::cmp::Reverse(file.seq));
        for (key, file) in files.into_iter().filter(|(_, file)| file.state >= FileState::Read) {
            let is_expected = file.state != FileState::Deleted;
            let disk = scene.disk.get(key);
            match staleness::standing(file.hash.as_ref(), is_expected, disk) {
                Standing::Unchanged => checked.unchanged += 1,
                Standing::Changed => keep(&mut checked.changed, &file.path),
                Standing::Gone => keep(&mut checked.gone, &file.path),
                Standing::Unverified => checked.unverified += 1,
            }
        }
        for (key, (_, update)) in &scene.semantics.facts {
            let Update::Fact { depends_on, .. } = update else { continue };
            match depends_on.iter().all(|dependency| dependency_holds(scene, dependency)) {
                true => checked.facts_valid += 1,
                false => keep(&mut checked.facts_suspect, key),
            }
        }
        checked
    }
}

fn keep(names: &mut Vec<String>, name: &str) {
    if names.len() < limits::CHECKED_NAMES {
        names.push(name.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checkpoint::Checkpoint;
    use crate::checkpoint::files::FileTouch;
    use crate::checkpoint::semantic::Semantics;
    use crate::checkpoint::staleness::{Disk, Now, OnDisk};
    use crate::digest::ContentHash;

    #[test]
    fn each_file_is_held_against_the_disk_and_what_was_merely_listed_is_not() {
        let (then, other) = (ContentHash::of(b"then"), ContentHash::of(b"other"));
        let mut state = Checkpoint { cwd: Some("/w".to_owned()), ..Checkpoint::default() };
        let mut disk = Disk::new();
        let cases = [
            ("same.rs", FileState::Edited, Now::Content(then.clone())),
            ("other.rs", FileState::Read, Now::Content(other.clone())),
            ("later.rs", FileState::Edited, Now::Content(other)),
            ("gone.rs", FileState::Created, Now::Missing),
            ("removed.rs", FileState::Deleted, Now::Missing),
            ("far.rs", FileState::Read, Now::Unknown),
            ("listed.rs", FileState::Searched, Now::Missing),
        ];
        for (seq, (path, state_, now)) in (1..).zip(cases) {
            let hash = None;
            let (cwd, at_ms) = (Some("/w"), 0);
            state.files.touch(FileTouch { path, cwd, state: state_, seq, at_ms, hash });
            let seen = OnDisk { then: Some(then.clone()), late: false, now };
            disk.insert(format!("/w/{path}"), seen);
        }
        let semantics = Semantics::default();
        let scene =
            Scene { thread_id: None, state: &state, semantics: &semantics, disk: &disk, focus: "" };
        let checked = Checked::of(&scene);
        assert_eq!((checked.unchanged, checked.unverified), (2, 1), "{checked:?}");
        assert_eq!(checked.changed, ["later.rs", "other.rs"]);
        assert_eq!(checked.gone, ["gone.rs"]);
    }
}
