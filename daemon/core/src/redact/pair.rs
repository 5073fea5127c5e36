//! A name and its value in fields of their own: `{"name": "API_KEY", "value": "…"}`, in either order, and the same in
//! YAML, code and XML.

use std::ops::Range;

use super::assignment::{self, Separator};
use super::pattern::Pattern;
use super::rule::Verdict;
use super::value::Form;

/// Labels of a name.
pub(super) const NAMES: [&str; 4] = ["name", "key", "Name", "Key"];
/// Labels of a value.
pub(super) const VALUES: [&str; 2] = ["value", "Value"];

/// Maximum bytes between a name's end and its value.
const GAP_BYTES_MAX: usize = 160;
/// Maximum bytes of a value before its name, with its label.
const BEFORE_BYTES_MAX: usize = 2 * 1024;
/// Maximum labels tried before a name: a value may contain one.
const LABELS_MAX: usize = 2;

/// From a name's end, or from a value's label, to the value.
static VALUE: Pattern = Pattern::new(concat!(
    r#"(?-u)^(?P<gap>(?:\\{0,3}["'`])?[ \t\r]{0,16},?[ \t\r\n]{0,64}(?:[+-][ \t]{0,64})?)"#,
    r#"(?:\\{0,3}["'])?(?P<label>[vV]alue)(?:\\{0,3}["'])?"#,
    r#"[ \t]{0,16}(?:=>|:|=)[ \t]{0,16}(?P<open>\\{0,3}["'`])?"#,
));

/// Judges a value whose name is the value of a label.
pub(super) fn judge(text: &[u8], name: &Range<usize>, floor: usize) -> Verdict {
    let floor = floor.min(name.start);
    let Some(label) = label_before(&text[floor..name.start]) else { return Verdict::Nothing };
    let label = floor + label;
    Verdict::from(after(text, name).or_else(|| before(text, name, floor..label)))
}

/// Where the label begins whose value begins at the end of `text`.
fn label_before(text: &[u8]) -> Option<usize> {
    let rest = without_blanks(without_quote(text));
    let rest = rest.strip_suffix(b"=>").or_else(|| rest.strip_suffix(b":"));
    let rest = rest.or_else(|| without_blanks(without_quote(text)).strip_suffix(b"="))?;
    let rest = without_quote(without_blanks(rest));
    let rest = NAMES.iter().find_map(|label| rest.strip_suffix(label.as_bytes()))?;
    let is_whole = rest.last().is_none_or(|b| !b.is_ascii_alphanumeric() && !b"_-.".contains(b));
    is_whole.then(|| without_quote(rest).len())
}

/// A text without the quote at its end, and the backslashes before it.
fn without_quote(text: &[u8]) -> &[u8] {
    let [rest @ .., b'"' | b'\'' | b'`'] = text else { return text };
    let escapes = rest.iter().rev().take(3).take_while(|byte| **byte == b'\\').count();
    &rest[..rest.len() - escapes]
}

fn without_blanks(text: &[u8]) -> &[u8] {
    let blanks = text.iter().rev().take(16).take_while(|byte| b" \t".contains(byte)).count();
    &text[..text.len() - blanks]
}

/// The secret in the field after the name's.
fn after(text: &[u8], name: &Range<usize>) -> Option<Range<usize>> {
    let (separator, label, gap) = value_at(text, name.end, text.len())?;
    let is_settled = !separator.quote.is_empty() || is_line_break(gap);
    is_settled.then(|| assignment::secret(text, name, &separator, label))?
}

/// The secret in the field before the name's, which begins at the end of `part`.
fn before(text: &[u8], name: &Range<usize>, part: Range<usize>) -> Option<Range<usize>> {
    let from = part.start.max(part.end.saturating_sub(BEFORE_BYTES_MAX));
    let window = &text[from..part.end];
    let labels = memchr::memmem::rfind_iter(window, b"alue").take(LABELS_MAX);
    labels.filter_map(|at| at.checked_sub(1)).find_map(|at| {
        let is_whole = at.checked_sub(1).is_none_or(|at| !window[at].is_ascii_alphanumeric());
        let (separator, label, _) = value_at(text, from + at, part.end).filter(|_| is_whole)?;
        let end = assignment::run_end(text, &separator, separator.value_start, part.end);
        let gap = text.get(end..part.end)?;
        let is_gap = gap.iter().all(|byte| b" \t\r\n,\"'`\\+-".contains(byte));
        let is_settled = is_gap && (!separator.quote.is_empty() || is_line_break(gap));
        is_settled.then(|| assignment::secret(text, name, &separator, label))?
    })
}

/// The value after a gap and its label, where the label begins, and the gap.
fn value_at(text: &[u8], at: usize, end: usize) -> Option<(Separator, usize, &[u8])> {
    let rest = &text[at..end.min(at + GAP_BYTES_MAX)];
    let captures = VALUE.captures(rest)?;
    let (gap, label) = (captures.name("gap")?, captures.name("label")?);
    let value_start = at + captures.get(0)?.end();
    let (form, quote) = match captures.name("open") {
        Some(open) => (Form::Quoted, at + open.start()..at + open.end()),
        None => (Form::Spaced, value_start..value_start),
    };
    let separator = Separator { value_start, form, quote, is_xml: false };
    Some((separator, at + label.start(), gap.as_bytes()))
}

/// Without quotes, as in YAML, only a new line begins a new field.
fn is_line_break(gap: &[u8]) -> bool {
    gap.contains(&b'\n') && !gap.contains(&b',')
}
