//! A session of OpenCode, which lies in many records, as one text.

use longhaul_core::rollout::records::{MessageRecords, Record, SessionRecords};
use longhaul_core::rollout::source::Layout;
use longhaul_core::thread::Source;

/// The lines that the records become; `None` for a text that does not begin with `session`.
///
/// A record a line: `session JSON`, `message ID JSON`, `part JSON`; a part is of the message before it.
pub(super) fn lines(text: &[u8]) -> Option<Vec<u8>> {
    let mut records = SessionRecords::default();
    let mut lines = text.split(|byte| *byte == b'\n');
    let first = lines.next()?.strip_prefix(b"session ")?;
    if let Some(session) = Record::of(first).object() {
        records.session = session.clone();
    }
    for line in lines {
        if let Some(message) = line.strip_prefix(b"message ") {
            let end = message.iter().position(|byte| *byte == b' ').unwrap_or(message.len());
            let id = String::from_utf8_lossy(&message[..end]).into_owned();
            let message = Record::of(message[end..].trim_ascii());
            records.messages.push(MessageRecords { id, message, parts: Vec::new() });
        } else if let (Some(part), Some(message)) =
            (line.strip_prefix(b"part "), records.messages.last_mut())
        {
            message.parts.push(Record::of(part));
        }
    }
    let layout = Source::OpenCode.spec().layout("/h/session/p/ses_1.json")?;
    let Layout::Records(layout) = layout else { return None };
    Some((layout.lines)(&records))
}
