//! Cursors of lists ordered by a time and an id: opaque to clients, `time:id` here.

use super::error::Failure;

pub(super) fn show(time_ms: i64, id: &str) -> String {
    format!("{time_ms}:{id}")
}

/// The answer to a cursor that no answer returned.
pub(super) fn invalid() -> Failure {
    Failure::invalid("cursor", "not from an earlier answer")
}

/// Reads a cursor of a client: its time in Unix milliseconds, and its id.
pub(super) fn read(cursor: &str) -> Result<(i64, String), Failure> {
    let parts = cursor.split_once(':').and_then(|(time, id)| Some((time.parse().ok()?, id)));
    let (time_ms, id) = parts.ok_or_else(invalid)?;
    Ok((time_ms, id.to_owned()))
}
