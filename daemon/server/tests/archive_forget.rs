//! Forgetting a thread with damaged packs, and after a kill.

use std::fs;
use std::path::{Path, PathBuf};

use longhaul_core::digest::ContentHash;
use longhaul_protocol::ErrorKind;
use longhaul_protocol::archive::{
    ArchiveList, ArchiveListParams, Forget, ForgetParams, Overview, OverviewParams, Restore,
    RestoreParams,
};
use longhaul_protocol::daemon::{NoParams, Reload};

use crate::archive::{
    OTHER, THREAD, archived, archiving, folder, listed, long, lose, packs, restore, says, verify,
};
use crate::archive_damage::{flip, remove, spoil, tear};
use crate::support::{Client, Daemon, Process, configure, eventually, until};

#[tokio::test]
async fn a_forgotten_thread_is_also_erased_from_a_damaged_pack() {
    for damage in [flip, tear] {
        let home = tempfile::tempdir().unwrap();
        long(THREAD, "turbine", 60).write(home.path());
        let (daemon, mut client) = archiving(home, THREAD).await;
        damage(&packs(daemon.home.path())[0]);
        client.call::<Forget>(ForgetParams { thread_id: THREAD.into() }).await.unwrap();
        archived(&mut client).await;
        assert!(packs(daemon.home.path()).is_empty(), "{:?}", packs(daemon.home.path()));
    }
}

#[tokio::test]
async fn forgetting_a_thread_with_a_damaged_pack_keeps_the_text_of_all_other_packs() {
    let mut home = tempfile::tempdir().unwrap();
    let mut forgotten = long(THREAD, "turbine", 10);
    let path = forgotten.write(home.path());
    let mut others = Vec::new();
    for number in 0..3 {
        // One pass over both transcripts, so both are in one pack.
        let id = format!("019cadd3-0000-7000-8000-0000000004{number:02}");
        let other = long(&id, &format!("engine{number}"), 10).write(home.path());
        others.push((id, fs::read(&other).unwrap(), other));
        forgotten.message("user", &format!("Step {number}. {}", "words ".repeat(1_000)));
        forgotten.append(&path);
        let (daemon, mut client) = Daemon::with_client(home, "").await;
        archived(&mut client).await;
        home = daemon.stopped().await;
        assert_eq!(packs(home.path()).len(), number + 1);
    }
    let (daemon, mut client) = Daemon::with_client(home, "").await;
    archived(&mut client).await;
    for (id, _, path) in &others {
        lose(&mut client, id, path).await;
    }
    spoil(&packs(daemon.home.path())[1]);
    client.call::<Forget>(ForgetParams { thread_id: THREAD.into() }).await.unwrap();
    assert!(!says(daemon.home.path(), "turbine") && !says(daemon.home.path(), THREAD));
    for (number, (id, whole, path)) in others.iter().enumerate() {
        let restored =
            client.call::<Restore>(RestoreParams { thread_id: id.clone(), to: None }).await;
        if number == 1 {
            assert!(restored.is_err() && !path.exists(), "it was in the damaged pack");
            continue;
        }
        restored.unwrap();
        assert!(fs::read(path).unwrap() == *whole, "{number}");
    }
}

/// Records that a thread is being forgotten, as the first step of forgetting does.
fn begin_forgetting(home: &Path, thread_id: &str) {
    let name = ContentHash::of(thread_id.as_bytes());
    let record = folder(home).join("forgotten").join(name.as_str());
    fs::create_dir_all(record.parent().unwrap()).unwrap();
    fs::write(record.with_extension("unfinished"), "").unwrap();
    fs::write(record, "").unwrap();
}

/// The files that record forgotten threads.
fn records(home: &Path) -> Vec<PathBuf> {
    let found = fs::read_dir(folder(home).join("forgotten")).into_iter().flatten();
    found.map(|entry| entry.unwrap().path()).collect()
}

/// Waits until each recorded thread has no bytes left.
async fn erased(home: &Path) {
    let is_done = || records(home).iter().all(|record| record.extension().is_none());
    eventually("its bytes are erased", is_done).await;
}

/// Removes the rows of a thread from the index.
async fn remove_rows(home: &Path, thread_id: &str) {
    let index = folder(home).join("index.db");
    fs::remove_file(index.with_extension("db.seal")).unwrap();
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(&index);
    let options = options.pragma("secure_delete", "ON");
    let mut connection = sqlx::ConnectOptions::connect(&options).await.unwrap();
    let removing = sqlx::query("DELETE FROM transcript WHERE thread_id = ?1").bind(thread_id);
    assert_eq!(removing.execute(&mut connection).await.unwrap().rows_affected(), 1);
    sqlx::Connection::close(connection).await.unwrap();
}

#[derive(Debug, Clone, Copy)]
enum ForgetStep {
    Recorded,
    RowsRemoved,
    IndexLost,
}

