//! Finds names in text (paths, identifiers, hashes, URLs): one pass over its bytes, no regular expression.

mod shape;

use crate::limits::PATH_BYTES;
use crate::text::is_uuid;
use shape::{as_path, is_file_name, is_hash, is_name, is_ticket, words_of_kebab};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TermKind {
    Path,
    /// An identifier of code or configuration.
    Name,
    /// A hash, UUID, URL or ticket.
    Id,
    /// Two words joined by a hyphen: sometimes a package or a script, mostly prose.
    Compound,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Term<'a> {
    pub(super) text: &'a str,
    pub(super) kind: TermKind,
}

/// Minimum bytes of an identifier: shorter ones are words or loop variables.
const NAME_BYTES_MIN: usize = 5;

/// Calls `visit` with each term of `text` in order, including repeats. `hyphens` includes `two-words`, which in
/// commands may be a script or a package and in printed text are prose.
pub(super) fn find<'a>(text: &'a str, hyphens: bool, visit: &mut dyn FnMut(Term<'a>)) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let run = bytes[at..].iter().take_while(|byte| is_chunk(**byte)).count();
        let word = &text[at..at + run];
        // A mark at the end belongs to the sentence.
        let bare = word.strip_suffix(['.', ':', '?']).filter(|bare| !bare.is_empty());
        let word = bare.unwrap_or(word);
        if word.contains(|c: char| c.is_ascii_alphabetic()) {
            chunk(word, hyphens, visit);
        }
        at += match bytes[at] {
            _ if run > 0 => run,
            b'#' => issue(&text[at..], visit),
            0x1b => escape_sequence(&bytes[at..]),
            // Quoted text: the letter of an escape belongs to no word.
            b'\\' if bytes.get(at + 1).is_some_and(|b| b"nrt".contains(b)) => 2,
            _ => 1,
        };
        at = text.ceil_char_boundary(at);
    }
}

/// Visits `#123` and returns its length; for anything else, the length of the mark and its digits.
fn issue<'a>(text: &'a str, visit: &mut dyn FnMut(Term<'a>)) -> usize {
    let digits = text.bytes().skip(1).take_while(u8::is_ascii_digit).count();
    let ends = text.as_bytes().get(digits + 1).is_none_or(|b| !is_chunk(*b) || b".:".contains(b));
    if (2..=7).contains(&digits) && ends {
        visit(Term { text: &text[..=digits], kind: TermKind::Id });
    }
    digits + 1
}

/// Length of a terminal escape sequence.
fn escape_sequence(bytes: &[u8]) -> usize {
    let body = bytes.iter().skip(1).take(16).position(|b| b.is_ascii_alphabetic());
    body.map_or(1, |length| length + 2)
}

/// Whether a byte can be part of a path, URL or identifier. All are ASCII, so chunks end at character boundaries.
fn is_chunk(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_/-:.@~+%?&".contains(&byte)
}

fn chunk<'a>(chunk: &'a str, hyphens: bool, visit: &mut dyn FnMut(Term<'a>)) {
    let chunk = bare(chunk);
    if chunk.len() < NAME_BYTES_MIN - 1 {
        return;
    }
    if chunk.contains("://") {
        if chunk.len() <= PATH_BYTES && chunk.len() > 10 {
            visit(Term { text: chunk, kind: TermKind::Id });
        }
        return;
    }
    if is_hash(chunk) || is_uuid(chunk) || is_ticket(chunk) {
        return visit(Term { text: chunk, kind: TermKind::Id });
    }
    let place = without_line(chunk);
    if place.contains('/') {
        if let Some(path) = as_path(place) {
            visit(Term { text: path, kind: TermKind::Path });
        }
        return;
    }
    if (NAME_BYTES_MIN..=PATH_BYTES).contains(&place.len()) && is_file_name(place) {
        visit(Term { text: place, kind: TermKind::Path });
        return;
    }
    match words_of_kebab(place) {
        0 | 1 => {}
        2 if !hyphens => {}
        2 => visit(Term { text: place, kind: TermKind::Compound }),
        _ => visit(Term { text: place, kind: TermKind::Name }),
    }
    // Punctuation separates names.
    let parts = chunk.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    for name in parts.filter(|part| is_name(part)) {
        visit(Term { text: name, kind: TermKind::Name });
    }
}

/// A chunk without the surrounding punctuation of a sentence or of code.
fn bare(chunk: &str) -> &str {
    let is_around = |b: &u8| matches!(b, b':' | b'-' | b'+' | b'?' | b'&' | b'%');
    let is_behind = |b: &u8| matches!(b, b'.' | b':' | b'@');
    let chunk = chunk.strip_prefix("./").unwrap_or(chunk);
    let bytes = chunk.as_bytes();
    let start = bytes.iter().position(|b| !is_around(b)).unwrap_or(bytes.len());
    let end = bytes.iter().rposition(|b| !is_around(b)).map_or(start, |last| last + 1);
    let end = bytes[start..end].iter().rposition(|b| !is_behind(b)).map_or(0, |last| last + 1);
    &chunk[start..start + end]
}

