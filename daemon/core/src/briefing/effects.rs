//! The effects of edits: the state of each file, and the most informative added lines.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::code;
use super::documents;
use super::file_edit::FileEdit;
use super::names::push_name;
use super::openapi;
use super::placeholders::is_template;
use super::replacements::Replacements;
use super::spot::Spot;
use crate::rollout::patch::{ANOTHER_PLACE, LineCounts};
use crate::{paths, text};

/// Maximum files to keep; evicts the file changed longest ago.
const FILES_MAX: usize = 128;

const NAME_BYTES: usize = 48;

/// Strength of a line that an edit only removed, and percentage for a line that replaced another.
const REMOVED_STRENGTH: u16 = 60;
const REPLACED_PERCENT: u16 = 130;

/// Minimum strength of a line written into a template.
const TEMPLATE_STRENGTH: u16 = 60;

/// The changed files.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Effects {
    files: BTreeMap<String, Effect>,
}

/// The effects of edits on one file.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Effect {
    /// Line of the last edit.
    pub seq: u64,
    pub turn: u32,
    pub edits: u32,
    /// Line count when an edit last wrote the complete file.
    pub written_lines: Option<u64>,
    /// Lines changed by partial edits since then, or in total.
    pub since_written: LineCounts,
    pub is_deleted: bool,
    /// The branch it was deleted on: other branches may still have it.
    pub deleted_on: Option<String>,
    /// A command wrote to the file since; its new content is unknown.
    pub is_outdated: bool,
    /// Functions, types and headings that edits added, see [`push_name`].
    pub names: Vec<String>,
    /// The same that edits removed, if none added them before.
    pub removed: Vec<String>,
}

impl Effects {
    pub(super) fn record(&mut self, at: (u64, u32), edit: &FileEdit) -> &mut Effect {
        let path = edit.path.as_str();
        if self.files.len() >= FILES_MAX && !self.files.contains_key(path) {
            let oldest = self.files.iter().min_by_key(|(_, effect)| effect.seq);
            if let Some(path) = oldest.map(|(path, _)| path.clone()) {
                self.files.remove(&path);
            }
        }
        let effect = self.files.entry(path.to_owned()).or_default();
        (effect.seq, effect.turn) = at;
        effect.edits = effect.edits.saturating_add(1);
        effect.is_deleted = edit.is_deleted;
        effect.deleted_on = None;
        effect.is_outdated &= !edit.is_whole;
        if edit.is_whole {
            // The previous content is unknown.
            effect.written_lines = Some(edit.counts.added);
            effect.since_written = LineCounts::default();
        } else {
            effect.since_written.added += edit.counts.added;
            effect.since_written.removed += edit.counts.removed;
        }
        effect
    }

    /// Records that a folder was deleted, and returns the files in it.
    pub(super) fn delete_below(&mut self, folder: &str) -> Vec<String> {
        let below = format!("{}/", folder.trim_end_matches('/'));
        let files = self.files.iter_mut().filter(|(path, _)| path.starts_with(&below));
        files
            .map(|(path, effect)| {
                effect.is_deleted = true;
                path.clone()
            })
            .collect()
    }

    /// Records that a command changed the file in an unknown way.
    pub(super) fn outdate(&mut self, path: &str) {
        if let Some(effect) = self.files.get_mut(path) {
            effect.is_outdated = true;
        }
    }

    /// Records that the complete file was read, of that many lines: what a command made of it is known.
    pub(super) fn settle(&mut self, path: &str, lines: u64) {
        let Some(effect) = self.files.get_mut(path).filter(|effect| effect.is_outdated) else {
            return;
        };
        effect.is_outdated = false;
        if effect.written_lines.is_some() {
            (effect.written_lines, effect.since_written) = (Some(lines), LineCounts::default());
        }
    }

    /// Files named in a program that writes files.
    pub(super) fn named_in(&self, program: &str) -> Vec<String> {
        let paths = self.files.iter().filter(|(_, effect)| !effect.is_deleted);
        paths
            .map(|(path, _)| path)
            .filter(|path| program.contains(path.as_str()))
            .cloned()
            .collect()
    }

