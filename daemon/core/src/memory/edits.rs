//! A person's changes to the published files: never overwritten, never mistaken for our text.
//!
//! The next build compares the files with what was published: lines a person added to `MEMORY.md` or
//! `memory_summary.md` become notes of the project they are under, lines they removed are not written
//! again, and any other file they changed, created or deleted is theirs from then on.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::Files;
use super::plain::plain;

/// All changes of a person so far. Stored as JSON.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Edits {
    /// Lines added to our files, in order of discovery.
    pub added: Vec<AddedLine>,
    /// Lines removed from our files; their text is not written again.
    pub removed: BTreeSet<RemovedLine>,
    /// Files that now belong to the person: those they created, and files of ours that are not merged by line
    /// (skills, rollout summaries). `None` means deleted.
    pub files: BTreeMap<String, Option<String>>,
}

/// A line that a person added to our file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AddedLine {
    pub path: String,
    /// Its headings, outermost first.
    pub section: Vec<String>,
    /// Its text, without a list marker.
    pub text: String,
    /// Time of discovery, Unix milliseconds.
    pub at_ms: i64,
}

/// A line that a person removed from our file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RemovedLine {
    pub path: String,
    /// Its text, without list marker and source mark.
    pub text: String,
}

/// Files that are merged line by line.
const MERGED: [&str; 2] = ["MEMORY.md", "memory_summary.md"];

const ADDED_MAX: usize = 512;

const REMOVED_MAX: usize = 4_096;

/// Maximum files of the person, and bytes of each.
const FILES_MAX: usize = 256;
const FILE_BYTES: usize = 256 * 1_024;

/// Prefix of a project's heading (`MEMORY.md`).
const GROUP: &str = "Task Group: ";

impl Edits {
    /// Records the differences between the published and the present files. Idempotent.
    pub fn merge(&mut self, published: &Files, found: &Files, now_ms: i64) {
        for path in MERGED {
            if let (Some(before), Some(now)) = (published.get(path), found.get(path)) {
                self.merge_lines(path, before, now, now_ms);
            }
        }
        let others = published.keys().chain(found.keys());
        let others: BTreeSet<&String> = others
            .filter(|path| !MERGED.contains(&path.as_str()) && *path != "raw_memories.md")
            .collect();
        for path in others {
            let now = found.get(path);
            let fits = now.is_none_or(|text| text.len() <= FILE_BYTES);
            let room = self.files.len() < FILES_MAX || self.files.contains_key(path);
            if published.get(path) != now && fits && room {
                self.files.insert(path.clone(), now.cloned());
            }
        }
    }

    /// Applies the person's changes to the files.
    pub fn apply(&self, mut files: Files) -> Files {
        for (path, text) in &self.files {
            match text {
                Some(text) => files.insert(path.clone(), text.clone()),
                None => files.remove(path),
            };
        }
        files
    }

    /// Suppresses a line of ours that the person removed in another wording.
    pub fn take_out(&mut self, path: &str, text: String) {
        if self.removed.len() < REMOVED_MAX {
            self.removed.insert(RemovedLine { path: path.to_owned(), text });
        }
    }

    pub fn removes(&self, words: &str) -> bool {
        let words = plain(words);
        self.removed.iter().any(|line| plain(&line.text) == words)
    }

    /// A moved line is neither added nor removed.
    fn merge_lines(&mut self, path: &str, before: &str, now: &str, now_ms: i64) {
        let (before, now) = (rows(before), rows(now));
        let words = |rows: &[EditableLine<'_>]| -> BTreeSet<String> {
            rows.iter().map(|row| plain(row.words)).collect()
        };
        let (old, new) = (words(&before), words(&now));
        for row in now.iter().filter(|row| !old.contains(&plain(row.words))) {
            let again = |line: &AddedLine| line.path == path && line.text == row.words;
            self.removed.retain(|line| plain(&line.text) != plain(row.words));
            if self.added.len() < ADDED_MAX && !self.added.iter().any(again) {
                self.added.push(AddedLine {
                    path: path.to_owned(),
                    section: row.section.iter().map(|heading| (*heading).to_owned()).collect(),
                    text: row.words.to_owned(),
                    at_ms: now_ms,
                });
            }
        }
        for row in before.iter().filter(|row| !new.contains(&plain(row.words))) {
            self.added.retain(|line| plain(&line.text) != plain(row.words));
            if self.removed.len() < REMOVED_MAX {
                self.removed
                    .insert(RemovedLine { path: path.to_owned(), text: row.words.to_owned() });
            }
        }
    }
}

