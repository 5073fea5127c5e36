//! OpenCode's sessions through the whole daemon, in both storage formats.

use std::fs;
use std::path::{Path, PathBuf};

use longhaul_protocol::archive::{ArchiveList, ArchiveListParams};
use longhaul_protocol::policy::{Report, ReportParams};
use longhaul_protocol::thread;
use serde_json::{Value, json};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode};
use sqlx::{ConnectOptions as _, Connection as _, SqliteConnection};

use crate::archive::{archived, not_put_back};
use crate::archive_lost::{after_the_loss, known};
use crate::support::{Client, Daemon, of_thread, soon, text_at};

const SESSION: &str = "ses_dfeef785fffe764aWSXJxl9lUf";
const AGENT: &str = "ses_dfeef1aa4ffeUv1nm4fgEhIM9t";

/// A record: its kind, its ids (session, message, part: as many as apply) and its content.
struct Row<'a>(&'a str, &'a [&'a str], Value);

fn session(id: &str, parent: Option<&str>, title: &str) -> Value {
    let mut session = json!({"id": id, "directory": "/w", "title": title, "version": "1.2.3",
        "time": {"created": 1_767_323_045_000_i64, "updated": 1_767_323_045_000_i64}});
    if let Some(parent) = parent {
        session.as_object_mut().unwrap().insert("parentID".into(), json!(parent));
    }
    session
}

fn request(at: i64, words: &str) -> [Value; 2] {
    let message = json!({"role": "user", "time": {"created": at}, "summary": {"diffs": []}});
    [message, json!({"type": "text", "text": words})]
}

fn answer(created: i64, completed: Option<i64>) -> Value {
    json!({"role": "assistant", "modelID": "m-1", "path": {"cwd": "/w"}, "finish": "stop",
        "time": {"created": created, "completed": completed}, "tokens": {"total": 900}})
}

fn words(text: &str) -> Value {
    json!({"type": "text", "text": text, "time": {"start": 1, "end": 2}})
}

fn edit(status: &str) -> Value {
    json!({"type": "tool", "tool": "edit", "callID": "c1", "state": {
        "status": status, "output": "Edit applied", "time": {"start": 3, "end": 4},
        "input": {"filePath": "/w/src/a.rs", "oldString": "x", "newString": "y"}}})
}

/// A new session whose agent is executing a call.
fn begun() -> Vec<Row<'static>> {
    let [asked, text] = request(1_767_323_046_000, "Rename x to y in a.rs");
    let [looked, look] = request(1_767_323_046_500, "Look around");
    vec![
        Row("session", &[SESSION], session(SESSION, None, "New session - now")),
        Row("message", &[SESSION, "msg_1"], asked),
        Row("part", &[SESSION, "msg_1", "prt_1"], text),
        Row("message", &[SESSION, "msg_2"], answer(1_767_323_047_000, None)),
        Row("part", &[SESSION, "msg_2", "prt_2"], words("I rename it.")),
        Row("part", &[SESSION, "msg_2", "prt_3"], edit("running")),
        Row("session", &[AGENT], session(AGENT, Some(SESSION), "Look (@general subagent)")),
        Row("message", &[AGENT, "msg_3"], looked),
        Row("part", &[AGENT, "msg_3", "prt_4"], look),
    ]
}

/// The records at the end of the call: the part, the message, and a name for the session.
fn ended() -> Vec<Row<'static>> {
    let broken = Value::String("{\"type\": \"te".to_owned());
    vec![
        Row("part", &[SESSION, "msg_2", "prt_3"], edit("completed")),
        Row("part", &[SESSION, "msg_2", "prt_5"], broken),
        Row("part", &[SESSION, "msg_2", "prt_6"], words("Renamed.")),
        Row("message", &[SESSION, "msg_2"], answer(1_767_323_047_000, Some(1_767_323_048_000))),
        Row("session", &[SESSION], session(SESSION, None, "A rename")),
    ]
}

