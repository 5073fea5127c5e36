//! Lines of code worth quoting: declarations, comments, messages, results.

use super::spot::Spot;
use crate::phrases::Phrases;
use crate::rollout::patch::ANOTHER_PLACE;

/// Maximum lines of one text to inspect.
pub(super) const LINES_MAX: usize = 400;

/// Shorter lines mean little alone.
const BYTES_MIN: usize = 14;

/// Maximum bytes of a declaration quoted with the lines below it, and their number.
const BLOCK_BYTES: usize = 260;
const BLOCK_LINES: usize = 6;

/// Visits the added lines of code, each once: a declaration with the lines below it, another line with the control flow
/// below it. A line that replaced another stays alone.
pub(super) fn added_lines(
    added: &str,
    has_was: impl Fn(&str) -> bool,
    mut visit: impl FnMut(String, u16, Spot),
) {
    // Trimming would remove the mark of another place.
    let bare = |line| if is_elsewhere(line) { line } else { line.trim() };
    let lines = added.lines().map(bare).filter(|line| !is_bracket(line));
    let lines: Vec<&str> = lines.take(LINES_MAX).collect();
    let (mut rest, mut at) = (lines.as_slice(), 0);
    while let Some((line, below)) = rest.split_first() {
        // Dropped lines count, too, so that a view marks the gap.
        at += 1;
        rest = below;
        let declares = declared_name(line).is_some();
        // A short line that replaced another says what became of that.
        if is_elsewhere(line) || !declares && line.len() < BYTES_MIN && !has_was(line) {
            continue;
        }
        let (most, strength) = if declares { (BLOCK_LINES, 110) } else { (2, strength_of(line)) };
        let mut text = (*line).to_owned();
        let is_taken = |text: &str, next: &str| match declares {
            true => declared_name(next).is_none() && text.len() + next.len() < BLOCK_BYTES,
            false => is_control_flow(next),
        };
        for next in below.iter().take(most).take_while(|_| !has_was(line)) {
            if is_elsewhere(next) || has_was(next) || !is_taken(&text, next) {
                break;
            }
            text = format!("{text} {next}");
            rest = &rest[1..];
        }
        visit(text, strength, Spot { at, ..Spot::default() });
    }
}

fn is_elsewhere(line: &str) -> bool {
    line.starts_with(ANOTHER_PLACE)
}

/// Whether a line only directs what the line above it begins: without `continue`, an `if` holds what follows it.
fn is_control_flow(line: &str) -> bool {
    const WORDS: [&str; 7] = ["else", "return", "continue", "break", "pass", "throw", "raise"];
    let mut words = line.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    line.len() < BYTES_MIN && words.next().is_some_and(|word| WORDS.contains(&word))
}

fn is_bracket(line: &str) -> bool {
    line.bytes()
        .all(|byte| matches!(byte, b'{' | b'}' | b'(' | b')' | b'[' | b']' | b';' | b',' | b' '))
}

/// Code that returns, fails or checks.
static INFORMATIVE_CODE: Phrases =
    Phrases::new(&["return", "Err(", "throw", "raise", "assert", "t.Run(", "it(", "test("]);

/// Comments, messages, results and checks explain code; other lines rarely do.
fn strength_of(line: &str) -> u16 {
    let is_comment =
        ["//", "#", "--", "/*", "*", "\"\"\"", "<!--"].iter().any(|mark| line.starts_with(mark));
    let has_message = line.split('"').nth(1).is_some_and(is_message) && !is_attribute(line);
    match () {
        () if has_message || INFORMATIVE_CODE.is_in(line) => 100,
        () if is_comment && line.starts_with("///") => 40,
        () if is_comment => 75,
        () if is_field(line) => 10,
        () => 35,
    }
}

fn is_message(words: &str) -> bool {
    let letters = words.chars().filter(|letter| letter.is_alphabetic()).count();
    words.len() > 11 && letters * 2 > words.chars().count()
}

