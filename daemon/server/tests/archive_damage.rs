//! The archive after damage, kills and on a full disk.

use std::fs;
use std::path::Path;

use longhaul_protocol::ErrorKind;
use longhaul_protocol::archive::{
    ArchiveState, Overview, OverviewParams, OverviewResult, Restore, RestoreParams,
};

use crate::archive::{
    THREAD, archived, archiving, expand, folder, listed, long, lose, noise, packs, restore, verify,
};
use crate::support::{Chance, Client, Daemon, Process, eventually, found, soon};

/// Changes one bit in the middle of a file.
pub(crate) fn flip(path: &Path) {
    let mut bytes = fs::read(path).unwrap();
    let at = bytes.len() / 3;
    bytes[at] ^= 16;
    fs::write(path, bytes).unwrap();
}

/// Truncates a file.
pub(crate) fn tear(path: &Path) {
    let bytes = fs::read(path).unwrap();
    fs::write(path, &bytes[..bytes.len() / 2]).unwrap();
}

pub(crate) fn remove(path: &Path) {
    fs::remove_file(path).unwrap();
}

#[tokio::test]
async fn a_damaged_pack_is_replaced_from_the_transcript() {
    for damage in [flip, tear, remove] {
        let home = tempfile::tempdir().unwrap();
        let path = long(THREAD, "turbine", 60).write(home.path());
        let (daemon, mut client) = archiving(home, THREAD).await;
        assert_eq!(verify(&mut client).await.damaged, 0);
        damage(&packs(daemon.home.path())[0]);
        let found = verify(&mut client).await;
        assert_eq!((found.damaged, found.damaged_threads.len()), (1, 0), "{found:?}");
        archived(&mut client).await;
        let whole = fs::read(&path).unwrap();
        fs::remove_file(&path).unwrap();
        restore(&mut client, None).await.unwrap();
        assert_eq!(fs::read(&path).unwrap(), whole);
        assert_eq!(verify(&mut client).await.damaged_threads, Vec::<String>::new());
    }
}

#[tokio::test]
async fn damage_of_unique_text_is_reported_and_the_text_never_returned() {
    for damage in [flip, tear] {
        let home = tempfile::tempdir().unwrap();
        let path = long(THREAD, "turbine", 60).write(home.path());
        let (daemon, mut client) = archiving(home, THREAD).await;
        lose(&mut client, THREAD, &path).await;
        damage(&packs(daemon.home.path())[0]);
        let found = verify(&mut client).await;
        assert_eq!((found.damaged, found.damaged_threads), (1, vec![THREAD.to_owned()]));
        assert_eq!(restore(&mut client, None).await.unwrap_err().kind(), ErrorKind::ArchiveDamaged);
        assert!(!path.exists(), "not even a part of it");
        let status = client.call::<Overview>(OverviewParams {}).await.unwrap();
        assert_eq!(status.damaged, 1);
    }
}

#[tokio::test]
async fn only_threads_that_cannot_be_restored_count_as_lost() {
    let home = tempfile::tempdir().unwrap();
    let ids = [THREAD, "019cadd3-0000-7000-8000-000000000502"];
    let paths = [(ids[0], "turbine"), (ids[1], "boiler")]
        .map(|(id, words)| long(id, words, 400).write(home.path()));
    let (daemon, mut client) = Daemon::with_client(home, "").await;
    for (id, path) in ids.iter().zip(&paths) {
        client.sync(id).await;
        archived(&mut client).await;
        lose(&mut client, id, path).await;
    }
    let pack = &packs(daemon.home.path())[0];
    assert_eq!(packs(daemon.home.path()).len(), 1, "both were there at the first pass");
    let mut bytes = fs::read(pack).unwrap();
    let at = bytes.len() * 3 / 5;
    bytes[at] ^= 16;
    fs::write(pack, bytes).unwrap();
    let found = verify(&mut client).await;
    assert_eq!((found.damaged, found.damaged_threads.len()), (1, 1), "{found:?}");
    for id in ids {
        let params = RestoreParams { thread_id: id.into(), to: None };
        let is_restored = client.call::<Restore>(params).await.is_ok();
        assert_eq!(is_restored, !found.damaged_threads.contains(&id.to_owned()), "{id}");
    }
}

