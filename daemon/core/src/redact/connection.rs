//! Credentials that a protocol carries: passwords in URLs, HTTP headers, login files, `-u user:password`.

use std::ops::Range;
use std::sync::LazyLock;

use regex::bytes::Regex;

use super::rule::Verdict;
use super::value;

pub(super) const URL: &[&str] = &["://"];
pub(super) const AUTHORIZATION: &[&str] = &["uthorization", "UTHORIZATION"];
pub(super) const BEARER: &[&str] = &["Bearer ", "bearer ", "BEARER "];
pub(super) const COOKIE: &[&str] = &["ookie: ", "OOKIE: "];
pub(super) const NETRC: &[&str] = &["machine ", "machine\t"];
pub(super) const PGPASS: &[&str] = &[":5432:"];
pub(super) const USER_FLAG: &[&str] = &[
    " -u ",
    " --user ",
    " --user=",
    " --proxy-user ",
    "sshpass -p",
    "redis-cli ",
    "htpasswd -",
    "passin pass:",
    "passout pass:",
];

/// The most any rule here reads past its keyword, in bytes.
const WINDOW_BYTES_MAX: usize = 2048;
/// The longest name or password of a login file, in bytes.
const NETRC_WORD_BYTES_MAX: usize = 512;
/// The longest run of key characters that is still taken as one credential, in bytes.
const CREDENTIAL_BYTES_MAX: usize = 64 * 1024;

/// The keywords of a rule as the automaton wants them.
pub(super) fn owned(keywords: &[&str]) -> Vec<String> {
    keywords.iter().map(|&keyword| keyword.to_owned()).collect()
}

macro_rules! pattern {
    ($name:ident, $pattern:expr) => {
        static $name: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new($pattern).ok());
    };
}

// The last '@' before the path ends the user part, so a password may hold an '@'.
pattern!(USER_INFO, r#"(?-u)^[^\s/?#:@"'<>]{0,256}:([^\s/?#"'<>]{1,1024})@[A-Za-z0-9\[.$_{-]"#);
pattern!(
    AUTHORIZATION_VALUE,
    r#"(?i-u)^uthorization\\{0,3}["']?\]?[ \t]*(?:[:=,]|=>)[ \t]*\\{0,3}["'`]?(?:(basic|bearer|token|digest|negotiate|apikey|api-key|key)[ \t]+)?([A-Za-z0-9._~+/=:-]{8,})"#
);
pattern!(COOKIE_VALUE, r#"(?i-u)^ookie: ([A-Za-z0-9_.$-]{1,64}=[^\r\n"'\\]{8,})"#);
pattern!(PGPASS_VALUE, r"(?-u)^:5432:[^:\s]{1,64}:[^:\s]{1,64}:([^\s:'\x22]{3,256})");
pattern!(
    USER_FLAG_VALUE,
    concat!(
        r#"(?-u)^(?: (?:-u|--user|--proxy-user)[ =]["']?[^\s:"'$]{1,128}:|sshpass -p ?["']?"#,
        r#"|redis-cli (?:[^\n|;&]{0,200} )?-a ["']?"#,
        r#"|htpasswd -[A-Za-z]{0,6}n[A-Za-z]{0,6} \S{1,128} ["']?"#,
        r#"|htpasswd -[A-Za-z]{0,6}b[A-Za-z]{0,6} \S{1,256} \S{1,128} ["']?"#,
        r#"|pass(?:in|out) pass:)([^\s"'/]{4,256})"#,
    )
);

fn window<'t>(text: &'t [u8], hit: &Range<usize>) -> &'t [u8] {
    &text[hit.start..text.len().min(hit.start + WINDOW_BYTES_MAX)]
}

/// The place in the text of one group of a pattern that starts at the hit.
fn group(
    pattern: &LazyLock<Option<Regex>>,
    text: &[u8],
    hit: &Range<usize>,
    number: usize,
) -> Option<Range<usize>> {
    let captures = pattern.as_ref()?.captures(window(text, hit))?;
    let found = captures.get(number)?;
    Some(hit.start + found.start()..hit.start + found.end())
}

fn secret(span: Option<Range<usize>>) -> Verdict {
    span.map_or(Verdict::Nothing, Verdict::Secret)
}

/// `scheme://user:password@host`.
pub(super) fn judge_url(text: &[u8], hit: &Range<usize>, _floor: usize) -> Verdict {
    let has_scheme = hit.start > 0 && text[hit.start - 1].is_ascii_alphanumeric();
    if !has_scheme {
        return Verdict::Nothing;
    }
    // Few of the many URLs in a transcript name a user: those that do not need no pattern.
    let is_end = |b: &u8| {
        b.is_ascii_whitespace() || matches!(b, b'/' | b'?' | b'#' | b'"' | b'\'' | b'<' | b'>')
    };
    let authority = text[hit.end..].iter().take(WINDOW_BYTES_MAX).take_while(|b| !is_end(b));
    if !authority.clone().any(|b| *b == b'@') {
        return Verdict::Nothing;
    }
    let rest = hit.end..hit.end;
    let span = group(&USER_INFO, text, &rest, 1);
    secret(span.filter(|span| !value::is_reference(&text[span.clone()])))
}

