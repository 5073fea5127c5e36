//! A session stored as records: one for the session, one for each message and one for each part of a message.
//! Every record is JSON and is rewritten when its content grows.

use serde_json::Value;

use super::repair::repair;

/// How a session's records are stored and become lines.
#[derive(Debug, Clone, Copy)]
pub struct Records {
    pub storage: RecordStorage,
    /// Converts a session to lines that only grow at the end while it continues.
    pub lines: fn(&SessionRecords) -> Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordStorage {
    /// One JSON file per record.
    Folders(RecordFolders),
    /// Rows of a SQLite database. A session's path is that of the database, followed by the session's id.
    Database,
}

/// The folders of one store of records, next to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordFolders {
    /// Holds `PROJECT/SESSION.json`.
    pub sessions: &'static str,
    /// Holds `SESSION/MESSAGE.json`.
    pub messages: &'static str,
    /// Holds `MESSAGE/PART.json`.
    pub parts: &'static str,
}

#[derive(Debug, Clone, Default)]
pub struct SessionRecords {
    pub session: Value,
    pub messages: Vec<MessageRecords>,
}

/// The record of a message and those of its parts.
#[derive(Debug, Clone)]
pub struct MessageRecords {
    /// Sorts by time, also among messages of the same millisecond.
    pub id: String,
    /// The message's record; it may omit its id.
    pub message: Record,
    /// Sorted by id.
    pub parts: Vec<Record>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Record {
    Object(Value),
    /// Anything else: torn, damaged, empty.
    Broken(Vec<u8>),
}

impl RecordStorage {
    /// Whether `folder` may contain a session's record, or is the path of a database that may have its rows.
    pub fn holds_session_in(self, folder: &str) -> bool {
        match self {
            Self::Folders(folders) => folder.rsplit('/').nth(1) == Some(folders.sessions),
            Self::Database => folder.ends_with(".db"),
        }
    }
}

impl RecordFolders {
    /// Whether the file of that path may be the record of a message.
    pub fn is_message(self, path: &str) -> bool {
        path.ends_with(".json") && path.rsplit('/').nth(2) == Some(self.messages)
    }
}

impl Record {
    pub fn of(bytes: &[u8]) -> Self {
        let value = serde_json::from_slice::<Value>(bytes).ok();
        let value = value.or_else(|| serde_json::from_str(&repair(bytes)?).ok());
        match value.filter(Value::is_object) {
            Some(value) => Self::Object(value),
            None => Self::Broken(bytes.to_vec()),
        }
    }

    /// The object, if the record is valid.
    pub fn object(&self) -> Option<&Value> {
        match self {
            Self::Object(value) => Some(value),
            Self::Broken(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Source;
    use super::super::source::Layout;

    #[test]
    fn records_are_told_by_their_folders() {
        let storage = |path: &str| match Source::OpenCode.spec().layout(path) {
            Some(Layout::Records(records)) => Some(records.storage),
            _ => None,
        };
        let file = storage("/d/storage/session/global/ses_1.json");
        let Some(super::RecordStorage::Folders(folders)) = file else { panic!("{file:?}") };
        assert_eq!(storage("/d/storage/other/global/ses_1.json"), None);
        assert_eq!(storage("/d/opencode.db/ses_1"), Some(super::RecordStorage::Database));
        assert_eq!(storage("/d/opencode/ses_1"), None);
        for (path, expected) in [
            ("/d/storage/message/ses_1/msg_1.json", true),
            ("/d/storage/message/ses_1/msg_1.tmp", false),
            ("/d/storage/part/msg_1/prt_1.json", false),
        ] {
            assert_eq!(folders.is_message(path), expected, "{path}");
        }
    }

    #[test]
    fn only_lines_that_are_stored_as_they_are_have_places_in_the_file() {
        for (source, path, expected) in [
            (Source::Codex, "/s/rollout-1.jsonl", true),
            (Source::Codex, "/s/rollout-1.jsonl.zst", false),
            (Source::Codex, "/s/rollout-1.json", false),
            (Source::OpenCode, "/d/storage/session/global/ses_1.json", false),
        ] {
            assert_eq!(source.spec().has_places_of_file(path), expected, "{path}");
        }
    }
}
