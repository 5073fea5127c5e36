//! A text as a reader sees it: without colors, and with escapes of one or several levels resolved.
//!
//! Rules read the view. Each position in it maps to the original text, so that exactly the secret is replaced
//! there. Escaped quotes are kept: the number of backslashes before a quote says which string it ends.

use std::ops::Range;

const ESC: u8 = 0x1b;
/// Maximum bytes of a title or link in a terminal sequence.
const SEQUENCE_BYTES_MAX: usize = 2048;
/// Maximum backslashes before one letter: four levels of escaping.
const BACKSLASHES_MAX: usize = 16;

#[derive(Default)]
pub(super) struct View {
    pub(super) text: String,
    pieces: Vec<Stretch>,
}

/// Maps view positions to text positions, up to the next piece.
struct Stretch {
    view: usize,
    text: usize,
    /// End of the piece's first byte in the text: an escaped one is longer there.
    first_end: usize,
}

/// Meaning of an escape character or backslash, with its length in bytes.
enum Escape {
    /// Not an escape.
    Plain(usize),
    /// An invisible terminal sequence.
    Hidden(usize),
    /// An escaped character.
    Character(u8, usize),
}

impl View {
    /// The view of a text; `None` if it equals the text.
    pub(super) fn of(text: &str) -> Option<Self> {
        let bytes = text.as_bytes();
        let mut view = Self::default();
        let (mut copied, mut at) = (0, 0);
        while let Some(found) = memchr::memchr2(ESC, b'\\', &bytes[at..]) {
            let start = at + found;
            let (length, character) = match escape(&bytes[start..]) {
                Escape::Plain(length) => {
                    at = start + length;
                    continue;
                }
                Escape::Hidden(length) => (length, None),
                Escape::Character(byte, length) => (length, Some(char::from(byte))),
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

    /// Appends a part of the text.
    pub(super) fn copy(&mut self, text: &str, part: Range<usize>) {
        self.text.push_str(text.get(part).unwrap_or_default());
    }

    /// Continues at this position of the text.
    pub(super) fn skip_to(&mut self, text: usize) {
        self.piece(text, text + 1);
    }

    /// Appends the rest of the text; `None` if the view equals it.
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

    /// View position of a byte of the text, or of the next visible byte.
    pub(super) fn seen(&self, text: usize) -> usize {
        let after = self.pieces.partition_point(|piece| piece.text <= text);
        let next = self.pieces.get(after).map_or(usize::MAX, |piece| piece.view);
        let piece = after.checked_sub(1).map(|at| &self.pieces[at]);
        piece.map_or(text, |piece| piece.view + (text - piece.text)).min(next)
    }

    /// Maps a nonempty span of the view to the text.
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

/// Reads the escape at the start of `bytes`.
fn escape(bytes: &[u8]) -> Escape {
    if bytes[0] == ESC {
        return Escape::Hidden(1 + sequence(&bytes[1..]));
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
        _ => return Escape::Plain(run),
    };
    match character {
        (ESC, length) => Escape::Hidden(run + length + sequence(&rest[length..])),
        (byte, length) => Escape::Character(byte, run + length),
    }
}

const fn hex(digit: u8) -> u8 {
    match digit {
        b'0'..=b'9' => digit - b'0',
        b'a'..=b'f' => digit - b'a' + 10,
        _ => digit - b'A' + 10,
    }
}

/// Length of a terminal sequence after its escape character (ECMA-48).
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
    fn a_view_resolves_escapes_and_hides_sequences() {
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
        fn every_position_maps_to_the_text(text in r"([a-cé]|\\{1,3}[nte]|\\u00(3d|1b|e9)|\x1b\[?[0-9]{0,2}m?|\\033\[){0,24}") {
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
