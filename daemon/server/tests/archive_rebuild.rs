//! What a lost index of the archive costs: nothing, whatever happened to the texts before.

use std::fs;
use std::path::{Path, PathBuf};

use longhaul_protocol::archive::{ArchiveList, ArchiveListParams, Restore, RestoreParams};

use crate::archive::{
    OTHER, THREAD, archived, archiving, expand, folder, history, listed, long, lose, packs, says,
};
use crate::archive_damage::{remove, stalled};
use crate::support::rollout::Rollout;
use crate::support::{Client, Daemon, github_token};

fn lose_index(home: &Path) {
    let index = folder(home).join("index.db");
    remove(&index);
    fs::remove_file(index.with_extension("db.seal")).ok();
}

/// Appends a message and waits until it is archived, so that it is in a pack of its own.
async fn grow(client: &mut Client, (rollout, path): (&mut Rollout, &Path), words: &str) {
    rollout.message("user", words);
    rollout.append(path);
    client.sync_file(path).await;
    archived(client).await;
}

async fn restored(client: &mut Client, thread_id: &str, path: &Path) -> String {
    let params = RestoreParams { thread_id: thread_id.into(), to: None };
    client.call::<Restore>(params).await.unwrap();
    fs::read_to_string(path).unwrap()
}

#[tokio::test]
async fn a_rebuilt_index_has_every_thread_of_a_redacted_archive() {
    const CONFIG: &str = "[archive]\nredact = true\n";
    let home = tempfile::tempdir().unwrap();
    let growing = "019cadd3-0000-7000-8000-0000000006aa";
    let of = |id: &str, words: &str| {
        let mut rollout = long(id, words, 20);
        rollout.message("user", &format!("The token of the {words} is {}.", github_token()));
        let path = rollout.write(home.path());
        (rollout, path)
    };
    let (mut there, there_path) = of(growing, "nozzle");
    let (_, one_path) = of(THREAD, "turbine");
    let (_, other_path) = of(OTHER, "compressor");
    let (daemon, mut client) = Daemon::with_client(home, CONFIG).await;
    archived(&mut client).await;
    // An earlier state of the path.
    let mut one = long(THREAD, "piston", 20);
    one.write(daemon.home.path());
    client.sync_file(&one_path).await;
    archived(&mut client).await;
    grow(&mut client, (&mut one, &one_path), &format!("And again {}.", github_token())).await;
    let whole = lose(&mut client, THREAD, &one_path).await;
    let other = lose(&mut client, OTHER, &other_path).await;
    let home = daemon.stopped().await;
    lose_index(home.path());

    let (daemon, mut client) = Daemon::with_client(home, CONFIG).await;
    archived(&mut client).await;
    let mut ids = listed(&mut client).await;
    ids.sort_unstable();
    assert_eq!(ids, [THREAD, OTHER, growing]);
    let gone = ArchiveListParams { gone: Some(true), ..Default::default() };
    assert_eq!(client.call::<ArchiveList>(gone).await.unwrap().threads.len(), 2);
    // One that exists continues where it was, with no line twice and none missing.
    grow(&mut client, (&mut there, &there_path), "After the loss.").await;
    let there = lose(&mut client, growing, &there_path).await;
    let all =
        [(THREAD, &one_path, whole), (OTHER, &other_path, other), (growing, &there_path, there)];
    for (id, path, text) in all {
        let redacted = restored(&mut client, id, path).await;
        assert!(!redacted.contains(&github_token()), "{id}");
        assert_eq!(redacted.lines().count(), text.lines().count(), "{id}");
        for (now, before) in redacted.lines().zip(text.lines()) {
            assert!(now == before || before.contains(&github_token()), "{id}: {now}");
        }
    }
    assert!(!says(daemon.home.path(), &github_token()));
}

#[tokio::test]
async fn a_rebuilt_index_has_the_current_and_the_replaced_states_of_a_transcript() {
    let home = tempfile::tempdir().unwrap();
    // Large enough not to be merged with the small packs that follow.
    let mut first = long(THREAD, "turbine", 300);
    let path = first.write(home.path());
    let (daemon, mut client) = archiving(home, THREAD).await;
    let large = packs(daemon.home.path());
    grow(&mut client, (&mut first, &path), "The last words of the first state.").await;
    let handles = history(&mut client, THREAD).await.2;
    let last = handles.last().unwrap();
    let before = expand(&mut client, last).await.0;
    assert!(before[0].contains("The last words"), "{before:?}");
    // The small packs are merged after the replacement: parts of a state are described as current, others as replaced.
    let mut second = long(THREAD, "compressor", 10);
    second.write(daemon.home.path());
    client.sync_file(&path).await;
    archived(&mut client).await;
    for round in 0..7 {
        grow(&mut client, (&mut second, &path), &format!("Step {round}.")).await;
    }
    let left = packs(daemon.home.path());
    assert!(left.contains(&large[0]) && left.len() < 8, "{left:?}");
    let whole = lose(&mut client, THREAD, &path).await;
    let home = daemon.stopped().await;
    lose_index(home.path());

    let (_daemon, mut client) = Daemon::with_client(home, "").await;
    archived(&mut client).await;
    assert_eq!(listed(&mut client).await, [THREAD], "one current state");
    assert_eq!(expand(&mut client, last).await, (before, true));
    assert!(history(&mut client, THREAD).await.1, "the database finds it, too");
    assert!(restored(&mut client, THREAD, &path).await == whole);
}

#[tokio::test]
async fn a_rebuilt_index_knows_the_generation_that_a_transcript_got_later() {
    let home = tempfile::tempdir().unwrap();
    let path = long(THREAD, "turbine", 10).write(home.path());
    let (daemon, mut client) = Daemon::with_client(home, "").await;
    archived(&mut client).await;
    long(THREAD, "compressor", 20).write(daemon.home.path());
    client.sync_file(&path).await;
    archived(&mut client).await;
    // A new database counts the generations anew.
    let home = daemon.stopped().await;
    let state = home.path().join(".local/state/longhaul");
    for name in ["longhaul.db", "longhaul.db.seal"] {
        remove(&state.join(name));
    }
    let (daemon, mut client) = archiving(home, THREAD).await;
    let now = history(&mut client, THREAD).await.0;
    lose(&mut client, THREAD, &path).await;
    let home = daemon.stopped().await;
    lose_index(home.path());

    let (_daemon, mut client) = Daemon::with_client(home, "").await;
    archived(&mut client).await;
    let (items, from_archive, _) = history(&mut client, THREAD).await;
    assert!(from_archive && items == now);
}

#[tokio::test]
async fn the_text_of_a_moved_transcript_stays_until_the_new_path_is_archived() {
    let home = tempfile::tempdir().unwrap();
    let path = long(THREAD, "turbine", 10).write(home.path());
    let (daemon, mut client) = archiving(home, THREAD).await;
    let whole = fs::read_to_string(&path).unwrap();
    // No pack can be begun while it is there.
    let obstacle = folder(daemon.home.path()).join("obstacle.new");
    fs::create_dir(&obstacle).unwrap();
    let moved: PathBuf = path.with_file_name(format!("rollout-2026-03-03T00-00-00-{THREAD}.jsonl"));
    fs::rename(&path, &moved).unwrap();
    stalled(&mut client, &moved).await;
    lose(&mut client, THREAD, &moved).await;
    assert_eq!(listed(&mut client).await, [THREAD]);
    assert_eq!(restored(&mut client, THREAD, &path).await, whole);
    fs::remove_dir(&obstacle).unwrap();
}
