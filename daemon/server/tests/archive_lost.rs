//! Transcripts that cannot be read, and those that are gone when the database is lost: the archive has both.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use longhaul_protocol::archive::{ArchiveList, ArchiveListParams};
use longhaul_protocol::history::{HistoryGet, HistoryGetParams};
use longhaul_protocol::thread::{
    Continue, ContinueParams, Items, ItemsParams, Sync, SyncParams, ThreadForget,
    ThreadForgetParams,
};
use tempfile::TempDir;

use crate::archive::{
    OTHER, THREAD, archived, archiving, expand, history, listed, long, lose, noticed, restore,
};
use crate::support::rollout::Rollout;
use crate::support::{Client, Daemon, of_thread, soon, until};

/// What clients can read of the thread.
#[derive(Debug, PartialEq)]
struct Readings {
    items: Vec<String>,
    early_items: Vec<String>,
    expanded: Vec<Vec<String>>,
    times: Vec<Option<i64>>,
    view: String,
}

async fn readings(client: &mut Client) -> Readings {
    let (items, _, handles) = history(client, THREAD).await;
    let mut expanded = Vec::new();
    for handle in handles.iter().step_by(37) {
        expanded.push(expand(client, handle).await.0);
    }
    let early =
        HistoryGetParams { thread_id: THREAD.into(), as_of: Some(20), ..Default::default() };
    let early = client.call::<HistoryGet>(early).await.unwrap();
    let early_items = early.items.iter().map(|item| item.get().to_owned()).collect();
    let params = ItemsParams { thread_id: THREAD.into(), ..Default::default() };
    let listed = client.call::<Items>(params).await.unwrap();
    let times = listed.items.into_iter().map(|item| item.at).collect();
    let view = client.compact(of_thread(THREAD)).await.view;
    Readings { items, early_items, expanded, times, view: view.to_string() }
}

async fn continues(client: &mut Client) {
    let params = ContinueParams { thread_id: THREAD.into(), ..Default::default() };
    let continued = client.call::<Continue>(params).await.unwrap();
    assert!(fs::read_to_string(continued.path).unwrap().contains("turbine"));
}

#[tokio::test]
async fn a_transcript_that_cannot_be_read_is_read_from_the_archive() {
    for damage in ["overwritten", "cut off", "replaced by a folder"] {
        let home = tempfile::tempdir().unwrap();
        let plain = long(THREAD, "turbine", 300).write(home.path());
        let packed = plain.with_extension("jsonl.zst");
        let text = fs::read(&plain).unwrap();
        fs::write(&packed, zstd::encode_all(text.as_slice(), 3).unwrap()).unwrap();
        fs::remove_file(&plain).unwrap();
        let (_daemon, mut client) = Daemon::synced_file(home, "", &packed).await;
        archived(&mut client).await;
        let before = readings(&mut client).await;
        assert!(!history(&mut client, THREAD).await.1, "it can be read");

        let mut bytes = fs::read(&packed).unwrap();
        let half = bytes.len() / 2;
        match damage {
            "overwritten" => {
                bytes[half..].fill(0xff);
                fs::write(&packed, bytes).unwrap();
            }
            "cut off" => fs::write(&packed, &bytes[..half]).unwrap(),
            _ => {
                fs::remove_file(&packed).unwrap();
                fs::create_dir(&packed).unwrap();
            }
        }
        let sync = SyncParams { path: Some(packed.display().to_string()), ..Default::default() };
        client.call::<Sync>(sync).await.unwrap_err();
        assert!(history(&mut client, THREAD).await.1, "{damage}");
        assert_eq!(readings(&mut client).await, before, "{damage}");
        continues(&mut client).await;
    }
}

/// Removes the seal of a database, which has none if it was not at rest when it was closed.
fn without_seal(database: &Path) {
    match fs::remove_file(database.with_extension("db.seal")) {
        Err(error) if error.kind() != ErrorKind::NotFound => panic!("{error}"),
        _ => {}
    }
}

/// Removes the database as README allows.
fn without_database(home: &Path) {
    let database = home.join(".local/state/longhaul/longhaul.db");
    without_seal(&database);
    fs::remove_file(database).unwrap();
}

/// A daemon over archived threads whose transcripts are gone, after its database was lost.
pub(crate) async fn after_the_loss(home: TempDir) -> (Daemon, Client) {
    without_database(home.path());
    let (daemon, mut client) = Daemon::with_client(home, "").await;
    archived(&mut client).await;
    (daemon, client)
}

