//! Days, as memory writes them.

/// The day of a moment in UTC, as `2026-11-21`.
pub fn date(at_ms: i64) -> String {
    let at = jiff::Timestamp::from_millisecond(at_ms).unwrap_or_default();
    at.to_zoned(jiff::tz::TimeZone::UTC).date().to_string()
}
