//! The clock of our programs.

use std::time::{SystemTime, UNIX_EPOCH};

/// The current time, Unix milliseconds; 0 for a clock before 1970.
#[expect(clippy::disallowed_methods, reason = "this is the clock of the clients")]
pub fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