#[tokio::test]
async fn the_next_start_finishes_forgetting_after_any_step() {
    for step in [ForgetStep::Recorded, ForgetStep::RowsRemoved, ForgetStep::IndexLost] {
        let home = tempfile::tempdir().unwrap();
        long(THREAD, "turbine", 30).write(home.path());
        let kept = long(OTHER, "compressor", 30).write(home.path());
        let whole = fs::read(&kept).unwrap();
        let (daemon, mut client) = archiving(home, OTHER).await;
        lose(&mut client, OTHER, &kept).await;
        let home = daemon.stopped().await;
        begin_forgetting(home.path(), THREAD);
        match step {
            ForgetStep::Recorded => {}
            ForgetStep::RowsRemoved => remove_rows(home.path(), THREAD).await,
            ForgetStep::IndexLost => {
                for name in ["index.db", "index.db.seal"] {
                    remove(&folder(home.path()).join(name));
                }
            }
        }
        // Not even archiving must be enabled for it.
        let (daemon, mut client) = Daemon::with_client(home, "[archive]\nenabled = false\n").await;
        assert_eq!(listed(&mut client).await, [OTHER], "{step:?}");
        assert_eq!(restore(&mut client, None).await.unwrap_err().kind(), ErrorKind::NotArchived);
        let home = daemon.home.path().to_owned();
        erased(&home).await;
        assert!(!says(&home, "turbine") && !says(&home, THREAD), "{step:?}");
        let params = RestoreParams { thread_id: OTHER.into(), to: None };
        client.call::<Restore>(params).await.unwrap();
        assert!(fs::read(&kept).unwrap() == whole);
    }
}

#[tokio::test]
async fn a_forget_that_is_killed_is_finished_by_the_next_start() {
    let home = tempfile::tempdir().unwrap();
    let ids: Vec<String> =
        (0..4).map(|number| format!("019cadd3-0000-7000-8000-0000000005{number:02}")).collect();
    let mut paths = Vec::new();
    for (number, id) in ids.iter().enumerate() {
        paths.push(long(id, &format!("engine{number}"), 250).write(home.path()));
    }
    let (mut process, mut client) = Process::with_client(home.path()).await;
    archived(&mut client).await;
    let recorded = || records(home.path()).iter().filter(|path| path.extension().is_none()).count();
    for (number, id) in ids[..3].iter().enumerate() {
        let before = recorded();
        tokio::select! {
            _ = client.attempt::<Forget>(ForgetParams { thread_id: id.clone() }) => {}
            () = eventually("it is recorded", || recorded() > before) => {}
        }
        process.killed().await;
        (process, client) = Process::with_client(home.path()).await;
        archived(&mut client).await;
        for words in [format!("engine{number}"), id.clone()] {
            assert!(!says(home.path(), &words), "{words}");
        }
    }
    let whole = fs::read(&paths[3]).unwrap();
    remove(&paths[3]);
    let params = RestoreParams { thread_id: ids[3].clone(), to: None };
    client.call::<Restore>(params).await.unwrap();
    assert!(fs::read(&paths[3]).unwrap() == whole);
}

#[tokio::test]
async fn a_name_that_no_thread_has_is_refused_unless_it_is_a_complete_id() {
    let home = tempfile::tempdir().unwrap();
    long(THREAD, "turbine", 10).write(home.path());
    let (daemon, mut client) = Daemon::with_client(home, "").await;
    archived(&mut client).await;
    let forget = |thread_id: &str| ForgetParams { thread_id: thread_id.to_owned() };
    for name in ["zzz", "019caee3", "019cadd3-0000-7000-8000-0000000000el"] {
        let refused = client.call::<Forget>(forget(name)).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::ThreadNotFound, "{name}");
        assert!(refused.message.contains(name), "{refused:?}");
        let params = ArchiveListParams { thread_id: Some(name.to_owned()), ..Default::default() };
        let refused = client.call::<ArchiveList>(params).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::ThreadNotFound, "{name}");
    }
    assert!(records(daemon.home.path()).is_empty(), "nothing is recorded");
    assert_eq!(listed(&mut client).await, [THREAD]);

    // A thread that does not exist yet is not archived when it appears.
    assert_eq!(client.call::<Forget>(forget(OTHER)).await.unwrap().removed_bytes, 0);
    long(OTHER, "compressor", 10).write(daemon.home.path());
    client.sync(OTHER).await;
    archived(&mut client).await;
    assert_eq!(listed(&mut client).await, [THREAD]);

    // A thread that is known but not archived lists nothing.
    let params = ArchiveListParams { thread_id: Some(OTHER.to_owned()), ..Default::default() };
    assert!(client.call::<ArchiveList>(params).await.unwrap().threads.is_empty());
}

#[tokio::test]
async fn a_file_that_the_index_does_not_name_is_erased_before_the_answer() {
    let home = tempfile::tempdir().unwrap();
    long(THREAD, "turbine", 30).write(home.path());
    let (daemon, mut client) = archiving(home, THREAD).await;
    // Left by a merge that could not remove it, or by a write that the index did not take.
    let pack = &packs(daemon.home.path())[0];
    fs::copy(pack, pack.with_file_name("00000099.pack")).unwrap();
    client.call::<Forget>(ForgetParams { thread_id: THREAD.into() }).await.unwrap();
    assert!(!says(daemon.home.path(), "turbine"), "{:?}", packs(daemon.home.path()));
}

