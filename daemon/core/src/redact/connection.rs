//! Credentials of protocols: passwords in URLs, HTTP headers, login files, `-u user:password`.

use std::ops::Range;

use super::pattern::Pattern;
use super::value;

pub(super) const URL: &[&str] = &["://"];
pub(super) const AUTHORIZATION: &[&str] = &["uthorization", "UTHORIZATION"];
pub(super) const BEARER: &[&str] = &["Bearer ", "bearer ", "BEARER "];
pub(super) const COOKIE: &[&str] = &["ookie: ", "OOKIE: "];
pub(super) const NETRC: &[&str] = &["machine ", "machine\t"];
pub(super) const PGPASS: &[&str] = &[
    ":5430:",
    ":5431:",
    ":5432:",
    ":5433:",
    ":5434:",
    ":5435:",
    ":5436:",
    ":5437:",
    ":5438:",
    ":5439:",
    ":5440:",
    ":6432:",
    ":6433:",
    ":6543:",
    ":15432:",
    ":25060:",
    ":25061:",
    ":25432:",
    ":26257:",
    ":35432:",
    ":45432:",
    ":54320:",
    ":54321:",
    ":54322:",
    ":55432:",
    ":65432:",
    ":*:",
    ":postgres:",
];
/// Slashes as PHP escapes them in JSON. The keyword only makes `redact` build the text's view.
pub(super) const ESCAPED: &[&str] = &[r":\/\/"];

/// Maximum bytes that a rule here reads after its keyword.
const WINDOW_BYTES_MAX: usize = 2048;
/// Maximum bytes of a user, machine or account name, and of the passwords in a URL and a netrc file. Anything
/// longer is not a credential, or its rest is kept.
const USER_BYTES_MAX: usize = 256;
const PASSWORD_BYTES_MAX: usize = 1024;
const NETRC_PASSWORD_BYTES_MAX: usize = 512;
/// Minimum bytes of a token in place of a URL's user name.
const TOKEN_BYTES_MIN: usize = 16;
/// Maximum words of a netrc entry.
const NETRC_WORDS: usize = 8;
/// Maximum bytes of one credential.
const CREDENTIAL_BYTES_MAX: usize = 64 * 1024;

static AUTHORIZATION_VALUE: Pattern = Pattern::new(
    r#"(?i-u)^uthorization\\{0,3}["']?\]?[ \t]*(?:[:=,]|=>)[ \t]*\\{0,3}["'`]?(?:(basic|bearer|token|digest|negotiate|apikey|api-key|key)[ \t]+)?([A-Za-z0-9._~+/=:-]{8,})"#,
);
static COOKIE_VALUE: Pattern =
    Pattern::new(r#"(?i-u)^ookie: ([A-Za-z0-9_.$-]{1,64}=[^\r\n"'\\]{8,})"#);

fn window<'t>(text: &'t [u8], hit: &Range<usize>) -> &'t [u8] {
    &text[hit.start..text.len().min(hit.start + WINDOW_BYTES_MAX)]
}

/// Position of a group in a pattern that starts at the hit.
fn group(
    pattern: &Pattern,
    text: &[u8],
    hit: &Range<usize>,
    number: usize,
) -> Option<Range<usize>> {
    let found = pattern.captures(window(text, hit))?.get(number)?;
    Some(hit.start + found.start()..hit.start + found.end())
}

/// `scheme://user:password@host`.
pub(super) fn judge_url(text: &[u8], hit: &Range<usize>, _floor: usize) -> Option<Range<usize>> {
    hit.start.checked_sub(1).filter(|scheme| text[*scheme].is_ascii_alphanumeric())?;
    let span = url_token(text, hit.end).or_else(|| url_password(text, hit.end))?;
    let password = &text[span.clone()];
    // GitHub's constant after a token.
    let is_constant = password == b"x-oauth-basic";
    let is_known = is_constant || value::is_reference(password) || value::is_placeholder(password);
    (!is_known).then_some(span)
}

/// The token of `https://TOKEN@host` and `https://TOKEN:@host`.
fn url_token(text: &[u8], from: usize) -> Option<Range<usize>> {
    let window = window(text, &(from..from));
    let ends = |byte: &u8| is_space(*byte) || b"/?#\"'<>:@\\".contains(byte);
    let length = window.iter().position(ends)?;
    let rest = &window[length..];
    let is_user = [&b"@"[..], b":@", b":x-oauth-basic@"].iter().any(|end| rest.starts_with(end));
    let token = &window[..length];
    (is_user && length >= TOKEN_BYTES_MIN && value::is_random(token)).then_some(from..from + length)
}