/// `Authorization: Basic …`, as a header, a JSON field or a keyword argument.
pub(super) fn judge_header(text: &[u8], hit: &Range<usize>, _floor: usize) -> Verdict {
    let Some(span) = group(&AUTHORIZATION_VALUE, text, hit, 2) else { return Verdict::Nothing };
    let has_scheme = group(&AUTHORIZATION_VALUE, text, hit, 1).is_some();
    let credential = &text[span.clone()];
    let is_plain_word = credential.iter().all(u8::is_ascii_lowercase);
    if value::is_placeholder(credential) || is_plain_word {
        return Verdict::Nothing;
    }
    if has_scheme || value::is_random(credential) {
        return Verdict::Secret(span.start..credential_end(text, span.end));
    }
    Verdict::Nothing
}

/// `Bearer …` wherever it stands.
pub(super) fn judge_bearer(text: &[u8], hit: &Range<usize>, _floor: usize) -> Verdict {
    let end = credential_end(text, hit.end);
    let credential = &text[hit.end..end];
    let head = &credential[..credential.len().min(WINDOW_BYTES_MAX)];
    if head.len() >= 16 && value::is_random(head) && !value::is_placeholder(head) {
        return Verdict::Secret(hit.end..end);
    }
    Verdict::Nothing
}

fn credential_end(text: &[u8], from: usize) -> usize {
    let run = text[from..].iter().take(CREDENTIAL_BYTES_MAX);
    from + run.take_while(|b| b.is_ascii_alphanumeric() || b"._~+/=-".contains(b)).count()
}

/// The values of a `Cookie:` or `Set-Cookie:` header.
pub(super) fn judge_cookie(text: &[u8], hit: &Range<usize>, _floor: usize) -> Verdict {
    let Some(span) = group(&COOKIE_VALUE, text, hit, 1) else { return Verdict::Nothing };
    let before = &text[hit.start.saturating_sub(5)..hit.start];
    let is_answer = before.eq_ignore_ascii_case(b"set-c");
    let all = &text[span.clone()];
    // What follows the first ';' of Set-Cookie is how to keep it, not what to keep.
    let length = if is_answer { memchr::memchr(b';', all).unwrap_or(all.len()) } else { all.len() };
    let end = span.start + length;
    let end = (span.start..=end).rev().find(|&i| is_border(text, i)).unwrap_or(span.start);
    if end - span.start < 8 || value::is_reference(&text[span.start..end]) {
        return Verdict::Nothing;
    }
    Verdict::Secret(span.start..end)
}

/// `machine … login … password …` of a netrc file.
pub(super) fn judge_netrc(text: &[u8], hit: &Range<usize>, _floor: usize) -> Verdict {
    let span = login_password(window(text, hit))
        .map(|span| on_borders(text, hit.start + span.start..hit.start + span.end));
    secret(span.filter(|span| !value::is_reference(&text[span.clone()])))
}

/// The password in `machine NAME login NAME [account NAME] password VALUE`.
fn login_password(entry: &[u8]) -> Option<Range<usize>> {
    let mut at = 0;
    let mut word = || {
        let start = at + entry[at..].iter().position(|b| !b.is_ascii_whitespace())?;
        let end = entry[start..].iter().position(u8::is_ascii_whitespace);
        at = end.map_or(entry.len(), |length| start + length);
        (at - start <= NETRC_WORD_BYTES_MAX).then_some(start..at)
    };
    let (_machine, _name) = (word()?, word()?);
    word().filter(|key| &entry[key.clone()] == b"login")?;
    let _name = word()?;
    let mut key = word()?;
    if &entry[key.clone()] == b"account" {
        let _name = word()?;
        key = word()?;
    }
    let value = word().filter(|_| &entry[key] == b"password")?;
    let quote = entry[value.clone()].iter().position(|b| matches!(b, b'"' | b'\''));
    let end = quote.map_or(value.end, |length| value.start + length);
    (end > value.start).then_some(value.start..end)
}

/// `host:5432:database:user:password` of a pgpass file.
pub(super) fn judge_pgpass(text: &[u8], hit: &Range<usize>, _floor: usize) -> Verdict {
    let span = group(&PGPASS_VALUE, text, hit, 1).map(|span| on_borders(text, span));
    secret(span.filter(|span| !value::is_reference(&text[span.clone()])))
}

/// `curl -u user:password`, `sshpass -p password`, `redis-cli -a password`; `docker run -u 1000:1000` is not
/// meant.
pub(super) fn judge_user_flag(text: &[u8], hit: &Range<usize>, _floor: usize) -> Verdict {
    let span = group(&USER_FLAG_VALUE, text, hit, 1).map(|span| on_borders(text, span));
    secret(span.filter(|span| {
        let password = &text[span.clone()];
        let is_number = password.iter().all(u8::is_ascii_digit);
        !is_number && !value::is_reference(password) && !value::is_placeholder(password)
    }))
}

/// Whether a character begins (or the text ends) at this byte.
fn is_border(text: &[u8], at: usize) -> bool {
    text.get(at).is_none_or(|byte| byte & 0xC0 != 0x80)
}

/// Lengthens a span that a length bound cut inside a character.
fn on_borders(text: &[u8], span: Range<usize>) -> Range<usize> {
    let end = (span.end..=text.len()).find(|&i| is_border(text, i)).unwrap_or(text.len());
    span.start..end
}
