//! Cursors of lists that are ordered by a time and an id: opaque to a client, `time:id` to us.

use super::error::Failure;

/// A cursor as it goes out.
pub(super) fn show(time_ms: i64, id: &str) -> String {
    format!("{time_ms}:{id}")
}

/// A cursor as it comes back: its time, Unix milliseconds, and its id.
pub(super) fn read(cursor: &str) -> Result<(i64, String), Failure> {
    let parts = cursor.split_once(':').and_then(|(time, id)| Some((time.parse().ok()?, id)));
    let (time_ms, id) =
        parts.ok_or_else(|| Failure::invalid("cursor", "the next_cursor of an earlier answer"))?;
    Ok((time_ms, id.to_owned()))
}