#[tokio::test]
async fn a_lost_index_is_rebuilt_from_the_packs() {
    let home = tempfile::tempdir().unwrap();
    let path = long(THREAD, "turbine", 60).write(home.path());
    let whole = fs::read(&path).unwrap();
    let (daemon, mut client) = archiving(home, THREAD).await;
    let handle = format!("{THREAD}#7");
    let before = expand(&mut client, &handle).await.0;
    lose(&mut client, THREAD, &path).await;
    let home = daemon.stopped().await;
    let state = home.path().join(".local/state/longhaul");
    // Remove the database as well; only the archive still knows the thread.
    for name in ["archive/index.db", "longhaul.db"] {
        let path = state.join(name);
        fs::write(&path, "no database at all").unwrap();
        fs::remove_file(path.with_extension("db.seal")).ok();
    }
    let (_daemon, mut client) = Daemon::with_client(home, "").await;
    let status = archived(&mut client).await;
    assert_eq!((status.threads, status.text_bytes), (1, whole.len() as u64));
    assert_eq!(expand(&mut client, &handle).await, (before, true));
    restore(&mut client, None).await.unwrap();
    assert_eq!(fs::read(&path).unwrap(), whole);
}

#[tokio::test]
async fn a_rebuilt_index_keeps_every_pack() {
    let home = tempfile::tempdir().unwrap();
    let (daemon, mut client) = Daemon::with_client(home, "").await;
    let mut texts = Vec::new();
    for number in 0..6 {
        let id = format!("019cadd3-0000-7000-8000-0000000003{number:02}");
        let path = long(&id, &format!("engine{number}"), 40).write(daemon.home.path());
        client.sync_file(&path).await;
        archived(&mut client).await;
        texts.push((id, fs::read(&path).unwrap(), path));
    }
    for (id, _, path) in &texts {
        lose(&mut client, id, path).await;
    }
    let home = daemon.stopped().await;
    let found = packs(home.path());
    assert_eq!(found.len(), texts.len());
    tear(&found[0]);
    let index = folder(home.path()).join("index.db");
    for _ in 0..5 {
        fs::remove_file(&index).unwrap();
        fs::remove_file(index.with_extension("db.seal")).ok();
        let process = Process::start(home.path()).await;
        eventually("the index is begun", || index.exists()).await;
        process.killed().await;
    }
    let (_process, mut client) = Process::with_client(home.path()).await;
    let status = archived(&mut client).await;
    assert_eq!((status.threads, status.damaged), (5, 1), "{status:?}");
    assert_eq!(packs(home.path()), found, "one that cannot be read may be saved by other means");
    for (thread_id, whole, path) in &texts[1..] {
        let params = RestoreParams { thread_id: thread_id.clone(), to: None };
        client.call::<Restore>(params).await.unwrap();
        assert!(fs::read(path).unwrap() == *whole);
    }
}

