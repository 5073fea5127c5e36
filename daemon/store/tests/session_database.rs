//! The database of another program: read in any state, never written.

use std::collections::BTreeMap;
use std::path::Path;

use longhaul_core::digest::Digest128;
use longhaul_core::rollout::records::Record;
use longhaul_store::{SessionDatabase, SessionState, StoreError};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode};
use sqlx::{ConnectOptions as _, Connection as _, SqliteConnection};

const SCHEMA: &str = "
    CREATE TABLE session (id text PRIMARY KEY, parent_id text, directory text NOT NULL, title text NOT NULL,
        version text NOT NULL, revert text, time_created integer NOT NULL, time_updated integer NOT NULL);
    CREATE TABLE message (id text PRIMARY KEY, session_id text NOT NULL, time_created integer NOT NULL,
        time_updated integer NOT NULL, data text NOT NULL);
    CREATE TABLE part (id text PRIMARY KEY, message_id text NOT NULL, session_id text NOT NULL,
        time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL);
    INSERT INTO session VALUES ('ses_1', NULL, '/w', 'One', '1.2.3', NULL, 5, 5),
        ('ses_2', 'ses_1', '/w', 'Two', '1.2.3', '{\"messageID\":\"msg_3\"}', 6, 9);
    INSERT INTO message VALUES ('msg_1', 'ses_1', 5, 7, '{\"role\":\"user\"}'),
        ('msg_2', 'ses_1', 6, 6, x'7B22FF'), ('msg_3', 'ses_2', 7, 7, '{}');
    INSERT INTO part VALUES ('prt_2', 'msg_1', 'ses_1', 5, 6, '{\"type\":\"text\",\"text\":\"b\"}'),
        ('prt_1', 'msg_1', 'ses_1', 5, 8, '{\"type\":\"text\",\"text\":\"a\"}'),
        ('prt_3', 'msg_9', 'ses_1', 5, 6, '{}');";

async fn writer(path: &Path) -> SqliteConnection {
    let options = SqliteConnectOptions::new().filename(path).create_if_missing(true);
    options.journal_mode(SqliteJournalMode::Wal).connect().await.unwrap()
}

async fn execute(writer: &mut SqliteConnection, statements: &'static str) {
    sqlx::raw_sql(statements).execute(writer).await.unwrap();
}

/// A database whose agent has ended.
async fn written(path: &Path, statements: &'static str) {
    let mut agent = writer(path).await;
    execute(&mut agent, statements).await;
    agent.close().await.unwrap();
}

fn shown(states: &[SessionState]) -> Vec<(&str, u64, i64)> {
    let mut shown: Vec<_> = states
        .iter()
        .map(|state| (state.id.as_str(), state.stat.size, state.stat.mtime_ns / 1_000_000))
        .collect();
    shown.sort_unstable();
    shown
}

/// Names, contents and times of the files in a folder.
fn snapshot(folder: &Path) -> BTreeMap<String, (Digest128, std::time::SystemTime)> {
    let entries = std::fs::read_dir(folder).unwrap().map(Result::unwrap);
    let files = entries.map(|entry| {
        let name = entry.file_name().into_string().unwrap();
        let modified = entry.metadata().unwrap().modified().unwrap();
        (name, (Digest128::of(&std::fs::read(entry.path()).unwrap()), modified))
    });
    files.collect()
}

#[tokio::test]
async fn sessions_are_read_while_their_agent_writes_and_nothing_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("open code%.db");
    let mut agent = writer(&path).await;
    execute(&mut agent, SCHEMA).await;
    let database = SessionDatabase::at(&path);
    let expected = [("ses_1", 72, 8), ("ses_2", 2, 9)];
    // A reader in the writer's process shares its index of the log; the next test has no writer.
    let unshared = || {
        let mut files = snapshot(folder.path());
        files.remove("open code%.db-shm");
        files
    };
    let before = unshared();
    assert!(before.contains_key("open code%.db-wal"), "the agent has a log");
    assert_eq!(shown(&database.sessions().await.unwrap()), expected);
    assert_eq!(shown(&database.recent().await.unwrap()), expected);
    let one = database.session("ses_1").await.unwrap().unwrap();
    assert_eq!(shown(std::slice::from_ref(&one)), expected[..1]);
    assert_eq!(unshared(), before);
    // First with an open transaction of the agent, then after it was committed.
    let mut open = agent.begin().await.unwrap();
    execute(&mut open, "UPDATE part SET time_updated = 20 WHERE id = 'prt_2'").await;
    assert_eq!(database.session("ses_1").await.unwrap(), Some(one.clone()));
    open.commit().await.unwrap();
    assert_eq!(database.session("ses_1").await.unwrap().unwrap().stat.mtime_ns, 20_000_000);
    agent.close().await.unwrap();
    // The last connection deletes the log; reading creates no new one.
    let closed = snapshot(folder.path());
    assert_eq!(closed.keys().collect::<Vec<_>>(), ["open code%.db"]);
    assert_eq!(database.session("ses_1").await.unwrap().unwrap().stat.size, one.stat.size);
    assert_eq!(snapshot(folder.path()), closed);
}

#[tokio::test]
async fn the_log_of_a_killed_agent_is_read_too() {
    let folder = tempfile::tempdir().unwrap();
    let (path, left) = (folder.path().join("a.db"), folder.path().join("left"));
    let mut agent = writer(&path).await;
    execute(&mut agent, SCHEMA).await;
    std::fs::create_dir(&left).unwrap();
    for suffix in ["", "-wal", "-shm"] {
        let name = format!("a.db{suffix}");
        std::fs::copy(folder.path().join(&name), left.join(&name)).unwrap();
    }
    let before = snapshot(&left);
    let sessions = SessionDatabase::at(&left.join("a.db")).sessions().await.unwrap();
    assert_eq!(sessions.len(), 2);
    assert_eq!(snapshot(&left), before);
}

#[tokio::test]
async fn a_session_has_its_records_and_a_damaged_row_affects_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    written(&path, SCHEMA).await;
    let database = SessionDatabase::at(&path);
    let content = database.content("ses_1", 1_000).await.unwrap().unwrap();
    let records = content.records.unwrap();
    assert_eq!(records.session["directory"], "/w");
    assert!(records.session.get("parentID").is_none() && records.session.get("revert").is_none());
    let [first, broken] = records.messages.as_slice() else { panic!("{records:?}") };
    let texts = first.parts.iter().map(|part| part.object().unwrap()["text"].clone());
    assert_eq!(texts.collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(broken.message, Record::Broken(b"{\"\xff".to_vec()));
    let child = database.content("ses_2", 1_000).await.unwrap().unwrap().records.unwrap();
    assert_eq!(child.session["parentID"], "ses_1");
    assert_eq!(child.session["revert"]["messageID"], "msg_3");
    let large = database.content("ses_1", 10).await.unwrap().unwrap();
    assert!(large.records.is_none() && large.state.stat.size > 10);
    assert!(database.content("ses_9", 1_000).await.unwrap().is_none());
}

#[tokio::test]
async fn another_kind_of_file_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let sessions = async || SessionDatabase::at(&path).sessions().await.unwrap_err();
    assert!(matches!(sessions().await, StoreError::Access { .. }), "missing");
    std::fs::write(&path, "not a database, but text that is long enough for a header").unwrap();
    assert!(matches!(sessions().await, StoreError::Corrupt { .. }), "{:?}", sessions().await);
    std::fs::remove_file(&path).unwrap();
    written(&path, "CREATE TABLE other (x)").await;
    assert!(matches!(sessions().await, StoreError::Internal { .. }), "another schema");
}