#[tokio::test]
async fn forgetting_finishes_an_earlier_call_that_failed() {
    let home = tempfile::tempdir().unwrap();
    long(THREAD, "turbine", 30).write(home.path());
    long(OTHER, "compressor", 30).write(home.path());
    let (daemon, mut client) = archiving(home, OTHER).await;
    begin_forgetting(daemon.home.path(), THREAD);
    client.call::<Forget>(ForgetParams { thread_id: OTHER.into() }).await.unwrap();
    for words in ["turbine", "compressor", THREAD, OTHER] {
        assert!(!says(daemon.home.path(), words), "{words}");
    }
    assert_eq!(restore(&mut client, None).await.unwrap_err().kind(), ErrorKind::NotArchived);
    let status = archived(&mut client).await;
    assert_eq!((status.threads, status.forgotten), (0, 2), "they have transcripts, and no copies");
}

#[tokio::test]
async fn forgetting_keeps_what_a_damaged_file_still_has_of_other_threads() {
    let home = tempfile::tempdir().unwrap();
    let ids = [THREAD, "019cadd3-0000-7000-8000-000000000502", OTHER];
    let paths = [(ids[0], "turbine", 400), (ids[1], "boiler", 400), (ids[2], "compressor", 3)]
        .map(|(id, words, rounds)| long(id, words, rounds).write(home.path()));
    let (daemon, mut client) = Daemon::with_client(home, "").await;
    for (id, path) in ids.iter().zip(&paths) {
        client.sync(id).await;
        archived(&mut client).await;
        lose(&mut client, id, path).await;
    }
    let home = daemon.home.path().to_owned();
    assert_eq!(packs(&home).len(), 1, "all were there at the first pass");
    let pack = &packs(&home)[0];
    let mut bytes = fs::read(pack).unwrap();
    let at = bytes.len() * 3 / 5;
    bytes[at] ^= 16;
    fs::write(pack, bytes).unwrap();
    client.call::<Forget>(ForgetParams { thread_id: OTHER.into() }).await.unwrap();
    assert!(!says(&home, "compressor"));
    let mut whole = 0;
    for id in &ids[..2] {
        let params = RestoreParams { thread_id: (*id).into(), to: None };
        whole += usize::from(client.call::<Restore>(params).await.is_ok());
    }
    let found = verify(&mut client).await;
    assert_eq!((whole, found.damaged_threads.len()), (1, 1), "{found:?}");
    let status = client.call::<Overview>(OverviewParams {}).await.unwrap();
    assert_eq!(status.damaged, 1, "what is lost stays visible");
}

#[tokio::test]
async fn a_thread_that_was_evicted_before_its_transcript_was_moved_is_not_named_any_more() {
    for is_killed in [false, true] {
        let home = tempfile::tempdir().unwrap();
        let path = long(THREAD, "turbine", 10).write(home.path());
        let (daemon, mut client) = Daemon::synced(home, "[archive]\nmax_bytes = 1\n", THREAD).await;
        archived(&mut client).await;
        assert!(listed(&mut client).await.is_empty() && says(daemon.home.path(), THREAD));
        let sessions = daemon.home.path().join(".codex/archived_sessions");
        fs::create_dir_all(&sessions).unwrap();
        let moved = sessions.join(path.file_name().unwrap());
        fs::rename(&path, &moved).unwrap();
        client.sync_file(&moved).await;
        archived(&mut client).await;
        let params = ForgetParams { thread_id: THREAD.into() };
        if !is_killed {
            client.call::<Forget>(params).await.unwrap();
            assert!(!says(daemon.home.path(), THREAD));
            continue;
        }
        let home = daemon.stopped().await;
        let (process, mut client) = Process::with_client(home.path()).await;
        archived(&mut client).await;
        tokio::select! {
            biased;
            () = eventually("it is recorded", || !records(home.path()).is_empty()) => {}
            _ = client.attempt::<Forget>(params) => {}
        }
        process.killed().await;
        let (daemon, _client) = Daemon::with_client(home, "").await;
        erased(daemon.home.path()).await;
        assert!(!says(daemon.home.path(), THREAD));
    }
}

#[tokio::test]
async fn the_words_of_a_deleted_transcript_are_deleted_once_the_archive_has_no_text_of_it() {
    for bounds in ["", "[archive]\nmax_bytes = 1\n"] {
        let home = tempfile::tempdir().unwrap();
        let path = long(THREAD, "turbine", 10).write(home.path());
        let (daemon, mut client) = archiving(home, THREAD).await;
        lose(&mut client, THREAD, &path).await;
        indexed(&mut client, true).await;
        if bounds.is_empty() {
            client.call::<Forget>(ForgetParams { thread_id: THREAD.into() }).await.unwrap();
        } else {
            configure(daemon.home.path(), bounds);
            client.call::<Reload>(NoParams {}).await.unwrap();
        }
        indexed(&mut client, false).await;
    }
}

/// Waits until the search index has items, or until it has none.
async fn indexed(client: &mut Client, is_any: bool) {
    until("the search index has its turn", async || {
        (client.status().await.search.items > 0) == is_any
    })
    .await;
}
