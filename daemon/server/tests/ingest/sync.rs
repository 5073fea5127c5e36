//! Sync, and the cache of folds.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use longhaul_daemon::ingest::{Limits, SyncError, SyncPoint, SyncTarget};

use super::rig::{Rig, WAIT, append, name, session, thread, turn_of};

#[tokio::test]
async fn a_sync_covers_everything_written_before_it() {
    let rig = Rig::new().await;
    let path = rig.write(&name(1), session(&thread(1), 2));
    let target = SyncTarget::Path(path.clone());
    let synced = rig.ingest.sync(target.clone(), None, WAIT).await.unwrap();
    assert_eq!((synced.thread_id, synced.next_seq), (Some(thread(1)), 7));
    for turn in 0..50 {
        append(&path, turn_of("t", turn));
        let target = if turn % 2 == 0 { target.clone() } else { SyncTarget::Thread(thread(1)) };
        let synced = rig.ingest.sync(target, None, WAIT).await.unwrap();
        assert_eq!(synced.offset, std::fs::metadata(&path).unwrap().len());
        let fold = rig.ingest.fold(&thread(1)).await.unwrap().unwrap();
        assert_eq!(fold.head().items, 6 + 3 * (turn as u64 + 1), "the cache is behind");
        let again = rig.ingest.fold(&thread(1)).await.unwrap().unwrap();
        assert!(Arc::ptr_eq(&fold, &again), "a warm fold is not loaded again");
    }
}

#[tokio::test]
async fn a_sync_of_a_current_thread_needs_no_worker() {
    let rig = Rig::new().await;
    let path = rig.write(&name(1), session(&thread(1), 2));
    rig.ingest.sync(SyncTarget::Thread(thread(1)), None, WAIT).await.unwrap();
    rig.ingest.stop().await;
    assert_eq!(
        rig.ingest.read_thread(&thread(1), WAIT).await,
        Ok(()),
        "no read is running any more"
    );
    append(&path, turn_of("t", 3));
    let read = rig.ingest.read_thread(&thread(1), WAIT).await;
    assert_eq!(read, Err(SyncError::Stopping), "and what is new has to be read");
}

#[tokio::test]
async fn each_sync_of_a_file_that_cannot_be_read_says_why() {
    let rig = Rig::new().await;
    let path = rig.write(&format!("{}.zst", name(1)), "this is not zstd at all");
    let sync = async || rig.ingest.sync(SyncTarget::Path(path.clone()), None, WAIT).await;
    let first = sync().await;
    assert!(matches!(&first, Err(SyncError::Failed(why)) if why.contains("frame")), "{first:?}");
    assert_eq!(sync().await, first);
}

#[tokio::test]
async fn a_sync_waits_for_bytes_until_its_deadline() {
    let rig = Rig::new().await;
    let path = rig.write(&name(1), session(&thread(1), 2));
    let length = std::fs::metadata(&path).unwrap().len();
    let target = SyncTarget::Path(path.clone());
    let wanted = Some(length + 10);
    let early = rig.ingest.sync(target.clone(), wanted, Duration::from_millis(120)).await;
    assert_eq!(early, Err(SyncError::Deadline));
    let late = async {
        tokio::task::yield_now().await;
        append(&path, turn_of("t", 3));
    };
    let (synced, ()) = tokio::join!(rig.ingest.sync(target, wanted, WAIT), late);
    assert!(synced.unwrap().offset > length);
}

#[tokio::test]
async fn a_sync_waits_for_a_line_until_its_deadline() {
    let rig = Rig::new().await;
    let path = rig.write(&name(1), session(&thread(1), 2));
    let to = |seq| SyncPoint { offset: None, seq: Some(seq) };
    for target in [SyncTarget::Path(path.clone()), SyncTarget::Thread(thread(1))] {
        let there = rig.ingest.sync_to(target.clone(), to(6), WAIT).await.unwrap();
        assert_eq!(there.next_seq, 7, "the last line has seq 6");
        let early = rig.ingest.sync_to(target, to(7), Duration::from_millis(120)).await;
        assert_eq!(early, Err(SyncError::Deadline));
    }
    let late = async {
        tokio::task::yield_now().await;
        append(&path, turn_of("t", 3));
    };
    let wanted = rig.ingest.sync_to(SyncTarget::Thread(thread(1)), to(9), WAIT);
    let (synced, ()) = tokio::join!(wanted, late);
    assert!(synced.unwrap().next_seq > 9);
}

