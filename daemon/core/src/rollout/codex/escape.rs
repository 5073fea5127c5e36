//! Decodes JSON strings into a buffer of the right size.
//!
//! Most of a transcript's bytes are output of tools: kilobytes in one string, with an escape for each line. A
//! parser that does not know the length of the string grows its buffer repeatedly and copies the result once
//! more; this code measures the string first.

use std::borrow::Cow;

use serde::de::{Deserialize, Deserializer, Error as _};
use serde_json::value::RawValue;

/// A string that may be long; borrowed from the line if it has no escapes.
pub(super) struct LongText<'a>(pub(super) Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for LongText<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = <&RawValue>::deserialize(deserializer)?;
        unescape(raw.get()).map(Self).ok_or_else(|| D::Error::custom("not a string of characters"))
    }
}

/// A string that may be absent, which is empty JSON here; `None` for other JSON.
#[expect(
    clippy::option_option,
    reason = "what is there and is no string makes its line unreadable"
)]
pub(super) fn text(json: &str) -> Option<Option<Cow<'_, str>>> {
    match json {
        "" => Some(None),
        json => unescape(json).map(Some),
    }
}

/// Decodes a string given as JSON, including its quotes. `None` for other JSON and for everything a parser
/// rejects: half of a surrogate pair, an invalid escape, a control character.
pub(super) fn unescape(json: &str) -> Option<Cow<'_, str>> {
    let mut rest = json.strip_prefix('"')?.strip_suffix('"')?;
    // No early exit, so that the loop handles many bytes per step; usually there are no control characters.
    if rest.bytes().fold(false, |any, byte| any | (byte < b' ')) {
        return None;
    }
    let Some(mut at) = memchr::memchr(b'\\', rest.as_bytes()) else {
        return Some(Cow::Borrowed(rest));
    };
    // No escape is shorter than the character it encodes.
    let mut text = String::with_capacity(rest.len());
    loop {
        text.push_str(&rest[..at]);
        rest = &rest[at..];
        let (character, bytes) = escape(rest)?;
        text.push(character);
        rest = &rest[bytes..];
        match memchr::memchr(b'\\', rest.as_bytes()) {
            Some(next) => at = next,
            None => break,
        }
    }
    text.push_str(rest);
    Some(Cow::Owned(text))
}

/// Decodes the escape at the beginning of `text`: its character and its length in bytes.
fn escape(text: &str) -> Option<(char, usize)> {
    let character = match text.as_bytes().get(1)? {
        b'n' => '\n',
        b't' => '\t',
        b'r' => '\r',
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'u' => return unicode(text),
        mark @ (b'"' | b'\\' | b'/') => char::from(*mark),
        _ => return None,
    };
    Some((character, 2))
}

/// Same as [`escape`] for `\u00e9`, or for a surrogate pair.
fn unicode(text: &str) -> Option<(char, usize)> {
    let unit = |from: usize| {
        let digits = text.get(from..from + 6)?.strip_prefix("\\u")?;
        let are_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        are_hex.then(|| u16::from_str_radix(digits, 16).ok())?
    };
    let first = unit(0)?;
    match first {
        0xD800..=0xDBFF => {
            let pair = char::decode_utf16([first, unit(6)?]).next()?.ok()?;
            Some((pair, 12))
        }
        _ => Some((char::from_u32(first.into())?, 6)),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn strings_without_escapes_are_borrowed() {
        assert!(matches!(unescape("\"plain é\""), Some(Cow::Borrowed("plain é"))));
        assert_eq!(unescape("[1]"), None);
        assert_eq!(unescape("\""), None);
    }

    #[test]
    fn strings_that_a_parser_rejects_are_rejected() {
        for json in ["\"a\0b\"", "\"a\nb\"", r#""\u+12f""#, r#""\u12""#, r#""\x""#, r#""\ud83d""#] {
            assert_eq!(unescape(json), None, "{json:?}");
            assert!(serde_json::from_str::<String>(json).is_err(), "{json:?}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1_000))]
        #[test]
        fn strings_are_read_as_the_parser_reads_them(
            parts in prop::collection::vec(
                r#"[a-zé😀 ]{0,9}|\\[nrtbf"\\/]|\\u[0-9a-fA-F]{4}|\\ud83d\\ude00|\\ud83d|\\ude00"#,
                0..12,
            ),
        ) {
            let json = format!("\"{}\"", parts.concat());
            let expected = serde_json::from_str::<String>(&json).ok();
            prop_assert_eq!(&unescape(&json).map(Cow::into_owned), &expected, "{}", json);
            let read = serde_json::from_str::<LongText<'_>>(&json).ok();
            prop_assert_eq!(read.map(|text| text.0.into_owned()), expected);
        }
    }
}
