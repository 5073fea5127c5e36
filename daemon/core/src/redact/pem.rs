//! Private keys in PEM and PuTTY form: whole, cut off at either end, indented, quoted line by line, numbered as by
//! `cat -n`, or with spaces for newlines.

use std::ops::Range;

use super::pattern::Pattern;
use super::rule::Verdict;

pub(super) const BEGIN: &[&str] = &["-----BEGIN "];
pub(super) const END: &[&str] = &["-----END "];
pub(super) const PUTTY: &[&str] = &["Private-Lines:"];

/// Maximum bytes of a marker line.
const MARKER_LINE_BYTES_MAX: usize = 96;
/// Maximum bytes of a key's line: some keys are on a single line.
const LINE_BYTES_MAX: usize = 16 * 1024;
/// Maximum bytes of a line when searching backwards.
const LINE_BACK_BYTES_MAX: usize = 4096;
/// Minimum base64 letters of a line to count as key material if the key's beginning is missing.
const TAIL_LINE_BYTES_MIN: usize = 24;

static LABEL: Pattern =
    Pattern::new(r"(?-u)^-----(?:BEGIN|END) [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----");

/// One line of a key: base64, with the prefixes and suffixes that editors and tools add.
static BODY_LINE: Pattern =
    Pattern::new(r#"(?-u)^[ \t>|+"'#0-9:.,-]*[A-Za-z0-9+/=]*(?:\.\.\.)?[ \t\r"',;+)\\]*$"#);

/// A header inside the key, such as `DEK-Info: AES-256-CBC,…`.
static HEADER_LINE: Pattern =
    Pattern::new(r"(?-u)^[ \t>|+]*(?:Proc-Type|DEK-Info|Version|Comment|Hash|Charset): ");

fn label_bytes(text: &[u8], at: usize) -> Option<usize> {
    let window = text.get(at..text.len().min(at + MARKER_LINE_BYTES_MAX))?;
    LABEL.regex()?.find(window).map(|m| m.end())
}

/// The key from its first line to its last, or to the last line that looks like a key.
pub(super) fn judge_begin(text: &[u8], hit: &Range<usize>, _floor: usize) -> Verdict {
    let Some(label) = label_bytes(text, hit.start) else { return Verdict::Nothing };
    let body_start = hit.start + label;
    let body_end = body_end(text, body_start);
    let closing = if text[body_end..].starts_with(b"-----END ") {
        label_bytes(text, body_end).unwrap_or(0)
    } else {
        0
    };
    let holds_key = text[body_start..body_end].iter().any(u8::is_ascii_alphanumeric);
    if holds_key {
        Verdict::from(Some(hit.start..body_end + closing))
    } else {
        Verdict::Passed { resume: body_start }
    }
}

/// The rest of a key whose beginning was cut off.
pub(super) fn judge_end(text: &[u8], hit: &Range<usize>, floor: usize) -> Option<Range<usize>> {
    let label = label_bytes(text, hit.start)?;
    let mut start = hit.start;
    while let Some(line_start) = previous_line(text, start, floor) {
        let line = &text[line_start..start];
        let letters = line.iter().filter(|b| b.is_ascii_alphanumeric()).count();
        let is_first = start == hit.start;
        if !is_body_line(line) || (letters < TAIL_LINE_BYTES_MIN && !is_first) {
            break;
        }
        start = line_start;
    }
    let letters = text[start..hit.start].iter().filter(|b| b.is_ascii_alphanumeric()).count();
    (letters >= TAIL_LINE_BYTES_MIN).then_some(start..hit.start + label)
}

/// The private part of a PuTTY key file.
pub(super) fn judge_putty(text: &[u8], hit: &Range<usize>, _floor: usize) -> Option<Range<usize>> {
    let start = line_break(text, hit.end).1;
    let end = body_end(text, start);
    (end >= start + TAIL_LINE_BYTES_MIN).then_some(start..end)
}

/// The end of the key's lines after `start`: the closing marker, the first other line, or the end of the text.
fn body_end(text: &[u8], start: usize) -> usize {
    let mut at = start;
    let mut key_end = start;
    let mut in_headers = false;
    while at < text.len() {
        let (line_end, next) = line_break(text, at);
        let line = &text[at..line_end];
        if let Some(dashes) = memchr::memmem::find(line, b"-----") {
            let body = &line[..dashes];
            let is_body = is_body_line(body) || body.iter().all(|b| is_spaced_body(*b));
            return if is_body { at + dashes } else { key_end };
        }
        let is_header = HEADER_LINE.is_match(line);
        let is_blank = line.iter().all(u8::is_ascii_whitespace);
        let continues = is_header || is_body_line(line);
        if !continues || (is_blank && !in_headers && at != start) {
            return key_end;
        }
        in_headers = is_header;
        key_end = line_end;
        if line_end == next {
            break;
        }
        at = next;
    }
    key_end
}

fn is_body_line(line: &[u8]) -> bool {
    BODY_LINE.is_match(line.strip_suffix(b"\n").unwrap_or(line))
}

/// Whether a byte may be in a key written on one line.
const fn is_spaced_body(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b' ' | b'+' | b'/' | b'=')
}

/// The end of the line at `at` and the start of the next.
fn line_break(text: &[u8], at: usize) -> (usize, usize) {
    let window = &text[at..text.len().min(at + LINE_BYTES_MAX)];
    let end = memchr::memchr(b'\n', window);
    end.map_or((at + window.len(), at + window.len()), |end| (at + end, at + end + 1))
}

/// The start of the line that ends right before `end`, if it is after `floor`.
fn previous_line(text: &[u8], end: usize, floor: usize) -> Option<usize> {
    let from = floor.max(end.saturating_sub(LINE_BACK_BYTES_MAX));
    let window = text.get(from..end)?;
    let body = window.strip_suffix(b"\n").unwrap_or(window);
    let start = from + memchr::memrchr(b'\n', body).map_or(0, |i| i + 1);
    (start < end).then_some(start)
}