pub(crate) async fn known(client: &mut Client, thread_ids: &[&str]) {
    until("the threads of the archive", async || {
        let threads = client.threads().await;
        let mut ids: Vec<&str> = threads.iter().map(|thread| &*thread.thread_id).collect();
        ids.sort_unstable();
        ids == thread_ids
    })
    .await;
}

/// A daemon that has read and archived two threads, of which the first, with this many rounds, is deleted then.
pub(crate) async fn with_a_deleted_thread(rounds: u32) -> (Daemon, Client) {
    let home = tempfile::tempdir().unwrap();
    let path = long(THREAD, "turbine", rounds).write(home.path());
    long(OTHER, "compressor", 5).write(home.path());
    let (daemon, mut client) = Daemon::synced(home, "", THREAD).await;
    client.sync(OTHER).await;
    archived(&mut client).await;
    lose(&mut client, THREAD, &path).await;
    (daemon, client)
}

#[tokio::test]
async fn a_new_database_knows_the_archived_threads_whose_transcripts_are_gone() {
    let (daemon, mut client) = with_a_deleted_thread(300).await;
    let before = readings(&mut client).await;
    let summary = client.thread(THREAD).await;

    let (_daemon, mut client) = after_the_loss(daemon.stopped().await).await;
    known(&mut client, &[THREAD, OTHER]).await;
    assert_eq!(readings(&mut client).await, before);
    assert_eq!(client.thread(THREAD).await, summary);
    noticed(&mut client, THREAD).await;
    continues(&mut client).await;
}

#[tokio::test]
async fn a_text_of_which_the_database_has_the_beginning_is_read_to_its_end() {
    let home = tempfile::tempdir().unwrap();
    let mut rollout = long(THREAD, "turbine", 150);
    let path = rollout.write(home.path());
    let (daemon, _client) = Daemon::synced(home, "", THREAD).await;
    let home = daemon.stopped().await;
    let database = home.path().join(".local/state/longhaul/longhaul.db");
    let backup = fs::read(&database).unwrap();
    for round in 0..150 {
        rollout.command(&format!("cargo bench turbine_{round}"), 0, &"as fast\n".repeat(20));
        rollout.message("assistant", &format!("Measurement {round} is done."));
    }
    rollout.append(&path);
    let (daemon, mut client) = archiving(home, THREAD).await;
    lose(&mut client, THREAD, &path).await;
    let before = readings(&mut client).await;

    // A kill while the text is folded leaves the same.
    let home = daemon.stopped().await;
    without_seal(&database);
    fs::write(&database, backup).unwrap();
    let (_daemon, mut client) = Daemon::with_client(home, "").await;
    archived(&mut client).await;
    let end = async { while history(&mut client, THREAD).await.0 != before.items {} };
    soon("the end of the text", end).await;
    assert_eq!(readings(&mut client).await, before);
}

#[tokio::test]
async fn a_new_database_knows_no_forgotten_thread() {
    let home = tempfile::tempdir().unwrap();
    let path = long(THREAD, "turbine", 300).write(home.path());
    long(OTHER, "compressor", 5).write(home.path());
    let (daemon, mut client) = Daemon::synced(home, "", THREAD).await;
    client.sync(OTHER).await;
    archived(&mut client).await;
    fs::remove_file(&path).unwrap();
    let (daemon, mut client) = after_the_loss(daemon.stopped().await).await;
    // It may be read while it is forgotten.
    let params = ThreadForgetParams { thread_id: THREAD.into() };
    client.call::<ThreadForget>(params).await.unwrap();
    known(&mut client, &[OTHER]).await;
    let (_daemon, mut client) = after_the_loss(daemon.stopped().await).await;
    assert_eq!(listed(&mut client).await, [OTHER]);
    known(&mut client, &[OTHER]).await;
    let gone = ArchiveListParams { gone: Some(true), ..Default::default() };
    assert_eq!(client.call::<ArchiveList>(gone).await.unwrap().threads.len(), 0);
}

