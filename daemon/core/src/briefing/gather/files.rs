//! The changed files as quotes: their state, counts and names.

use super::super::documents;
use super::super::kinds::EvidenceKind;
use super::super::names::chosen;
use super::Builder;
use crate::paths;

/// Maximum names shown for a changed file, and their bytes.
const NAMES: usize = 8;
const NAMES_BYTES: usize = 200;

/// A shorter name that was removed is mostly a word, or has namesakes.
const REMOVED_BYTES_MIN: usize = 8;

/// Maximum bytes of names for a file that the current turn edited at least this often.
const OUTLINE_BYTES: usize = 400;
const OUTLINE_EDITS: u32 = 5;

impl Builder<'_> {
    /// Whether a report or the person says a name, so that it would be taken for one that is still there.
    fn is_said(&self, name: &str) -> bool {
        let mut said = self.briefing.reports.iter().chain(self.briefing.requests.iter());
        name.len() >= REMOVED_BYTES_MIN && said.any(|line| line.text.contains(name))
    }

    pub(super) fn files(&mut self) {
        for (order, file) in (0..).zip(&self.host.files) {
            let mut text = format!("{} ({}", file.path, file.words);
            let (mut age, mut strength) = (2, 100);
            if let Some(effect) = self.briefing.effects.of(&file.path) {
                age = self.age_of(effect.turn);
                // The only edit wrote the complete file, as the count shows.
                if effect.written_lines.is_some() && file.words == "edited" && effect.edits == 1 {
                    text = format!("{} (", file.path);
                }
                if paths::is_scratch_file(&file.path) {
                    strength = 40;
                }
                let now_on = self.briefing.commands.git.branch();
                let on = effect.deleted_on.as_deref().filter(|on| Some(*on) != now_on);
                if let Some(on) = on.filter(|_| !effect.is_transient()) {
                    text.push_str(&format!(", on branch {on}"));
                }
                if effect.is_transient() {
                    text.push_str(" again; it was made here");
                    strength = 15;
                } else if !effect.is_deleted {
                    text.push_str(if text.ends_with('(') { "" } else { ", " });
                    text.push_str(&effect.counts());
                }
                // A growing document is summarized by its outline, other files by their newest names.
                let is_growing = age == 0 && effect.edits >= OUTLINE_EDITS && !self.is_small();
                let (names, bytes) = match () {
                    () if is_growing => (usize::MAX, OUTLINE_BYTES),
                    // The sections of a document that was just written say what it is about.
                    () if documents::is_prose(&file.path) => {
                        let is_new = age <= 1 && effect.written_lines.is_some();
                        (NAMES, if is_new { NAMES_BYTES } else { NAMES_BYTES / 2 })
                    }
                    () => (NAMES, NAMES_BYTES),
                };
                if !effect.is_deleted {
                    let verb = if effect.written_lines.is_some() { "holds" } else { "adds" };
                    text.push_str(&list_names(verb, &effect.names, names, bytes));
                    let removed = effect.removed.iter().filter(|name| self.is_said(name));
                    let removed: Vec<String> = removed.cloned().collect();
                    text.push_str(&list_names("removes", &removed, removed.len(), NAMES_BYTES));
                }
            }
            text.push(')');
            let quote = self.push(EvidenceKind::File, (order, 0), (age, strength), text);
            quote.label(&file.path, "");
        }
    }
}

/// `; adds a, b`: at most `most` of the names, within `bytes`, in their order.
fn list_names(verb: &str, names: &[String], most: usize, bytes: usize) -> String {
    let shown = chosen(names, most, bytes);
    let is_all = shown.len() == names.len();
    match (shown.is_empty(), is_all) {
        (true, _) => String::new(),
        (false, false) => format!("; {verb} …, {}", shown.join(", ")),
        (false, true) => format!("; {verb} {}", shown.join(", ")),
    }
}
