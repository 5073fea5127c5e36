//! Cuts that never split a character, conversion to one line, and other steps on plain text.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::sync::LazyLock;

use regex::Regex;

pub const ELLIPSIS: &str = "…";

/// The longest prefix of at most `bytes` bytes that ends between characters.
pub fn prefix(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}

/// The longest suffix of at most `bytes` bytes that starts between characters.
pub fn suffix(text: &str, bytes: usize) -> &str {
    let start = text.len().saturating_sub(bytes);
    &text[text.ceil_char_boundary(start)..]
}

/// The text between two marks.
pub fn between<'a>(text: &'a str, open: &str, close: &str) -> Option<&'a str> {
    Some(text.split_once(open)?.1.split_once(close)?.0)
}

/// Appends formatted text.
pub fn push(out: &mut String, words: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _written = out.write_fmt(words);
}

/// A count with separated thousands.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

pub fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(at, b)| match at {
            8 | 13 | 18 | 23 => b == b'-',
            _ => b.is_ascii_hexdigit(),
        })
}

/// Lower-case letters and digits of `words`, joined by single hyphens, at most `bytes` bytes; may be empty. Non-ASCII
/// letters are dropped, since file systems treat them differently.
pub fn slug(words: &str, bytes: usize) -> String {
    let mut out = String::new();
    for c in words.chars() {
        if out.len() >= bytes {
            break;
        }
        match c.to_ascii_lowercase() {
            c if c.is_ascii_alphanumeric() => out.push(c),
            _ if !out.is_empty() && !out.ends_with('-') => out.push('-'),
            _ => {}
        }
    }
    out.trim_end_matches('-').to_owned()
}

/// Cuts the end so that the result, ellipsis included, is at most `bytes` bytes.
pub fn cut(text: &str, bytes: usize) -> Cow<'_, str> {
    if text.len() <= bytes {
        return Cow::Borrowed(text);
    }
    let kept = prefix(text, bytes.saturating_sub(ELLIPSIS.len())).trim_end();
    if bytes < ELLIPSIS.len() { Cow::Borrowed("") } else { Cow::Owned(format!("{kept}{ELLIPSIS}")) }
}

/// Like [`cut`], but at a word boundary if there is one.
pub fn cut_words(text: &str, bytes: usize) -> Cow<'_, str> {
    if text.len() <= bytes {
        return Cow::Borrowed(text);
    }
    let cut = cut(text, bytes);
    let kept = cut.trim_end_matches(ELLIPSIS);
    if text[kept.len()..].starts_with(char::is_whitespace) {
        return cut;
    }
    match kept.rsplit_once(char::is_whitespace) {
        Some((whole, _)) => Cow::Owned(format!("{}{ELLIPSIS}", whole.trim_end())),
        None => cut,
    }
}

/// Cuts by characters: the first `chars − 1`, then an ellipsis.
pub fn cut_chars(text: &str, chars: usize) -> Cow<'_, str> {
    if chars == 0 {
        return Cow::Borrowed("");
    }
    match text.char_indices().nth(chars) {
        None => Cow::Borrowed(text),
        Some(_) => {
            let end = text.char_indices().nth(chars - 1).map_or(text.len(), |(at, _)| at);
            Cow::Owned(format!("{}{ELLIPSIS}", &text[..end]))
        }
    }
}

/// Ends the marker of a cut.
const CUT: &str = " bytes cut…";

/// Opens and closes code in Markdown.
const FENCE: &str = "```";

/// Cuts the middle so that the result, marker included, is at most `bytes` bytes. The beginning gets two
/// thirds, because requests state their purpose first.
pub fn cut_middle(text: &str, bytes: usize) -> Cow<'_, str> {
    if text.len() <= bytes {
        return Cow::Borrowed(text);
    }
    let marker = format!("{ELLIPSIS}{} bytes cut{ELLIPSIS}", text.len() - bytes);
    let Some(room) = bytes.checked_sub(marker.len()) else { return cut(text, bytes) };
    let head = prefix(text, room * 2 / 3);
    let tail = suffix(text, room - head.len());
    Cow::Owned(format!("{head}{marker}{tail}"))
}

/// Cuts the middle of a message in Markdown, at the ends of lines where there are some; the marker has a line of its own. What
/// is code before the cut ends there, and what is code after it begins there.
pub fn cut_middle_lines(text: &str, bytes: usize) -> Cow<'_, str> {
    if text.len() <= bytes {
        return Cow::Borrowed(text);
    }
    let marker = |cut: usize| format!("\n{ELLIPSIS}{cut}{CUT}\n");
    let fences = 2 * FENCE.len() + 2;
    let reserved = marker(text.len()).len() + fences;
    let Some(room) = bytes.checked_sub(reserved) else { return cut(text, bytes) };
    let head = prefix(text, room * 2 / 3);
    // A line that fills most of it is cut itself.
    let end = head.rfind('\n').filter(|end| *end > head.len() / 2).unwrap_or(head.len());
    let tail = suffix(text, room - head.len());
    let start = tail.find('\n').filter(|at| *at < tail.len() / 2).map_or(0, |at| at + 1);
    let (head, tail) = (&head[..end], &tail[start..]);
    let is_code = |before: &str| {
        before.lines().filter(|line| line.trim_start().starts_with(FENCE)).count() % 2 == 1
    };
    let closing = if is_code(head) { format!("\n{FENCE}") } else { String::new() };
    let before = &text[..text.len() - tail.len()];
    let opening = if is_code(before) { format!("{FENCE}\n") } else { String::new() };
    let marker = marker(text.len() - head.len() - tail.len());
    Cow::Owned(format!("{head}{closing}{marker}{opening}{tail}"))
}

