//! Describes small edits as changes: a line with the text it replaced, and lines that were only removed.

use rustc_hash::FxHashSet;

use super::file_edit::FileEdit;
use crate::rollout::patch::ANOTHER_PLACE;
use crate::text;

/// Edits that remove more lines are described by their added lines; pure removals are quoted up to
/// `REMOVED_MAX` lines.
const LINES_MAX: usize = 16;
const REMOVED_MAX: usize = 4;

/// Maximum bytes quoted of replaced text, and of a removed line.
const WAS_BYTES: usize = 90;
const REMOVED_BYTES: usize = 140;

/// Minimum percentage of the shorter line that two versions of a line share.
const COMMON_PERCENT: usize = 34;
/// The same, if only the words indicate that one line replaced the other.
const COMMON_PERCENT_ALONE: usize = 60;

/// Percentage of a line's other words that stand next to it if one line became several, and bytes of such a
/// word.
const MOVED_PERCENT: usize = 60;
const WORD_BYTES_MIN: usize = 4;

/// Shorter lines are brackets and the like.
const LINE_BYTES_MIN: usize = 8;

const WAS: &str = " (was: ";
const REMOVED: &str = "removed: ";

/// The line replacements of a small edit.
#[derive(Default)]
pub(super) struct Replacements<'a> {
    pairs: Vec<(&'a str, &'a str)>,
    removed: Vec<&'a str>,
}

impl<'a> Replacements<'a> {
    pub(super) fn of(edit: &'a FileEdit) -> Self {
        if edit.is_whole || edit.removed.is_empty() {
            return Self::default();
        }
        let (added, removed) = (lines_of(&edit.added), lines_of(&edit.removed));
        let before: FxHashSet<&str> = removed.iter().copied().collect();
        let after: FxHashSet<&str> = added.iter().copied().collect();
        let of = |lines: &[&'a str], known: &FxHashSet<&str>| -> Vec<&'a str> {
            lines.iter().copied().filter(|line| !known.contains(line)).collect()
        };
        let (added, removed) = (of(&added, &before), of(&removed, &after));
        if removed.is_empty() || removed.len() > LINES_MAX {
            return Self::default();
        }
        if added.is_empty() {
            let removed = if removed.len() > REMOVED_MAX { Vec::new() } else { removed };
            return Self { pairs: Vec::new(), removed };
        }
        if added.len() == removed.len() {
            let pairs = added
                .into_iter()
                .zip(removed)
                .filter(|(new, old)| are_versions(new, old, COMMON_PERCENT));
            return Self { pairs: pairs.collect(), removed: Vec::new() };
        }
        let mut pairs = in_order(&added, &removed);
        pairs.retain(|(new, old)| !is_split(new, old, &added));
        Self { pairs, removed: Vec::new() }
    }

    /// ` (was: OLD)` for a text that contains a replacing line, with the words that differ.
    pub(super) fn was(&self, text: &str) -> Option<String> {
        let (new, old) = self.pairs.iter().find(|(new, _)| text.contains(new))?;
        let was = text::one_line_cut(&differing(old, new), WAS_BYTES);
        (!was.is_empty()).then(|| format!("{WAS}{was})"))
    }

    pub(super) fn removed(&self) -> impl Iterator<Item = String> {
        self.removed
            .iter()
            .map(|line| format!("{REMOVED}{}", text::one_line_cut(line, REMOVED_BYTES)))
    }
}

/// The quoted text, verbatim from the file.
pub(super) fn without_was(text: &str) -> &str {
    // Few texts have these two, and a search for all of it first studies what it looks for.
    if text::find_pair(text, *b"(w").is_none() {
        return text;
    }
    text.split(WAS).next().unwrap_or(text)
}

/// The removed line in a quoted text.
pub(super) fn removed(text: &str) -> Option<RemovedLine<'_>> {
    text.strip_prefix(REMOVED).map(RemovedLine)
}

pub(super) struct RemovedLine<'a>(&'a str);

impl RemovedLine<'_> {
    pub(super) fn is_of(&self, line: &str) -> bool {
        self.0 == text::one_line_cut(line, REMOVED_BYTES)
    }
}

fn lines_of(text: &str) -> Vec<&str> {
    let lines = text.lines().filter(|line| !line.starts_with(ANOTHER_PLACE)).map(str::trim);
    lines.filter(|line| line.len() >= LINE_BYTES_MIN).collect()
}

/// Pairs likely versions of lines, if the edit also added or removed others.
fn in_order<'a>(added: &[&'a str], removed: &[&'a str]) -> Vec<(&'a str, &'a str)> {
    let mut next = 0;
    let pair = |old: &&'a str| {
        let mut rest = added.iter().enumerate().skip(next);
        let (at, new) = rest.find(|(_, new)| are_versions(new, old, COMMON_PERCENT_ALONE))?;
        next = at + 1;
        Some((*new, *old))
    };
    removed.iter().filter_map(pair).collect()
}

