//! Recorded threads when the daemon is killed or the disk is full.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use longhaul_protocol::thread::{Append, AppendItem, Sync, SyncParams};
use longhaul_protocol::{ErrorKind, compaction};

use crate::support::{Process, message, of_items, of_thread};
use crate::threads::{addition, append, append_params, close, ids, open};

#[tokio::test]
async fn a_killed_daemon_has_every_acknowledged_item_exactly_once() {
    const ITEMS: usize = 60;
    let home = tempfile::tempdir().unwrap();
    let mut acknowledged = BTreeSet::new();
    let mut path = String::new();
    let item = |number: usize| -> AppendItem {
        let text = "x".repeat(3_000 * (1 + number % 7));
        addition(&number.to_string(), message("user", &text))
    };
    for round in 0..6_usize {
        let (process, mut client) = Process::with_client(home.path()).await;
        let thread = open(&mut client, "k").await;
        path.clone_from(&thread.path);
        // Unacknowledged items are sent again, as a client would.
        let mut asked = BTreeMap::new();
        for number in (0..ITEMS).filter(|number| !acknowledged.contains(number)).take(20) {
            let params = append_params(&thread, vec![item(number)]);
            asked.insert(client.begin::<Append>(params).await, number);
        }
        // Killed after a different number of answers each time, with the rest in flight.
        for _ in 0..round * 3 {
            let answer = client.response().await;
            answer.result();
            acknowledged.insert(asked[&answer.id.as_u64().unwrap()]);
        }
        process.killed().await;
    }
    let left = ids(&path);
    let once: BTreeSet<usize> = left.iter().map(|id| id.parse().unwrap()).collect();
    assert_eq!(once.len(), left.len(), "an item occurs twice: {left:?}");
    assert!(acknowledged.is_subset(&once), "lost: {:?}", acknowledged.difference(&once));
    assert!(acknowledged.len() >= 40, "{acknowledged:?}");

    let (process, mut client) = Process::with_client(home.path()).await;
    let thread = open(&mut client, "k").await;
    let answer = append(&mut client, &thread, (0..ITEMS).map(item).collect()).await.unwrap();
    assert_eq!(answer.duplicates, left.len() as u64, "{answer:?}");
    assert_eq!(ids(&path).len(), ITEMS);
    close(&mut client, &thread).await;
    let summary = client.thread(&thread.thread_id).await;
    assert_eq!((summary.items, summary.malformed), (ITEMS as u64, 0));
    process.stopped().await;
}

#[tokio::test]
async fn a_full_disk_is_a_typed_error_and_the_next_append_succeeds() {
    let home = tempfile::tempdir().unwrap();
    let (process, mut client) = Process::bounded(home.path()).await;
    let thread = open(&mut client, "k").await;
    let before = vec![addition("a", message("user", "before"))];
    append(&mut client, &thread, before).await.unwrap();
    close(&mut client, &thread).await;

    let before = fs::read(&thread.path).unwrap();
    process.limit(Some(before.len() as u64 + 2_000));
    let items = vec![
        addition("b", message("user", &"x".repeat(1_500))),
        addition("c", message("user", &"y".repeat(9_000))),
    ];
    let refused = append(&mut client, &thread, items.clone()).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::DiskFull);
    assert_eq!(fs::read(&thread.path).unwrap(), before, "restored to the byte");
    process.limit(None);
    let appended = append(&mut client, &thread, items).await.unwrap();
    assert_eq!((appended.appended, appended.duplicates), (2, 0));
    assert_eq!(ids(&thread.path), ["a", "b", "c"]);
    let sync = SyncParams {
        thread_id: Some(thread.thread_id),
        min_seq: Some(3),
        timeout_ms: Some(15_000),
        ..Default::default()
    };
    assert_eq!(client.call::<Sync>(sync).await.unwrap().seq, 3);
    process.stopped().await;
}

#[tokio::test]
async fn on_a_full_disk_a_thread_is_compacted_without_being_recorded() {
    let home = tempfile::tempdir().unwrap();
    let (process, mut client) = Process::bounded(home.path()).await;
    let thread = open(&mut client, "k").await;
    let items = vec![
        addition("a", message("user", "Rename parse().")),
        addition("b", message("assistant", &"Looking at it. ".repeat(500))),
    ];
    append(&mut client, &thread, items).await.unwrap();
    close(&mut client, &thread).await;

    process.limit(Some(1));
    for _ in 0..3 {
        let result = client.compact(of_thread(&thread.thread_id)).await;
        assert!(result.view.contains("Rename parse()."), "{}", result.view);
        assert_eq!(result.warnings[0].kind, "not_kept");
        let get = compaction::CompactionGetParams { compaction_id: result.compaction_id };
        let error = client.call::<compaction::CompactionGet>(get).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::CompactionNotFound);
    }
    let given = of_items([message("user", "Rename parse().")]);
    let refused = client.call::<compaction::Run>(given).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::DiskFull);

    process.limit(None);
    let result = client.compact(of_thread(&thread.thread_id)).await;
    assert_eq!(result.warnings, []);
    assert_eq!(client.compaction(&result.compaction_id).await.run.view, result.view);
}
