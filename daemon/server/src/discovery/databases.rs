//! Lists sessions in a database again only after the database changed: a listing queries the newest row of every
//! session, which scans all rows.
//!
//! A commit reaches the log file before readers see it. A listing in between has the old rows under the new file
//! state; so a listing is cached only if the database has not been written for a while.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use longhaul_store::{DatabaseState, SessionDatabase, SessionState};

use crate::transcript::records::sessions_of;

/// How long a database must have been unchanged before its listing is cached.
///
/// # Source
/// Chosen: a thousand times the delay between the two on a busy machine.
const SETTLED_NS: i64 = 10_000_000_000;

/// The last listing of each database.
#[derive(Debug, Default)]
pub(crate) struct Databases {
    listed: Mutex<HashMap<PathBuf, (DatabaseState, Vec<SessionState>)>>,
}

impl Databases {
    /// All sessions of a database. Blocking, on a thread of the runtime.
    pub(super) fn sessions(&self, path: &Path, now_ms: i64) -> io::Result<Vec<SessionState>> {
        let state = SessionDatabase::at(path).state()?;
        let lock = || self.listed.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, sessions)) = lock().get(path)
            && *known == state
        {
            return Ok(sessions.clone());
        }
        let sessions = sessions_of(path, false)?;
        let rested_ns = now_ms.saturating_mul(1_000_000).saturating_sub(state.written_ns());
        match rested_ns > SETTLED_NS {
            true => lock().insert(path.to_owned(), (state, sessions.clone())),
            false => lock().remove(path),
        };
        Ok(sessions)
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode};
    use sqlx::{ConnectOptions as _, Connection as _};

    use super::*;

    const TABLES: &str = "
        CREATE TABLE session (id text PRIMARY KEY, time_updated integer);
        CREATE TABLE message (id text PRIMARY KEY, session_id text, time_updated integer, data text);
        CREATE TABLE part (id text PRIMARY KEY, message_id text, session_id text, time_updated integer, data text);
        INSERT INTO session VALUES ('ses_a', 1);";

    async fn run(path: &Path, sql: &'static str) {
        let options = SqliteConnectOptions::new().filename(path).create_if_missing(true);
        let options = options.journal_mode(SqliteJournalMode::Delete);
        let mut connection = options.connect().await.unwrap();
        sqlx::raw_sql(sql).execute(&mut connection).await.unwrap();
        connection.close().await.unwrap();
    }

    /// The first session, listed `after_ms` after the last change.
    async fn first(databases: &std::sync::Arc<Databases>, path: &Path, after_ms: i64) -> String {
        let changed = SessionDatabase::at(path).state().unwrap().written_ns();
        let now_ms = changed / 1_000_000 + after_ms;
        let (databases, path) = (std::sync::Arc::clone(databases), path.to_owned());
        let listed = tokio::task::spawn_blocking(move || databases.sessions(&path, now_ms));
        listed.await.unwrap().unwrap().remove(0).id
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_listing_just_after_a_write_is_repeated() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("opencode.db");
        run(&path, TABLES).await;
        let databases = std::sync::Arc::<Databases>::default();
        assert_eq!(first(&databases, &path, 1_000).await, "ses_a");

        // A change that becomes visible under the file state at which the database was listed.
        let written = path.metadata().unwrap().modified().unwrap();
        run(&path, "UPDATE session SET id = 'ses_b'").await;
        File::options().write(true).open(&path).unwrap().set_modified(written).unwrap();
        assert_eq!(first(&databases, &path, 2_000).await, "ses_b");

        // At rest it is listed once.
        assert_eq!(first(&databases, &path, 60_000).await, "ses_b");
        run(&path, "UPDATE session SET id = 'ses_c'").await;
        File::options().write(true).open(&path).unwrap().set_modified(written).unwrap();
        assert_eq!(first(&databases, &path, 61_000).await, "ses_b");
    }
}