    fn newest(&self) -> Vec<(&str, &Effect)> {
        let mut files: Vec<_> =
            self.files.iter().map(|(path, effect)| (path.as_str(), effect)).collect();
        files.sort_by_key(|(path, effect)| (u64::MAX - effect.seq, *path));
        files
    }

    /// Files changed after line `seq`, newest first, without scratch files and those created and deleted
    /// here.
    pub(super) fn since(&self, seq: u64) -> Vec<&str> {
        self.newest()
            .into_iter()
            .take_while(|(_, effect)| effect.seq > seq)
            .filter(|(path, effect)| !effect.is_transient() && !paths::is_scratch_file(path))
            .map(|(path, _)| path)
            .collect()
    }

    pub(super) fn changed_in(&self, turn: u32) -> Vec<&str> {
        let changed = self.files.iter().filter(|(_, effect)| effect.turn == turn);
        changed.map(|(path, _)| path.as_str()).collect()
    }

    /// Whether a temporary file was changed and is still there.
    pub(super) fn has_scratch(&self) -> bool {
        let mut kept = self.files.iter().filter(|(_, effect)| !effect.is_deleted);
        kept.any(|(path, _)| paths::is_scratch_file(path))
    }

    pub(super) fn of(&self, path: &str) -> Option<&Effect> {
        self.files.get(path)
    }
}

impl Effect {
    /// The thread created the file, as far as is known, and deleted it.
    pub(super) fn is_transient(&self) -> bool {
        self.is_deleted && self.written_lines.is_some()
    }

    /// `written whole (40 lines), then +2 -1`.
    pub(super) fn counts(&self) -> String {
        let LineCounts { added, removed } = self.since_written;
        let since = if self.is_outdated { ", a command may have changed it since" } else { "" };
        match self.written_lines {
            None => format!("+{added} -{removed}{since}"),
            Some(lines) => {
                let unit = if lines == 1 { "line" } else { "lines" };
                let then = format!(", then +{added} -{removed}");
                let then = if added + removed == 0 { "" } else { &then };
                format!("written whole ({lines} {unit}){then}{since}")
            }
        }
    }

    /// Keeps the names that an edit newly declares, and those that it removes.
    fn read_names(&mut self, edit: &FileEdit) {
        let cut = |name| text::prefix(name, NAME_BYTES);
        let names_in = |lines| names_in(&edit.path, lines).into_iter().map(cut).collect();
        let (before, after): (Vec<&str>, Vec<&str>) =
            (names_in(&edit.removed), names_in(&edit.added));
        if edit.is_whole {
            self.names.clear();
        }
        let is_outline = documents::is_prose(&edit.path);
        // What was added here and is removed may be the old place of what was moved.
        for name in before.iter().filter(|name| !after.contains(name)) {
            if !self.names.iter().any(|known| known == name) {
                push_name(&mut self.removed, name, is_outline);
            }
        }
        self.removed.retain(|name| !after.contains(&name.as_str()));
        // Names that were declared before are not new.
        self.names.retain(|name| !before.contains(&name.as_str()));
        for name in after.iter().filter(|name| !before.contains(name)) {
            push_name(&mut self.names, name, is_outline);
        }
    }

    /// Reads the lines of an edit: keeps the names it newly declares and visits the added lines worth
    /// quoting, with heading and strength.
    pub(super) fn read(&mut self, edit: &FileEdit, mut visit: impl FnMut(&str, String, u16, Spot)) {
        let replaced = Replacements::of(edit);
        for line in replaced.removed() {
            visit("", line, REMOVED_STRENGTH, Spot::default());
        }
        let mut visit = |heading: &str, text: String, strength: u16, spot: Spot| {
            let was = replaced.was(&text).map(|was| format!("{text}{was}"));
            let percent = if was.is_some() { REPLACED_PERCENT } else { 100 };
            visit(heading, was.unwrap_or(text), strength * percent / 100, spot);
        };
        self.read_names(edit);
        let (path, added) = (edit.path.as_str(), edit.added.as_str());
        if documents::is_document(path) {
            // Lines written into a template are the content to come.
            let least = if is_template(path) { TEMPLATE_STRENGTH } else { 0 };
            documents::passages(path, added, |passage| {
                // The rest of a sentence whose beginning was not edited.
                let is_rest = passage.text.starts_with(char::is_lowercase);
                let percent = if is_rest && documents::is_prose(path) { 50 } else { 100 };
                let strength = passage.strength.max(least) * percent / 100;
                visit(passage.heading, passage.text.to_owned(), strength, passage.spot);
            });
            return;
        }
        let has_was = |line: &str| replaced.was(line).is_some();
        code::added_lines(added, has_was, |text, strength, spot| visit("", text, strength, spot));
    }
}

