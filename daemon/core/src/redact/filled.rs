//! A value that fills its line, as in an environment file or in YAML: signs that would end it in a shell, a query or
//! code are part of it.

use std::ops::Range;

use super::pattern::Pattern;

/// Signs that end a bare value elsewhere.
const SIGNS: &[u8] = b"&;|<>(){}";
/// What may close a statement or a call after a value.
const CLOSING: &[u8] = b";,&|)}]>";
/// Maximum bytes after the first sign.
const TAIL_BYTES_MAX: usize = 4 * 1024;

/// What shows that the signs have a meaning: a shell's `&&`, `||` and `$(…)`, the next pair of a query or a list, a
/// tag.
static MEANING: Pattern =
    Pattern::new(r"(?-u)&&|\|\||\$\(|[&;][A-Za-z_][A-Za-z0-9_.-]*=|</?[A-Za-z][^<>]*>");

/// A call or a generic type: `load(path)`, `Map<String,u8>`, `:U8(1)` of `Token::U8(1)`, also one that continues in the
/// next line.
static CALL: Pattern =
    Pattern::new(r"(?-u)^[&*!:]?[A-Za-z_$][A-Za-z0-9_.:$]*[(<\[{](?:.*[)>\]}])?[;,]*$");

/// Types joined: `string|null`, `A&B`.
static TYPES: Pattern =
    Pattern::new(r"(?-u)^[A-Za-z_][A-Za-z0-9_.:]*(?:[|&][A-Za-z_][A-Za-z0-9_.:<>,]*)+[;,]*$");

/// The end of a bare value that goes on with a sign; `None` if it does not, or if it does not fill its line.
/// `is_setting`: it is set as in an environment file, where no type follows a name.
pub(super) fn end(text: &[u8], value: &Range<usize>, is_setting: bool) -> Option<usize> {
    let (start, end) = (value.start, value.end);
    let rest = &text[end..text.len().min(end + TAIL_BYTES_MAX)];
    // Rejects nearly every value.
    if start == end || !rest.first().is_some_and(|byte| SIGNS.contains(byte)) {
        return None;
    }
    let length = rest.iter().position(|byte| b" \t\r\n\"'`\\".contains(byte));
    let (tail, after) = rest.split_at(length.unwrap_or(rest.len()));
    let closing = tail.iter().rev().take_while(|byte| CLOSING.contains(byte)).count();
    let tail_end = end + tail.len() - closing;
    let whole = &text[start..end + tail.len()];
    let is_code =
        || MEANING.is_match(whole) || CALL.is_match(whole) || !is_setting && TYPES.is_match(whole);
    (tail_end > end && ends_line(after) && !is_code()).then_some(tail_end)
}

/// Whether only a comment or the end of a string is left of the line.
fn ends_line(after: &[u8]) -> bool {
    let blanks = after.iter().take(64).take_while(|byte| b" \t\r".contains(byte)).count();
    let escapes = after.iter().take(16).take_while(|byte| **byte == b'\\').count();
    match &after[blanks..] {
        [] | [b'\n', ..] => true,
        [b'#', ..] => blanks > 0,
        _ => match &after[escapes..] {
            [b'"' | b'\'' | b'`', next, ..] => !next.is_ascii_alphanumeric(),
            [b'"' | b'\'' | b'`'] => true,
            _ => false,
        },
    }
}