#[tokio::test]
async fn packs_newer_than_a_restored_index_lose_nothing() {
    // With one more text, a pack is new; with many, they are merged with those that the old index names.
    for more in [1, 9] {
        let home = tempfile::tempdir().unwrap();
        let id = |number: u32| format!("019cadd3-0000-7000-8000-0000000004{number:02}");
        let first = long(&id(0), "engine0", 40).write(home.path());
        let (daemon, mut client) = Daemon::synced_file(home, "", &first).await;
        archived(&mut client).await;
        let home = daemon.stopped().await;
        let (index, backup) = (folder(home.path()).join("index.db"), home.path().join("backup.db"));
        fs::copy(&index, &backup).unwrap();
        let before = packs(home.path());

        let (daemon, mut client) = Daemon::with_client(home, "").await;
        let mut texts = vec![(id(0), fs::read(&first).unwrap(), first)];
        for number in 1..=more {
            let path = long(&id(number), &format!("engine{number}"), 40).write(daemon.home.path());
            client.sync_file(&path).await;
            archived(&mut client).await;
            texts.push((id(number), fs::read(&path).unwrap(), path));
        }
        for (id, _, path) in &texts {
            lose(&mut client, id, path).await;
        }
        let home = daemon.stopped().await;
        assert_eq!(packs(home.path()).contains(&before[0]), more == 1, "merged");
        fs::copy(&backup, &index).unwrap();
        fs::remove_file(index.with_extension("db.seal")).ok();

        let (_daemon, mut client) = Daemon::with_client(home, "").await;
        let status = archived(&mut client).await;
        assert_eq!((status.threads, status.damaged), (u64::from(more) + 1, 0), "{status:?}");
        for (thread_id, whole, path) in &texts {
            let params = RestoreParams { thread_id: thread_id.clone(), to: None };
            client.call::<Restore>(params).await.unwrap();
            assert!(fs::read(path).unwrap() == *whole);
        }
    }
}

#[tokio::test]
async fn a_fold_of_another_version_is_repeated_from_the_archive() {
    let home = tempfile::tempdir().unwrap();
    let path = long(THREAD, "turbine", 20).write(home.path());
    let (daemon, mut client) = archiving(home, THREAD).await;
    let before = client.history(THREAD).await;
    lose(&mut client, THREAD, &path).await;
    let home = daemon.stopped().await;
    let database = home.path().join(".local/state/longhaul/longhaul.db");
    fs::remove_file(database.with_extension("db.seal")).unwrap();
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(&database);
    let mut connection = sqlx::ConnectOptions::connect(&options).await.unwrap();
    let older = "UPDATE source_file SET fold = CAST('{\"version\":1}' AS BLOB), fold_version = 1";
    let done = sqlx::query(older).execute(&mut connection).await.unwrap();
    assert_eq!(done.rows_affected(), 1);
    sqlx::Connection::close(connection).await.unwrap();
    let (_daemon, mut client) = Daemon::with_client(home, "").await;
    archived(&mut client).await;
    assert_eq!(client.history(THREAD).await, before);
}

/// Flips a bit of a pack's text so that none of it can be read; its list of contents can.
pub(crate) fn spoil(pack: &Path) {
    let mut bytes = fs::read(pack).unwrap();
    bytes[9] ^= 16;
    fs::write(pack, bytes).unwrap();
}

#[tokio::test]
async fn a_damaged_pack_is_replaced_although_nothing_is_archived_any_more() {
    for settings in ["", "redact = true\n"] {
        let mut home = tempfile::tempdir().unwrap();
        let mut rollout = long(THREAD, "turbine", 60);
        let path = rollout.write(home.path());
        for round in 0..2 {
            rollout.message("user", &format!("Step {round}."));
            rollout.append(&path);
            let text = format!("[archive]\n{settings}");
            let (daemon, mut client) = Daemon::synced_file(home, &text, &path).await;
            archived(&mut client).await;
            home = daemon.stopped().await;
        }
        let text = format!("[archive]\nenabled = false\n{settings}");
        let (daemon, mut client) = Daemon::with_client(home, &text).await;
        assert_eq!(listed(&mut client).await, [THREAD]);
        let found = packs(daemon.home.path());
        assert_eq!(found.len(), 2);
        spoil(&found[0]);
        let checked = verify(&mut client).await;
        assert_eq!((checked.damaged, checked.damaged_threads.len()), (1, 0), "{checked:?}");
        assert!(!found[0].exists(), "all its text is in another pack");
        let whole = lose(&mut client, THREAD, &path).await;
        restore(&mut client, None).await.unwrap();
        assert!(fs::read_to_string(&path).unwrap() == whole);
        let checked = verify(&mut client).await;
        assert_eq!((checked.files, checked.damaged), (2, 0), "{checked:?}");
    }
}