/// Whether a line only sets an attribute of markup: `className="wide"`, `d="M4 12"`.
fn is_attribute(line: &str) -> bool {
    let name = line.split('=').next().unwrap_or_default();
    line[name.len()..].starts_with("=\"")
        && !name.is_empty()
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

/// Whether a line sets a field of a value, as tables of test cases do over and over: `is_open: true,`.
fn is_field(line: &str) -> bool {
    let Some((name, value)) = line.split_once(": ") else { return false };
    let is_name = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    is_name && line.len() < 60 && value.ends_with(',')
}

/// Modifiers that may precede the declaring keyword.
const MODIFIERS: [&str; 14] = [
    "export",
    "pub",
    "pub(crate)",
    "pub(super)",
    "async",
    "static",
    "public",
    "private",
    "protected",
    "internal",
    "override",
    "abstract",
    "default",
    "final",
];

/// Keywords that declare the name that follows.
const DECLARING: [&str; 12] = [
    "fn",
    "func",
    "function",
    "def",
    "class",
    "struct",
    "enum",
    "trait",
    "interface",
    "type",
    "module",
    "record",
];

/// The name that a line of code declares.
pub(super) fn declared_name(line: &str) -> Option<&str> {
    let mut words = line.split_whitespace();
    let mut word = words.next()?;
    while MODIFIERS.contains(&word) {
        word = words.next()?;
    }
    if !DECLARING.contains(&word) {
        return None;
    }
    // A Go method names its receiver first.
    let rest = match words.next()? {
        receiver if receiver.starts_with('(') => {
            words.find(|word| !word.ends_with(')') || word.contains('('))?
        }
        name => name,
    };
    let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
    (end > 1).then_some(&rest[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declarations_are_named_in_many_languages() {
        for (line, name) in [
            ("pub(crate) async fn parse(line: &str) {", Some("parse")),
            ("func (w *Writer) writeStart(x int) {", Some("writeStart")),
            ("export default class Parser extends Base {", Some("Parser")),
            ("def read_all(self):", Some("read_all")),
            ("let x = 4;", None),
            ("return type;", None),
        ] {
            assert_eq!(declared_name(line), name, "{line}");
        }
    }

    #[test]
    fn comments_and_messages_outweigh_other_code_and_fields_weigh_least() {
        let strengths = [
            "panic(\"the lexer has no input\")",
            "// The lexer was not asked.",
            "found.push(line.text());",
            "is_expected: true,",
        ];
        let strengths = strengths.map(strength_of);
        assert!(strengths.is_sorted_by(|one, next| one > next), "{strengths:?}");
        assert_eq!(strength_of("d=\"M4 12a8 8 0 0 1 8-8\""), strength_of("found.push(line)"));
        assert_eq!(strength_of("panic(\"У лексера нет входа\")"), 100);
    }

    #[test]
    fn each_line_of_code_is_read_once_with_its_control_flow_and_its_place() {
        let parse = "fn parse(line: &Line) {\n    let words = line.words();\n    a = 1;\n}\n";
        let elsewhere = format!("{parse}{ANOTHER_PLACE}\nself.found.clear();\n");
        let loops = "if line.is_comment() {\n    continue;\n}\nn += 1;\nfound.push(line.text());\n";
        for (added, was, expected) in [
            (parse, "none", &[("fn parse(line: &Line) { let words = line.words(); a = 1;", 1)][..]),
            (parse, "words()", &[("fn parse(line: &Line) {", 1), ("let words = line.words();", 2)]),
            (parse, "fn", &[("fn parse(line: &Line) {", 1), ("let words = line.words();", 2)]),
            (
                &*elsewhere,
                "none",
                &[
                    ("fn parse(line: &Line) { let words = line.words(); a = 1;", 1),
                    ("self.found.clear();", 3),
                ],
            ),
            (
                loops,
                "none",
                &[("if line.is_comment() { continue;", 1), ("found.push(line.text());", 3)],
            ),
        ] {
            let mut seen = Vec::new();
            added_lines(
                added,
                |line| line.contains(was),
                |text, _, spot| seen.push((text, spot.at)),
            );
            let seen: Vec<_> = seen.iter().map(|(text, at)| (text.as_str(), *at)).collect();
            assert_eq!(seen, expected);
        }
    }
}
