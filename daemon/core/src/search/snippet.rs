//! Extracts the text around a match as one line.

use std::ops::Range;

use longhaul_printable as printable;

use super::query::Query;
use super::word::{self, Piece};
use crate::{limits, text};

/// An excerpt that shows why an item matched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snippet {
    /// One line, at most [`limits::SNIPPET_BYTES`] and two ellipses long.
    pub text: String,
    /// Byte ranges of the matches, in order, not overlapping.
    pub matches: Vec<Range<usize>>,
}

/// Cuts the part of `text` with the most terms of `query`, or its beginning if there are none.
pub fn snippet(text: &str, query: &Query) -> Snippet {
    // Positions refer to the text as shown.
    let text = &*printable::block(text);
    let found = matches(text, query);
    let window = window(text, &found);
    let inside = found.into_iter().map(|(range, _)| range);
    let inside = inside.filter(|range| window.start <= range.start && range.end <= window.end);
    let mut line = SnippetLine::default();
    if window.start > 0 {
        line.out.push_str(text::ELLIPSIS);
    }
    let mut at = window.start;
    for range in inside {
        if range.start < at {
            continue;
        }
        line.push(&text[at..range.start]);
        line.push_match(&text[range.clone()]);
        at = range.end;
    }
    line.push(&text[at..window.end]);
    if window.end < text.len() {
        line.out.push_str(text::ELLIPSIS);
    }
    Snippet { text: line.out, matches: line.matches }
}

/// Positions of terms in order, each with the index of its term.
fn matches(text: &str, query: &Query) -> Vec<(Range<usize>, usize)> {
    let pieces: Vec<(Piece, String)> = word::pieces(text)
        .map(|piece| {
            let folded = word::fold(&text[piece.range.clone()]);
            (piece, folded)
        })
        .collect();
    let mut found = Vec::new();
    for (number, term) in query.wanted().enumerate() {
        let names = term.name.as_deref().filter(|_| term.pieces.len() == 1);
        for at in 0..pieces.len() {
            let rest = &pieces[at..];
            let is_same = |(wanted, (_, piece)): (&String, &(Piece, String))| wanted == piece;
            let all = term.pieces.len();
            let fits = |last: &str, wanted: &String| match term.is_prefix {
                true => last.starts_with(wanted.as_str()),
                false => last == wanted,
            };
            if rest.len() >= all
                && term.pieces[..all - 1].iter().zip(rest).all(is_same)
                && fits(&rest[all - 1].1, &term.pieces[all - 1])
            {
                found.push((rest[0].0.range.start..rest[all - 1].0.range.end, number));
            } else if let Some(name) = names
                && !rest[0].0.is_whole()
                && rest[0].0.range.start == rest[0].0.run.start
                && fits(&word::fold(&text[rest[0].0.run.clone()]), &name.to_owned())
            {
                found.push((rest[0].0.run.clone(), number));
            }
        }
    }
    found.sort_by_key(|(range, _)| (range.start, std::cmp::Reverse(range.end)));
    found
}

/// The part with the most different terms; a third of it precedes the first match.
fn window(text: &str, found: &[(Range<usize>, usize)]) -> Range<usize> {
    let terms_from = |at: usize| {
        let end = found[at].0.start + limits::SNIPPET_BYTES * 2 / 3;
        let mut terms: Vec<usize> = found[at..]
            .iter()
            .take_while(|(range, _)| range.end <= end)
            .map(|(_, term)| *term)
            .collect();
        terms.sort_unstable();
        terms.dedup();
        terms.len()
    };
    // A long output may contain thousands of matches: consider only the first.
    const PLACES: usize = 256;
    let best =
        (0..found.len().min(PLACES)).max_by_key(|at| (terms_from(*at), std::cmp::Reverse(*at)));
    let first = best.map_or(0, |at| found[at].0.start);
    let start = match first.checked_sub(limits::SNIPPET_BYTES / 3) {
        Some(start) if text.len() > limits::SNIPPET_BYTES => word_start(text, start, first),
        _ => 0,
    };
    let end = text.floor_char_boundary(start + limits::SNIPPET_BYTES);
    let end =
        best.map_or(end, |at| end.max(found[at].0.end.min(start + 2 * limits::SNIPPET_BYTES)));
    start..text.floor_char_boundary(end)
}

/// The first beginning of a word from `start` on, before `limit`.
fn word_start(text: &str, start: usize, limit: usize) -> usize {
    let start = text.ceil_char_boundary(start);
    let space = text[start..limit].find(char::is_whitespace);
    space.map_or(start, |at| start + at)
}

