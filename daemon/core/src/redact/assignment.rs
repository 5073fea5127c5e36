//! `name = value` in all its spellings: environment files, JSON and YAML fields (also with escaped
//! quotes), code, query strings, command flags, SQL, XML.

use std::ops::Range;

use super::pattern::Pattern;
use super::rule::Verdict;
use super::value::{self, Candidate, Form};
use super::{filled, list, name, pair};

/// Stems of secret names; each also in upper case and capitalized.
const STEMS: &[&str] = &[
    "password",
    "passwd",
    "passphrase",
    "passcode",
    "passwort",
    "pwd",
    "secret",
    "token",
    "credential",
];
/// Stems that are common in other words: only together with their neighboring characters.
const STEMS_SHORT: &[&str] = &[
    "_pass",
    "pass=",
    "_key",
    "-key",
    ".key",
    "apikey",
    "accesskey",
    "secretkey",
    "authkey",
    "auth",
    "jwt",
    "mnemonic",
    "_pat=",
    "_pat:",
    "_pat\"",
];
/// Parts of camel-case names, and the end of a two-word name: `API key: …`.
const HUMPS: &[&str] = &[" key", " Key", "Key", "Pass", "Auth", "APIKEY", "JWT", "ApiKey"];

/// Maximum bytes of a name on either side of a hit.
const NAME_BYTES_MAX: usize = 64;
/// Maximum bytes of a value read to judge it.
const VALUE_HEAD_BYTES: usize = 256;
/// Maximum bytes of an XML element's text, which counts only if a tag follows.
const XML_VALUE_BYTES_MAX: usize = 16 * 1024;

/// From the name's end to its value: closing quote, bracket, separator, type, opening quote.
static SEPARATOR: Pattern = Pattern::new(concat!(
    r#"(?-u)^(?:\\{0,3}["'`])?\]?"#,
    r#"(?:(?P<xml>>)|(?P<assign>[ \t]{0,16}(?:=>|:=|={1,3}|\?=|:[ \t]{0,4}[&A-Za-z][A-Za-z0-9_:<>&'\[\] |.]{0,40}[ \t]*=|:)[ \t]{0,16})"#,
    r#"|(?P<is> is:? )|(?P<blank>[ \t]{1,4}))"#,
    r#"(?P<open>[bBrRfFu$@]?\\{0,3}["'`])?"#,
));

/// From the name's end to the base64 of `token: dG9rZW4=`, whose `=` is padding and not that of `name: type = …`.
static PADDED: Pattern = Pattern::new(concat!(
    r#"(?-u)^(?:\\{0,3}["'`])?\]?[ \t]{0,16}:[ \t]{0,4}((?:[A-Za-z0-9_]{4}){1,9}"#,
    r"(?:[A-Za-z0-9_]{2}==(?:[^=A-Za-z0-9_+/-]|$)|[A-Za-z0-9_]{3}=[ \t]*(?:[\r\n,;)}\]|#]|$)))",
));

pub(super) fn keywords() -> Vec<String> {
    let mut keywords: Vec<String> = HUMPS.iter().map(|&hump| hump.to_owned()).collect();
    for stem in STEMS {
        keywords.push(capitalized(stem));
    }
    keywords.push("PassWord".to_owned());
    for stem in STEMS.iter().chain(STEMS_SHORT) {
        keywords.push((*stem).to_owned());
        keywords.push(stem.to_ascii_uppercase());
    }
    keywords
}

fn capitalized(stem: &str) -> String {
    let (first, rest) = stem.split_at(1);
    first.to_ascii_uppercase() + rest
}

/// Judges the pair whose name contains the hit.
pub(super) fn judge(text: &[u8], hit: &Range<usize>, floor: usize) -> Verdict {
    let name = name_around(text, hit, floor);
    let Some(separator) = separator(text, &name) else { return pair::judge(text, &name, floor) };
    let is_bare = separator.quote.is_empty() && !separator.is_xml;
    if is_bare && text.get(separator.value_start) == Some(&b'[') {
        return list::judge(text, &name, separator.value_start);
    }
    if is_bare && let Some(line) = next_line(text, separator.value_start) {
        return list::judge_lines(text, &name, line);
    }
    Verdict::from(secret(text, &name, &separator, name.start))
}

pub(super) struct Separator {
    pub(super) value_start: usize,
    pub(super) form: Form,
    /// The opening quote, with the backslashes before it.
    pub(super) quote: Range<usize>,
    pub(super) is_xml: bool,
}