#[tokio::test]
async fn a_new_database_knows_forks_whose_base_is_gone() {
    for is_fork_gone in [false, true] {
        let home = tempfile::tempdir().unwrap();
        let base = long(OTHER, "turbine", 300);
        let mut fork = Rollout::forked(THREAD, &base, 700);
        fork.message("user", "Go another way.").message("assistant", "I go another way.");
        let (base, fork) = (base.write(home.path()), fork.write(home.path()));
        let (daemon, mut client) = Daemon::synced(home, "", OTHER).await;
        client.sync(THREAD).await;
        archived(&mut client).await;
        let before = readings(&mut client).await;
        fs::remove_file(&base).unwrap();
        if is_fork_gone {
            fs::remove_file(&fork).unwrap();
        }

        let (_daemon, mut client) = after_the_loss(daemon.stopped().await).await;
        known(&mut client, &[THREAD, OTHER]).await;
        let joined = async { while history(&mut client, THREAD).await.0 != before.items {} };
        soon("the fork's base", joined).await;
        assert_eq!(readings(&mut client).await, before);
        assert_eq!(client.status().await.warnings, [], "no base is missing");
    }
}

#[tokio::test]
async fn each_transcript_of_a_reverted_thread_is_restored() {
    let home = tempfile::tempdir().unwrap();
    let base = long(THREAD, "turbine", 60);
    let mut reverted = Rollout::forked(THREAD, &base, 40);
    reverted.message("user", "Repair the pump instead.");
    // Codex continues the thread in a second file, which refers to the first.
    let written = reverted.write(home.path());
    let second = written.with_file_name(format!("rollout-2026-03-02T10-00-00-{THREAD}_b.jsonl"));
    fs::rename(&written, &second).unwrap();
    let paths = [base.write(home.path()), second];
    let before = paths.clone().map(|path| fs::read(path).unwrap());
    let (_daemon, mut client) = Daemon::synced(home, "", THREAD).await;
    let archived = archived(&mut client).await;
    assert_eq!((archived.threads, archived.transcripts), (1, 2));

    for path in &paths {
        fs::remove_file(path).unwrap();
    }
    noticed(&mut client, THREAD).await;
    let to = paths[0].with_file_name("copy.txt");
    let copies = [&to, &to.with_extension("2.txt")];
    let written = restore(&mut client, Some(&to)).await.unwrap().files;
    assert_eq!(written.iter().map(|file| Path::new(&file.path)).collect::<Vec<_>>(), copies);
    let texts = copies.map(|path| fs::read(path).unwrap());
    assert!(before.iter().all(|text| texts.contains(text)), "to the byte");
    // As if the call had been killed before the first file was written.
    fs::remove_file(&to).unwrap();
    restore(&mut client, Some(&to)).await.unwrap();
    assert_eq!(copies.map(|path| fs::read(path).unwrap()), texts);
    fs::remove_file(&to).unwrap();
    fs::write(copies[1], "another file").unwrap();
    let refused = restore(&mut client, Some(&to)).await.unwrap_err();
    assert_eq!(refused.kind(), longhaul_protocol::ErrorKind::FileExists);
    assert!(!to.exists());

    assert_eq!(restore(&mut client, None).await.unwrap().files.len(), 2);
    assert_eq!(paths.map(|path| fs::read(path).unwrap()), before, "to the byte");
    let refused = restore(&mut client, None).await.unwrap_err();
    assert_eq!(refused.kind(), longhaul_protocol::ErrorKind::FileExists);
}

/// A lost database counts the generations of files again, so that a file's new text gets the number of the archived one.
#[tokio::test]
async fn another_text_at_an_archived_path_is_archived_after_the_loss() {
    for (is_closed, rounds) in [(true, 30), (false, 30), (false, 40)] {
        let home = tempfile::tempdir().unwrap();
        let path = long(THREAD, "turbine", 30).write(home.path());
        let text = fs::read(&path).unwrap();
        fs::write(&path, &text[..text.len() - usize::from(!is_closed)]).unwrap();
        let (daemon, _client) = archiving(home, THREAD).await;

        let home = daemon.stopped().await;
        let new = fs::read(long(THREAD, "bearing", rounds).write(home.path())).unwrap();
        let new = &new[..new.len() - usize::from(!is_closed)];
        fs::write(&path, new).unwrap();
        let (_daemon, mut client) = after_the_loss(home).await;
        lose(&mut client, THREAD, &path).await;
        restore(&mut client, None).await.unwrap();
        assert_eq!(fs::read(&path).unwrap(), new, "closed: {is_closed}, rounds: {rounds}");
    }
}