/// Builds a line: white space is folded and matches are recorded.
#[derive(Default)]
struct SnippetLine {
    out: String,
    matches: Vec<Range<usize>>,
}

impl SnippetLine {
    fn push(&mut self, text: &str) {
        for c in text.chars() {
            match c.is_whitespace() || c.is_control() {
                true if self.out.is_empty() || self.out.ends_with(' ') => {}
                true => self.out.push(' '),
                false => self.out.push(c),
            }
        }
    }

    fn push_match(&mut self, text: &str) {
        let start = self.out.len();
        self.push(text);
        self.matches.push(start..self.out.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, query: &str) -> String {
        let snippet = snippet(text, &Query::parse(query).unwrap());
        let mut out = String::new();
        let mut at = 0;
        for range in snippet.matches {
            out += &format!("{}[{}]", &snippet.text[at..range.start], &snippet.text[range.clone()]);
            at = range.end;
        }
        out + &snippet.text[at..]
    }

    #[test]
    fn matches_are_marked_as_the_index_finds_them() {
        for (text, query, expected) in [
            (
                "the ParseLine of\n  src/foo_bar.rs",
                "parseline",
                "the [ParseLine] of src/foo_bar.rs",
            ),
            ("the parseLine", "line", "the parse[Line]"),
            ("see src/foo_bar.rs:7", "foo_bar.rs", "see src/[foo_bar.rs]:7"),
            ("a Dead\nlock, dead", "\"dead lock\"", "a [Dead lock], dead"),
            ("connecting", "conn*", "[connecting]"),
            ("全文检索引擎", "文检索", "全[文检索]引擎"),
            ("CAFÉ", "cafe", "[CAFÉ]"),
            ("nothing here", "absent", "nothing here"),
        ] {
            assert_eq!(shown(text, query), expected, "{text} {query}");
        }
    }

    #[test]
    fn a_match_that_is_longer_than_the_bound_is_shown_whole() {
        let apart = format!("dead{}lock", " ".repeat(limits::SNIPPET_BYTES));
        assert_eq!(shown(&apart, "\"dead lock\""), "[dead lock]");
        let behind = format!("{}{apart}{}", "a ".repeat(900), " b".repeat(900));
        let line = shown(&behind, "\"dead lock\"");
        assert!(line.contains(" a [dead lock]"), "{line}");
    }

    #[test]
    fn a_snippet_begins_with_a_whole_word() {
        for length in 3..30 {
            let word = format!("{}z", "a".repeat(length));
            let line = shown(&format!("{} needle", format!("{word} ").repeat(200)), "needle");
            assert!(line.starts_with(&format!("… {word} ")), "{length}: {line}");
            assert!(line.ends_with("[needle]"), "{length}: {line}");
        }
    }

    #[test]
    fn the_part_with_the_most_terms_is_shown_within_the_bound() {
        let text = format!("one {} one and two {}", "filler ".repeat(500), "end ".repeat(500));
        let line = shown(&text, "one two");
        assert!(line.contains("[one] and [two]"), "{line}");
        assert!(line.starts_with('…') && line.ends_with('…'));
        for text in ["漢".repeat(900), "x\n\t ".repeat(900), "e\u{301}".repeat(900)] {
            let snippet = snippet(&text, &Query::parse("漢 x").unwrap());
            assert!(snippet.text.len() <= 2 * limits::SNIPPET_BYTES + 6);
        }
    }

    #[test]
    fn a_text_within_the_bound_is_shown_whole() {
        for bytes in [limits::SNIPPET_BYTES - 1, limits::SNIPPET_BYTES] {
            let text = "b".repeat(bytes % 2) + &"a ".repeat(bytes / 2 - 3) + "needle";
            assert_eq!(text.len(), bytes);
            assert_eq!(shown(&text, "needle"), text.replace("needle", "[needle]"), "{bytes}");
        }
    }

    #[test]
    fn only_terms_that_the_snippet_shows_count() {
        let filler = |bytes: usize| "word ".repeat(bytes / 5);
        let apart = |bytes| format!("{}one {}two ", filler(600), filler(bytes));
        let far = filler(1_000);
        let line =
            shown(&format!("{}{far}one and two", apart(limits::SNIPPET_BYTES * 4 / 5)), "one two");
        assert!(line.contains("[one] and [two]"), "{line}");
        let near = apart(limits::SNIPPET_BYTES * 2 / 5);
        let line = shown(&format!("one {far}{near}{far}"), "one two");
        assert!(line.contains("[one]") && line.contains("[two]"), "{line}");
    }
}