/// The password of `user:password@host` at `from`. The last '@' before the path ends it, so it may contain '@'.
///
/// Hand-written, like [`netrc_password`]: a regex with repetition counts in the hundreds takes a MiB.
fn url_password(text: &[u8], from: usize) -> Option<Range<usize>> {
    let window = window(text, &(from..from));
    let ends = |byte: &u8| is_space(*byte) || b"/?#\"'<>".contains(byte);
    let part = &window[..window.iter().position(ends).unwrap_or(window.len())];
    let colon = part.iter().position(|byte| b":@".contains(byte))?;
    if part[colon] != b':' || colon > USER_BYTES_MAX {
        return None;
    }
    let password = colon + 1;
    let last = part.len().min(password + PASSWORD_BYTES_MAX + 1);
    let begins_host = |byte: &u8| byte.is_ascii_alphanumeric() || b"[.$_{-".contains(byte);
    let is_end = |at: &usize| part[*at] == b'@' && part.get(at + 1).is_some_and(begins_host);
    let end = (password + 1..last).rev().find(is_end)?;
    Some(from + password..from + end)
}

/// The password of `machine … login … [account …] password …` at the hit.
fn netrc_password(text: &[u8], hit: &Range<usize>) -> Option<Range<usize>> {
    let window = window(text, hit);
    let words: Vec<Range<usize>> = words(window).take(NETRC_WORDS).collect();
    let is = |at: usize, key: &[u8]| words.get(at).is_some_and(|word| &window[word.clone()] == key);
    let is_value = |at: usize| words.get(at).is_some_and(|word| word.len() <= USER_BYTES_MAX);
    if !(is_value(1) && is(2, b"login") && is_value(3)) {
        return None;
    }
    let key = if is(4, b"account") && is_value(5) { 6 } else { 4 };
    let value = words.get(key + 1).filter(|_| is(key, b"password"))?;
    let bytes = window[value.clone()].iter().take(NETRC_PASSWORD_BYTES_MAX);
    let length = bytes.take_while(|byte| !b"\"'".contains(byte)).count();
    let start = hit.start + value.start;
    (length > 0).then_some(start..start + length)
}

fn words(text: &[u8]) -> impl Iterator<Item = Range<usize>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at + text[at..].iter().position(|byte| !is_space(*byte))?;
        let length = text[start..].iter().position(|byte| is_space(*byte));
        at = length.map_or(text.len(), |length| start + length);
        Some(start..at)
    })
}

/// `\s` of a pattern: ASCII white space including the vertical tab.
const fn is_space(byte: u8) -> bool {
    byte.is_ascii_whitespace() || byte == 0x0b
}

/// `Authorization: Basic …`, as a header, a JSON field or a keyword argument.
pub(super) fn judge_header(text: &[u8], hit: &Range<usize>, _floor: usize) -> Option<Range<usize>> {
    let span = group(&AUTHORIZATION_VALUE, text, hit, 2)?;
    let has_scheme = group(&AUTHORIZATION_VALUE, text, hit, 1).is_some();
    let credential = &text[span.clone()];
    let is_plain_word = credential.iter().all(u8::is_ascii_lowercase);
    let is_secret = !value::is_placeholder(credential)
        && !is_plain_word
        && (has_scheme || value::is_random(credential));
    is_secret.then(|| span.start..credential_end(text, span.end))
}

/// `Bearer …` in any context.
pub(super) fn judge_bearer(text: &[u8], hit: &Range<usize>, _floor: usize) -> Option<Range<usize>> {
    let end = credential_end(text, hit.end);
    let credential = &text[hit.end..end];
    let head = &credential[..credential.len().min(WINDOW_BYTES_MAX)];
    let is_secret = head.len() >= 16 && value::is_random(head) && !value::is_placeholder(head);
    is_secret.then_some(hit.end..end)
}

fn credential_end(text: &[u8], from: usize) -> usize {
    let run = text[from..].iter().take(CREDENTIAL_BYTES_MAX);
    from + run.take_while(|b| b.is_ascii_alphanumeric() || b"._~+/=-".contains(b)).count()
}

/// The values of a `Cookie:` or `Set-Cookie:` header.
pub(super) fn judge_cookie(text: &[u8], hit: &Range<usize>, _floor: usize) -> Option<Range<usize>> {
    let span = group(&COOKIE_VALUE, text, hit, 1)?;
    let before = &text[hit.start.saturating_sub(5)..hit.start];
    let is_set_cookie = before.eq_ignore_ascii_case(b"set-c");
    let all = &text[span.clone()];
    // In Set-Cookie, attributes follow the first ';'.
    let length =
        if is_set_cookie { memchr::memchr(b';', all).unwrap_or(all.len()) } else { all.len() };
    let end = span.start + length;
    let end = (span.start..=end).rev().find(|&i| is_border(text, i)).unwrap_or(span.start);
    let is_secret = end - span.start >= 8 && !value::is_reference(&text[span.start..end]);
    is_secret.then_some(span.start..end)
}

