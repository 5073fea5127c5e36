//! Work that began before a thread was erased, and ends after.

use longhaul_core::job::{JobKey, JobRequest, Kind};
use longhaul_store::{Store, StoreError};

use crate::policy::decision;
use crate::sample::{Temp, ask, compaction, file, request, update};

/// Stores something of a thread in every table that names one; returns the table's name with the result. Ingestion's
/// tables are missing, since no pass outlives the call that erases, and memory's, since it excludes the thread.
async fn store_everywhere(store: &Store, thread_id: &str) -> Vec<(&'static str, bool)> {
    let row = compaction(&format!("new-{thread_id}"), Some(thread_id));
    let first = store.compactions.insert(&row, &[], None).await;
    let row = compaction(&format!("step-{thread_id}"), Some(thread_id));
    let replaced = store.compactions.replace(&row, &[]).await;
    let updated = store.updates.insert(thread_id, 0, &update("{}")).await;
    let gauge = store.gauges.set(thread_id, 1, "{}").await;
    let step = |_| (Some("{}".to_owned()), vec![decision(thread_id, 1, 1)], ());
    let watched = store.policies.watcher_step((thread_id, 1), step).await;
    let job = |subject: String| request(&JobKey { kind: Kind::Compact, subject }, "");
    let of_thread = ask(store, job(thread_id.to_owned())).await;
    let payload = format!("{{\"thread_id\":\"{thread_id}\"}}");
    let named = JobRequest { payload, ..job(format!("c-{thread_id}")) };
    let of_payload = ask(store, named).await;
    vec![
        ("compaction", stored(first)),
        ("compaction", stored(replaced)),
        ("semantic_update", stored(updated)),
        ("agent_gauge", stored(gauge)),
        ("policy_watcher, policy_decision", stored(watched)),
        ("job", stored(of_thread)),
        ("job", stored(of_payload)),
    ]
}

fn stored<T>(result: Result<T, StoreError>) -> bool {
    match result {
        Ok(_) => true,
        Err(StoreError::Erased { thread_id }) => {
            assert_eq!(thread_id, "t");
            false
        }
        Err(error) => panic!("{error}"),
    }
}

#[tokio::test]
async fn work_that_ends_after_its_thread_was_erased_stores_nothing() {
    let (_temp, store) = Temp::opened().await;
    let all = |results: Vec<(&str, bool)>, expected: bool| {
        for (table, stored) in results {
            assert_eq!(stored, expected, "{table}");
        }
    };
    all(store_everywhere(&store, "t").await, true);
    let before = store.models.erasures();
    store.models.answer_put(("early", before), 1, b"words").await.unwrap();
    assert_eq!(store.eraser.erase("t").await.unwrap(), 2);

    all(store_everywhere(&store, "t").await, false);
    store.models.answer_put(("late", before), 1, b"words").await.unwrap();
    for digest in ["early", "late"] {
        assert_eq!(store.models.answer_get(digest).await.unwrap(), None, "{digest}");
    }
    assert_eq!(store.eraser.erase("t").await.unwrap(), 0, "nothing was left to erase");
    all(store_everywhere(&store, "other").await, true);
    let now = store.models.erasures();
    store.models.answer_put(("new", now), 1, b"words").await.unwrap();
    assert!(store.models.answer_get("new").await.unwrap().is_some());
}

#[tokio::test]
async fn a_thread_that_is_stored_again_is_written_to_again() {
    let (_temp, store) = Temp::opened().await;
    store.eraser.erase("t").await.unwrap();
    store.projection.commit(&[file("/w/t.jsonl", "t", 1, 3)]).await.unwrap();
    for (table, stored) in store_everywhere(&store, "t").await {
        assert!(stored, "{table}");
    }
}