/// Whether a line is the marker of [`cut_middle_lines`].
pub fn is_cut(line: &str) -> bool {
    line.starts_with(ELLIPSIS) && line.ends_with(CUT)
}

/// What [`cut_middle`] left of a text; `None` of a whole one.
pub fn around_cut(text: &str) -> Option<(&str, &str)> {
    let (before, tail) = text.split_once(CUT)?;
    Some((before.rsplit_once('…')?.0, tail))
}

/// A terminal escape (ECMA-48): a control sequence (colors, cursor), a title, or another one.
static ESCAPE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        "\\x1b(?:\\[[0-?]*[ -/]*[@-~]|\\][^\\x07\\x1b]*(?:\\x07|\\x1b\\\\)|[ -/]*[0-Z\\\\^-~])",
    )
    .ok()
});

pub fn without_escapes(text: &str) -> Cow<'_, str> {
    match (memchr::memchr(b'\x1b', text.as_bytes()), ESCAPE.as_ref()) {
        (Some(_), Some(escape)) => escape.replace_all(text, ""),
        _ => Cow::Borrowed(text),
    }
}

/// Folds every run of white space and control characters into one space.
pub fn one_line(text: &str) -> Cow<'_, str> {
    let text = text.trim();
    if is_one_line(text) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    for word in words(text) {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
    }
    Cow::Owned(out)
}

/// Whether a text has no control characters and no white space except single spaces. Reads all bytes once,
/// without a branch for each, which the compiler vectorizes: most texts are clean.
fn is_one_line(text: &str) -> bool {
    const BLANK: u8 = 1;
    const NOT_ASCII: u8 = 0x80;
    let mark = |byte: u8, next: u8| {
        let is_blank = (byte < b' ') | (byte == 0x7f) | ((byte == b' ') & (next == b' '));
        byte & NOT_ASCII | u8::from(is_blank)
    };
    let bytes = text.as_bytes();
    let Some(last) = bytes.last() else { return true };
    let pairs = bytes.iter().zip(&bytes[1..]);
    let marks = pairs.fold(mark(*last, 0), |marks, (byte, next)| marks | mark(*byte, *next));
    let is_visible = |c: char| c.is_ascii() || !c.is_control() && !c.is_whitespace();
    marks & BLANK == 0 && (marks & NOT_ASCII == 0 || text.chars().all(is_visible))
}

/// `text` with the entities that escape a text in XML replaced by their characters.
pub fn unescaped(text: &str) -> Cow<'_, str> {
    if memchr::memchr(b'&', text.as_bytes()).is_none() {
        return Cow::Borrowed(text);
    }
    let entities = [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&apos;", "'"),
        ("&#39;", "'"),
        ("&amp;", "&"),
    ];
    let replace = |text: String, (entity, letter)| text.replace(entity, letter);
    Cow::Owned(entities.into_iter().fold(text.to_owned(), replace))
}

/// Same as `cut(&one_line(text), bytes)`, but reads no more of the text than it returns.
pub fn one_line_cut(text: &str, bytes: usize) -> String {
    let text = text.trim();
    let shown = &text[..text.ceil_char_boundary(bytes + 1)];
    // Ending in a visible character, it is too long even when the rest folds to nothing.
    if is_one_line(shown) && !shown.ends_with(' ') {
        return cut(text, bytes).into_owned();
    }
    let mut out = String::with_capacity(bytes + 8);
    for word in words(text) {
        if out.len() > bytes {
            break;
        }
        if !out.is_empty() {
            out.push(' ');
        }
        // More than fits is enough, because the result is cut either way.
        out.push_str(prefix(word, bytes + 4));
    }
    if out.len() <= bytes { out } else { cut(&out, bytes).into_owned() }
}

