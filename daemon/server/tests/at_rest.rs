//! The files on disk: their permissions, and erasure of forgotten text.

use std::os::unix::fs::{FileExt as _, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use longhaul_protocol::ErrorKind;
use longhaul_protocol::archive::{Overview, OverviewParams};
use longhaul_protocol::compaction::{Run, RunParams, Strategy};
use longhaul_protocol::memory::{AddNote, AddNoteParams, Forget, ForgetParams, Origin};
use serde_json::json;
use sqlx::{ConnectOptions as _, Connection as _};

use crate::archive::{archiving, folder};
use crate::support::provider::{Answer, Provider};
use crate::support::rollout::Rollout;
use crate::support::{
    Client, Daemon, Process, command, configure, file_with, files_under, github_token, pause, soon,
};

const THREAD: &str = "019cadd3-0000-7000-8000-0000000000d1";
/// Words that occur nowhere else.
const NOTE: &str = "The vault of the office opens with quince-marmalade-77.";

fn summary() -> RunParams {
    let strategy = Some(Strategy::Summary);
    RunParams { thread_id: Some(THREAD.into()), strategy, ..Default::default() }
}

fn long_thread(home: &Path) {
    let rollout = Rollout::with_rounds(THREAD, Path::new("/w/app"), "Make the fetcher retry.", 40);
    rollout.write(home);
}

#[tokio::test]
async fn all_files_of_the_daemon_are_private() {
    let home = tempfile::tempdir().unwrap();
    long_thread(home.path());
    let state = home.path().join(".local/state/longhaul");
    // A database of an earlier version, under the usual umask.
    std::fs::create_dir_all(&state).unwrap();
    std::fs::set_permissions(&state, PermissionsExt::from_mode(0o700)).unwrap();
    std::fs::write(state.join("longhaul.db"), "").unwrap();
    std::fs::set_permissions(state.join("longhaul.db"), PermissionsExt::from_mode(0o644)).unwrap();
    let (_process, mut client) = Process::after("umask 022", home.path()).await;
    client.sync(THREAD).await;
    let found = files_under(&state);
    assert!(found.iter().any(|(path, _)| path.ends_with("longhaul.db-wal")), "{:?}", state);
    for (path, _) in found {
        let mode = std::fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode & 0o077, 0, "{} has mode {mode:o}", path.display());
    }
}

/// Adds the note; returns its id.
async fn remembered(client: &mut Client) -> String {
    let (text, cwd, origin) = (NOTE.into(), Some("/w/app".into()), Some(Origin::Person));
    client.call::<AddNote>(AddNoteParams { text, cwd, origin }).await.unwrap().note_id
}

#[tokio::test]
async fn a_forgotten_note_is_erased_from_all_files() {
    let (daemon, mut client) = Daemon::start_with_client().await;
    let state = daemon.home.path().join(".local/state/longhaul");
    let note_id = remembered(&mut client).await;
    assert!(file_with(&state, NOTE).is_some(), "it is found at first");
    let forget = ForgetParams { note_id: Some(note_id), ..Default::default() };
    client.call::<Forget>(forget).await.unwrap();
    assert_eq!(file_with(&state, NOTE), None);
    let home = daemon.stopped().await;
    assert_eq!(file_with(home.path(), NOTE), None, "after the end");
}