/// Whether one line became several: the words that `new` lacks are in the lines next to it.
fn is_split(new: &str, old: &str, added: &[&str]) -> bool {
    let Some(at) = added.iter().position(|line| *line == new) else { return false };
    let lacking = differing(old, new);
    let words: Vec<String> = words_of(&lacking).collect();
    let beside = [at.checked_sub(1), Some(at + 1)].into_iter().flatten();
    let beside: Vec<&str> = beside.filter_map(|at| added.get(at).copied()).collect();
    let beside: FxHashSet<String> = beside.into_iter().flat_map(words_of).collect();
    let moved = words.iter().filter(|word| beside.contains(*word)).count();
    !words.is_empty() && moved * 100 >= words.len() * MOVED_PERCENT
}

fn words_of(text: &str) -> impl Iterator<Item = String> {
    let words = text.split(|c: char| !c.is_alphanumeric());
    words.filter(|word| word.len() >= WORD_BYTES_MIN).map(str::to_lowercase)
}

fn are_versions(new: &str, old: &str, percent: usize) -> bool {
    let common = old.len().saturating_sub(differing(old, new).len());
    common * 100 >= old.len().min(new.len()) * percent
}

/// The words of `old` between the common start and end of both lines.
fn differing(old: &str, new: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) =
        (old.split_whitespace().collect(), new.split_whitespace().collect());
    let common = |pairs: &mut dyn Iterator<Item = (&&str, &&str)>| {
        pairs.take_while(|(one, other)| one == other).count()
    };
    let head = common(&mut old.iter().zip(&new));
    let tail = common(&mut old[head..].iter().rev().zip(new[head..].iter().rev()));
    old[head..old.len() - tail].join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rollout::patch::LineCounts;

    fn edit(removed: &str, added: &str) -> FileEdit {
        FileEdit {
            path: "a.md".to_owned(),
            added: added.to_owned(),
            removed: removed.to_owned(),
            counts: LineCounts::default(),
            is_whole: false,
            is_deleted: false,
            parted: Vec::new(),
        }
    }

    #[test]
    fn a_line_is_quoted_with_the_words_it_replaces() {
        for (old, new, expected) in [
            (
                "Work follows `/specs/[name]/` always.",
                "Work follows `/specs/<name>/` always.",
                Some(" (was: `/specs/[name]/`)"),
            ),
            ("- limit: 10 items a page", "- limit: 20 items a page", Some(" (was: 10)")),
            ("The lexer reads bytes", "The lexer reads bytes and tabs", None),
            ("Nothing of this stays.", "All is written from anew, here.", None),
            ("naïve ünïts of lines", "naïve ïtems of lines", Some(" (was: ünïts)")),
        ] {
            let edit = edit(old, new);
            assert_eq!(Replacements::of(&edit).was(new).as_deref(), expected, "{old}");
        }
    }

    #[test]
    fn lines_of_several_places_are_quoted_with_what_they_replace() {
        let removed = "- [ ] T001 Unit tests of the lexer (OPTIONAL)\n- [ ] T002 Tune the table of grammars\n";
        let added = "A line that is new altogether.\n- [ ] T001 Unit tests of the lexer (MANDATORY)\nAnother new one, of other words.\n- [ ] T002 Measure the table of grammars\n";
        let edit = edit(removed, added);
        let replaced = Replacements::of(&edit);
        let was: Vec<Option<String>> = added.lines().map(|line| replaced.was(line)).collect();
        assert_eq!(was[1].as_deref(), Some(" (was: (OPTIONAL))"));
        assert_eq!(was[3].as_deref(), Some(" (was: Tune)"));
        assert!(was[0].is_none() && was[2].is_none());
    }

    #[test]
    fn a_line_that_became_two_has_replaced_nothing() {
        let old = "- Two projects, strict dependency direction: the lexer has no UI dependency; the tests depend on both.";
        let new = "- Two production projects keep a strict dependency direction.\n- the lexer has no UI dependency; the tests depend on both.";
        let edit = edit(old, new);
        let replaced = Replacements::of(&edit);
        for line in new.lines() {
            assert_eq!(replaced.was(line), None, "{line}");
        }
    }

    #[test]
    fn pure_removals_are_quoted_but_large_edits_are_not() {
        let edit_of_one = edit("keep this line\nThe old rule of the lexer", "keep this line");
        let lines: Vec<String> = Replacements::of(&edit_of_one).removed().collect();
        assert_eq!(lines, ["removed: The old rule of the lexer"]);
        assert!(removed(&lines[0]).is_some_and(|line| line.is_of("The old rule of the lexer")));
        let many: String = (0..9).map(|n| format!("old line number {n}\n")).collect();
        assert_eq!(Replacements::of(&edit(&many, "")).removed().count(), 0);
    }
}
