//! `archive.redact` switched on for an archive that has secrets.

use std::fs;
use std::path::{Path, PathBuf};

use longhaul_protocol::archive::{ArchiveList, ArchiveListParams, Restore, RestoreParams};
use sqlx::{ConnectOptions as _, Connection as _};

use crate::archive::{OTHER, THREAD, archived, folder, long, lose, packs, says, verify};
use crate::support::rollout::Rollout;
use crate::support::{Client, Daemon, Process, configure, eventually};

const REDACT: &str = "[archive]\nredact = true\n";

/// A token of a known form, another one for each number.
fn secret(number: usize) -> String {
    let token = format!("{number}a1B2c3D4").repeat(5);
    ["gh", "p_", &token[..36]].concat()
}

/// A thread with a secret in the middle.
fn with_secret(thread_id: &str, words: &str, number: usize) -> Rollout {
    let mut rollout = long(thread_id, words, 60);
    rollout.message("user", &format!("The token is {}, use it.", secret(number)));
    for round in 0..60 {
        rollout.message("assistant", &format!("{words} {round} {}", "went well ".repeat(30)));
    }
    rollout
}

async fn restored(client: &mut Client, thread_id: &str, path: &Path) -> String {
    let params = RestoreParams { thread_id: thread_id.into(), to: None };
    assert!(client.call::<Restore>(params).await.unwrap().redacted);
    fs::read_to_string(path).unwrap()
}

/// Whether `now` is `before` without secrets.
fn assert_redacted(now: &str, before: &str) {
    assert_eq!(now.lines().count(), before.lines().count());
    for (now, before) in now.lines().zip(before.lines()) {
        assert!(now == before || (before.contains("ghp_") && !now.contains("ghp_")), "{now}");
    }
}

#[tokio::test]
async fn what_was_archived_before_redaction_was_on_is_redacted_and_erased() {
    let home = tempfile::tempdir().unwrap();
    let clean = "019cadd3-0000-7000-8000-0000000007aa";
    let gone = with_secret(THREAD, "turbine", 1).write(home.path());
    let innocent = long(clean, "nozzle", 20).write(home.path());
    let mut there = with_secret(OTHER, "compressor", 2);
    let path = there.write(home.path());
    let (daemon, mut client) = Daemon::with_client(home, "").await;
    archived(&mut client).await;
    // An earlier state of the path, with a secret of its own.
    with_secret(THREAD, "piston", 3).write(daemon.home.path());
    client.sync_file(&gone).await;
    let status = archived(&mut client).await;
    assert_eq!((status.unredacted, status.all_redacted), (4, false));
    let mut lost = Vec::new();
    for (id, path) in [(THREAD, &gone), (clean, &innocent)] {
        lost.push((id, path, fs::read_to_string(path).unwrap()));
        lose(&mut client, id, path).await;
    }
    let home = daemon.stopped().await;
    assert!([1, 2, 3].iter().all(|number| says(home.path(), &secret(*number))));

    // One transcript grew in the meantime, so it is read again.
    there.message("user", "It goes on.");
    there.append(&path);
    let (daemon, mut client) = Daemon::with_client(home, REDACT).await;
    let status = archived(&mut client).await;
    assert_eq!((status.redacts, status.unredacted, status.all_redacted), (true, 0, true));
    for number in [1, 2, 3] {
        assert!(!says(daemon.home.path(), &secret(number)), "{number}");
    }
    let listed = client.call::<ArchiveList>(ArchiveListParams::default()).await.unwrap().threads;
    assert!(listed.len() == 3 && listed.iter().all(|thread| thread.redacted), "{listed:?}");
    assert_eq!(verify(&mut client).await.damaged, 0);
    there.message("user", &format!("And {} as well.", secret(4)));
    there.append(&path);
    client.sync_file(&path).await;
    assert!(archived(&mut client).await.all_redacted);
    lost.push((OTHER, &path, fs::read_to_string(&path).unwrap()));
    lose(&mut client, OTHER, &path).await;
    for (id, path, before) in &lost {
        assert_redacted(&restored(&mut client, id, path).await, before);
    }
}