/// A stored record; a string is damaged text.
fn stored(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn home_of(home: &Path) -> PathBuf {
    let own = home.canonicalize().unwrap().join(".local/share/opencode");
    fs::create_dir_all(&own).unwrap();
    own
}

/// Versions until 1.1: a file for each record, rewritten completely.
fn write_files(home: &Path, rows: &[Row<'_>]) -> PathBuf {
    let storage = home_of(home).join("storage");
    for Row(kind, ids, value) in rows {
        let place = match (*kind, *ids) {
            ("session", [session]) => format!("session/p1/{session}.json"),
            ("message", [session, message]) => format!("message/{session}/{message}.json"),
            (_, [_, message, part]) => format!("part/{message}/{part}.json"),
            _ => panic!("{kind} {ids:?}"),
        };
        let path = storage.join(place);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, stored(value)).unwrap();
    }
    storage.join(format!("session/p1/{SESSION}.json"))
}

/// Later versions: rows of a database with a write-ahead log.
struct Database {
    connection: SqliteConnection,
    path: PathBuf,
    now_ms: i64,
}

impl Database {
    async fn in_home(home: &Path) -> Self {
        let path = home_of(home).join("opencode.db");
        let options = SqliteConnectOptions::new().filename(&path).create_if_missing(true);
        let options = options.journal_mode(SqliteJournalMode::Wal);
        let mut connection = options.connect().await.unwrap();
        let tables = "
            CREATE TABLE session (id text PRIMARY KEY, parent_id text, directory text, title text, version text,
                revert text, time_created integer, time_updated integer);
            CREATE TABLE message (id text PRIMARY KEY, session_id text, time_created integer, time_updated integer,
                data text);
            CREATE TABLE part (id text PRIMARY KEY, message_id text, session_id text, time_created integer,
                time_updated integer, data text);";
        sqlx::raw_sql(tables).execute(&mut connection).await.unwrap();
        Self { connection, path, now_ms: 1_767_323_045_000 }
    }

    async fn write(&mut self, rows: &[Row<'_>]) -> PathBuf {
        for Row(kind, ids, value) in rows {
            self.now_ms += 1;
            let query = match *kind {
                "session" => {
                    let insert = "INSERT OR REPLACE INTO session VALUES (?1, ?2, '/w', ?3, '1.2.3', NULL, ?4, ?5)";
                    let query = sqlx::query(insert)
                        .bind(ids[0])
                        .bind(value.get("parentID").and_then(Value::as_str));
                    let created = value.pointer("/time/created").and_then(Value::as_i64);
                    query.bind(value.get("title").and_then(Value::as_str)).bind(created)
                }
                "message" => {
                    let insert = "INSERT OR REPLACE INTO message (session_id, id, data, time_created, time_updated)
                        VALUES (?1, ?2, ?3, ?4, ?5)";
                    let created = value.pointer("/time/created").and_then(Value::as_i64);
                    sqlx::query(insert).bind(ids[0]).bind(ids[1]).bind(stored(value)).bind(created)
                }
                _ => {
                    let insert = "INSERT OR REPLACE INTO part (session_id, message_id, id, data, time_created, time_updated)
                        VALUES (?1, ?2, ?3, ?4, ?5, ?5)";
                    let query = sqlx::query(insert).bind(ids[0]).bind(ids[1]);
                    query.bind(ids[2]).bind(stored(value))
                }
            };
            query.bind(self.now_ms).execute(&mut self.connection).await.unwrap();
        }
        self.path.join(SESSION)
    }
}

/// The expected result for a continued session in either format.
async fn assert_a_thread_like_any_other(client: &mut Client, path: &Path) {
    let listed = client.threads_of("opencode").await;
    assert_eq!(listed.len(), 2, "{listed:?}");
    let own = client.thread(SESSION).await;
    assert_eq!((own.malformed, own.unknown), (1, 0), "{own:?}");
    assert_eq!(own.title.as_deref(), Some("A rename"));
    assert_eq!((own.cwd.as_deref(), own.path.as_str()), (Some("/w"), path.to_str().unwrap()));
    assert_eq!(client.thread(AGENT).await.parent_thread_id.as_deref(), Some(SESSION));
    let run = client.compact(of_thread(SESSION)).await;
    for known in ["src/a.rs (edited", "Rename x to y"] {
        assert!(run.view.contains(known), "{}", run.view);
    }
    assert!(!client.expand(&run.receipt.dropped[0].handle).await.is_empty());
    let history = client.history(SESSION).await;
    let kinds: Vec<_> = history.iter().map(|item| text_at(item, "type")).collect();
    let expected = ["message", "message", "function_call", "function_call_output", "message"];
    assert_eq!(kinds, expected, "{history:?}");
    assert_eq!(client.usage(SESSION).await.thread_id.as_deref(), Some(SESSION));
    let params = thread::ThreadGetParams { thread_id: SESSION.into() };
    let file = client.call::<thread::ThreadGet>(params).await.unwrap().files.remove(0);
    assert_eq!(file.offset, file.bytes, "it is read to its end");
    assert_eq!(replayed_turns(client, SESSION).await, 1);
}

/// The turns that a policy's replay finds in a thread.
pub(crate) async fn replayed_turns(client: &mut Client, thread_id: &str) -> u64 {
    let params = ReportParams { thread_id: thread_id.into(), context_window: None };
    client.call::<Report>(params).await.unwrap().turns
}

#[tokio::test]
async fn a_session_in_files_is_a_thread_like_any_other() {
    let home = tempfile::tempdir().unwrap();
    let path = write_files(home.path(), &begun());
    let (daemon, mut client) = Daemon::synced_file(home, "", &path).await;
    // A call is ingested when it ends, so no line changes later.
    assert_eq!(client.history(SESSION).await.len(), 2);
    write_files(daemon.home.path(), &ended());
    client.sync_file(&path).await;
    assert_a_thread_like_any_other(&mut client, &path).await;
}

#[tokio::test]
async fn a_session_in_a_database_is_a_thread_like_any_other() {
    let home = tempfile::tempdir().unwrap();
    let mut database = Database::in_home(home.path()).await;
    let path = database.write(&begun()).await;
    let (_daemon, mut client) = Daemon::synced_file(home, "", &path).await;
    assert_eq!(client.history(SESSION).await.len(), 2);
    database.write(&ended()).await;
    client.sync_file(&path).await;
    assert_a_thread_like_any_other(&mut client, &path).await;
}

/// Waits until a thread has this many items, without requesting ingestion.
async fn has_items(client: &mut Client, thread_id: &str, items: u64) {
    let reached = async { while client.thread(thread_id).await.items < items {} };
    soon("the items", reached).await;
}

#[tokio::test]
async fn changes_are_ingested_without_a_request() {
    let (files, rows) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let path = write_files(files.path(), &begun());
    let (daemon, mut client) = Daemon::synced_file(files, "", &path).await;
    write_files(daemon.home.path(), &ended());
    has_items(&mut client, SESSION, 5).await;
    let mut database = Database::in_home(rows.path()).await;
    let path = database.write(&begun()).await;
    let (_daemon, mut client) = Daemon::synced_file(rows, "", &path).await;
    database.write(&ended()).await;
    has_items(&mut client, SESSION, 5).await;
}

#[tokio::test]
async fn files_imported_into_a_database_stay_one_thread() {
    let home = tempfile::tempdir().unwrap();
    let path = write_files(home.path(), &begun());
    write_files(home.path(), &ended());
    let (daemon, mut client) = Daemon::synced_file(home, "", &path).await;
    let before = client.history(SESSION).await;
    let mut database = Database::in_home(daemon.home.path()).await;
    // The database is read as soon as it exists; half of a session does not replace the known one.
    sqlx::raw_sql("BEGIN").execute(&mut database.connection).await.unwrap();
    database.write(&begun()).await;
    let path = database.write(&ended()).await;
    sqlx::raw_sql("COMMIT").execute(&mut database.connection).await.unwrap();
    client.sync_file(&path).await;
    let params = thread::ThreadGetParams { thread_id: SESSION.into() };
    let found = client.call::<thread::ThreadGet>(params).await.unwrap();
    assert_eq!(found.thread.path, path.to_str().unwrap());
    assert_eq!(found.files.len(), 1, "it moved: {:?}", found.files);
    assert_eq!(found.files[0].generation, 1, "nothing was read anew");
    assert_eq!(client.history(SESSION).await, before);
}

#[tokio::test]
async fn files_imported_into_a_database_row_by_row_are_replaced_by_it() {
    let home = tempfile::tempdir().unwrap();
    let path = write_files(home.path(), &begun());
    write_files(home.path(), &ended());
    let (daemon, mut client) = Daemon::synced_file(home, "", &path).await;
    let before = client.history(SESSION).await;
    let mut database = Database::in_home(daemon.home.path()).await;
    let path = database.write(&begun()).await;
    client.sync_file(&path).await;
    database.write(&ended()).await;
    let path = path.to_str().unwrap();
    let taken = async { while client.thread(SESSION).await.path.as_str() != path {} };
    soon("the database", taken).await;
    has_items(&mut client, SESSION, 5).await;
    assert_eq!(client.history(SESSION).await, before);
}

#[tokio::test]
async fn a_deleted_session_continues_elsewhere() {
    let home = tempfile::tempdir().unwrap();
    write_files(home.path(), &begun());
    let path = write_files(home.path(), &ended());
    let (daemon, mut client) = Daemon::synced_file(home, "", &path).await;
    archived(&mut client).await;
    fs::remove_dir_all(home_of(daemon.home.path()).join("storage")).unwrap();
    not_put_back(&daemon, (SESSION, &path), "Rename x to y in a.rs").await;
}

/// Sessions that were deleted are known again after the database of the daemon was lost.
async fn known_without_the_database(daemon: Daemon, path: &Path) {
    let (daemon, mut client) = after_the_loss(daemon.stopped().await).await;
    known(&mut client, &[AGENT, SESSION]).await;
    assert_eq!(replayed_turns(&mut client, SESSION).await, 1, "from the archive");
    let gone = ArchiveListParams { gone: Some(true), ..Default::default() };
    assert_eq!(client.call::<ArchiveList>(gone).await.unwrap().threads.len(), 2);
    not_put_back(&daemon, (SESSION, path), "Rename x to y in a.rs").await;
}

#[tokio::test]
async fn deleted_sessions_in_files_are_known_without_the_database() {
    for deleted in ["storage", "storage/session/p1"] {
        let home = tempfile::tempdir().unwrap();
        write_files(home.path(), &begun());
        let path = write_files(home.path(), &ended());
        let (daemon, mut client) = Daemon::synced_file(home, "", &path).await;
        client.sync(AGENT).await;
        archived(&mut client).await;
        fs::remove_dir_all(home_of(daemon.home.path()).join(deleted)).unwrap();
        known_without_the_database(daemon, &path).await;
    }
}

#[tokio::test]
async fn deleted_sessions_in_a_database_are_known_without_the_database() {
    for deleted in ["the database", "its rows"] {
        let home = tempfile::tempdir().unwrap();
        let mut database = Database::in_home(home.path()).await;
        database.write(&begun()).await;
        let path = database.write(&ended()).await;
        let (daemon, mut client) = Daemon::synced_file(home, "", &path).await;
        client.sync(AGENT).await;
        archived(&mut client).await;
        let gone = ArchiveListParams { gone: Some(true), ..Default::default() };
        let gone = client.call::<ArchiveList>(gone).await.unwrap();
        assert_eq!(gone.threads.len(), 0, "they are in the agent's database");
        if deleted == "its rows" {
            let delete = "DELETE FROM part; DELETE FROM message; DELETE FROM session;";
            sqlx::raw_sql(delete).execute(&mut database.connection).await.unwrap();
        } else {
            database.connection.close().await.unwrap();
            fs::remove_file(&database.path).unwrap();
        }
        known_without_the_database(daemon, &path).await;
    }
}

#[tokio::test]
async fn a_session_continues_in_codex_and_in_claude_code() {
    let home = tempfile::tempdir().unwrap();
    let path = write_files(home.path(), &begun());
    write_files(home.path(), &ended());
    let (_daemon, mut client) = Daemon::synced_file(home, "", &path).await;
    for to in ["codex", "claude"] {
        client.continues_in(SESSION, to, &["src/a.rs (edited", "Rename x to y"]).await;
    }
}
