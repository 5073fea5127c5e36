//! Search and memory read threads whose transcripts are gone from the archive.

use std::fs;
use std::path::Path;

use longhaul_protocol::ErrorKind;
use longhaul_protocol::archive::{ArchiveList, ArchiveListParams, Forget, ForgetParams};
use longhaul_protocol::compaction::{Run, RunParams, Undo, UndoParams};
use longhaul_protocol::thread::IndexState;

use crate::archive::{
    OTHER, THREAD, archived, archiving, history, listed, long, lose, noticed, restore,
};
use crate::archive_lost::{after_the_loss, known, with_a_deleted_thread};
use crate::memory::{APP, FIRST, OFF, RULE, assert_run, daemon_with, run_all, summary};
use crate::support::{Client, Daemon, files_under, message, soon, until};

/// Waits until the index has everything.
async fn indexed(client: &mut Client) {
    until("the index has everything", async || {
        client.status().await.search.state == IndexState::Idle
    })
    .await;
}

async fn is_found(client: &mut Client, query: &str) {
    until("the deleted thread is found", async || !client.hits(query).await.is_empty()).await;
}

fn without_index(home: &Path) {
    let state = home.join(".local/state/longhaul");
    for name in ["search.db", "search.db.seal", "search.db-wal", "search.db-shm"] {
        fs::remove_file(state.join(name)).ok();
    }
}

#[tokio::test]
async fn a_rebuilt_index_has_deleted_threads_that_are_archived() {
    for is_database_lost in [false, true] {
        let (daemon, _) = with_a_deleted_thread(12).await;
        let home = daemon.stopped().await;
        without_index(home.path());
        let (_daemon, mut client) = match is_database_lost {
            true => after_the_loss(home).await,
            false => Daemon::with_client(home, "").await,
        };
        known(&mut client, &[THREAD, OTHER]).await;
        is_found(&mut client, "turbine").await;
        indexed(&mut client).await;
        assert!(!client.hits("\"Round 11 of the turbine\"").await.is_empty());
    }
}

#[tokio::test]
async fn a_deleted_thread_that_is_not_archived_leaves_the_index() {
    let home = tempfile::tempdir().unwrap();
    let path = long(THREAD, "turbine", 3).write(home.path());
    let other = long(OTHER, "compressor", 3).write(home.path());
    let (daemon, mut client) = Daemon::synced(home, "[archive]\nenabled = false\n", THREAD).await;
    client.sync(OTHER).await;
    is_found(&mut client, "turbine").await;
    lose(&mut client, THREAD, &path).await;
    let (daemon, mut client) =
        Daemon::with_client(daemon.stopped().await, "[archive]\nenabled = false\n").await;
    let dropped = async { while client.status().await.search.items > 10 {} };
    soon("the deleted thread is dropped", dropped).await;
    assert_eq!(client.hits("turbine").await.len(), 0);
    assert!(other.exists() && !client.hits("compressor").await.is_empty());
    daemon.stopped().await;
}

