//! Databases of every landed version, and folds of an older one: the daemon takes them over and answers from them.

use std::path::{Path, PathBuf};

use longhaul_protocol::ErrorKind;
use longhaul_protocol::checkpoint::{ChoiceAction, Choices, ChoicesParams, Choose, ChooseParams};
use longhaul_protocol::job;
use longhaul_protocol::memory::{AddNote, AddNoteParams, ListNotes, ListNotesParams, Origin};
use longhaul_protocol::thread::ThreadSummary;
use serde_json::json;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _};
use tempfile::TempDir;

use crate::continuation::session_compacted_by_its_agent;
use crate::support::rollout::Rollout;
use crate::support::{Client, Daemon, of_thread, pause, soon};

const THREAD: &str = "019cadd3-0000-7000-8000-0000000000e1";
const NOTE: &str = "Releases are tagged on Tuesdays.";

const PIN: &str = "The fetcher must never retry a payment.";

/// The first version with notes. Jobs are requested again by each daemon, and the rest is in every version.
const NOTES_SINCE: usize = 4;

fn database(home: &Path) -> PathBuf {
    home.join(".local/state/longhaul/longhaul.db")
}

fn migrations() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../store/migrations");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = files.collect();
    files.sort();
    files.iter().map(|path| std::fs::read_to_string(path).unwrap()).collect()
}

async fn run(connection: &mut SqliteConnection, sql: String) {
    sqlx::raw_sql(AssertSqlSafe(sql)).execute(connection).await.unwrap();
}

async fn texts(connection: &mut SqliteConnection, sql: String) -> Vec<String> {
    let rows: Vec<(String,)> =
        sqlx::query_as(AssertSqlSafe(sql)).fetch_all(connection).await.unwrap();
    rows.into_iter().map(|row| row.0).collect()
}

/// Makes the database of an earlier version, with the rows of `newest` in its tables and columns.
async fn make(path: &Path, version: usize, newest: &Path) {
    let options = SqliteConnectOptions::new().filename(path).create_if_missing(true);
    let mut connection = options.foreign_keys(false).connect().await.unwrap();
    for migration in migrations().into_iter().take(version) {
        run(&mut connection, migration).await;
    }
    run(&mut connection, format!("ATTACH '{}' AS newest", newest.display())).await;
    // The search index of memory has no copy of its words; it is made again with each generation.
    let tables = "SELECT name FROM main.sqlite_schema WHERE type = 'table' \
                  AND name NOT LIKE 'sqlite_%' AND name NOT LIKE 'memory_text%'";
    for table in texts(&mut connection, tables.to_owned()).await {
        let columns = format!("SELECT name FROM pragma_table_info('{table}', 'main')");
        let columns = texts(&mut connection, columns).await.join(", ");
        run(
            &mut connection,
            format!(
                "DELETE FROM main.{table}; \
                 INSERT INTO main.{table} ({columns}) SELECT {columns} FROM newest.{table}"
            ),
        )
        .await;
    }
    let stamp =
        format!("PRAGMA main.user_version = {version}; PRAGMA main.application_id = 1818772546");
    run(&mut connection, stamp).await;
    connection.close().await.unwrap();
}

/// What a daemon answers about the rows of its database.
#[derive(Debug, Clone, PartialEq)]
struct Answers {
    thread: ThreadSummary,
    items: usize,
    pins: Vec<String>,
    compactions: Vec<(String, u64, u64)>,
    view: String,
    notes: Vec<String>,
    jobs: Vec<String>,
}

/// The jobs, once there are any.
async fn jobs(client: &mut Client) -> Vec<String> {
    loop {
        let jobs = client.call::<job::JobList>(job::JobListParams::default()).await.unwrap().jobs;
        if !jobs.is_empty() {
            let mut jobs: Vec<String> = jobs.into_iter().map(|job| job.job).collect();
            jobs.sort();
            return jobs;
        }
        pause().await;
    }
}

