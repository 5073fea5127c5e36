//! Parses times that people type.

use jiff::civil::Date;
use jiff::tz::TimeZone;

/// Parses a span before now (`90m`, `12h`, `7d`, `3w`) or a day (`2026-03-01`, its beginning in UTC); Unix
/// milliseconds.
pub(super) fn parse(text: &str, now_ms: i64) -> Option<i64> {
    let text = text.trim();
    if let Ok(day) = text.parse::<Date>() {
        return Some(day.to_zoned(TimeZone::UTC).ok()?.timestamp().as_millisecond());
    }
    let unit_at = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = text.split_at(unit_at);
    let unit_ms: i64 = match unit {
        "m" | "min" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        "w" => 7 * 86_400_000,
        _ => return None,
    };
    Some(now_ms.saturating_sub(number.parse::<i64>().ok()?.saturating_mul(unit_ms)).max(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_and_days() {
        let now_ms = 1_772_442_900_000;
        for (text, expected) in [
            ("7d", Some(now_ms - 7 * 86_400_000)),
            ("90m", Some(now_ms - 5_400_000)),
            ("2026-03-02", Some(1_772_409_600_000)),
            ("99999999999w", Some(0)),
            ("7", None),
            ("d", None),
            ("7 days", None),
            ("", None),
            ("2026-13-01", None),
        ] {
            assert_eq!(parse(text, now_ms), expected, "{text}");
        }
    }
}