/// A reader keeps old pages in the database. The call then says so, and the same call finishes the work later.
#[tokio::test]
async fn a_note_is_erased_by_a_second_call_if_a_reader_kept_its_bytes() {
    let (daemon, mut client) = Daemon::start_with_client().await;
    let state = daemon.home.path().join(".local/state/longhaul");
    let note_id = remembered(&mut client).await;
    let forget = || ForgetParams { note_id: Some(note_id.clone()), ..Default::default() };
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(state.join("longhaul.db"));
    let mut reader = options.connect().await.unwrap();
    let mut reading = reader.begin().await.unwrap();
    let texts: Vec<(String,)> =
        sqlx::query_as("SELECT text FROM memory_note").fetch_all(&mut *reading).await.unwrap();
    assert_eq!(texts[0].0, NOTE);
    let busy = client.call::<Forget>(forget()).await.unwrap_err();
    assert_eq!(busy.kind(), ErrorKind::StoreBusy, "{}", busy.message);
    assert!(busy.message.starts_with("it is deleted, but its bytes"), "{}", busy.message);

    reading.rollback().await.unwrap();
    reader.close().await.unwrap();
    let gone = client.call::<Forget>(forget()).await.unwrap_err();
    assert_eq!(gone.kind(), ErrorKind::InvalidParams, "{}", gone.message);
    assert_eq!(file_with(&state, NOTE), None);
}

#[tokio::test]
async fn a_credential_repeated_by_a_model_is_not_stored() {
    let secret = github_token();
    let says = format!("## Summary\nThe fetcher retries. The token is {secret}, use it.");
    let provider = Provider::start(vec![Answer::says(&says)]).await;
    let home = tempfile::tempdir().unwrap();
    long_thread(home.path());
    let (daemon, mut client) = Daemon::synced(home, &provider.config(""), THREAD).await;
    let run = soon("a compaction", client.call::<Run>(summary())).await.unwrap();
    assert!(!json!(run.view).to_string().contains(&secret));
    assert!(!provider.requests().is_empty(), "the model was asked");
    let home = daemon.stopped().await;
    assert_eq!(file_with(&home.path().join(".local"), &secret), None);
}

#[tokio::test]
async fn credentials_repeated_by_a_provider_are_not_logged() {
    const HEADER: &str = "quiet-otter-4711";
    const QUERY: &str = "tenant=brave-heron-12";
    let words = format!("team {HEADER} may not ask http://127.0.0.1/v1/responses?{QUERY} so often");
    let error = json!({ "error": { "code": "rate_limit_exceeded", "message": words } });
    let provider =
        Provider::start(vec![Answer::Status("429 Too Many", error), Answer::says("Done.")]).await;
    let home = tempfile::tempdir().unwrap();
    long_thread(home.path());
    let headers = format!("[providers.p.headers]\nx-team = \"{HEADER}\"");
    configure(home.path(), &provider.config(&headers));
    let log = home.path().join("log");
    let mut daemon = command(home.path());
    daemon.env("LONGHAUL_LOG", "debug").stdout(std::process::Stdio::null());
    daemon.stderr(std::fs::File::create(&log).unwrap());
    let process = Process::spawn(daemon, home.path()).await;
    let mut client = Client::connect(&process.socket).await;
    client.sync(THREAD).await;
    soon("a compaction", client.call::<Run>(summary())).await.unwrap();
    let heads = provider.heads();
    assert!(heads.iter().any(|head| head.contains(HEADER)), "it was sent: {heads:?}");
    let log = std::fs::read_to_string(&log).unwrap();
    assert!(log.contains("asking a model again"), "{log}");
    assert!(!log.contains(HEADER) && !log.contains(QUERY), "{log}");
}

#[tokio::test]
async fn a_bit_flipped_while_the_daemon_was_stopped_is_repaired_and_reported() {
    let home = tempfile::tempdir().unwrap();
    long_thread(home.path());
    let (daemon, _client) = Daemon::synced(home, "", THREAD).await;
    let home = daemon.stopped().await;
    let database = home.path().join(".local/state/longhaul/longhaul.db");
    let sound = std::fs::read(&database).unwrap();
    let mut flipped = sound.clone();
    flipped[sound.len() / 2] ^= 4;
    std::fs::write(&database, flipped).unwrap();

    let (_daemon, mut client) = Daemon::with_client(home, "").await;
    let warnings = client.status().await.warnings;
    let repaired = warnings.iter().find(|warning| warning.kind == "store_repaired");
    assert!(repaired.is_some_and(|one| one.message.starts_with("1 page of")), "{warnings:?}");
    assert_eq!(client.thread(THREAD).await.thread_id, THREAD);
}