/// The value after a separator if its name makes it a secret. `field`: where the name or the label before the value
/// begins.
pub(super) fn secret(
    text: &[u8],
    name: &Range<usize>,
    separator: &Separator,
    field: usize,
) -> Option<Range<usize>> {
    let strength = name::strength(&text[name.clone()])?;
    let value = value(text, separator);
    let next = text.get(value.end).copied();
    if separator.is_xml && next != Some(b'<') {
        return None;
    }
    let head = |end: usize| &text[value.start..end.min(value.start + VALUE_HEAD_BYTES)];
    let candidate = Candidate {
        value: head(value.end),
        next,
        form: separator.form,
        strength,
        is_environment: name::is_environment(&text[name.clone()]),
        starts_line: starts_line(text, field),
    };
    let is_bare = separator.quote.is_empty() && !separator.is_xml;
    if is_bare && candidate.starts_line && value.len() < VALUE_HEAD_BYTES {
        let is_setting = candidate.is_environment && separator.form == Form::Direct;
        if let Some(end) = filled::end(text, &value, is_setting) {
            let next = text.get(end).copied();
            if value::is_secret(&Candidate { value: head(end), next, ..candidate }) {
                return Some(value.start..end);
            }
        }
    }
    // The end of the whole value, of any length.
    let end = || run_end(text, separator, value.start, text.len());
    value::is_secret(&candidate).then(|| value.start..end())
}

fn name_around(text: &[u8], hit: &Range<usize>, floor: usize) -> Range<usize> {
    let is_name = |b: &&u8| b.is_ascii_alphanumeric() || b"_-.".contains(b);
    let before = text[floor.min(hit.start)..hit.start].iter().rev().take(NAME_BYTES_MAX);
    let start = hit.start - before.take_while(is_name).count();
    // A keyword such as `pass=` extends past the name, and in ` key` a space belongs to it.
    let inside = text[hit.clone()].iter().take_while(|b| is_name(b) || **b == b' ').count();
    let after = text[hit.start + inside..].iter().take(NAME_BYTES_MAX);
    let end = hit.start + inside + after.take_while(is_name).count();
    start..end
}

/// Whether only indentation and list marks are between the start of the line and `at`.
fn starts_line(text: &[u8], at: usize) -> bool {
    let before = text[..at].iter().rev().take(NAME_BYTES_MAX);
    before.copied().find(|b| !b" \t-+|".contains(b)).is_none_or(|b| b == b'\n')
}

fn separator(text: &[u8], name: &Range<usize>) -> Option<Separator> {
    let rest = &text[name.end..text.len().min(name.end + 96)];
    // Rejects nearly every hit: no value can follow this character.
    if !rest.first().is_some_and(|b| b"=:\"'`\\]> \t?|\xe2".contains(b)) {
        return None;
    }
    let next = rest.iter().find(|b| !is_blank(**b))?;
    if matches!(next, b'|' | 0xe2) || (rest[0] == b':' && has_block(rest)) {
        return separator_of_layout(text, name.end);
    }
    let is_flag = text[..name.start].ends_with(b"--") || text[name.clone()].starts_with(b"--");
    let is_set = is_set(&text[..name.start]);
    if is_blank(rest[0]) && !is_flag && !is_set && !b"=:?\"'`i".contains(next) {
        return None;
    }
    let captures = SEPARATOR.captures(rest)?;
    let whole = captures.get(0)?;
    if let Some(value) = PADDED.captures(rest).and_then(|padded| padded.get(1)) {
        let value_start = name.end + value.start();
        let quote = value_start..value_start;
        return Some(Separator { value_start, form: Form::Spaced, quote, is_xml: false });
    }
    let open = captures.name("open");
    let blank = captures.name("blank").is_some();
    let is_sql = open.is_some() && text[name.clone()].eq_ignore_ascii_case(b"password");
    if blank && !is_flag && !is_sql && !is_set {
        return None;
    }
    let is_xml = captures.name("xml").is_some();
    if is_xml && open.is_some() {
        return None;
    }
    let form = match captures.name("assign").map(|m| m.as_bytes()) {
        _ if open.is_some() || is_xml => Form::Quoted,
        Some(b"=") => Form::Direct,
        // A declared type followed by a bare value is code.
        Some(assign) if assign.len() > 40 => return None,
        _ if blank && is_flag => Form::Flag,
        _ => Form::Spaced,
    };
    let value_start = name.end + whole.end();
    let quote = open.map_or(value_start..value_start, |open| {
        let prefix = usize::from(
            open.as_bytes()[0].is_ascii_alphabetic() || b"$@".contains(&open.as_bytes()[0]),
        );
        name.end + open.start() + prefix..name.end + open.end()
    });
    Some(Separator { value_start, form, quote, is_xml })
}

