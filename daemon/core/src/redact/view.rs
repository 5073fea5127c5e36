//! A text as a reader sees it: without colours, its escaped blanks and characters read, one level or several deep.
//!
//! Rules look at the view; each place in it is known in the text it was made from, so that what is replaced there is
//! the secret and nothing else. Escaped quotes stay as they are: how many backslashes stand before a quote tells
//! which string it ends.

use std::ops::Range;

const ESC: u8 = 0x1b;
/// The longest title or link that a terminal sequence may hold, in bytes.
const SEQUENCE_BYTES_MAX: usize = 2048;
/// The most backslashes before one letter: four levels of escaping.
const BACKSLASHES_MAX: usize = 16;

#[derive(Default)]
pub(super) struct View {
    pub(super) text: String,
    pieces: Vec<Stretch>,
}

/// From here on a byte of the view is a byte of the text, up to the next piece.
struct Stretch {
    view: usize,
    text: usize,
    /// Where the first byte of the piece ends in the text: an escaped one is longer there.
    first_end: usize,
}

/// What an escape or a backslash turns out to be.
enum Sign {
    /// No escape: goes on after so many bytes.
    Plain(usize),
    /// A terminal's sequence: nothing to see.
    Hidden(usize),
    /// One character, written in so many bytes.
    Character(u8, usize),
}

impl View {
    /// The view of a text; `None` where the text is its own.
    pub(super) fn of(text: &str) -> Option<Self> {
        let bytes = text.as_bytes();
        let mut view = Self::default();
        let (mut copied, mut at) = (0, 0);
        while let Some(found) = memchr::memchr2(ESC, b'\\', &bytes[at..]) {
            let start = at + found;
            let (length, character) = match sign(&bytes[start..]) {
                Sign::Plain(length) => {
                    at = start + length;
                    continue;
                }
                Sign::Hidden(length) => (length, None),
                Sign::Character(byte, length) => (length, Some(char::from(byte))),
            };
            view.copy(text, copied..start);
            at = start + length;
            copied = at;
            if let Some(character) = character {
                view.piece(start, at);
                view.text.push(character);
            }
            view.skip_to(at);
        }
        view.finish(text, copied)
    }

    /// Takes over a part of the text.
    pub(super) fn copy(&mut self, text: &str, part: Range<usize>) {
        self.text.push_str(text.get(part).unwrap_or_default());
    }

    /// What comes next stands there in the text.
    pub(super) fn skip_to(&mut self, text: usize) {
        self.piece(text, text + 1);
    }

    /// The view with the rest of the text; `None` where the text is its own.
    pub(super) fn finish(mut self, text: &str, rest: usize) -> Option<Self> {
        if self.pieces.is_empty() {
            return None;
        }
        self.copy(text, rest..text.len());
        Some(self)
    }

    fn piece(&mut self, text: usize, first_end: usize) {
        let view = self.text.len();
        self.pieces.push(Stretch { view, text, first_end });
    }

    /// Where a byte of the text is seen, or the next one that is.
    pub(super) fn seen(&self, text: usize) -> usize {
        let after = self.pieces.partition_point(|piece| piece.text <= text);
        let next = self.pieces.get(after).map_or(usize::MAX, |piece| piece.view);
        let piece = after.checked_sub(1).map(|at| &self.pieces[at]);
        piece.map_or(text, |piece| piece.view + (text - piece.text)).min(next)
    }

    /// What a span of the view, of at least one byte, is in the text.
    pub(super) fn place(&self, span: &Range<usize>) -> Range<usize> {
        let last = span.end - 1;
        self.byte(span.start).start..self.byte(last).end
    }

    fn byte(&self, view: usize) -> Range<usize> {
        let after = self.pieces.partition_point(|piece| piece.view <= view);
        match after.checked_sub(1).map(|at| &self.pieces[at]) {
            None => view..view + 1,
            Some(piece) if piece.view == view => piece.text..piece.first_end,
            Some(piece) => piece.text + (view - piece.view)..piece.text + (view - piece.view) + 1,
        }
    }
}