/// The words of a text, separated by white space and control characters.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn thousands_are_separated() {
        let shown = [0, 999, 1_000, 12_345_678].map(grouped);
        assert_eq!(shown, ["0", "999", "1,000", "12,345,678"]);
    }

    #[test]
    fn cuts_stay_within_bounds_and_split_no_character() {
        let text = "añb😀cdefghij".repeat(9);
        for bytes in 0..text.len() + 3 {
            assert!(prefix(&text, bytes).len() <= bytes);
            assert!(suffix(&text, bytes).len() <= bytes);
            assert!(cut(&text, bytes).len() <= bytes, "{bytes}");
            assert!(cut_middle(&text, bytes).len() <= bytes, "{bytes}");
        }
        assert_eq!(cut(&text, text.len()), text);
        let (head, tail) = ("a".repeat(1_000), "b".repeat(1_000));
        let whole = cut_middle(&format!("{head}{tail}"), 320).into_owned();
        let kept = |letter: char| whole.chars().filter(|c| *c == letter).count();
        assert!(whole.contains("…1680 bytes cut…"), "{whole}");
        let around = around_cut(&whole).map(|(before, after)| (before.len(), after.len()));
        assert_eq!((around, around_cut(&head)), (Some((200, 100)), None));
        // The marker has a `b` and no `a`.
        assert_eq!((kept('a'), kept('b')), (200, 101), "two thirds are the beginning");
    }

    #[test]
    fn a_message_is_cut_between_lines_and_code_stays_code() {
        let lines =
            |from: u32| (from..from + 40).map(|n| format!("line {n}\n")).collect::<String>();
        let prose = cut_middle_lines(&lines(100), 200).into_owned();
        let cut: Vec<&str> = prose.lines().filter(|line| is_cut(line)).collect();
        let left = prose.len() - cut.concat().len() - 2;
        assert_eq!(cut, [format!("…{} bytes cut…", lines(100).len() - left)], "{prose}");
        assert!(
            prose.lines().all(|line| line.len() == "line 100".len() || is_cut(line)),
            "{prose}"
        );
        let code = format!("a\n```\n{}```\n{}", lines(100), lines(200));
        let (begun, rest) = cut_middle_lines(&code, 400)
            .split_once('…')
            .map(|(a, b)| (a.to_owned(), b.to_owned()))
            .unwrap();
        assert!(begun.ends_with("\n```\n") && !rest.contains("```"), "{begun}…{rest}");
        let ends = cut_middle_lines(&code[..code.len() - 300], 200).into_owned();
        assert_eq!(ends.matches("```").count() % 2, 0, "{ends}");
        for text in [&lines(100), &code, &"x".repeat(900)] {
            for bytes in [0, 20, 60, 150, 400] {
                assert!(cut_middle_lines(text, bytes).len() <= bytes, "{bytes}: {text}");
            }
        }
    }

    #[test]
    fn slugs_are_safe_in_any_file_system() {
        for (words, expected) in [
            ("Fix the Parser!", "fix-the-parser"),
            ("../../etc/passwd", "etc-passwd"),
            ("修复", ""),
            ("  a__b  ", "a-b"),
        ] {
            assert_eq!(slug(words, 60), expected);
        }
        assert!(slug(&"word ".repeat(99), 60).len() <= 60);
    }

    #[test]
    fn cuts_prefer_word_boundaries() {
        for (text, bytes, expected) in [
            ("fix src/main.rs", 15, "fix src/main.rs"),
            ("fix src/main.rs", 14, "fix…"),
            ("fix it now", 9, "fix it…"),
            ("src/main.rs", 8, "src/m…"),
            ("done…", 9, "done…"),
        ] {
            assert_eq!(cut_words(text, bytes), expected, "{text} {bytes}");
        }
    }

    #[test]
    fn values_are_cut_by_characters() {
        assert_eq!(cut_chars("abcdef", 6), "abcdef");
        assert_eq!(cut_chars("abcdefg", 6), "abcde…");
        assert_eq!(cut_chars("😀😀😀", 2), "😀…");
        assert_eq!(cut_chars("x", 0), "");
    }

    #[test]
    fn terminal_escapes_are_removed() {
        for (text, shown) in [
            ("\x1b[31merror\x1b[0m: \x1b[1;38;5;9mx\x1b[m", "error: x"),
            ("\x1b]0;title\x07a\x1b]8;;http://x\x1b\\b", "ab"),
            ("\x1b(Bplain\x1b=", "plain"),
            ("torn \x1b[3", "torn \x1b[3"),
        ] {
            assert_eq!(without_escapes(text), shown, "{text:?}");
        }
        assert!(matches!(without_escapes("plain"), Cow::Borrowed("plain")));
    }

    #[test]
    fn one_line_folds_white_space() {
        assert_eq!(one_line(" a\n\n b\tc\u{0} "), "a b c");
        assert_eq!(one_line("é\u{a0}x\u{80}y\u{2003}z"), "é x y z");
        assert_eq!(one_line("x\u{80}y"), "x y");
        assert_eq!(one_line("x\u{a0}y"), "x y");
        assert!(matches!(one_line("plain words"), Cow::Borrowed("plain words")));
        assert_eq!(one_line_cut("ab \u{0}\u{0}", 2), "ab", "the rest is blank");
        assert_eq!(one_line_cut("abc d", 3), "…");
    }

    proptest! {
        #[test]
        fn cutting_early_equals_cutting_late(
            text in "([a-zäé😀\\u{0}]{0,9}[ \n\t\u{a0}]{0,3}){0,12}",
            bytes in 0..40_usize,
        ) {
            let line = one_line(&text);
            prop_assert_eq!(one_line_cut(&text, bytes), cut(&line, bytes));
        }
    }
}
