//! Compares a thread's knowledge with the disk, item by item, when another agent takes over its work.

use super::file_standing::Standing;
use super::files::FileState;
use super::semantic::Update;
use super::view::ViewInputs;
use crate::limits;

/// The files and facts of a thread, compared with the disk.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DiskCheck {
    /// Files unchanged since the thread last saw them.
    pub unchanged: usize,
    /// Files whose content changed, latest touched first, by the path the agent wrote.
    pub changed: Vec<String>,
    /// Files that no longer exist, in the same order.
    pub gone: Vec<String>,
    /// Files that cannot be compared.
    pub unverified: usize,
    /// Facts whose files are unchanged.
    pub facts_valid: usize,
    /// Keys of facts whose files changed or cannot be read.
    pub facts_suspect: Vec<String>,
}

impl DiskCheck {
    /// Compares the files that the thread read or changed, and its facts; lists are bounded, latest first.
    pub fn of(inputs: &ViewInputs<'_>) -> Self {
        let mut found = Self::default();
        let files = inputs.state.files.newest().into_iter();
        for (key, file) in files.filter(|(_, file)| file.state >= FileState::Read) {
            match file.standing(inputs.disk.get(key)) {
                Standing::Unchanged => found.unchanged += 1,
                Standing::Changed => keep(&mut found.changed, &file.path),
                Standing::Gone => keep(&mut found.gone, &file.path),
                Standing::Unverified => found.unverified += 1,
            }
        }
        for (key, (_, update)) in &inputs.semantics.facts {
            let Update::Fact { depends_on, .. } = update else { continue };
            match depends_on.iter().all(|dependency| inputs.holds(dependency)) {
                true => found.facts_valid += 1,
                false => keep(&mut found.facts_suspect, key),
            }
        }
        found
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
    use crate::checkpoint::file_standing::{Disk, Now, OnDisk};
    use crate::checkpoint::files::FileTouch;
    use crate::checkpoint::semantic::Semantics;
    use crate::digest::ContentHash;

    #[test]
    fn read_and_changed_files_are_compared_with_the_disk_but_listed_ones_are_not() {
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
        let inputs = ViewInputs {
            thread_id: None,
            state: &state,
            semantics: &semantics,
            disk: &disk,
            focus: "",
        };
        let found = DiskCheck::of(&inputs);
        assert_eq!((found.unchanged, found.unverified), (2, 1), "{found:?}");
        assert_eq!(found.changed, ["later.rs", "other.rs"]);
        assert_eq!(found.gone, ["gone.rs"]);
    }
}
