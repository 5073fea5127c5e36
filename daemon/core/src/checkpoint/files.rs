//! The files of a thread and their state.
//!
//! A file is identified by its path, made absolute if possible. It is shown by the path the agent last wrote,
//! since the agent will write that again.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::output_ref::OutputRef;
use crate::digest::ContentHash;
use crate::rollout::shell::Use;
use crate::{limits, paths};

/// Files by key.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Files {
    map: BTreeMap<String, File>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct File {
    /// Path as the agent last wrote it.
    pub path: String,
    pub state: FileState,
    /// Last line that touched it.
    pub seq: u64,
    /// Time in Unix milliseconds; 0 unknown.
    pub at_ms: i64,
    pub changes: u32,
    /// Times it was read or searched.
    pub reads: u32,
    /// Last line that read it.
    pub read_seq: Option<u64>,
    /// Hash of its content, if the transcript contains all of it.
    pub hash: Option<ContentHash>,
    /// Output of its last read, if that command printed nothing else.
    pub printed: Option<OutputRef>,
}

/// State of a file, weakest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[derive(strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum FileState {
    Named,
    /// Listed or searched.
    Searched,
    Read,
    Edited,
    /// New in this thread.
    Created,
    /// Removed in this thread.
    Deleted,
}

impl FileState {
    /// Whether the agent changed the file: such files are evicted last.
    pub fn is_change(self) -> bool {
        matches!(self, Self::Edited | Self::Created | Self::Deleted)
    }
}

/// A file that a line read or changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Touch {
    /// Path as the agent wrote it.
    pub path: String,
    pub seq: u64,
    /// Time in Unix milliseconds; 0 unknown.
    pub at_ms: i64,
    /// Base of a relative path.
    pub cwd: Option<String>,
}

#[derive(Debug, Clone)]
pub struct FileTouch<'a> {
    /// The path as the agent wrote it.
    pub path: &'a str,
    /// Base of a relative path.
    pub cwd: Option<&'a str>,
    pub state: FileState,
    pub seq: u64,
    /// Unix milliseconds.
    pub at_ms: i64,
    /// Hash of the complete content afterwards, if known.
    pub hash: Option<ContentHash>,
}

impl From<Use> for FileState {
    fn from(used: Use) -> Self {
        match used {
            Use::Named => Self::Named,
            Use::Searched => Self::Searched,
            Use::Read => Self::Read,
            Use::Written => Self::Edited,
            Use::Removed => Self::Deleted,
        }
    }
}

impl Files {
    pub fn touch(&mut self, touch: FileTouch<'_>) {
        let key = paths::absolute(touch.path, touch.cwd);
        if touch.state == FileState::Deleted {
            let folder = format!("{key}/");
            let below = self.map.range_mut(folder.clone()..);
            let below = below.take_while(|(path, _)| path.starts_with(&folder));
            let changed = below.map(|(_, file)| file).filter(|file| file.state.is_change());
            changed.for_each(|file| file.state = FileState::Deleted);
        }
        let is_new = !self.map.contains_key(&key);
        let file = self.map.entry(key).or_insert_with(|| File {
            path: String::new(),
            state: FileState::Named,
            seq: touch.seq,
            at_ms: touch.at_ms,
            changes: 0,
            reads: 0,
            read_seq: None,
            hash: None,
            printed: None,
        });
        file.path = touch.path.to_owned();
        file.seq = touch.seq;
        file.at_ms = touch.at_ms;
        if touch.state == FileState::Read {
            file.read_seq = Some(touch.seq);
        }
        if touch.state.is_change() {
            file.changes = file.changes.saturating_add(1);
            file.hash = touch.hash;
            // The content that was read is outdated.
            file.printed = None;
            file.state = after(file.state, touch.state);
        } else {
            file.reads = file.reads.saturating_add(u32::from(touch.state != FileState::Named));
            file.hash = touch.hash.or(file.hash.take());
            file.state = file.state.max(touch.state);
        }
        let is_full = self.map.len() > limits::FILES + limits::FILES / 4;
        if is_full || is_new && self.bytes() > limits::FILES_BYTES {
            self.evict();
        }
    }

    /// Records the output of reading the file with this key.
    pub fn print(&mut self, key: &str, printed: OutputRef) {
        if let Some(file) = self.map.get_mut(key) {
            file.printed = Some(printed);
        }
    }

    /// Undoes the read at line `seq`, which failed.
    pub fn unread(&mut self, key: &str, seq: u64) {
        let is_only = |file: &File| file.seq == seq && file.reads <= 1 && !file.state.is_change();
        if self.map.get(key).is_some_and(is_only) {
            self.map.remove(key);
        }
    }

    pub fn get(&self, key: &str) -> Option<&File> {
        self.map.get(key)
    }

    /// The file that `path` resolves to now.
    pub fn find(&self, path: &str, cwd: Option<&str>) -> Option<&File> {
        self.map.get(&paths::absolute(path, cwd))
    }

    /// Keys and files, ordered by key.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &File)> {
        self.map.iter().map(|(key, file)| (key.as_str(), file))
    }

    /// All files, newest touch first, ties by key.
    pub fn newest(&self) -> Vec<(&str, &File)> {
        let mut files: Vec<_> = self.iter().collect();
        files.sort_by(|(key_a, a), (key_b, b)| b.seq.cmp(&a.seq).then(key_a.cmp(key_b)));
        files
    }

    /// Evicts the oldest: files only named first, then read ones, changed ones last. In batches, so that a long thread
    /// does not sort at each touch.
    fn evict(&mut self) {
        let mut ranked: Vec<(u8, u64, String)> = self
            .map
            .iter()
            .map(|(key, file)| {
                let class = match file.state {
                    FileState::Named | FileState::Searched => 0,
                    FileState::Read => 1,
                    FileState::Edited | FileState::Created | FileState::Deleted => 2,
                };
                (class, file.seq, key.clone())
            })
            .collect();
        ranked.sort();
        let mut bytes = self.bytes();
        for (_, _, key) in &ranked {
            if self.map.len() <= limits::FILES && bytes <= limits::FILES_BYTES * 3 / 4 {
                break;
            }
            if let Some(file) = self.map.remove(key) {
                bytes -= cost(key, &file);
            }
        }
    }

    fn bytes(&self) -> usize {
        self.map.iter().map(|(key, file)| cost(key, file)).sum()
    }
}

