//! Lists, pages of lists, updates and compactions.

use longhaul_core::job::Moment;
use longhaul_store::{CompactionRow, RetentionRules, ThreadFilter};

use crate::sample::{Temp, compaction, file, thread_count, update};

#[tokio::test]
async fn threads_are_listed_newest_first_in_complete_pages() {
    let (_temp, store) = Temp::opened().await;
    // Ties on purpose: several threads share each millisecond.
    let files =
        (0..25).map(|n| file(&format!("/{n}"), &format!("t{n:02}"), n / 4, 1)).collect::<Vec<_>>();
    store.projection.commit(&files).await.unwrap();
    let (mut seen, mut after) = (Vec::new(), None);
    loop {
        let (threads, next) =
            store.threads.list(&ThreadFilter::default(), 7, after.as_ref()).await.unwrap();
        assert!(threads.len() <= 7);
        seen.extend(threads.into_iter().map(|thread| thread.thread_id));
        after = next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(seen.len(), 25);
    assert_eq!(seen[..2], ["t24", "t20"]);
    let filter =
        ThreadFilter { folders: Some(vec!["/home/dev/t03".into()]), ..ThreadFilter::default() };
    let (threads, next) = store.threads.list(&filter, 7, None).await.unwrap();
    assert_eq!((threads.len(), next), (1, None));
    assert_eq!(thread_count(&store).await, 25);
}

#[tokio::test]
async fn compacted_threads_are_listed_newest_first_and_follow_their_files() {
    let (_temp, store) = Temp::opened().await;
    let files = (0..6).map(|n| {
        let mut file = file(&format!("/{n}"), &format!("t{n}"), n, 1);
        file.head.compactions = [3, 1, 0, 2, 0, 1][usize::try_from(n).unwrap()];
        file
    });
    store.projection.commit(&files.collect::<Vec<_>>()).await.unwrap();
    let compacted = async |limit| store.threads.compacted(limit).await.unwrap();
    let found = |ids: &[(&str, u64)]| -> Vec<(String, u64)> {
        ids.iter().map(|(id, count)| ((*id).to_owned(), *count)).collect()
    };
    assert_eq!(compacted(2).await, found(&[("t5", 1), ("t3", 2)]));
    assert_eq!(compacted(9).await, found(&[("t5", 1), ("t3", 2), ("t1", 1), ("t0", 3)]));
    // A rollback of t5's compaction, and another one of t1.
    let (mut of_t5, mut of_t1) = (file("/5", "t5", 6, 2), file("/1", "t1", 7, 2));
    (of_t5.head.compactions, of_t1.head.compactions) = (0, 2);
    store.projection.commit(&[of_t5, of_t1]).await.unwrap();
    assert_eq!(compacted(9).await, found(&[("t1", 2), ("t3", 2), ("t0", 3)]));
}

#[tokio::test]
async fn an_update_validated_against_an_older_state_is_rejected() {
    let (_temp, store) = Temp::opened().await;
    let first = store.updates.insert("t1", 0, &update("one")).await.unwrap().unwrap();
    assert_eq!(store.updates.insert("t1", 0, &update("stale")).await.unwrap(), None);
    store.updates.insert("t2", 0, &update("other thread")).await.unwrap().unwrap();
    let second = store.updates.insert("t1", first, &update("two")).await.unwrap().unwrap();
    let stored = store.updates.of_thread("t1").await.unwrap();
    assert_eq!(stored.iter().map(|row| row.body.as_str()).collect::<Vec<_>>(), ["one", "two"]);
    assert_eq!(stored[1].update_id, second);
}

#[tokio::test]
async fn compactions_are_listed_read_and_undone_once() {
    let (_temp, store) = Temp::opened().await;
    for n in 0..5_i64 {
        let row = compaction(&format!("c{n}"), (n != 2).then_some("t1"));
        let row = CompactionRow { created_at_ms: n / 2, ..row };
        let result = b"{}".to_vec();
        store.compactions.insert(&row, &result, None).await.unwrap();
        store.compactions.insert(&row, &[], None).await.unwrap();
        assert_eq!(store.compactions.get(&row.compaction_id).await.unwrap(), Some((row, result)));
    }
    let (page, next) = store.compactions.list(None, 3, None).await.unwrap();
    let (rest, end) = store.compactions.list(None, 3, next.as_ref()).await.unwrap();
    let ids: Vec<_> = page.iter().chain(&rest).map(|row| row.compaction_id.as_str()).collect();
    assert_eq!((ids, end), (vec!["c4", "c3", "c2", "c1", "c0"], None));
    assert_eq!(store.compactions.list(Some("t1"), 9, None).await.unwrap().0.len(), 4);
    assert_eq!(store.compactions.mark_undone("c1", 50).await.unwrap(), Some(50));
    assert_eq!(store.compactions.mark_undone("c1", 60).await.unwrap(), Some(50));
    assert_eq!(store.compactions.mark_undone("none", 60).await.unwrap(), None);
}

#[tokio::test]
async fn compactions_are_pruned_by_age_and_by_number_per_thread() {
    let (_temp, store) = Temp::opened().await;
    for n in 0..300_i64 {
        let thread = ["a", "b"].get(usize::try_from(n).unwrap() % 3);
        // The clock was ahead for a while.
        let created_at_ms = if (30..60).contains(&n) { 10_000 + n } else { n };
        let row = compaction(&format!("c{n:03}"), thread.copied());
        let row = CompactionRow { created_at_ms, ..row };
        let moment = Moment { wall_ms: 7, boot: "a".into(), boot_ms: n.unsigned_abs() };
        store.age.advance(moment).await.unwrap();
        store.compactions.insert(&row, &[], None).await.unwrap();
    }
    let prune = async |keep: RetentionRules| {
        let mut gone = 0;
        loop {
            match store.compactions.prune(keep).await.unwrap().len() {
                0 => return gone,
                some => gone += some,
            }
        }
    };
    let keep = RetentionRules { since_age_ms: 30, per_thread: 1_000, of_items: 1_000 };
    assert_eq!(prune(keep).await, 30);
    let keep = RetentionRules { per_thread: 5, of_items: 7, ..keep };
    assert_eq!(prune(keep).await, 270 - 5 - 5 - 7);
    let ids: Vec<String> = (0..300).map(|n| format!("c{n:03}")).collect();
    let known = store.compactions.existing(&ids).await.unwrap();
    assert_eq!(known.len(), 17);
    assert!(known.contains("c299") && !known.contains("c270"), "the newest are kept");
    store.compactions.delete(&ids).await.unwrap();
    assert!(store.compactions.existing(&ids).await.unwrap().is_empty());
}
