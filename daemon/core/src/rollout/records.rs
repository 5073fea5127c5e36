//! A session that its agent keeps as records: one of the session, one of each message and one of each part
//! of a message. Every record is JSON, and is written again when more of it is there.

use serde_json::Value;

use super::codex::repair;

/// Puts a session into lines that are only added to while it goes on.
pub type SessionToLines = fn(&SessionRecords) -> Vec<u8>;

/// How a session's records become lines.
#[derive(Debug, Clone, Copy)]
pub struct Records {
    /// Where they are kept.
    pub storage: RecordStorage,
    /// Puts them into lines.
    pub lines: SessionToLines,
}

/// Where records are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordStorage {
    /// A JSON file each.
    Folders(RecordFolders),
    /// Rows of a SQLite database. A session's path is the database's, followed by the session's id.
    Database,
}

/// The folders of one store of records, side by side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordFolders {
    /// Holds `PROJECT/SESSION.json`.
    pub sessions: &'static str,
    /// Holds `SESSION/MESSAGE.json`.
    pub messages: &'static str,
    /// Holds `MESSAGE/PART.json`.
    pub parts: &'static str,
}

/// All records of a session.
#[derive(Debug, Clone, Default)]
pub struct SessionRecords {
    /// The session's own.
    pub session: Value,
    /// In any order.
    pub messages: Vec<MessageRecords>,
}

/// The record of a message and those of its parts.
#[derive(Debug, Clone)]
pub struct MessageRecords {
    /// Rises with time, among messages of one millisecond too.
    pub id: String,
    /// The message's own; its id may be left out.
    pub message: Record,
    /// In the order of their ids.
    pub parts: Vec<Record>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Record {
    /// A JSON object.
    Object(Value),
    /// Anything else: torn, damaged, empty.
    Broken(Vec<u8>),
}

impl RecordStorage {
    /// What a database's name ends with.
    const DATABASE_SUFFIX: &str = ".db";

    /// Whether a session's record may lie in `folder`, or the session's rows in a database of that path.
    #[must_use]
    pub fn holds_session_in(self, folder: &str) -> bool {
        match self {
            Self::Folders(folders) => folder.rsplit('/').nth(1) == Some(folders.sessions),
            Self::Database => folder.ends_with(Self::DATABASE_SUFFIX),
        }
    }
}

impl RecordFolders {
    /// Whether the file of that path may be the record of a message.
    #[must_use]
    pub fn is_message(self, path: &str) -> bool {
        path.ends_with(".json") && path.rsplit('/').nth(2) == Some(self.messages)
    }
}

impl Record {
    /// Reads a record.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        let value = serde_json::from_slice::<Value>(bytes).ok();
        let value = value.or_else(|| serde_json::from_str(&repair(bytes)?).ok());
        match value.filter(Value::is_object) {
            Some(value) => Self::Object(value),
            None => Self::Broken(bytes.to_vec()),
        }
    }

    /// What it says, if it can be read.
    #[must_use]
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