impl AddedLine {
    /// The project whose heading the line is under; `None` means all projects.
    pub fn project(&self) -> Option<&str> {
        let in_book =
            || self.section.iter().find_map(|heading| heading.strip_prefix(GROUP).map(str::trim));
        let in_summary = || {
            let under = self.section.iter().any(|heading| heading == "What is in memory");
            self.section.last().filter(|_| under && self.section.len() > 2).map(String::as_str)
        };
        in_book().or_else(in_summary)
    }
}

struct EditableLine<'a> {
    section: Vec<&'a str>,
    words: &'a str,
}

/// The list lines and sentences of a markdown text, without headings and computed lines.
fn rows(text: &str) -> Vec<EditableLine<'_>> {
    let mut section: Vec<(usize, &str)> = Vec::new();
    let mut rows = Vec::new();
    for line in text.lines() {
        let level = line.bytes().take_while(|byte| *byte == b'#').count();
        if level > 0 && line[level..].starts_with(' ') {
            section.retain(|(above, _)| *above < level);
            section.push((level, line[level..].trim()));
            continue;
        }
        let words = line.trim().trim_start_matches(['-', '*', ' ']);
        let words = unmarked(words);
        let is_computed = ["scope: ", "applies_to: ", "outcome: "]
            .iter()
            .any(|opening| words.starts_with(opening));
        if words.len() >= 4 && !is_computed {
            rows.push(EditableLine {
                section: section.iter().map(|(_, heading)| *heading).collect(),
                words,
            });
        }
    }
    rows
}

/// A line without its source mark.
fn unmarked(words: &str) -> &str {
    match words.rfind(" [") {
        Some(at) if words.ends_with(']') && words[at..].contains("; id ") => &words[..at],
        _ => words,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(memory: &str) -> Files {
        Files::from([("MEMORY.md".to_owned(), memory.to_owned())])
    }

    #[test]
    fn added_lines_stay_and_removed_lines_stay_removed() {
        let published = files(
            "# Task Group: /w/a\n\n- use tabs [user, 2026-01-01, t #1; id 0a]\n- use make [x; id b]\n",
        );
        let found = files(
            "# Task Group:  /w/a \n\n- use tabs [user, 2026-01-01, t #1; id 0a]\n- deploy on mondays\n",
        );
        let mut edits = Edits::default();
        edits.merge(&published, &found, 7);
        assert_eq!(edits.added[0].project(), Some("/w/a"));
        assert_eq!(edits.added[0].text, "deploy on mondays");
        assert!(edits.removes("use make") && !edits.removes("use tabs"));
        let again = edits.clone();
        edits.merge(&published, &found, 9);
        assert_eq!(edits, again);
        edits.merge(&found, &published, 11);
        assert!(edits.added.iter().all(|line| line.text != "deploy on mondays"));
    }

    #[test]
    fn other_files_belong_to_the_person_once_changed() {
        let mut published = files("");
        published.insert("skills/a/SKILL.md".into(), "ours".into());
        let mut found = files("");
        found.insert("notes.md".into(), "mine".into());
        let mut edits = Edits::default();
        edits.merge(&published, &found, 0);
        let merged = edits.apply(published);
        assert_eq!(merged.get("notes.md").map(String::as_str), Some("mine"));
        assert!(!merged.contains_key("skills/a/SKILL.md"));
    }
}