#[tokio::test]
async fn redaction_that_is_killed_continues_at_the_next_start() {
    let home = tempfile::tempdir().unwrap();
    let mut threads: Vec<(String, PathBuf, String)> = Vec::new();
    for number in 0..40 {
        let id = format!("019cadd3-0000-7000-8000-0000000008{number:02}");
        let path = with_secret(&id, &format!("engine{number}"), number).write(home.path());
        threads.push((id, path.clone(), fs::read_to_string(&path).unwrap()));
    }
    let (daemon, mut client) = Daemon::with_client(home, "").await;
    archived(&mut client).await;
    for (id, path, _) in &threads {
        lose(&mut client, id, path).await;
    }
    let home = daemon.stopped().await;
    configure(home.path(), REDACT);
    for _ in 0..3 {
        let before = packs(home.path());
        let (process, mut client) = Process::with_client(home.path()).await;
        tokio::select! {
            () = eventually("a file is written", || packs(home.path()) != before) => {}
            _ = archived(&mut client) => {}
        }
        process.killed().await;
    }
    let (_process, mut client) = Process::with_client(home.path()).await;
    let status = archived(&mut client).await;
    assert_eq!((status.threads, status.unredacted, status.all_redacted), (40, 0, true));
    for number in 0..threads.len() {
        assert!(!says(home.path(), &secret(number)), "{number}");
    }
    for (id, path, before) in &threads {
        assert_redacted(&restored(&mut client, id, path).await, before);
    }
}

/// An index as an older daemon left it: it says of a text with a secret that its rules redacted it.
async fn redact_by_older_rules(home: &Path) {
    let index = folder(home).join("index.db");
    fs::remove_file(index.with_extension("db.seal")).unwrap();
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(&index);
    let mut writing = options.connect().await.unwrap();
    for sql in ["UPDATE transcript SET redacted = 1", "INSERT INTO all_redacted (one) VALUES (1)"] {
        sqlx::query(sql).execute(&mut writing).await.unwrap();
    }
    writing.close().await.unwrap();
}

#[tokio::test]
async fn what_older_rules_redacted_is_redacted_again_once() {
    let home = tempfile::tempdir().unwrap();
    let mut there = with_secret(THREAD, "turbine", 1);
    let path = there.write(home.path());
    let gone = with_secret(OTHER, "compressor", 2).write(home.path());
    let before = fs::read_to_string(&gone).unwrap();
    let (daemon, mut client) = Daemon::with_client(home, "").await;
    archived(&mut client).await;
    lose(&mut client, OTHER, &gone).await;
    let home = daemon.stopped().await;
    redact_by_older_rules(home.path()).await;

    let (daemon, mut client) = Daemon::with_client(home, REDACT).await;
    let status = archived(&mut client).await;
    assert_eq!((status.threads, status.unredacted, status.all_redacted), (2, 0, true));
    assert!(!says(daemon.home.path(), &secret(1)) && !says(daemon.home.path(), &secret(2)));
    // Its text continues where the transcript ended.
    there.message("user", "It goes on.");
    there.append(&path);
    client.sync_file(&path).await;
    archived(&mut client).await;
    let home = daemon.stopped().await;
    let redone = packs(home.path());
    let (daemon, mut client) = Daemon::with_client(home, REDACT).await;
    assert!(archived(&mut client).await.all_redacted);
    assert_eq!(packs(daemon.home.path()), redone, "nothing is left to do");
    assert_redacted(&restored(&mut client, OTHER, &gone).await, &before);
    let before = fs::read_to_string(&path).unwrap();
    lose(&mut client, THREAD, &path).await;
    assert_redacted(&restored(&mut client, THREAD, &path).await, &before);
}