/// Reads what stands at an escape character or a backslash.
fn sign(bytes: &[u8]) -> Sign {
    if bytes[0] == ESC {
        return Sign::Hidden(1 + sequence(&bytes[1..]));
    }
    let run = bytes.iter().take(BACKSLASHES_MAX).take_while(|byte| **byte == b'\\').count();
    let rest = &bytes[run..];
    let character = match rest {
        [b'n', ..] => (b'\n', 1),
        [b't', ..] => (b'\t', 1),
        [b'r', ..] => (b'\r', 1),
        [b'/', ..] => (b'/', 1),
        [b'e', b'[', ..] => (ESC, 1),
        [b'0', b'3', b'3', b'[', ..] => (ESC, 3),
        [b'x', b'1', b'b' | b'B', b'[', ..] => (ESC, 3),
        [b'u', b'0', b'0', high @ b'0'..=b'7', low, ..] if low.is_ascii_hexdigit() => {
            (hex(*high) << 4 | hex(*low), 5)
        }
        _ => return Sign::Plain(run),
    };
    match character {
        (ESC, length) => Sign::Hidden(run + length + sequence(&rest[length..])),
        (byte, length) => Sign::Character(byte, run + length),
    }
}

const fn hex(digit: u8) -> u8 {
    match digit {
        b'0'..=b'9' => digit - b'0',
        b'a'..=b'f' => digit - b'a' + 10,
        _ => digit - b'A' + 10,
    }
}

/// The length of a terminal's sequence behind its escape character (ECMA-48).
fn sequence(bytes: &[u8]) -> usize {
    let bytes = &bytes[..bytes.len().min(SEQUENCE_BYTES_MAX)];
    match bytes.first() {
        Some(b'[') => {
            let body = bytes[1..].iter().take_while(|byte| matches!(byte, b' '..=b'?')).count();
            let has_end = matches!(bytes.get(1 + body), Some(b'@'..=b'~'));
            1 + body + usize::from(has_end)
        }
        Some(b']') => {
            let end = memchr::memchr3(0x07, ESC, b'\n', bytes);
            end.map_or(1, |end| end + usize::from(bytes[end] == 0x07))
        }
        Some(byte) if byte.is_ascii() && *byte >= b' ' => 1,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_view_is_what_a_reader_sees() {
        for (text, seen) in [
            ("a\u{1b}[1;32mb\u{1b}[0m", "ab"),
            (r"a\nb\\tc\\\\nd", "a\nb\tc\nd"),
            (r"\u001b[31mred\x1b[0m \033[1mbold\e[m", "red bold"),
            (r"k\u003dv \/ \u00e9 \q", "k=v / \\u00e9 \\q"),
            ("\u{1b}]8;;http://x\u{7}link\u{1b}]8;;\u{7}", "link"),
            (r#"{\"a\":\"b\\n\"}"#, "{\\\"a\\\":\\\"b\n\\\"}"),
        ] {
            assert_eq!(View::of(text).unwrap().text, seen, "{text}");
        }
        assert!(View::of(r#"no escape: \" \d C:\dir é"#).is_none());
    }

    proptest! {
        #[test]
        fn every_place_is_known(text in r"([a-cé]|\\{1,3}[nte]|\\u00(3d|1b|e9)|\x1b\[?[0-9]{0,2}m?|\\033\[){0,24}") {
            if let Some(view) = View::of(&text) {
                let mut end = 0;
                for (at, character) in view.text.char_indices() {
                    let place = view.place(&(at..at + character.len_utf8()));
                    prop_assert!(place.start >= end && text.get(place.clone()).is_some());
                    prop_assert!(view.seen(place.start) == at);
                    let is_same = text[place.clone()].starts_with(character);
                    prop_assert!(is_same || text[place.clone()].starts_with('\\'));
                    end = place.end;
                }
            }
        }
    }
}
