//! What a person changed in the published files: never overwritten, never taken for our own words.
//!
//! Between two builds of memory the files lie open. Before the next one, what is found is compared with
//! what was published: lines that a person wrote into `MEMORY.md` or `memory_summary.md` become notes of
//! the project they stand under, lines they took out are not said again, and every other file they
//! changed, made or removed is theirs from then on, whole.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::Files;
use super::consolidate::plain;

/// All changes of a person so far. Kept by the store, as JSON.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Edits {
    /// Lines written into files of ours, in the order they were found.
    pub added: Vec<AddedLine>,
    /// Lines taken out of files of ours: what they say is not said again.
    pub removed: BTreeSet<RemovedLine>,
    /// Files that are the person's now, whole: those they made, and those of ours that are kept by
    /// whole (skills, rollout summaries). `None`: taken away.
    pub files: BTreeMap<String, Option<String>>,
}

/// A line that a person wrote into a file of ours.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AddedLine {
    /// File.
    pub path: String,
    /// Headings above it, outermost first.
    pub section: Vec<String>,
    /// Its words, without a list mark.
    pub text: String,
    /// Unix milliseconds when it was found.
    pub at_ms: i64,
}

/// A line that a person took out of a file of ours.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RemovedLine {
    /// File.
    pub path: String,
    /// Its words, without list mark and without the mark of where it is from.
    pub text: String,
}

/// Files that are merged line by line.
const MERGED: [&str; 2] = ["MEMORY.md", "memory_summary.md"];

/// Lines added that are kept.
const ADDED_MAX: usize = 512;

/// Lines removed that are kept.
const REMOVED_MAX: usize = 4_096;

/// Files of the person that are kept, and the bytes of each.
const FILES_MAX: usize = 256;
const FILE_BYTES: usize = 256 * 1_024;

/// Opening of the heading over what belongs to one project (`MEMORY.md`).
const GROUP: &str = "Task Group: ";

impl Edits {
    /// Takes up what differs between the files as they were published and as they are found now. Asking
    /// again with the same files changes nothing.
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

    /// The files with what is the person's own put in.
    #[must_use]
    pub fn apply(&self, mut files: Files) -> Files {
        for (path, text) in &self.files {
            match text {
                Some(text) => files.insert(path.clone(), text.clone()),
                None => files.remove(path),
            };
        }
        files
    }

    /// Says what stands in a line of ours no more: its line was taken out in other words.
    pub fn take_out(&mut self, path: &str, text: String) {
        if self.removed.len() < REMOVED_MAX {
            self.removed.insert(RemovedLine { path: path.to_owned(), text });
        }
    }

    /// Whether the person took a line with these words out.
    pub fn removes(&self, words: &str) -> bool {
        let words = plain(words);
        self.removed.iter().any(|line| plain(&line.text) == words)
    }

    /// A line moved from one place to another is neither new nor gone.
    fn merge_lines(&mut self, path: &str, before: &str, now: &str, now_ms: i64) {
        let (before, now) = (rows(before), rows(now));
        let said = |rows: &[Row<'_>]| -> BTreeSet<String> {
            rows.iter().map(|row| plain(row.words)).collect()
        };
        let (old, new) = (said(&before), said(&now));
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
    /// The project under whose heading the line stands; `None`: it is for all.
    pub fn project(&self) -> Option<&str> {
        let in_book = || self.section.iter().find_map(|heading| heading.strip_prefix(GROUP));
        let in_summary = || {
            let under = self.section.iter().any(|heading| heading == "What is in memory");
            self.section.last().filter(|_| under && self.section.len() > 2).map(String::as_str)
        };
        in_book().or_else(in_summary)
    }
}

/// A line that says something.
struct Row<'a> {
    section: Vec<&'a str>,
    words: &'a str,
}

/// The list lines and sentences of a markdown text; headings and lines we compute are none.
fn rows(text: &str) -> Vec<Row<'_>> {
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
            rows.push(Row {
                section: section.iter().map(|(_, heading)| *heading).collect(),
                words,
            });
        }
    }
    rows
}

/// A line without the mark that tells where it is from.
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
    fn lines_of_a_person_are_kept_and_those_taken_out_stay_out() {
        let published = files(
            "# Task Group: /w/a\n\n- use tabs [user, 2026-01-01, t #1; id 0a]\n- use make [x; id b]\n",
        );
        let found = files(
            "# Task Group: /w/a\n\n- use tabs [user, 2026-01-01, t #1; id 0a]\n- deploy on mondays\n",
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
    fn other_files_are_the_persons_once_touched() {
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
