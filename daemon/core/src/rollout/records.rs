//! A session stored as records: one for the session, one for each message and one for each part of a message.
//! Every record is JSON and is rewritten when its content grows.

use serde_json::Value;

use super::repair::repair;

/// Converts a session to lines that only grow at the end while it continues.
pub type SessionToLines = fn(&SessionRecords) -> Vec<u8>;

/// How a session's records are stored and become lines.
#[derive(Debug, Clone, Copy)]
pub struct Records {
    pub storage: RecordStorage,
    pub lines: SessionToLines,
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
    /// Suffix of a database's name.
    const DATABASE_SUFFIX: &str = ".db";

    /// Whether `folder` may contain a session's record, or is the path of a database that may have its rows.
    pub fn holds_session_in(self, folder: &str) -> bool {
        match self {
            Self::Folders(folders) => folder.rsplit('/').nth(1) == Some(folders.sessions),
            Self::Database => folder.ends_with(Self::DATABASE_SUFFIX),
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

impl PartialEq for Records {
    fn eq(&self, other: &Self) -> bool {
        self.storage == other.storage && std::ptr::fn_addr_eq(self.lines, other.lines)
    }
}

impl Eq for Records {}
