//! Neutralizes untrusted text.
//!
//! Transcripts, file names and models contain characters that a reader cannot see and a terminal interprets: escape
//! sequences, bidirectional overrides, zero-width and tag characters, line breaks inside a name. Every string
//! passes through one of these functions on its way to a terminal, a view, an editor or a file:
//!
//! - [`one_line`] for text inside a line of ours: a path, a title, a cell of a table;
//! - [`block`] for text with several lines;
//! - [`painted`] for a colored page of ours, whose parts passed through one of the others;
//! - [`json`] for JSON that must stay the same value for the program that parses it.
//!
//! Neutralized characters stay visible, as `\u{1b}` or `\n`. Only colors are removed: they carry no meaning, and half
//! the outputs of a terminal have them. Clean text is scanned once and borrowed.
#![warn(missing_docs)]

use std::borrow::Cow;
use std::fmt::Write as _;

/// The text as one line: line breaks and tabs are shown as `\n`, `\r` and `\t`.
#[must_use]
pub fn one_line(text: &str) -> Cow<'_, str> {
    gate(text, Lines::Shown)
}

/// The text with its lines and tabs; `\r\n` ends a line like `\n`.
#[must_use]
pub fn block(text: &str) -> Cow<'_, str> {
    gate(text, Lines::Kept)
}

/// The colors that our own programs use.
const COLORS: [&str; 13] = [
    "\x1b[0m",
    "\x1b[1m",
    "\x1b[2m",
    "\x1b[3m",
    "\x1b[22m",
    "\x1b[31m",
    "\x1b[32m",
    "\x1b[33m",
    "\x1b[34m",
    "\x1b[35m",
    "\x1b[36m",
    "\x1b[39m",
    "\x1b[1;31m",
];

/// A page for a terminal: as [`block`], but our colors stay.
#[must_use]
pub fn painted(page: &str) -> Cow<'_, str> {
    if !page.contains('\x1b') {
        return block(page);
    }
    let mut out = String::with_capacity(page.len());
    let mut rest = page;
    while !rest.is_empty() {
        let color = COLORS.iter().find(|color| rest.starts_with(**color));
        let next = || rest.char_indices().skip(1).find(|(_, c)| *c == '\x1b');
        let end = match color {
            Some(color) => color.len(),
            None => next().map_or(rest.len(), |(at, _)| at),
        };
        let (part, after) = rest.split_at(end);
        match color {
            Some(color) => out.push_str(color),
            None => out.push_str(&block(part)),
        }
        rest = after;
    }
    Cow::Owned(out)
}

/// Serialized JSON with hidden characters as `\u` escapes; parses to the same value.
#[must_use]
pub fn json(text: &str) -> Cow<'_, str> {
    // JSON has these only inside strings.
    let is_escaped = |c: char| match c {
        '\n' | '\r' | '\t' => false,
        c => is_hidden(c) || is_joiner(c) || is_selector(c),
    };
    if is_plain(text.as_bytes(), Lines::Kept) || !text.contains(is_escaped) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match is_escaped(c) {
            true => c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| {
                write!(out, "\\u{unit:04x}").unwrap_or_default();
            }),
            false => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// Whether a character is invisible and changes how the text around it is shown.
///
/// Excludes joiners and variation selectors, which scripts and emoji need, see [`block`].
#[must_use]
pub fn is_hidden(c: char) -> bool {
    matches!(
        c,
        '\0'..='\u{1f}'
            | '\u{7f}'..='\u{9f}'
            // Soft hyphen, combining grapheme joiner, Arabic letter mark.
            | '\u{ad}' | '\u{34f}' | '\u{61c}'
            // Invisible fillers.
            | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
            | '\u{3164}' | '\u{ffa0}'
            // Zero-width space, direction marks, line and paragraph separators, overrides, isolates.
            | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            // Byte order mark, annotations, formats of shorthand and music, tags.
            | '\u{feff}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}'
    )
}

fn is_joiner(c: char) -> bool {
    matches!(c, '\u{200c}' | '\u{200d}')
}

fn is_selector(c: char) -> bool {
    matches!(c, '\u{fe00}'..='\u{fe0f}')
}

/// How to treat line breaks and tabs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lines {
    Kept,
    Shown,
}

fn gate(text: &str, lines: Lines) -> Cow<'_, str> {
    let Some(first) = first_odd(text, lines) else { return Cow::Borrowed(text) };
    let mut out = String::with_capacity(text.len() + 16);
    out.push_str(&text[..first]);
    let mut before = text[..first].chars().next_back();
    let mut rest = &text[first..];
    while let Some(c) = rest.chars().next() {
        let after = &rest[c.len_utf8()..];
        rest = after;
        if is_kept(before, c, after, lines) {
            out.push(c);
        } else if let Some(colorless) = color(c, after) {
            rest = colorless;
        } else if !(c == '\r' && lines == Lines::Kept && after.starts_with('\n')) {
            show(&mut out, c);
        }
        before = Some(c);
    }
    Cow::Owned(out)
}

/// The byte index of the first character that is not kept.
fn first_odd(text: &str, lines: Lines) -> Option<usize> {
    if is_plain(text.as_bytes(), lines) {
        return None;
    }
    let mut at = 0;
    while let Some(plain) = text.as_bytes()[at..].iter().position(|b| !matches!(b, b' '..=b'~')) {
        at += plain;
        let c = text[at..].chars().next()?;
        let before = text[..at].chars().next_back();
        let end = at + c.len_utf8();
        if !is_kept(before, c, &text[end..], lines) {
            return Some(at);
        }
        at = end;
    }
    None
}

/// Whether all bytes are printable ASCII; checks blocks without branches, since nearly all text is.
fn is_plain(bytes: &[u8], lines: Lines) -> bool {
    let keeps = lines == Lines::Kept;
    bytes.chunks(64).all(|chunk| {
        !chunk.iter().fold(false, |odd, byte| {
            let is_break = keeps & ((*byte == b'\n') | (*byte == b'\t'));
            odd | (((*byte < b' ') | (*byte > b'~')) & !is_break)
        })
    })
}

fn is_kept(before: Option<char>, c: char, after: &str, lines: Lines) -> bool {
    match c {
        ' '..='~' => true,
        '\n' | '\t' => lines == Lines::Kept,
        // Allowed inside a word of a joining script or a joined emoji, never in ASCII, where it hides text.
        c if is_joiner(c) => {
            before.is_some_and(is_script) && after.chars().next().is_some_and(is_script)
        }
        // One per character: a run of them carries hidden bytes.
        c if is_selector(c) => {
            before.is_some_and(|c| c > ' ' && !is_hidden(c) && !is_selector(c) && !is_joiner(c))
        }
        c => !is_hidden(c),
    }
}

fn is_script(c: char) -> bool {
    !c.is_ascii() && !c.is_whitespace() && !is_hidden(c) && !is_joiner(c)
}

/// The text after a color sequence (`ESC [ 31 m`) that begins with `c`.
fn color(c: char, after: &str) -> Option<&str> {
    let parameters = after.strip_prefix('[').filter(|_| c == '\u{1b}')?;
    let rest = parameters.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';' || c == ':');
    rest.strip_prefix('m')
}

/// Writes a character as a visible escape.
fn show(out: &mut String, c: char) {
    match c {
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        c => write!(out, "\\u{{{:x}}}", u32::from(c)).unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests;