#[tokio::test]
async fn an_emptied_transcript_is_read_from_the_archive_as_a_deleted_one() {
    let home = tempfile::tempdir().unwrap();
    let path = long(THREAD, "turbine", 12).write(home.path());
    let (daemon, mut client) = archiving(home, THREAD).await;
    is_found(&mut client, "turbine").await;
    let text = fs::read(&path).unwrap();
    let (before, _, _) = history(&mut client, THREAD).await;
    let params = RunParams { thread_id: Some(THREAD.into()), ..Default::default() };
    let run = client.call::<Run>(params.clone()).await.unwrap();

    fs::write(&path, "").unwrap();
    noticed(&mut client, THREAD).await;
    let (daemon, mut client) = Daemon::with_client(daemon.stopped().await, "").await;
    noticed(&mut client, THREAD).await;
    assert_eq!(listed(&mut client).await, [THREAD]);
    let (now, from_archive, _) = history(&mut client, THREAD).await;
    assert_eq!((now, from_archive), (before.clone(), true));
    let undone = client.undo(&run.compaction_id).await;
    assert_eq!((undone.history.len(), undone.complete), (before.len(), true));
    is_found(&mut client, "turbine").await;
    client.call::<Run>(params).await.unwrap();
    let all = client.call::<ArchiveList>(ArchiveListParams::default()).await.unwrap();
    assert!(all.threads[0].gone, "{:?}", all.threads);

    let restored = restore(&mut client, None).await.unwrap();
    assert_eq!(Path::new(&restored.files[0].path), path);
    assert_eq!(fs::read(&path).unwrap(), text);
    let again = restore(&mut client, None).await.unwrap_err();
    assert_eq!(again.kind(), ErrorKind::FileExists, "a transcript with lines stays as it is");

    // Its agent writes it again.
    fs::write(&path, &text).unwrap();
    client.sync_file(&path).await;
    let (now, from_archive, _) = history(&mut client, THREAD).await;
    assert_eq!((now, from_archive), (before, false));
    daemon.stopped().await;
}

#[tokio::test]
async fn undo_returns_the_history_that_was_compacted_although_its_transcript_was_rewritten() {
    for config in ["", "[archive]\nenabled = false\n"] {
        let is_archived = config.is_empty();
        let home = tempfile::tempdir().unwrap();
        let mut rollout = long(THREAD, "turbine", 12);
        let kept = message("user", "the kept request");
        rollout.compacted(&[kept]).message("user", "Go on.").message("assistant", "Gone on.");
        rollout.message("user", "Taken back.").rolled_back(1);
        let path = rollout.write(home.path());
        let (daemon, mut client) = Daemon::synced(home, config, THREAD).await;
        let params = RunParams { thread_id: Some(THREAD.into()), ..Default::default() };
        let run = client.call::<Run>(params).await.unwrap();
        let before = client.undo(&run.compaction_id).await;
        assert_eq!((before.history.len(), before.complete), (3, true), "{:?}", before.history);
        if is_archived {
            archived(&mut client).await;
        }

        long(THREAD, "compressor", 2).write(daemon.home.path());
        client.sync_file(&path).await;
        let undone = client.undo(&run.compaction_id).await;
        assert_eq!(undone.complete, is_archived);
        let expected = if is_archived { before.history.to_vec() } else { Vec::new() };
        assert_eq!(undone.history.to_vec(), expected);
        daemon.stopped().await;
    }
}

#[tokio::test]
async fn a_compaction_says_whether_the_archive_has_what_the_transcript_lost() {
    let home = tempfile::tempdir().unwrap();
    let path = long(THREAD, "turbine", 12).write(home.path());
    let (_daemon, mut client) = archiving(home, THREAD).await;
    lose(&mut client, THREAD, &path).await;
    let params = RunParams { thread_id: Some(THREAD.into()), ..Default::default() };
    let run = client.call::<Run>(params.clone()).await.unwrap();
    assert_eq!(run.warnings[0].kind, "transcript_gone");
    client.call::<Forget>(ForgetParams { thread_id: THREAD.into() }).await.unwrap();
    let run = client.call::<Run>(params).await.unwrap();
    assert_eq!(run.warnings[0].kind, "transcript_lost", "{:?}", run.warnings);
    let undo = UndoParams { compaction_id: run.compaction_id };
    assert!(client.call::<Undo>(undo).await.is_err(), "as the warning says");
}

#[tokio::test]
async fn memory_reads_a_thread_that_was_deleted_before_it_was_read() {
    let (daemon, mut client) = daemon_with(&[(FIRST, APP, RULE)], OFF).await;
    archived(&mut client).await;
    for (path, _) in files_under(&daemon.home.path().join(".codex")) {
        fs::remove_file(path).unwrap();
    }
    noticed(&mut client, FIRST).await;
    assert_run(&run_all(&mut client).await, 1, true);
    let text = summary(&mut client).await.text;
    assert!(text.contains(RULE), "{text}");
}
