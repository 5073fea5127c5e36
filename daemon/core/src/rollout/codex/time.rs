//! Times of lines. Every line has one, so the spelling that all agents use is decoded without a parser.

use jiff::civil::DateTime;
use jiff::tz::Offset;

/// Unix milliseconds of an RFC 3339 time.
pub(in crate::rollout) fn time(text: &str) -> Option<i64> {
    let timestamp = canonical(text).or_else(|| text.parse().ok())?;
    Some(timestamp.as_millisecond())
}

/// Parses `2026-11-21T00:34:31.123Z`; `None` for any other spelling.
fn canonical(text: &str) -> Option<jiff::Timestamp> {
    let bytes: &[u8; 24] = text.as_bytes().try_into().ok()?;
    let signs = [(4, b'-'), (7, b'-'), (10, b'T'), (13, b':'), (16, b':'), (19, b'.'), (23, b'Z')];
    if signs.iter().any(|(at, sign)| bytes[*at] != *sign) {
        return None;
    }
    let number = |from: usize, digits: usize| {
        bytes[from..from + digits].iter().try_fold(0_i16, |number, byte| {
            byte.is_ascii_digit().then(|| number * 10 + i16::from(byte - b'0'))
        })
    };
    let pair = |from: usize| i8::try_from(number(from, 2)?).ok();
    let nanoseconds = i32::from(number(20, 3)?) * 1_000_000;
    let date = (number(0, 4)?, pair(5)?, pair(8)?);
    let clock = (pair(11)?, pair(14)?, pair(17)?);
    let civil =
        DateTime::new(date.0, date.1, date.2, clock.0, clock.1, clock.2, nanoseconds).ok()?;
    Offset::UTC.to_timestamp(civil).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_one_spelling_is_canonical() {
        for (text, milliseconds) in [
            ("2026-11-21T00:34:31.123Z", Some(1_795_221_271_123)),
            ("2026-11-21T00:34:31Z", Some(1_795_221_271_000)),
            ("2026-11-21T01:34:31.123+01:00", Some(1_795_221_271_123)),
            ("2016-12-31T23:59:60.500Z", Some(1_483_228_799_500)),
            ("2026-02-30T00:00:00.000Z", None),
            ("2026-11-21T00:34:31.12éZ", None),
            ("", None),
        ] {
            assert_eq!(time(text), milliseconds, "{text}");
        }
    }

    proptest! {
        #[test]
        fn canonical_times_are_read_as_the_parser_reads_them(
            text in "[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}:[0-9]{2}.[0-9]{3}[Zz]"
        ) {
            if let Some(timestamp) = canonical(&text) {
                prop_assert_eq!(Some(timestamp), text.parse().ok());
            }
        }
    }
}