async fn answers(client: &mut Client) -> Answers {
    client.sync(THREAD).await;
    let choices = ChoicesParams { thread_id: THREAD.into() };
    let choices = client.call::<Choices>(choices).await.unwrap().choices;
    let compactions = client.compactions().await;
    let found = client.compaction(&compactions[0].compaction_id).await;
    let notes = client.call::<ListNotes>(ListNotesParams::default()).await.unwrap().notes;
    let jobs = soon("the pruning requested at the start", jobs(client)).await;
    Answers {
        thread: client.thread(THREAD).await,
        items: client.history(THREAD).await.len(),
        pins: choices.into_iter().map(|choice| choice.text.0).collect(),
        compactions: compactions
            .into_iter()
            .map(|found| (found.compaction_id, found.tokens.before, found.tokens.after))
            .collect(),
        view: found.run.view.0,
        notes: notes.into_iter().map(|note| note.text.0).collect(),
        jobs,
    }
}

/// A home whose database has rows of every kind, and its daemon's answers.
async fn filled() -> (TempDir, Answers) {
    let home = tempfile::tempdir().unwrap();
    Rollout::with_rounds(THREAD, Path::new("/w/app"), "Make the fetcher retry.", 40)
        .write(home.path());
    let (daemon, mut client) = Daemon::with_client(home, "").await;
    client.sync(THREAD).await;
    let note = AddNoteParams { text: NOTE.into(), cwd: None, origin: Some(Origin::Person) };
    client.call::<AddNote>(note).await.unwrap();
    let pin = ChooseParams {
        thread_id: THREAD.into(),
        action: ChoiceAction::Pin,
        text: Some(PIN.into()),
        handle: None,
    };
    client.call::<Choose>(pin).await.unwrap();
    client.compact(of_thread(THREAD)).await;
    let answers = answers(&mut client).await;
    (daemon.stopped().await, answers)
}

#[tokio::test]
async fn a_database_of_every_landed_version_is_migrated_and_answers() {
    let (mut home, newest) = filled().await;
    assert_eq!((newest.pins.len(), newest.notes.len()), (1, 1));
    assert!(newest.view.contains("fetcher"), "{}", newest.view);
    let kept = home.path().join("newest.db");
    std::fs::rename(database(home.path()), &kept).unwrap();
    for version in 1..=migrations().len() {
        for suffix in ["", "-wal", "-shm", ".seal"] {
            let old = format!("{}{suffix}", database(home.path()).display());
            drop(std::fs::remove_file(old));
        }
        make(&database(home.path()), version, &kept).await;
        let (daemon, mut client) = Daemon::with_client(home, "").await;
        let found = answers(&mut client).await;
        let mut expected = newest.clone();
        if version < NOTES_SINCE {
            expected.notes.clear();
        }
        assert_eq!(found, expected, "version {version}");
        assert_eq!(client.status().await.warnings, [], "version {version}");
        home = daemon.stopped().await;
    }
}

/// A thread that an older version read, of which neither transcript nor archive is left, does not hide the others.
#[tokio::test]
async fn a_thread_that_only_an_older_version_could_read_is_reported_as_gone() {
    let home = tempfile::tempdir().unwrap();
    let [lost, kept] = ["c1", "c2"].map(|id| session_compacted_by_its_agent(home.path(), id));
    let (daemon, mut client) = Daemon::with_client(home, "[archive]\nenabled = false\n").await;
    client.sync_file(&lost).await;
    client.sync_file(&kept).await;
    assert_eq!(client.status().await.compactions.agent_compactions, 2);

    let home = daemon.stopped().await;
    std::fs::remove_file(&lost).unwrap();
    let path = database(home.path());
    std::fs::remove_file(path.with_extension("db.seal")).unwrap();
    let mut connection = SqliteConnectOptions::new().filename(&path).connect().await.unwrap();
    let older = "UPDATE source_file SET fold = CAST('{\"version\":1}' AS BLOB), fold_version = 1";
    run(&mut connection, older.to_owned()).await;
    connection.close().await.unwrap();
    let (_daemon, mut client) = Daemon::with_client(home, "[archive]\nenabled = false\n").await;
    client.sync_file(&kept).await;
    let reported = async {
        loop {
            let params = json!({ "thread_id": "c1" });
            let answer = client.request("checkpoint/get", params).await;
            if answer.kind() == Some(ErrorKind::SourceChanged) {
                return;
            }
            // Until the missing transcript is noticed.
            assert_eq!(answer.kind(), Some(ErrorKind::IngestBehind));
            pause().await;
        }
    };
    soon("the report of the lost transcript", reported).await;
    assert_eq!(client.status().await.compactions.agent_compactions, 1);
}
