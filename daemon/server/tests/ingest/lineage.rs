//! Forks and reverts that continue another transcript.

use std::fs;

use longhaul_daemon::ingest::{SyncTarget, WarningKind};
use longhaul_store::BaseState;

use super::rig::{Rig, WAIT, meta, name, session, thread, turn_of};

fn based(own: &str, base: &str, lines: usize, bytes: usize) -> String {
    let more = format!(
        ",\"history_base\":{{\"thread_id\":\"{base}\",\"end_ordinal_exclusive\":{lines},\
         \"end_byte_offset\":{bytes}}}"
    );
    meta(own, &more)
}

/// A fork of `base` after its line `lines`, with two more turns.
fn fork(own: &str, base: &str, text: &str, lines: usize) -> String {
    let bytes = text.split_inclusive('\n').take(lines).map(str::len).sum();
    format!("{}{}{}", based(own, base, lines, bytes), turn_of(own, 7), turn_of(own, 8))
}

#[tokio::test]
async fn a_fork_contains_its_base_up_to_the_cut() {
    let rig = Rig::new().await;
    let base = session(&thread(1), 10);
    let own = fork(&thread(2), &thread(1), &base, 16);
    let path = rig.write(&name(2), &own);
    rig.write(&name(1), &base);
    rig.settle().await;
    let row = rig.file(&path).await;
    assert_eq!(row.base, BaseState::Joined);
    assert_eq!(row.thread_id, Some(thread(2)));
    assert_eq!(row.cursor.next_seq, 16 + 7);
    let head = row.head.unwrap();
    assert_eq!((head.items, head.lines), (15 + 6, 7), "items include the base, lines do not");
    let past = rig.ingest.fold_as_of(&thread(2), 5).await.unwrap().unwrap();
    assert_eq!(past.head().items, 5, "a state before the fork is the base's");
    let past = rig.ingest.fold_as_of(&thread(2), 17).await.unwrap().unwrap();
    assert_eq!(past.head().items, 16, "a state after it is the fork's");
    rig.assert_same_from_scratch().await;
}

#[tokio::test]
async fn a_caller_that_waits_for_a_fork_finds_the_items_of_its_base() {
    let rig = Rig::new().await;
    let base = session(&thread(1), 10);
    let path = rig.write(&name(1), &base);
    rig.write(&name(2), fork(&thread(2), &thread(1), &base, 16));
    // The oldest file is read last.
    for other in 10..310 {
        rig.write(&name(other), session(&thread(other), 40));
    }
    let target = SyncTarget::Thread(thread(2));
    let synced = rig.ingest.sync(target, None, WAIT).await.unwrap();
    assert_eq!(synced.next_seq, 16 + 7);
    let read = rig.store.files.by_path(path.to_str().unwrap()).await.unwrap();
    assert!(read.is_some_and(|row| row.cursor.next_seq >= 16), "the base was not stored");
}

#[tokio::test]
async fn a_revert_becomes_the_threads_current_file() {
    let rig = Rig::new().await;
    let base = session(&thread(1), 10);
    let reverted = fork(&thread(1), &thread(1), &base, 7);
    rig.write(&name(1), &base);
    let path = rig.write(&name(1).replace(".jsonl", "_01a1fb8c-a005-7a50.jsonl"), &reverted);
    rig.settle().await;
    assert_eq!(rig.file(&path).await.base, BaseState::Joined);
    let current = rig.store.threads.get(&thread(1)).await.unwrap().unwrap();
    assert_eq!(current.file.path, path.to_str().unwrap());
    assert_eq!(current.file.head.unwrap().items, 6 + 6);
    // A fork of the reverted thread: its base is the second file, with its own bytes.
    let own = based(&thread(3), &thread(1), 11, line_end(&reverted, 4));
    let path = rig.write(&name(3), format!("{own}{}", turn_of("t", 1)));
    rig.settle().await;
    let head = rig.file(&path).await.head.unwrap();
    assert_eq!(head.items, 6 + 3 + 3);
}

fn line_end(text: &str, lines: usize) -> usize {
    text.split_inclusive('\n').take(lines).map(str::len).sum()
}

#[tokio::test]
async fn a_missing_base_is_joined_when_it_appears() {
    let rig = Rig::new().await;
    let base = session(&thread(1), 10);
    let path = rig.write(&name(2), fork(&thread(2), &thread(1), &base, 16));
    rig.settle().await;
    let row = rig.file(&path).await;
    assert_eq!((row.base, row.cursor.next_seq), (BaseState::Missing, 23));
    assert_eq!(row.head.unwrap().items, 6);
    assert!(rig.events.warnings.lock().unwrap().contains(&WarningKind::BaseMissing));
    assert_eq!(rig.ingest.progress().bases_missing, 1);
    // First a part that does not reach the cut, then all of it.
    let parent = rig.write(&name(1), &base[..500]);
    rig.settle().await;
    assert_eq!(rig.file(&path).await.base, BaseState::Missing);
    fs::write(&parent, &base).unwrap();
    rig.settle().await;
    let row = rig.file(&path).await;
    assert_eq!((row.base, row.head.unwrap().items), (BaseState::Joined, 21));
    assert_eq!(rig.ingest.progress().bases_missing, 0);
    rig.assert_same_from_scratch().await;
}

#[tokio::test]
async fn chains_are_followed_and_cycles_end() {
    let rig = Rig::new().await;
    let mut text = session(&thread(0), 2);
    rig.write(&name(0), &text);
    let mut lines = 7;
    for n in 1..6 {
        let own = based(&thread(n), &thread(n - 1), lines, text.len());
        text = format!("{own}{}", turn_of("t", 1));
        lines += 4;
        rig.write(&name(n), &text);
    }
    // Two that name each other, and one that names itself.
    rig.write(&name(10), based(&thread(10), &thread(11), 5, 10));
    rig.write(&name(11), based(&thread(11), &thread(10), 5, 10));
    rig.write(&name(12), based(&thread(12), &thread(12), 5, 10));
    rig.settle().await;
    let last = rig.ingest.fold(&thread(5)).await.unwrap().unwrap();
    assert_eq!(last.head().items, 6 + 5 * 3);
    for n in 10..13 {
        assert!(rig.ingest.fold(&thread(n)).await.unwrap().is_some());
    }
}