#[tokio::test]
async fn a_kill_at_any_step_leaves_a_complete_archive_without_leftovers() {
    let home = tempfile::tempdir().unwrap();
    let mut rollouts = Vec::new();
    for number in 0..12 {
        let id = format!("019cadd3-0000-7000-8000-0000000002{number:02}");
        let rollout = long(&id, &format!("engine{number}"), 250);
        let path = rollout.write(home.path());
        rollouts.push((rollout, path));
    }
    for round in 0..10_u64 {
        let process = Process::start(home.path()).await;
        // Killed after a different amount of work each time.
        let work = async {
            let mut client = Client::connect(&process.socket).await;
            while let Some((bytes, packs)) = written(&mut client, home.path()).await {
                if bytes * 10 > round * 3_000_000 || packs > round + 2 {
                    break;
                }
            }
        };
        soon("some work", work).await;
        process.killed().await;
        for (rollout, path) in &mut rollouts {
            rollout.message("user", &format!("After kill {round}. {}", "words ".repeat(200)));
            rollout.append(path);
        }
    }
    let (_process, mut client) = Process::with_client(home.path()).await;
    for (_, path) in &rollouts {
        client.sync_file(path).await;
    }
    let status = archived(&mut client).await;
    let bytes: u64 = rollouts.iter().map(|(_, path)| fs::metadata(path).unwrap().len()).sum();
    assert_eq!((status.transcripts, status.text_bytes, status.damaged), (12, bytes, 0));
    let verified = verify(&mut client).await;
    assert_eq!(verified.damaged, 0);
    assert_eq!(verified.files, packs(home.path()).len() as u64, "no pack without a name");
    for (number, (_, path)) in rollouts.iter().enumerate() {
        let whole = fs::read(path).unwrap();
        let to = home.path().join(format!("{number}.jsonl"));
        let params = RestoreParams {
            thread_id: format!("019cadd3-0000-7000-8000-0000000002{number:02}"),
            to: Some(to.display().to_string()),
        };
        client.call::<Restore>(params).await.unwrap();
        assert!(fs::read(&to).unwrap() == whole, "{number}");
    }
    let left = fs::read_dir(folder(home.path())).unwrap().map(|entry| entry.unwrap().path());
    let new: Vec<_> =
        left.filter(|path| path.extension().is_some_and(|end| end == "new")).collect();
    assert_eq!(new, Vec::<std::path::PathBuf>::new());
}

/// Bytes and packs until now; `None` once everything is archived.
async fn written(client: &mut Client, home: &Path) -> Option<(u64, u64)> {
    let status = client.call::<Overview>(OverviewParams {}).await;
    let count = if folder(home).exists() { packs(home).len() as u64 } else { 0 };
    match status {
        Ok(status) if status.state == ArchiveState::Idle => None,
        Ok(status) => Some((status.text_bytes, count)),
        Err(_) => Some((0, count)),
    }
}

/// Waits until the archive cannot be written, after this transcript was read.
pub(crate) async fn stalled(client: &mut Client, path: &Path) -> OverviewResult {
    found("the archive is stalled", async || {
        client.sync_file(path).await;
        let status = client.call::<Overview>(OverviewParams {}).await.unwrap();
        (status.state == ArchiveState::Stalled).then_some(status)
    })
    .await
}

#[tokio::test]
async fn on_a_full_disk_the_archive_waits_and_reports_it() {
    let home = tempfile::tempdir().unwrap();
    let (process, mut client) = Process::bounded(home.path()).await;
    archived(&mut client).await;
    let path = long(THREAD, "turbine", 60).write(home.path());
    // Enough for the database, but not for a pack of incompressible text.
    let mut rollout = long(THREAD, "turbine", 60);
    rollout.message("user", &noise(&mut Chance::new(1), 4_000_000));
    rollout.write(home.path());
    process.limit(Some(1_500_000));
    let status = stalled(&mut client, &path).await;
    assert!(status.problem.is_some(), "{status:?}");
    process.limit(None);
    let status = archived(&mut client).await;
    assert_eq!(status.text_bytes, fs::metadata(&path).unwrap().len());
    assert_eq!(verify(&mut client).await.damaged, 0);
    process.stopped().await;
}