/// A resting daemon with a sealed database, and a client of it.
async fn resting() -> (Daemon, Client, PathBuf) {
    let home = tempfile::tempdir().unwrap();
    long_thread(home.path());
    let (daemon, mut client) = Daemon::synced(home, "", THREAD).await;
    let database = daemon.home.path().join(".local/state/longhaul/longhaul.db");
    let seal = database.with_extension("db.seal");
    while_passing("a seal", async |_| seal.exists(), &mut client).await;
    (daemon, client, database)
}

/// Advances all timers until `state` holds, at most by an hour and a few minutes: in steps of ten seconds, with real time
/// for the work that each makes due.
async fn while_passing(
    what: &str,
    mut state: impl AsyncFnMut(&mut Client) -> bool,
    client: &mut Client,
) {
    for _ in 0..375 {
        if state(client).await {
            return;
        }
        tokio::time::pause();
        tokio::time::advance(Duration::from_secs(10)).await;
        tokio::time::resume();
        pause().await;
    }
    crate::support::until(what, async || state(client).await).await;
}

/// Flips bits in the middle of the database and keeps its modification time, as a failing disk does.
fn flip(database: &Path, bits: &[u8]) {
    let mut bytes = std::fs::read(database).unwrap();
    let middle = bytes.len() / 2;
    for (byte, bits) in bytes[middle..].iter_mut().zip(bits) {
        *byte ^= bits;
    }
    let file = std::fs::File::options().write(true).open(database).unwrap();
    let changed = file.metadata().unwrap().modified().unwrap();
    file.write_all_at(&bytes, 0).unwrap();
    file.set_modified(changed).unwrap();
}

#[tokio::test]
async fn a_bit_flipped_while_the_daemon_rests_is_repaired_within_the_hour() {
    let (_daemon, mut client, database) = resting().await;
    flip(&database, &[4]);
    let is_repaired = async |client: &mut Client| {
        client.status().await.warnings.iter().any(|warning| warning.kind == "store_repaired")
    };
    while_passing("a repaired page", is_repaired, &mut client).await;
    assert_eq!(client.thread(THREAD).await.thread_id, THREAD);
}

#[tokio::test]
async fn a_damaged_index_of_a_resting_archive_is_rebuilt_within_the_hour() {
    let home = tempfile::tempdir().unwrap();
    long_thread(home.path());
    let (daemon, mut client) = archiving(home, THREAD).await;
    let index = folder(daemon.home.path()).join("index.db");
    let seal = index.with_extension("db.seal");
    while_passing("a seal", async |_| seal.exists(), &mut client).await;
    flip(&index, &[255; 16]);
    let middle = || {
        let bytes = std::fs::read(&index).unwrap_or_default();
        bytes.get(bytes.len() / 2..).map(|rest| rest[..rest.len().min(16)].to_vec())
    };
    let flipped = middle();
    let is_rebuilt = async |client: &mut Client| {
        let status = client.call::<Overview>(OverviewParams {}).await;
        middle() != flipped && status.is_ok_and(|status| status.threads == 1)
    };
    while_passing("a new index", is_rebuilt, &mut client).await;
}

#[tokio::test]
async fn a_database_damaged_while_the_daemon_rests_is_replaced_within_the_hour() {
    let (_daemon, mut client, database) = resting().await;
    flip(&database, &[255; 16]);
    let is_replaced =
        async |client: &mut Client| client.status().await.store.rebuilt_from.is_some();
    while_passing("a new database", is_replaced, &mut client).await;
    let aside = client.status().await.store.rebuilt_from.unwrap();
    assert!(Path::new(&aside).exists(), "the damaged one is kept: {aside}");
    client.sync(THREAD).await;
    assert_eq!(client.thread(THREAD).await.thread_id, THREAD);
}
