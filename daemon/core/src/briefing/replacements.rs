//! Describes small edits as changes: a line with the text it replaced, and lines that were only removed.

use rustc_hash::FxHashSet;

use super::file_edit::FileEdit;
use super::lines::item_of;
use crate::rollout::patch::ANOTHER_PLACE;
use crate::text;

/// Edits that remove more lines are described by their added lines. Of more than `REMOVED_MAX` lines without a
/// successor the first one is quoted.
const LINES_MAX: usize = 16;
const REMOVED_MAX: usize = 4;

/// Maximum bytes quoted of replaced text, and of a removed line.
const WAS_BYTES: usize = 90;
const REMOVED_BYTES: usize = 140;

/// Maximum bytes of replaced words for which the whole line is quoted.
const FRAGMENT_BYTES: usize = 8;

/// Minimum percentage of the shorter line that two versions of a line share.
const COMMON_PERCENT: usize = 34;
/// The same, if only the words indicate that one line replaced the other.
const COMMON_PERCENT_ALONE: usize = 60;

/// Percentage of a line's other words that stand next to it if one line became several, and bytes of such a
/// word.
const MOVED_PERCENT: usize = 60;
const WORD_BYTES_MIN: usize = 4;

/// Shorter lines without a number are brackets and the like.
const LINE_BYTES_MIN: usize = 8;

const WAS: &str = " (was: ";
const REMOVED: &str = "removed: ";

/// The line replacements of a small edit.
#[derive(Default)]
pub(super) struct Replacements<'a> {
    pairs: Vec<(&'a str, &'a str)>,
    /// Lines without a successor, if the edit removed more than it added.
    removed: Vec<&'a str>,
    /// Number of further ones.
    more: usize,
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
        // Of equal lines nothing tells which one replaced another.
        let is_only = |new: &str| added.iter().filter(|line| **line == new).count() == 1;
        if removed.is_empty() || removed.len() > LINES_MAX {
            return Self::default();
        }
        if added.len() == removed.len() {
            let pairs = added.iter().copied().zip(removed);
            let pairs =
                pairs.filter(|(new, old)| is_only(new) && are_versions(new, old, COMMON_PERCENT));
            return Self { pairs: pairs.collect(), ..Self::default() };
        }
        let mut pairs = in_order(&added, &removed);
        let mut lost = Vec::new();
        if added.len() < removed.len() {
            let is_paired = |old: &str| pairs.iter().any(|(_, paired)| *paired == old);
            lost.extend(removed.iter().copied().filter(|old| !is_paired(old)));
        }
        let more = if lost.len() > REMOVED_MAX { lost.len() - 1 } else { 0 };
        lost.truncate(lost.len() - more);
        pairs.retain(|(new, old)| is_only(new) && !is_split(new, old, &added));
        Self { pairs, removed: lost, more }
    }

    /// ` (was: OLD)` for a text that ends with a replacing line, with the words that differ.
    pub(super) fn was(&self, text: &str) -> Option<String> {
        let ends_with = |line: &str| {
            text.strip_suffix(line)
                .is_some_and(|before| before.chars().next_back().is_none_or(char::is_whitespace))
        };
        let (new, old) = self.pairs.iter().find(|(new, _)| ends_with(new))?;
        let was = differing(old, new);
        if was.is_empty() || without_marks(old) == without_marks(new) || goes_on_in(old, new) {
            return None;
        }
        // A fragment says nothing without its line.
        let is_fragment = was.len() < FRAGMENT_BYTES || !is_balanced(&was);
        let was = if is_fragment { item_of(old).unwrap_or(old) } else { was.as_str() };
        Some(format!("{WAS}{})", text::one_line_cut(was, WAS_BYTES)))
    }

    pub(super) fn removed(&self) -> impl Iterator<Item = String> {
        let more = match self.more {
            0 => String::new(),
            1 => " […] and 1 more line".to_owned(),
            more => format!(" […] and {more} more lines"),
        };
        self.removed
            .iter()
            .map(move |line| format!("{REMOVED}{}{more}", text::one_line_cut(line, REMOVED_BYTES)))
    }
}

/// A line without what changes when another line comes or goes: its number, and the sign that separates it.
fn without_marks(line: &str) -> &str {
    let line = item_of(line).unwrap_or(line);
    let unnumbered = line.trim_start_matches(|c: char| c.is_ascii_digit());
    unnumbered.trim_start_matches(['.', ')']).trim_end_matches([',', ';', '.'])
}

/// Whether nothing of `old` is gone: `new` has all its words and more, or one of both opens what was one line.
fn goes_on_in(old: &str, new: &str) -> bool {
    let is_opened = old.starts_with(new) && new.ends_with(['{', '(', '[']);
    let mut new_words = plain_words(new);
    let has_all = plain_words(old).all(|word| new_words.any(|it| it == word));
    is_opened || new.starts_with(old) || has_all
}

