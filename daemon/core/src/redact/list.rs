//! A list below a secret name: `"passwords": ["…", "…"]`, and in YAML with an item per line.

use std::ops::Range;

use super::assignment::{self, Separator};
use super::name::{self, Strength};
use super::pattern::Pattern;
use super::rule::Verdict;
use super::value::{self, Candidate, Form};

const ITEMS_MAX: usize = 64;
const LIST_BYTES_MAX: usize = 16 * 1024;
/// Maximum bytes of an item read to judge it.
const ITEM_HEAD_BYTES: usize = 256;

/// A line of a YAML list, also in a diff. A bare item with a space is a sentence or a mapping, and passed over.
static LINE: Pattern = Pattern::new(concat!(
    r"(?-u)^[+-]?[ \t]{0,32}-[ \t]{1,8}",
    r#"(?:"(?P<double>[^"\\\r\n]*)"|'(?P<single>[^'\r\n]*)'|(?P<bare>[^ \t\r\n"'#][^ \t\r\n]*))"#,
    r"(?:[ \t]+#[^\n]*)?[ \t]*\r?(?:\n|$)",
    r"|^[+-]?[ \t]{0,32}-[ \t][^\n]*(?:\n|$)",
));

/// Judges the items of a list that opens at `open`.
pub(super) fn judge(text: &[u8], name: &Range<usize>, open: usize) -> Verdict {
    let Some((strength, is_plural)) = strength(&text[name.clone()]) else {
        return Verdict::Nothing;
    };
    let end = text.len().min(open + LIST_BYTES_MAX);
    let mut secrets = Vec::new();
    let mut at = open + 1;
    let mut mark: &[u8] = b"";
    for _ in 0..ITEMS_MAX {
        let Some(quote) = quote_after(&text[..end], at) else { break };
        if !mark.is_empty() && text[quote.clone()] != *mark {
            break;
        }
        mark = &text[quote.clone()];
        let value_start = quote.end;
        let separator = Separator { value_start, form: Form::Quoted, quote, is_xml: false };
        let value_end = assignment::run_end(text, &separator, value_start, end);
        let item = &text[value_start..value_end.min(value_start + ITEM_HEAD_BYTES)];
        if is_secret(item, strength, is_plural) {
            secrets.push(value_start..value_end);
        }
        at = value_end + separator.quote.len();
    }
    verdict(secrets)
}

/// Judges the items of a YAML list whose first line begins at `at`.
pub(super) fn judge_lines(text: &[u8], name: &Range<usize>, mut at: usize) -> Verdict {
    let Some((strength, is_plural)) = strength(&text[name.clone()]) else {
        return Verdict::Nothing;
    };
    let end = text.len().min(at + LIST_BYTES_MAX);
    let mut secrets = Vec::new();
    for _ in 0..ITEMS_MAX {
        let Some(line) = LINE.captures(&text[at..end]) else { break };
        let (quoted, bare) =
            (line.name("double").or_else(|| line.name("single")), line.name("bare"));
        if let Some(item) = quoted.or(bare)
            && (quoted.is_some() || item.as_bytes().iter().any(u8::is_ascii_digit))
            && is_secret(item.as_bytes(), strength, is_plural)
        {
            secrets.push(at + item.start()..at + item.end());
        }
        at += line.get(0).map_or(0, |line| line.len());
    }
    verdict(secrets)
}

fn verdict(secrets: Vec<Range<usize>>) -> Verdict {
    if secrets.is_empty() { Verdict::Nothing } else { Verdict::Secrets(secrets) }
}

/// What the name of a list implies about its items, and whether it is a plural.
pub(super) fn strength(name: &[u8]) -> Option<(Strength, bool)> {
    let singular = name.strip_suffix(b"s").or_else(|| name.strip_suffix(b"S"));
    let plural = singular.and_then(name::strength).map(|strength| (strength, true));
    let found = plural.or_else(|| Some((name::strength(name)?, false)));
    found.filter(|(strength, _)| *strength != Strength::Guess)
}

/// Whether an item is a secret, not the name of one. Below a singular name are usually rules or messages about the one
/// secret.
pub(super) fn is_secret(item: &[u8], strength: Strength, is_plural: bool) -> bool {
    let candidate = Candidate {
        value: item,
        next: None,
        form: Form::Quoted,
        strength,
        is_environment: false,
        starts_line: false,
    };
    let is_value = is_plural && name::strength(item).is_none() || value::is_random(item);
    value::is_secret(&candidate) && is_value
}

/// The opening quote of the next item.
fn quote_after(text: &[u8], at: usize) -> Option<Range<usize>> {
    let rest = text.get(at..)?;
    let blanks = rest.iter().take(128).take_while(|byte| b" \t\r\n,".contains(byte)).count();
    let rest = &rest[blanks..];
    let escapes = rest.iter().take(3).take_while(|byte| **byte == b'\\').count();
    let is_quote = matches!(rest.get(escapes), Some(b'"' | b'\'' | b'`'));
    is_quote.then_some(at + blanks..at + blanks + escapes + 1)
}