#[tokio::test]
async fn a_sync_of_a_file_that_vanishes_ends() {
    let rig = Rig::new().await;
    let path = rig.write(&name(1), session(&thread(1), 2));
    let target = SyncTarget::Path(path.clone());
    rig.ingest.sync(target.clone(), None, WAIT).await.unwrap();
    let length = std::fs::metadata(&path).unwrap().len();
    let waiting = rig.ingest.sync(target.clone(), Some(length + 1), WAIT);
    let vanish = async {
        tokio::task::yield_now().await;
        std::fs::remove_file(&path).unwrap();
    };
    let (gone, ()) = tokio::join!(waiting, vanish);
    assert!(matches!(gone, Err(SyncError::NotFound(_))), "{gone:?}");
    // The thread is still known with what was read; nothing more will come.
    let of_thread = SyncTarget::Thread(thread(1));
    let stands = rig.ingest.sync(of_thread.clone(), None, WAIT).await.unwrap();
    assert_eq!(stands.offset, length);
    let more = rig.ingest.sync(of_thread, Some(length + 1), Duration::from_millis(120)).await;
    assert_eq!(more, Err(SyncError::Deadline));
    rig.write(&name(1), session(&thread(1), 3));
    assert_eq!(rig.ingest.sync(target, None, WAIT).await.unwrap().next_seq, 10);
}

#[tokio::test]
async fn a_sync_of_an_unknown_target_is_a_typed_error() {
    let rig = Rig::new().await;
    let outside = rig.folder.path().join("outside.jsonl");
    std::fs::write(&outside, "{}\n").unwrap();
    let sync = |target| rig.ingest.sync(target, None, WAIT);
    assert!(matches!(sync(SyncTarget::Path(outside)).await, Err(SyncError::Outside(_))));
    let missing = rig.sessions().join("missing.jsonl");
    assert!(matches!(sync(SyncTarget::Path(missing)).await, Err(SyncError::NotFound(_))));
    let passwd = PathBuf::from("/etc/passwd");
    assert!(matches!(sync(SyncTarget::Path(passwd)).await, Err(SyncError::Outside(_))));
    let nobody = SyncTarget::Thread("nobody".into());
    assert!(matches!(sync(nobody).await, Err(SyncError::NotFound(_))));
    rig.ingest.stop().await;
    let stopped = sync(SyncTarget::Thread("nobody".into())).await;
    assert_eq!(stopped, Err(SyncError::Stopping));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sync_precedes_a_long_cold_start() {
    let rig = Rig::with(Limits { batch_bytes: 64 << 10, ..Limits::default() }).await;
    let big = session(&thread(1), 4_000);
    for n in 10..14 {
        rig.write(&name(n), big.replace(&thread(1), &thread(n)));
    }
    let path = rig.write(&name(1), session(&thread(1), 3));
    let old = std::time::UNIX_EPOCH + Duration::from_secs(3_600);
    std::fs::File::options().write(true).open(&path).unwrap().set_modified(old).unwrap();
    let synced = rig.ingest.sync(SyncTarget::Path(path), None, WAIT).await.unwrap();
    assert_eq!(synced.next_seq, 10);
    assert!(rig.ingest.progress().is_catching_up, "the others are still being read");
    rig.settle().await;
    assert_eq!(rig.threads().await, 5);
}

#[tokio::test]
async fn a_damaged_store_is_filled_again_while_running() {
    let rig = Rig::new().await;
    let paths: Vec<_> = (0..30).map(|n| rig.write(&name(n), session(&thread(n), 600))).collect();
    rig.settle().await;
    // In place, under the open connections: more than their caches contain.
    for file in ["longhaul.db", "longhaul.db-wal"] {
        let file = rig.folder.path().join(file);
        let bytes = std::fs::read(&file).unwrap();
        std::fs::write(&file, vec![0xa5; bytes.len()]).unwrap();
    }
    // The first calls hit the damage and may fail; it must be repaired.
    let repaired = async {
        for path in paths.iter().cycle() {
            append(path, turn_of("t", 1));
            rig.ingest.sync(SyncTarget::Path(path.clone()), None, WAIT).await.ok();
            if !rig.events.rebuilt.lock().unwrap().is_empty() {
                break;
            }
        }
    };
    tokio::time::timeout(WAIT, repaired).await.unwrap();
    rig.settle().await;
    assert_eq!(rig.threads().await, 30);
    rig.assert_same_from_scratch().await;
}
