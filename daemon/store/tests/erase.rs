//! Work that began before a thread was erased, and ends after.

use longhaul_core::job::{self, JobKey, JobRequest, Kind, Moment};
use longhaul_store::{CompactionRow, DecisionRow, Store, StoreError, UpdateRow};

use crate::sample::{Temp, file};

fn compaction(id: &str, thread_id: &str) -> CompactionRow {
    CompactionRow {
        compaction_id: id.to_owned(),
        thread_id: Some(thread_id.to_owned()),
        created_at_ms: 1,
        strategy_used: "checkpoint".to_owned(),
        phase: "standalone".to_owned(),
        trigger: "manual".to_owned(),
        reason: "requested".to_owned(),
        requests: 0,
        tokens_spent: 0,
        tokens_before: 9,
        tokens_after: 1,
        seq: 1,
        duration_ms: 1,
        undone_at_ms: None,
    }
}

fn decision(thread_id: &str) -> DecisionRow {
    DecisionRow {
        decision_id: 0,
        thread_id: thread_id.to_owned(),
        policy: "p".to_owned(),
        settings: "s".to_owned(),
        shadow: false,
        at_ms: 1,
        seq: 1,
        turn: 1,
        action: "wait".to_owned(),
        tier: None,
        body: "{}".to_owned(),
        compaction_id: None,
        not_made: None,
    }
}

async fn request(store: &Store, subject: &str, payload: &str) -> Result<(), StoreError> {
    let key = JobKey { kind: Kind::Compact, subject: subject.to_owned() };
    let request = JobRequest {
        key: key.clone(),
        input: String::new(),
        payload: payload.to_owned(),
        priority: 0,
        urgent: false,
    };
    let now = Moment { wall_ms: 1, boot: "b".to_owned(), boot_ms: 1 };
    store.jobs.decide(&key, |found| (Some(job::request(found, request, &now)), ())).await
}

/// Stores something of a thread in every table that names one; returns the table's name with the result. Ingestion's
/// tables are missing, since no pass outlives the call that erases, and memory's, since it excludes the thread.
async fn store_everywhere(store: &Store, thread_id: &str) -> Vec<(&'static str, bool)> {
    let row = compaction(&format!("new-{thread_id}"), thread_id);
    let first = store.compactions.insert(&row, &[], None).await;
    let row = compaction(&format!("step-{thread_id}"), thread_id);
    let replaced = store.compactions.replace(&row, &[]).await;
    let update = UpdateRow { update_id: 0, seq: 1, created_at_ms: 1, body: "{}".to_owned() };
    let updated = store.updates.insert(thread_id, 0, &update).await;
    let gauge = store.gauges.set(thread_id, 1, "{}").await;
    let step = |_| (Some("{}".to_owned()), vec![(decision(thread_id), "{}".to_owned())], ());
    let watched = store.policies.watcher_step((thread_id, 1), step).await;
    let of_thread = request(store, thread_id, "").await;
    let naming = format!("{{\"thread_id\":\"{thread_id}\"}}");
    let of_payload = request(store, &format!("c-{thread_id}"), &naming).await;
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
    let temp = Temp::new();
    let (store, _) = temp.open().await;
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
    let temp = Temp::new();
    let (store, _) = temp.open().await;
    store.eraser.erase("t").await.unwrap();
    store.projection.commit(&[file("/w/t.jsonl", "t", 1, 3)]).await.unwrap();
    for (table, stored) in store_everywhere(&store, "t").await {
        assert!(stored, "{table}");
    }
}
