//! Reads sessions from an agent's own database (OpenCode's schema) while the agent writes. Never writes to it.
//!
//! A database with a write-ahead log is read through the log's index, opened read-only: otherwise SQLite would write
//! reader marks into it, or create it. Without a log everything is in the file, which is then read as immutable; a read
//! during which the file changed is repeated.

use std::path::{Path, PathBuf};
use std::time::Duration;

use longhaul_core::rollout::records::{MessageRecords, Record, SessionRecords};
use serde_json::{Value, json};
use sqlx::sqlite::{SqliteConnectOptions, SqliteRow};
use sqlx::{
    ConnectOptions as _, Connection as _, QueryBuilder, Row as _, Sqlite, SqliteConnection,
};

use crate::error::StoreError;
use crate::file::FileStat;
use crate::path::{percent_encode, with_suffix};
use crate::row::{get, unsigned};

/// Maximum reads if the agent changes the database during a read.
const ATTEMPTS: usize = 3;

/// Maximum wait for the agent's lock.
const BUSY_TIMEOUT: Duration = Duration::from_secs(1);

/// Number of newest messages and parts whose sessions are checked after a change hint. Ids rise with time; changes in
/// older rows are found by a full listing.
const RECENT_ROWS: i64 = 64;

/// The state of each session: time of its newest change, and bytes of its records.
const STATES: &str = "SELECT id, \
     CAST(max(time_updated, \
         coalesce((SELECT max(time_updated) FROM message WHERE session_id = session.id), 0), \
         coalesce((SELECT max(time_updated) FROM part WHERE session_id = session.id), 0)) AS INTEGER) AS at_ms, \
     coalesce((SELECT sum(octet_length(data)) FROM message WHERE session_id = session.id), 0) + \
     coalesce((SELECT sum(octet_length(data)) FROM part WHERE session_id = session.id), 0) AS bytes \
     FROM session";

/// Most recently changed sessions: one query per table.
const RECENT: [(&str, &str, &str); 3] = [
    (" WHERE id IN (SELECT id FROM (SELECT id", "session", "time_updated"),
    (" UNION SELECT session_id FROM (SELECT session_id", "message", "id"),
    (" UNION SELECT session_id FROM (SELECT session_id", "part", "id"),
];

#[derive(Clone, Copy)]
enum Selection<'a> {
    All,
    Recent,
    One(&'a str),
}

#[derive(Debug)]
pub struct SessionDatabase {
    path: PathBuf,
}

/// File metadata of a database: while it is unchanged, so is every session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DatabaseState {
    file: FileStat,
    log: Option<FileStat>,
}

impl DatabaseState {
    /// Time of the last write, Unix nanoseconds.
    pub fn written_ns(&self) -> i64 {
        let log = self.log.map_or(i64::MIN, |log| log.mtime_ns);
        self.file.mtime_ns.max(log)
    }
}

/// A session with file-like metadata.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionState {
    pub id: String,
    /// Device and inode of the database, bytes of all records, time of the newest.
    pub stat: FileStat,
}

#[derive(Debug)]
pub struct SessionContent {
    /// State when it was read.
    pub state: SessionState,
    /// `None` if the records exceed the requested maximum.
    pub records: Option<SessionRecords>,
}

impl SessionDatabase {
    /// Does not open the database yet.
    pub fn at(path: &Path) -> Self {
        Self { path: path.to_owned() }
    }

    /// Current state of the file. Blocking.
    pub fn state(&self) -> std::io::Result<DatabaseState> {
        let log = std::fs::metadata(with_suffix(&self.path, "-wal")).ok();
        let file = FileStat::of(&std::fs::metadata(&self.path)?);
        Ok(DatabaseState { file, log: log.as_ref().map(FileStat::of) })
    }

    pub async fn sessions(&self) -> Result<Vec<SessionState>, StoreError> {
        self.read(async |connection, file| states(connection, file, Selection::All).await).await
    }

    /// The ids of all sessions.
    pub async fn ids(&self) -> Result<Vec<String>, StoreError> {
        let ids = async |connection: &mut SqliteConnection, _| {
            sqlx::query_scalar("SELECT id FROM session").fetch_all(connection).await
        };
        self.read(ids).await
    }

    /// The most recently changed sessions.
    pub async fn recent(&self) -> Result<Vec<SessionState>, StoreError> {
        self.read(async |connection, file| states(connection, file, Selection::Recent).await).await
    }

    /// The state of one session; `None` if it does not exist.
    pub async fn session(&self, id: &str) -> Result<Option<SessionState>, StoreError> {
        self.read(async |connection, file| session(connection, file, id).await).await
    }

    /// A session with its records, unless they exceed `bytes_max`; `None` if it does not exist.
    pub async fn content(
        &self,
        id: &str,
        bytes_max: u64,
    ) -> Result<Option<SessionContent>, StoreError> {
        self.read(async |connection, file| {
            let mut snapshot = connection.begin().await?;
            let Some(state) = session(&mut snapshot, file, id).await? else { return Ok(None) };
            let records = match state.stat.size <= bytes_max {
                true => Some(records(&mut snapshot, id).await?),
                false => None,
            };
            Ok(Some(SessionContent { state, records }))
        })
        .await
    }

