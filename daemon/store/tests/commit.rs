//! Batches: stored, repeated, moved, bounded.

use longhaul_core::digest::ContentHash;
use longhaul_core::fold::Fold;
use longhaul_store::{OBSERVATIONS_PER_THREAD_MAX, Observation};

use crate::sample::{Temp, file, file_count, item};

#[tokio::test]
async fn a_batch_reads_back_after_reopening() {
    let temp = Temp::new();
    let (store, opened) = temp.open().await;
    assert!(opened.created && opened.moved_aside.is_none());
    let given = file("/a.jsonl", "t1", 50, 130);
    let committed = store.projection.commit(std::slice::from_ref(&given)).await.unwrap();
    assert!(committed[0].is_current);
    store.database.close().await;

    let (store, opened) = temp.open().await;
    assert!(!opened.created);
    let row = store.files.by_path("/a.jsonl").await.unwrap().unwrap();
    assert_eq!((row.stat, row.cursor), (given.stat, given.cursor));
    assert_eq!(row.head, Some(given.head));
    let (cursor, blob) = store.files.fold(row.file_id).await.unwrap().unwrap();
    assert_eq!((cursor, blob), (given.cursor, given.fold));
    let heads = store.pages.heads(row.file_id, 1).await.unwrap();
    assert_eq!(heads.iter().map(|head| head.items).collect::<Vec<_>>(), [64, 64, 2]);
    assert_eq!((heads[1].byte_start, heads[1].byte_end), (6_400, 12_799));
    let page = store.pages.get(row.file_id, 1, 64).await.unwrap().unwrap();
    assert_eq!(page, (64..128).map(item).collect::<Vec<_>>());
    assert_eq!(store.pages.get(row.file_id, 1, 65).await.unwrap(), None);
    assert_eq!(store.pages.item_at(row.file_id, 1, 129).await.unwrap(), Some(item(129)));
    assert_eq!(store.pages.item_at(row.file_id, 1, 130).await.unwrap(), None);
    assert_eq!(store.pages.last(row.file_id, 1).await.unwrap().unwrap().len(), 2);
    assert_eq!(row.fold_version, Fold::VERSION);
}

#[tokio::test]
async fn the_same_batch_twice_changes_nothing_and_a_page_grows() {
    let (_temp, store) = Temp::opened().await;
    for items in [70, 70, 100] {
        let given = file("/a.jsonl", "t1", 50, items);
        let committed = store.projection.commit(&[given]).await.unwrap();
        let heads = store.pages.heads(committed[0].file_id, 1).await.unwrap();
        assert_eq!(heads.len(), 2);
        assert_eq!(heads[1].last_seq, items - 1);
        assert_eq!(file_count(&store).await, 1);
    }
}

#[tokio::test]
async fn a_new_generation_drops_the_pages_of_the_old_one() {
    let (_temp, store) = Temp::opened().await;
    let mut given = file("/a.jsonl", "t1", 50, 300);
    let id = store.projection.commit(&[given.clone()]).await.unwrap()[0].file_id;
    given.cursor.generation = 2;
    given.pages.truncate(1);
    store.projection.commit(&[given]).await.unwrap();
    assert!(store.pages.heads(id, 1).await.unwrap().is_empty());
    assert_eq!(store.pages.heads(id, 2).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_moved_file_keeps_its_number_and_pages() {
    let (_temp, store) = Temp::opened().await;
    let first = store.projection.commit(&[file("/a.jsonl", "t1", 50, 10)]).await.unwrap();
    let mut moved = file("/archive/a.jsonl", "t1", 50, 10);
    moved.moved_from = Some("/a.jsonl".into());
    moved.pages.clear();
    let second = store.projection.commit(&[moved]).await.unwrap();
    assert_eq!(first[0].file_id, second[0].file_id);
    assert_eq!(store.pages.heads(first[0].file_id, 1).await.unwrap().len(), 1);
    assert_eq!(file_count(&store).await, 1);
}

#[tokio::test]
async fn threads_follow_their_files() {
    let (_temp, store) = Temp::opened().await;
    let both = vec![file("/a.jsonl", "t1", 50, 10), file("/b.jsonl", "t1", 60, 2)];
    let committed = store.projection.commit(&both).await.unwrap();
    assert!(!committed[0].is_current && committed[1].is_current);
    store.projection.mark_gone(&["/b.jsonl".into()], Some(99)).await.unwrap();
    assert_eq!(store.threads.get("t1").await.unwrap().unwrap().file.path, "/a.jsonl");
    store.projection.mark_gone(&["/b.jsonl".into()], None).await.unwrap();
    assert_eq!(store.threads.get("t1").await.unwrap().unwrap().file.path, "/b.jsonl");
    assert_eq!(store.threads.files("t1").await.unwrap().len(), 2);
    // Both files are rewritten and now belong to another thread.
    let both = vec![file("/a.jsonl", "t2", 50, 10), file("/b.jsonl", "t2", 60, 2)];
    store.projection.commit(&both).await.unwrap();
    assert!(store.threads.get("t1").await.unwrap().is_none());
    assert!(store.threads.get("t2").await.unwrap().is_some());
}

#[tokio::test]
async fn observations_keep_the_newest_touch_and_are_bounded() {
    let (_temp, store) = Temp::opened().await;
    let seen = |seq: u64, content: &str, late| Observation {
        path: "src/lib.rs".into(),
        seq,
        at_ms: 10,
        observed_at_ms: 20,
        hash: Some(ContentHash::of(content.as_bytes())),
        size: 3,
        mtime_ms: 9,
        late,
    };
    let cases = [
        (seen(5, "late", true), "late"),
        (seen(5, "in time", false), "in time"),
        (seen(5, "again, late", true), "in time"),
        (seen(4, "older", false), "in time"),
        (seen(6, "newer", true), "newer"),
    ];
    for (given, expected) in cases {
        let mut commit = file("/a.jsonl", "t1", 50, 1);
        commit.observations = vec![given];
        store.projection.commit(&[commit]).await.unwrap();
        let stored = store.threads.observations("t1").await.unwrap();
        assert_eq!(stored[0].hash, Some(ContentHash::of(expected.as_bytes())), "{expected}");
    }
    let mut many = file("/a.jsonl", "t1", 50, 1);
    let count = u64::from(OBSERVATIONS_PER_THREAD_MAX) + 100;
    many.observations =
        (0..count).map(|n| Observation { path: format!("{n:05}"), ..seen(n, "", false) }).collect();
    store.projection.commit(&[many]).await.unwrap();
    let stored = store.threads.observations("t1").await.unwrap();
    assert_eq!(stored.len(), OBSERVATIONS_PER_THREAD_MAX as usize);
    assert_eq!(stored.last().unwrap().seq, count - 1);
}
