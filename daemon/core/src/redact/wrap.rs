//! Secrets that a terminal or an encoder wrapped at the end of a line.
//!
//! Nothing marks a wrapped line. So a text is read once more with the candidates joined: lines that are wide and end
//! inside a run of token characters, where the next line begins with such a run that is not a word. A match in
//! either reading is a secret.

use std::ops::Range;

use super::value;
use super::view::View;

/// Minimum bytes of a full line.
const LINE_BYTES_MIN: usize = 32;
/// Maximum bytes read of the run at the start of a line.
const PIECE_BYTES_MAX: usize = 256;
/// Maximum bytes of indentation and frame around a line break.
const MARGIN_BYTES_MAX: usize = 24;

/// The text with its wrapped lines joined, and the positions of these lines; `None` if there are none.
pub(super) fn unwrapped(text: &str) -> Option<(View, Vec<Range<usize>>)> {
    let bytes = text.as_bytes();
    let mut view = View::default();
    let mut lines: Vec<Range<usize>> = Vec::new();
    let (mut copied, mut line_start) = (0, 0);
    for newline in memchr::memchr_iter(b'\n', bytes) {
        let begin = line_start;
        let line = &bytes[begin..newline];
        line_start = newline + 1;
        // Rejects nearly every line.
        if line.len() < LINE_BYTES_MIN {
            continue;
        }
        let end = newline - margin(line.iter().rev());
        let continues = end.checked_sub(1).is_some_and(|last| is_inner(bytes[last]));
        if !continues || end <= copied {
            continue;
        }
        let start = line_start + margin(bytes[line_start..].iter());
        if is_piece(piece(&bytes[start..])) {
            let next_end =
                memchr::memchr(b'\n', &bytes[start..]).map_or(bytes.len(), |at| start + at);
            let seen = view.text.len();
            let line = seen + begin.saturating_sub(copied);
            view.copy(text, copied..end);
            let line = line..view.text.len() + (next_end - start);
            match lines.last_mut().filter(|last| last.end > line.start) {
                Some(last) => last.end = line.end,
                None => lines.push(line),
            }
            view.skip_to(start);
            copied = start;
        }
    }
    view.finish(text, copied).map(|view| (view, lines))
}

/// Spaces, and the frame of a box or a quotation.
fn margin<'t>(bytes: impl Iterator<Item = &'t u8>) -> usize {
    let is_margin =
        |byte: &&u8| matches!(byte, b' ' | b'\t' | b'\r' | b'|' | b'>' | 0xe2 | 0x94 | 0x82 | 0x83);
    bytes.take(MARGIN_BYTES_MAX).take_while(is_margin).count()
}

const fn is_inner(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'_' | b'-')
}

const fn is_token(byte: u8) -> bool {
    is_inner(byte) || matches!(byte, b'=' | b'.' | b'%' | b'$')
}

/// The run of token characters at the start of a line.
fn piece(line: &[u8]) -> &[u8] {
    let bytes = line.iter().take(PIECE_BYTES_MAX).take_while(|byte| is_token(**byte)).count();
    &line[..bytes]
}

/// Whether a line begins like the rest of a token, not with a word, a date or a number.
fn is_piece(piece: &[u8]) -> bool {
    let has_digit = piece.iter().any(u8::is_ascii_digit);
    let has_letter = piece.iter().any(u8::is_ascii_alphabetic);
    let is_date =
        matches!(piece, [a, b, c, d, b'-', ..] if [a, b, c, d].iter().all(|d| d.is_ascii_digit()));
    !is_date && (has_letter && has_digit || value::is_random(piece))
}