/// `path:12:3`, as compilers and searches print it, without the line and column.
fn without_line(chunk: &str) -> &str {
    match chunk.split_once(':') {
        Some((path, rest))
            if !path.is_empty() && rest.starts_with(|c: char| c.is_ascii_digit()) =>
        {
            path
        }
        _ => chunk.trim_end_matches(':'),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&str]) {
        let mut found = Vec::new();
        find(text, true, &mut |term| found.push(term.text));
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn paths_names_and_ids_are_found() {
        check(
            "see src/auth.rs:12:3 and fn parse_header(x: HttpRequest)",
            &["src/auth.rs", "parse_header", "HttpRequest"],
        );
        check("error at `/w/app/main.py`, line 3", &["/w/app/main.py"]);
        check("--- a/lib/x.ts\n+++ b/lib/x.ts", &["lib/x.ts", "lib/x.ts"]);
        check("commit 1a2b3c4 of https://example.com/r/1", &["1a2b3c4", "https://example.com/r/1"]);
        check("\u{1b}[31mCargo.toml\u{1b}[0m MAX_LINE_BYTES", &["Cargo.toml", "MAX_LINE_BYTES"]);
        check("npm run build-all", &["build-all"]);
        check(r#"{\"a\":\"\nEVALUATION_RUN ./x/y.js\"}"#, &["EVALUATION_RUN", "x/y.js"]);
        check("https {/branch} {/key_id}", &[]);
        check("fixes #950 (SC-001) in apps/admin", &["#950", "SC-001", "apps/admin"]);
        check("use @scope/some-package; gpt-4o-mini", &["@scope/some-package", "gpt-4o-mini"]);
    }

    #[test]
    fn prose_and_numbers_are_not_terms() {
        check("This and/or that, 12.5 seconds, e.g. version 1.2.3; Done.", &[]);
        check("self.len() == 1000000 || true", &[]);
    }

    #[test]
    fn hyphenated_prose_is_found_only_on_request() {
        let mut found = Vec::new();
        find("a well-known long-running job, #1, #fff", false, &mut |term| found.push(term.text));
        assert!(found.is_empty());
    }

    #[test]
    fn two_hyphenated_words_are_a_compound() {
        let mut kinds = Vec::new();
        find("well-known gpt-4o-mini", true, &mut |found| kinds.push(found.kind));
        assert_eq!(kinds, [TermKind::Compound, TermKind::Name]);
    }

    #[test]
    fn any_text_is_accepted() {
        for text in ["\u{1b}", "\u{1b}[", "ä/ö/ü.rs", "::::", "////", "a/", "é".repeat(9).as_str()]
        {
            find(text, true, &mut |found| assert!(!found.text.is_empty()));
        }
    }

    #[test]
    fn the_shape_of_a_chunk_decides_what_it_is() {
        for (text, found) in [
            // Paths: with a folder of a project, a file, several folders, a folder, or a joined name.
            ("src/lexer", "src/lexer"),
            ("one/two/six", "one/two/six"),
            ("mydir/", "mydir"),
            ("my_dir/name", "my_dir/name"),
            ("mine/a.mp3", "mine/a.mp3"),
            ("/b_.rs", "/b_.rs"),
            ("/b-.rs", "/b-.rs"),
            ("schema.graphql", "schema.graphql"),
            ("ab.rs", "ab.rs"),
            // Prose, numbers and addresses.
            ("and/or", ""),
            ("and/or.sentence", ""),
            ("and/or.Rs", ""),
            ("and/or.12", ""),
            ("12/34/5678", ""),
            ("src//lexer.rs", ""),
            ("src/a%20b.rs", ""),
            ("src/a?b.rs", ""),
            ("src/a&b.rs", ""),
            ("a.rs", ""),
            // Names.
            ("parse_line", "parse_line"),
            ("parseLine", "parseLine"),
            ("__init__", ""),
            ("a_1_b_2", ""),
            ("1parse_line", ""),
            ("Parse", ""),
            ("parse", ""),
            // Words with hyphens.
            ("one-two-three", "one-two-three"),
            ("1-two-three", ""),
            ("one--two-three", ""),
            ("one-two-three@x", ""),
            ("-one-two", "one-two"),
            // Tickets, hashes, addresses.
            ("ABC-123", "ABC-123"),
            ("A-123", ""),
            ("ABCDEFGHIJK-1", ""),
            ("ABC-1234567", ""),
            ("AbC-123", ""),
            ("1a2b3c4", "1a2b3c4"),
            ("1a2b3g4", ""),
            ("12345a7", ""),
            ("0199a213-81c0-7800-8aa1-bbab2a035a53", "0199a213-81c0-7800-8aa1-bbab2a035a53"),
            ("0199a213-81c0-78008-aa1-bbab2a035a53", ""),
            ("http://a.b", ""),
            ("http://a.bc", "http://a.bc"),
            ("#12", "#12"),
            ("#1234567", "#1234567"),
            ("#1", ""),
            ("#12345678", ""),
        ] {
            check(text, &Vec::from_iter((!found.is_empty()).then_some(found)));
        }
    }
}
