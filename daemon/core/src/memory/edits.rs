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

    /// Suppresses a line of ours that the person removed, perhaps in another wording.
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
            self.take_out(path, row.words.to_owned());
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

    #[test]
    fn an_added_line_belongs_to_the_project_above_it() {
        let page =
            "# Memory summary\n\n## User profile\n\n## What is in memory\n\n### /w/a\n\n- ours\n";
        let book =
            "# Memory\n\n# Everywhere\n\n# Task Group: /w/a\n\n## User preferences\n\n- ours\n";
        for (path, text, above, project) in [
            ("memory_summary.md", page, "## User profile\n", None),
            ("memory_summary.md", page, "## What is in memory\n", None),
            ("memory_summary.md", page, "### /w/a\n", Some("/w/a")),
            ("memory_summary.md", page, "- ours\n", Some("/w/a")),
            ("memory_summary.md", page, "# Memory summary\n", None),
            ("MEMORY.md", book, "# Everywhere\n", None),
            ("MEMORY.md", book, "# Memory\n", None),
            ("MEMORY.md", book, "# Task Group: /w/a\n", Some("/w/a")),
            ("MEMORY.md", book, "## User preferences\n", Some("/w/a")),
        ] {
            let published = Files::from([(path.to_owned(), text.to_owned())]);
            let changed = text.replace(above, &format!("{above}\n* deploy on mondays\n"));
            let found = Files::from([(path.to_owned(), changed)]);
            let mut edits = Edits::default();
            edits.merge(&published, &found, 7);
            let added: Vec<_> = edits.added.iter().map(|l| (l.text.as_str(), l.at_ms)).collect();
            assert_eq!(added, [("deploy on mondays", 7)], "below {above}");
            assert_eq!(edits.added[0].project(), project, "below {above}");
            assert!(edits.removed.is_empty());
        }
        let other = AddedLine {
            path: "memory_summary.md".into(),
            section: ["Memory summary", "My notes", "/w/a"].map(Into::into).to_vec(),
            text: "deploy".into(),
            at_ms: 0,
        };
        assert_eq!(other.project(), None, "a heading of the person is no project");
    }

    #[test]
    fn only_sentences_and_list_lines_count() {
        let published = files("# Memory\n");
        let lines = [
            ("- deploy on mondays", Some("deploy on mondays")),
            ("    * deploy", Some("deploy")),
            ("Staging is at port 5433.", Some("Staging is at port 5433.")),
            ("- 5433", Some("5433")),
            ("- abc", None),
            ("----", None),
            ("## Deployment", None),
            ("#hashtag is no heading", Some("#hashtag is no heading")),
            ("scope: /w/a", None),
            ("applies_to: cwd=/w/a; reuse_rule=this project only", None),
            ("outcome: success", None),
            ("- use it [see below]", Some("use it [see below]")),
            ("- use it [user, t1 #7; id 0a]", Some("use it")),
            ("- use it [user; id 0a] now", Some("use it [user; id 0a] now")),
        ];
        for (line, expected) in lines {
            let mut edits = Edits::default();
            edits.merge(&published, &files(&format!("# Memory\n{line}\n")), 7);
            let added: Vec<&str> = edits.added.iter().map(|line| line.text.as_str()).collect();
            assert_eq!(added, Vec::from_iter(expected), "{line}");
        }
    }

    #[test]
    fn a_moved_line_and_one_in_another_mark_are_not_changed() {
        let mut edits = Edits::default();
        let published = files("- use tabs [user; id 0a]\n- use make [user; id 0b]\n");
        for found in ["- use make\n\n* Use tabs!\n", "# My heading\n- use make\n- use tabs\n"] {
            edits.merge(&published, &files(found), 7);
            assert_eq!(edits, Edits::default(), "{found}");
        }
    }

    #[test]
    fn a_line_removed_and_written_again_counts_as_written() {
        let (with, without) = (files("- use tabs\n- use make\n"), files("- use make\n"));
        let mut edits = Edits::default();
        edits.merge(&with, &without, 7);
        assert!(edits.removes("use tabs") && edits.added.is_empty());
        edits.merge(&without, &with, 8);
        assert!(!edits.removes("use tabs"), "the person wrote it again");
        assert_eq!(edits.added.len(), 1);
        edits.merge(&with, &without, 9);
        assert!(edits.removes("Use tabs.") && edits.added.is_empty());
        let page =
            Files::from([("memory_summary.md".to_owned(), "- use make\n- use tabs\n".into())]);
        let page_before = Files::from([("memory_summary.md".to_owned(), "- use make\n".into())]);
        edits.merge(&page_before, &page, 10);
        edits.merge(&without, &with, 10);
        let paths: Vec<&str> = edits.added.iter().map(|line| line.path.as_str()).collect();
        assert_eq!(paths, ["memory_summary.md", "MEMORY.md"], "each file keeps its own line");
    }

    #[test]
    fn the_edits_are_bounded() {
        let lines = |from: usize, to: usize| -> String {
            (from..to).map(|n| format!("- the line number {n}\n")).collect()
        };
        let mut edits = Edits::default();
        edits.merge(&files(""), &files(&lines(0, 600)), 7);
        assert_eq!(edits.added.len(), 512);
        let mut edits = Edits::default();
        edits.merge(&files(&lines(0, 5_000)), &files(""), 7);
        assert_eq!(edits.removed.len(), 4_096);
        edits.take_out("MEMORY.md", "one more".into());
        assert!(!edits.removes("one more"));

        let mut edits = Edits::default();
        edits.take_out("MEMORY.md", "use tabs".into());
        assert!(edits.removes("Use tabs!") && !edits.removes("use"));
        let file = |number: usize, text: &str| (format!("f{number:03}.md"), text.to_owned());
        let found: Files = (0..300).map(|number| file(number, "mine")).collect();
        edits.merge(&files(""), &found, 7);
        assert_eq!(edits.files.len(), 256);
        let changed: Files = (0..300).map(|number| file(number, "changed")).collect();
        edits.merge(&files(""), &changed, 8);
        assert_eq!(edits.files.len(), 256);
        assert!(edits.files.values().all(|text| text.as_deref() == Some("changed")));

        let mut edits = Edits::default();
        let sized = |bytes: usize| Files::from([("notes.md".to_owned(), "x".repeat(bytes))]);
        edits.merge(&files(""), &sized(256 * 1_024 + 1), 7);
        assert!(edits.files.is_empty(), "too large to keep");
        edits.merge(&files(""), &sized(256 * 1_024), 7);
        assert_eq!(edits.files.len(), 1);
    }

    #[test]
    fn what_is_rebuilt_or_merged_by_line_never_belongs_to_the_person() {
        let of = |text: &str| -> Files {
            let paths = ["MEMORY.md", "memory_summary.md", "raw_memories.md", "skills/a/SKILL.md"];
            paths.into_iter().map(|path| (path.to_owned(), text.to_owned())).collect()
        };
        let mut edits = Edits::default();
        edits.merge(&of("- ours\n"), &of("- changed\n"), 7);
        assert_eq!(edits.files.keys().collect::<Vec<_>>(), ["skills/a/SKILL.md"]);
    }
}