/// Whether a name after this is set to what follows it: `aws configure set NAME …`, `setenv NAME …` (csh),
/// `set -gx NAME …` (fish).
fn is_set(before: &[u8]) -> bool {
    if before.ends_with(b"set ") || before.ends_with(b"setenv ") {
        return true;
    }
    let Some(line) = before.strip_suffix(b" ") else { return false };
    let is_export = |word: &[u8]| match word.strip_prefix(b"-") {
        Some(b"-export" | b"-global" | b"-universal") => true,
        Some(letters) => {
            let is_letter = |b: &u8| b"gluxU".contains(b);
            (1..=3).contains(&letters.len()) && letters.iter().all(is_letter)
        }
        None => false,
    };
    let mut words = line.rsplitn(4, |b| *b == b' ').take(3).peekable();
    let mut has_export = false;
    while words.next_if(|word| is_export(word)).is_some() {
        has_export = true;
    }
    has_export
        && words.next().is_some_and(|word| {
            word.rsplit(|b| b"\n\t;&|({\"'`".contains(b)).next() == Some(b"set")
        })
}

/// The start of the next line if this one ends at `at`.
fn next_line(text: &[u8], at: usize) -> Option<usize> {
    let ends = [&b"\n"[..], b"\r\n"];
    ends.iter().find_map(|end| text.get(at..)?.starts_with(end).then_some(at + end.len()))
}

const fn is_blank(byte: u8) -> bool {
    byte == b' ' || byte == b'\t'
}

fn has_block(rest: &[u8]) -> bool {
    rest[1..].iter().find(|b| !is_blank(**b)).is_some_and(|b| matches!(b, b'|' | b'>'))
}

/// The separator between table cells, or before the first line of a YAML block: `password: |`.
fn separator_of_layout(text: &[u8], at: usize) -> Option<Separator> {
    let skip = |at: usize, is_skipped: fn(u8) -> bool| {
        let run = text[at..].iter().take(NAME_BYTES_MAX);
        at + run.take_while(|b| is_skipped(**b)).count()
    };
    let is_block = text[at] == b':';
    let sign = skip(at, |b| is_blank(b) || b == b':');
    let value_start = if is_block {
        let line_end = skip(sign, |b| matches!(b, b'|' | b'>' | b'+' | b'-' | b' ' | b'\r'));
        (text.get(line_end) == Some(&b'\n')).then(|| skip(line_end + 1, is_blank))?
    } else {
        let frame = if text[sign] == b'|' { &b"|"[..] } else { b"\xe2\x94\x82" };
        text[sign..].starts_with(frame).then(|| skip(sign + frame.len(), is_blank))?
    };
    let quote = value_start..value_start;
    Some(Separator { value_start, form: Form::Spaced, quote, is_xml: false })
}

/// The value, or as much of it as judging needs.
fn value(text: &[u8], separator: &Separator) -> Range<usize> {
    let start = separator.value_start;
    let bytes_max = if separator.is_xml { XML_VALUE_BYTES_MAX } else { VALUE_HEAD_BYTES };
    let head_end = text.len().min(start + bytes_max);
    start..run_end(text, separator, start, head_end)
}

pub(super) fn run_end(text: &[u8], separator: &Separator, from: usize, to: usize) -> usize {
    if separator.is_xml {
        return memchr::memchr2(b'<', b'\n', &text[from..to]).map_or(to, |i| from + i);
    }
    if separator.quote.is_empty() {
        return bare_end(text, separator.form, from, to);
    }
    let quote = &text[separator.quote.clone()];
    let mark = quote[quote.len() - 1];
    let mut at = from;
    while at < to {
        match text[at] {
            b'\n' => return at,
            byte if byte == mark => return at - escapes_of_quote(quote, text, from, at),
            b'\\' if quote.len() == 1 => at += 2,
            _ => at += 1,
        }
    }
    to
}

/// Backslashes that belong to the closing quote of an escaped string.
fn escapes_of_quote(quote: &[u8], text: &[u8], from: usize, at: usize) -> usize {
    let backslashes = text[from..at].iter().rev().take_while(|b| **b == b'\\').count();
    backslashes.min(quote.len() - 1)
}

/// The end of an unquoted value.
fn bare_end(text: &[u8], form: Form, from: usize, to: usize) -> usize {
    let ends: &[u8] = match form {
        Form::Direct => b" \t\r\n\"'`\\&;|<>(){}",
        Form::Quoted | Form::Spaced | Form::Flag => b" \t\r\n\"'`\\&;|<>(){}[],",
    };
    let run = &text[from..to];
    let end = run.iter().position(|b| ends.contains(b)).unwrap_or(run.len());
    let run = &run[..end];
    // `password=ab,cd` is one password; `user=a,password=b,host=c` is a list, and `f(password=b, c)` a call.
    let comma = memchr::memchr_iter(b',', run)
        .find(|&comma| comma + 1 == run.len() || run[comma..].contains(&b'='));
    from + comma.unwrap_or(run.len())
}