    async fn read<T>(
        &self,
        read: impl AsyncFn(&mut SqliteConnection, FileStat) -> Result<T, sqlx::Error>,
    ) -> Result<T, StoreError> {
        let state = || self.state().map_err(|error| self.classify(error.into()));
        for _ in 0..ATTEMPTS {
            let before = state()?;
            let found = self.attempt(&before, &read).await.map_err(|error| self.classify(error));
            let is_snapshot = found.is_ok() && before.log.is_some();
            // The log appears or disappears when an agent starts or ends.
            if is_snapshot || state()? == before {
                return found;
            }
        }
        Err(StoreError::Busy { path: self.path.clone() })
    }

    async fn attempt<T>(
        &self,
        state: &DatabaseState,
        read: &impl AsyncFn(&mut SqliteConnection, FileStat) -> Result<T, sqlx::Error>,
    ) -> Result<T, sqlx::Error> {
        let mut connection = self.options(state).connect().await?;
        let found = read(&mut connection, state.file).await;
        // Nothing was written, so an error on closing does not matter.
        drop(connection.close().await);
        found
    }

    fn options(&self, state: &DatabaseState) -> SqliteConnectOptions {
        let options = SqliteConnectOptions::new()
            .read_only(true)
            .busy_timeout(BUSY_TIMEOUT)
            .pragma("query_only", "ON")
            .disable_statement_logging();
        match state.log {
            None => options.filename(&self.path).immutable(true),
            Some(_) => {
                options.filename(format!("file:{}?readonly_shm=1", percent_encode(&self.path)))
            }
        }
    }

    fn classify(&self, error: sqlx::Error) -> StoreError {
        StoreError::classify(&self.path, error)
    }
}

async fn states(
    connection: &mut SqliteConnection,
    file: FileStat,
    which: Selection<'_>,
) -> Result<Vec<SessionState>, sqlx::Error> {
    let mut query = QueryBuilder::<Sqlite>::new(STATES);
    match which {
        Selection::All => {}
        Selection::Recent => {
            for (before, table, newest) in RECENT {
                query.push(format_args!("{before} FROM {table} ORDER BY {newest} DESC LIMIT "));
                query.push_bind(RECENT_ROWS).push(")");
            }
            query.push(")");
        }
        Selection::One(id) => {
            query.push(" WHERE id = ").push_bind(id);
        }
    }
    let state = |row: SqliteRow| {
        let stat = FileStat {
            size: unsigned(&row, "bytes")?,
            mtime_ns: get::<i64>(&row, "at_ms")?.saturating_mul(1_000_000),
            ..file
        };
        Ok(SessionState { id: get(&row, "id")?, stat })
    };
    query.build().try_map(state).fetch_all(connection).await
}

async fn session(
    connection: &mut SqliteConnection,
    file: FileStat,
    id: &str,
) -> Result<Option<SessionState>, sqlx::Error> {
    Ok(states(connection, file, Selection::One(id)).await?.pop())
}

async fn records(
    connection: &mut SqliteConnection,
    id: &str,
) -> Result<SessionRecords, sqlx::Error> {
    let session = sqlx::query(
        "SELECT parent_id, directory, title, version, revert, time_created FROM session WHERE id = ?1",
    )
    .bind(id)
    .try_map(|row: SqliteRow| {
        let revert: Option<String> = row.try_get("revert")?;
        let revert = revert.and_then(|text| serde_json::from_str::<Value>(&text).ok());
        let mut session = json!({
            "id": id,
            "directory": get::<Option<String>>(&row, "directory")?,
            "title": get::<Option<String>>(&row, "title")?,
            "version": get::<Option<String>>(&row, "version")?,
            "time": { "created": get::<Option<i64>>(&row, "time_created")? },
        });
        let parent = get::<Option<String>>(&row, "parent_id")?.map(Value::from);
        for (key, value) in [("parentID", parent), ("revert", revert)] {
            value.into_iter().for_each(|value| session[key] = value);
        }
        Ok(session)
    })
    .fetch_one(&mut *connection)
    .await?;
    let mut messages = sqlx::query(
        "SELECT id, CAST(data AS BLOB) AS data FROM message WHERE session_id = ?1 ORDER BY id",
    )
    .bind(id)
    .try_map(|row: SqliteRow| {
        let message = Record::of(get(&row, "data")?);
        Ok(MessageRecords { id: get(&row, "id")?, message, parts: Vec::new() })
    })
    .fetch_all(&mut *connection)
    .await?;
    let parts = sqlx::query(
        "SELECT message_id, CAST(data AS BLOB) AS data FROM part WHERE session_id = ?1 ORDER BY id",
    )
    .bind(id)
    .try_map(|row: SqliteRow| {
        Ok((get::<String>(&row, "message_id")?, Record::of(get(&row, "data")?)))
    })
    .fetch_all(&mut *connection)
    .await?;
    for (message_id, part) in parts {
        if let Ok(at) = messages.binary_search_by(|message| message.id.cmp(&message_id)) {
            messages[at].parts.push(part);
        }
    }
    Ok(SessionRecords { session, messages })
}