/// The names that the lines of a file declare: headings and routes of a document, functions and types of
/// code.
fn names_in<'a>(path: &str, lines: &'a str) -> Vec<&'a str> {
    let lines = lines.lines().filter(|line| !line.starts_with(ANOTHER_PLACE));
    if !documents::is_document(path) {
        return lines
            .take(code::LINES_MAX)
            .filter_map(|line| code::declared_name(line.trim()))
            .collect();
    }
    let mut is_code = false;
    let is_prose = documents::is_prose(path);
    let names = lines.filter_map(|line| {
        is_code ^= line.trim().starts_with("```");
        // In code and configuration a `#` starts a comment.
        let title = super::lines::heading_of(line.trim()).filter(|_| is_prose && !is_code);
        title.or_else(|| openapi::route(line))
    });
    names.take(code::LINES_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edit_records_counts_names_and_informative_lines() {
        let mut effects = Effects::default();
        let added = "/// Fails when full.\npub fn submit(&mut self) {\n    if self.is_full() {\n        return Err(\"the queue is full\");\n    }\n}\n";
        let mut edit = FileEdit {
            path: "src/pool.rs".to_owned(),
            added: added.to_owned(),
            removed: "a\nb\n".to_owned(),
            counts: LineCounts { added: 6, removed: 2 },
            ..FileEdit::default()
        };
        let effect = effects.record((4, 1), &edit);
        let mut seen = Vec::new();
        effect.read(&edit, |_, text, strength, _| seen.push((text, strength)));
        assert_eq!(
            (effect.counts(), effect.names.clone()),
            ("+6 -2".to_owned(), vec!["submit".to_owned()])
        );
        assert!(
            seen[1].0.contains("submit") && seen[1].0.contains("the queue is full"),
            "{seen:?}"
        );
        // A function that an edit only changes does not count as added.
        let changed = "pub fn submit(&mut self) {\npub fn close(self) {\n".to_owned();
        let removed = "pub fn submit(&self) {\n".to_owned();
        let later = FileEdit { added: changed, removed, ..edit.clone() };
        effects.record((4, 1), &later).read(&later, |_, _, _, _| {});
        assert_eq!(effects.of("src/pool.rs").unwrap().names, ["close"]);
        // `close` was added here.
        for (added, removed, expected) in [
            ("", "fn open() {\nfn close() {\n", &["open"][..]),
            ("fn open(at: u8) {\n", "fn stop() {\n", &["stop"]),
        ] {
            let (added, removed) = (added.to_owned(), removed.to_owned());
            let later = FileEdit { added, removed, ..edit.clone() };
            effects.record((4, 1), &later).read(&later, |_, _, _, _| {});
            assert_eq!(effects.of("src/pool.rs").unwrap().removed, expected);
        }
        effects = Effects::default();
        effects.record((4, 1), &edit);
        assert!(!effects.has_scratch());
        for scratch in ["/tmp/probe.go", "C:/w/AppData/Local/Temp/x/spec.rs"] {
            effects.record((4, 1), &FileEdit { path: scratch.to_owned(), ..edit.clone() });
        }
        assert_eq!(effects.since(3), ["src/pool.rs"]);
        assert!(effects.has_scratch());
        assert_eq!(effects.since(4), [""; 0]);
        // The content before a complete rewrite is unknown.
        edit.is_whole = true;
        assert_eq!(effects.record((5, 1), &edit).counts(), "written whole (6 lines)");
        edit.is_whole = false;
        let counts = "written whole (6 lines), then +6 -2";
        assert_eq!(effects.record((6, 1), &edit).counts(), counts);
    }
}