/// The words of a line without the signs that change when another word follows.
fn plain_words(line: &str) -> impl Iterator<Item = &str> {
    line.split_whitespace().map(|word| word.trim_end_matches([',', ';', '.', ')', ']', '}']))
}

fn is_balanced(text: &str) -> bool {
    let count = |sign: char| text.matches(sign).count();
    [('(', ')'), ('[', ']'), ('{', '}'), ('<', '>')].iter().all(|(a, b)| count(*a) == count(*b))
        && count('"') % 2 == 0
        && count('`') % 2 == 0
}

/// The quoted text, verbatim from the file.
pub(super) fn without_was(text: &str) -> &str {
    // Few texts have these two, and a search for all of it first studies what it looks for.
    if !text.contains("(w") {
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
        let quoted = self.0.split(" […] and ").next().unwrap_or(self.0);
        quoted == text::one_line_cut(line, REMOVED_BYTES)
    }
}

fn lines_of(text: &str) -> Vec<&str> {
    let lines = text.lines().filter(|line| !line.starts_with(ANOTHER_PLACE)).map(str::trim);
    let says =
        |line: &&str| line.len() >= LINE_BYTES_MIN || line.contains(|c: char| c.is_ascii_digit());
    lines.filter(says).collect()
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

    fn edit(removed: &str, added: &str) -> FileEdit {
        FileEdit {
            path: "a.md".to_owned(),
            added: added.to_owned(),
            removed: removed.to_owned(),
            ..FileEdit::default()
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
            (
                "- limit: 10 items a page",
                "- limit: 20 items a page",
                Some(" (was: limit: 10 items a page)"),
            ),
            (
                "Covered: FR23-FR27 (but FR30, FR31) at last",
                "Covered: FR23-FR27 (but FR28, FR29) at last",
                Some(" (was: Covered: FR23-FR27 (but FR30, FR31) at last)"),
            ),
            ("\"telemetry\": false", "\"telemetry\": false,", None),
            ("2. Mark the importer.", "3. Mark the importer.", None),
            ("The lexer reads bytes", "The lexer reads bytes and tabs", None),
            ("Nothing of this stays.", "All is written from anew, here.", None),
            ("naïve ünïts of lines", "naïve ïtems of lines", Some(" (was: naïve ünïts of lines)")),
            ("use lexer::{Line, Word};", "use lexer::{Line, Word, Token};", None),
            ("import { Line } from 'lexer';", "import { Line, Word } from 'lexer';", None),
            ("import { Line, Word } from 'lexer';", "import {", None),
            ("fn parse(", "fn parse(line: &Line) -> Token {", None),
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
        assert_eq!(was[3].as_deref(), Some(" (was: [ ] T002 Tune the table of grammars)"));
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
        let edit = edit(&many, "");
        let lines: Vec<String> = Replacements::of(&edit).removed().collect();
        assert_eq!(lines, ["removed: old line number 0 […] and 8 more lines"]);
        assert!(removed(&lines[0]).is_some_and(|line| line.is_of("old line number 0")));
    }

    #[test]
    fn what_an_edit_took_out_is_quoted_beside_what_it_changed() {
        let before = "\"telemetry\": false,\n\"options\": {\n  \"remote\": \"origin\"\n}";
        let edit_of_both = edit(before, "\"telemetry\": false");
        let replaced = Replacements::of(&edit_of_both);
        let removed: Vec<String> = replaced.removed().collect();
        assert_eq!(removed, ["removed: \"options\": {", "removed: \"remote\": \"origin\""]);
        assert_eq!(replaced.was("\"telemetry\": false"), None);
        let more_added = edit("The old rule of the lexer", "The first new one.\nAnother new one.");
        assert_eq!(Replacements::of(&more_added).removed().count(), 0);
    }

    #[test]
    fn a_line_that_ends_like_a_replaced_one_or_stands_twice_replaces_nothing() {
        let one = edit("lexer_name: string;", "parser_name: string;");
        let replaced = Replacements::of(&one);
        assert!(replaced.was("parser_name: string;").is_some());
        assert_eq!(replaced.was("my_parser_name: string;"), None);
        let twice = edit("name: string;\ncode: string;", "id: string;\nid: string;");
        assert_eq!(Replacements::of(&twice).was("id: string;"), None);
    }

    #[test]
    fn a_text_that_goes_on_does_not_say_what_one_of_its_lines_was() {
        let edit = edit("The lexer reads whole words.", "The lexer reads single bytes.");
        let replaced = Replacements::of(&edit);
        assert!(replaced.was("The lexer reads single bytes.").is_some());
        assert_eq!(replaced.was("The lexer reads single bytes. The parser is as it was."), None);
    }
}