/// Approximate size of a saved file entry.
fn cost(key: &str, file: &File) -> usize {
    key.len() + file.path.len() + 132
}

/// The state of a file after a change: created files stay created, and a deleted file that is created again
/// counts as edited.
fn after(before: FileState, change: FileState) -> FileState {
    match (before, change) {
        (FileState::Created, FileState::Edited) => FileState::Created,
        (FileState::Deleted, FileState::Created) => FileState::Edited,
        (_, change) => change,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn touch(path: &str, state: FileState, seq: u64) -> FileTouch<'_> {
        FileTouch { path, cwd: Some("/w"), state, seq, at_ms: 0, hash: None }
    }

    #[test]
    fn two_paths_of_one_file_share_an_entry() {
        let mut files = Files::default();
        files.touch(touch("src/../a.rs", FileState::Read, 1));
        files.touch(touch("/w/a.rs", FileState::Edited, 2));
        let all = files.newest();
        assert_eq!(all.len(), 1);
        assert_eq!(
            (all[0].0, all[0].1.path.as_str(), all[0].1.state),
            ("/w/a.rs", "/w/a.rs", FileState::Edited)
        );
        assert_eq!((all[0].1.reads, all[0].1.changes), (1, 1));
    }

    #[test]
    fn a_deleted_folder_takes_its_changed_files_with_it() {
        let mut files = Files::default();
        files.touch(touch("gen/a.rs", FileState::Created, 1));
        files.touch(touch("gen/b.rs", FileState::Read, 2));
        files.touch(touch("general/a.rs", FileState::Created, 3));
        files.touch(touch("gen", FileState::Deleted, 4));
        let state = |path: &str| files.find(path, Some("/w")).map(|file| file.state);
        assert_eq!(state("gen/a.rs"), Some(FileState::Deleted));
        assert_eq!(state("gen/b.rs"), Some(FileState::Read));
        assert_eq!(state("general/a.rs"), Some(FileState::Created));
    }

    #[test]
    fn a_change_updates_the_state() {
        use FileState::{Created, Deleted, Edited, Read};
        for (touches, state) in [
            (vec![Created, Edited], Created),
            (vec![Deleted, Created], Edited),
            (vec![Edited, Read], Edited),
            (vec![Read, Deleted], Deleted),
            (vec![Created, Deleted], Deleted),
        ] {
            let mut files = Files::default();
            for (seq, state) in touches.iter().enumerate() {
                files.touch(touch("a", *state, seq as u64));
            }
            assert_eq!(files.find("a", Some("/w")).map(|f| f.state), Some(state), "{touches:?}");
        }
    }

    #[test]
    fn changed_files_are_evicted_after_read_ones() {
        let mut files = Files::default();
        files.touch(touch("edited.rs", FileState::Edited, 0));
        for seq in 1..2_000 {
            files.touch(touch(&format!("read{seq}.rs"), FileState::Read, seq));
        }
        assert!(files.find("edited.rs", Some("/w")).is_some());
        assert!(files.iter().count() <= limits::FILES * 5 / 4);
    }

    /// Entries of `count` files with paths of `bytes` bytes.
    fn long_paths(count: u64, bytes: usize) -> Files {
        let mut files = Files::default();
        for seq in 0..count {
            files.touch(touch(&format!("{seq:0bytes$}"), FileState::Read, seq));
            assert!(files.bytes() <= limits::FILES_BYTES, "{seq}");
            assert!(files.map.len() <= limits::FILES * 5 / 4, "{seq}");
        }
        files
    }

    #[test]
    fn nothing_is_evicted_within_the_bounds() {
        let count = 290;
        let files = long_paths(count, 35);
        assert!(files.bytes() > limits::FILES_BYTES * 3 / 4 && files.bytes() < limits::FILES_BYTES);
        assert_eq!(files.map.len() as u64, count);
    }

    #[test]
    fn long_paths_are_evicted_by_their_bytes_and_the_newest_stay() {
        let mut files = long_paths(500, 1_000);
        assert!(files.bytes() > limits::FILES_BYTES / 2);
        assert!(files.find(&format!("{:01000}", 499), Some("/w")).is_some());
        let longer = "x".repeat(limits::FILES_BYTES / 3);
        files.touch(touch(&longer, FileState::Edited, 500));
        assert!(files.bytes() <= limits::FILES_BYTES);
        assert!(files.find(&longer, Some("/w")).is_some(), "changed files are evicted last");
    }

    #[test]
    fn a_failed_read_removes_only_a_file_that_nothing_else_touched() {
        for (touches, is_kept) in [
            (&[(FileState::Read, 7)][..], false),
            (&[(FileState::Read, 3), (FileState::Read, 7)], true),
            (&[(FileState::Edited, 3), (FileState::Read, 7)], true),
            (&[(FileState::Read, 3)], true),
        ] {
            let mut files = Files::default();
            for (state, seq) in touches {
                files.touch(touch("a.rs", *state, *seq));
            }
            files.unread("/w/a.rs", 7);
            assert_eq!(files.get("/w/a.rs").is_some(), is_kept, "{touches:?}");
        }
    }
}