/// `machine … login … password …` of a netrc file.
pub(super) fn judge_netrc(text: &[u8], hit: &Range<usize>, _floor: usize) -> Option<Range<usize>> {
    let span = on_borders(text, netrc_password(text, hit)?);
    (!value::is_reference(&text[span.clone()])).then_some(span)
}

/// `host:port:database:user:password`, a line of a pgpass file.
pub(super) fn judge_pgpass(text: &[u8], hit: &Range<usize>, floor: usize) -> Option<Range<usize>> {
    let from = hit.start.saturating_sub(USER_BYTES_MAX).max(floor.min(hit.start));
    let begins = |byte: &u8| is_space(*byte) || b"\"'`+".contains(byte);
    let start = text[from..hit.start].iter().rposition(begins).map_or(from, |at| from + at + 1);
    let line = window(text, &(start..start));
    let line = &line[..line.iter().position(|byte| is_space(*byte)).unwrap_or(line.len())];
    let mut fields = line.splitn(5, |byte| *byte == b':');
    let (host, port) = (fields.next().unwrap_or_default(), fields.next().unwrap_or_default());
    let names = [fields.next().unwrap_or_default(), fields.next().unwrap_or_default()];
    let password = fields.next().unwrap_or_default();
    let is_entry = !host.is_empty()
        && (port == b"*" || (port.len() >= 2 && port.iter().all(u8::is_ascii_digit)))
        && names.iter().all(|name| !name.is_empty() && !name.contains(&b'/'));
    let length = password.iter().take_while(|byte| !b"'\"".contains(byte)).count();
    let at = start + line.len() - password.len();
    let is_secret = is_entry && length >= 3 && !value::is_reference(password);
    is_secret.then(|| on_borders(text, at..at + length.min(PASSWORD_BYTES_MAX)))
}

/// Whether a character begins, or the text ends, at this byte.
fn is_border(text: &[u8], at: usize) -> bool {
    text.get(at).is_none_or(|byte| byte & 0xC0 != 0x80)
}

/// Extends a span that a length bound cut inside a character.
fn on_borders(text: &[u8], span: Range<usize>) -> Range<usize> {
    let end = (span.end..=text.len()).find(|&i| is_border(text, i)).unwrap_or(text.len());
    span.start..end
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    // The code's specification; used as patterns they would take two MiB.
    static USER_INFO: Pattern =
        Pattern::new(r#"(?-u)^[^\s/?#:@"'<>]{0,256}:([^\s/?#"'<>]{1,1024})@[A-Za-z0-9\[.$_{-]"#);
    static NETRC_VALUE: Pattern = Pattern::new(
        r"(?-u)^machine\s+\S{1,256}\s+login\s+\S{1,256}\s+(?:account\s+\S{1,256}\s+)?password\s+([^\s\x22']{1,512})",
    );

    proptest! {
        #[test]
        fn a_url_is_parsed_like_its_pattern(
            text in r#"[a:@]{0,3}[a-c]{0,2}(x{254,258})?[:@/ ]?[a@:?\x0b]{0,4}(y{1020,1026})?[@a:.é]{0,6}"#,
        ) {
            let text = text.as_bytes();
            prop_assert_eq!(url_password(text, 0), group(&USER_INFO, text, &(0..0), 1));
        }

        #[test]
        fn a_netrc_entry_is_parsed_like_its_pattern(
            words in prop::collection::vec(
                prop_oneof!["machine", "login", "account", "password", "[a\"']{1,3}", "x{254,258}", "z{510,514}"],
                0..9,
            ),
            space in "[ \t\n\x0b]{1,2}",
        ) {
            let text = format!("machine{space}{}", words.join(&space));
            let hit = 0.."machine ".len();
            prop_assert_eq!(
                netrc_password(text.as_bytes(), &hit),
                group(&NETRC_VALUE, text.as_bytes(), &hit, 1)
            );
        }

        #[test]
        fn a_whole_netrc_entry_is_found(
            account in prop_oneof![Just(""), Just("account a ")],
            password in "[a-z\"]{1,600}",
        ) {
            let text = format!("machine h login u {account}password {password} x");
            let hit = 0.."machine ".len();
            let found = netrc_password(text.as_bytes(), &hit);
            prop_assert_eq!(found, group(&NETRC_VALUE, text.as_bytes(), &hit, 1));
        }
    }
}
