//! Databases of older versions, and folds of an older one: the daemon takes them over and answers from them.

use std::path::{Path, PathBuf};

use longhaul_protocol::ErrorKind;
use longhaul_protocol::memory::{AddNote, AddNoteParams, ListNotes, ListNotesParams, Origin};
use serde_json::json;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions as _, Connection as _};

use crate::continuation::session_compacted_by_its_agent;
use crate::support::rollout::Rollout;
use crate::support::{Daemon, until};

const THREAD: &str = "019cadd3-0000-7000-8000-0000000000e1";
const NOTE: &str = "Releases are tagged on Tuesdays.";

/// Changes the database of a home whose daemon is stopped.
async fn change(home: &Path, sql: &'static str) {
    let path: PathBuf = home.join(".local/state/longhaul/longhaul.db");
    std::fs::remove_file(path.with_extension("db.seal")).unwrap();
    let mut connection = SqliteConnectOptions::new().filename(&path).connect().await.unwrap();
    sqlx::raw_sql(sql).execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
}

#[tokio::test]
async fn a_database_of_an_older_version_is_rebuilt_with_what_only_it_has() {
    let home = tempfile::tempdir().unwrap();
    Rollout::with_rounds(THREAD, Path::new("/w/app"), "Make the fetcher retry.", 40)
        .write(home.path());
    let (daemon, mut client) = Daemon::synced(home, "", THREAD).await;
    let thread = client.thread(THREAD).await;
    let note = AddNoteParams { text: NOTE.into(), cwd: None, origin: Some(Origin::Person) };
    client.call::<AddNote>(note).await.unwrap();
    let home = daemon.stopped().await;
    change(home.path(), "PRAGMA user_version = 12").await;

    let (_daemon, mut client) = Daemon::synced(home, "", THREAD).await;
    assert_eq!(client.thread(THREAD).await, thread);
    let notes = client.call::<ListNotes>(ListNotesParams::default()).await.unwrap().notes;
    assert_eq!(notes.into_iter().map(|note| note.text.0).collect::<Vec<_>>(), [NOTE]);
    let store = client.status().await.store;
    assert!(store.older_version && store.salvaged.unwrap().complete);
    assert!(store.rebuilt_from.unwrap().contains("longhaul.db.older-"));
}

/// A thread that an older version read, of which neither transcript nor archive is left, does not hide the others.
#[tokio::test]
async fn a_thread_that_only_an_older_version_could_read_is_reported_as_gone() {
    let home = tempfile::tempdir().unwrap();
    let [lost, kept] = ["c1", "c2"].map(|id| session_compacted_by_its_agent(home.path(), id));
    let (daemon, mut client) =
        Daemon::synced_file(home, "[archive]\nenabled = false\n", &lost).await;
    client.sync_file(&kept).await;
    assert_eq!(client.status().await.compactions.agent_compactions, 2);

    let home = daemon.stopped().await;
    std::fs::remove_file(&lost).unwrap();
    let older = "UPDATE source_file SET fold = CAST('{\"version\":1}' AS BLOB), fold_version = 1";
    change(home.path(), older).await;
    let (_daemon, mut client) =
        Daemon::synced_file(home, "[archive]\nenabled = false\n", &kept).await;
    until("the report of the lost transcript", async || {
        let answer = client.request("checkpoint/get", json!({ "thread_id": "c1" })).await;
        let is_reported = answer.kind() == Some(ErrorKind::SourceChanged);
        // Until the missing transcript is noticed.
        assert!(is_reported || answer.kind() == Some(ErrorKind::IngestBehind), "{answer:?}");
        is_reported
    })
    .await;
    assert_eq!(client.status().await.compactions.agent_compactions, 1);
}
