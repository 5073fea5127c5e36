//! Watchers and decisions: bounded, numbered uniquely, salvaged from a damaged database.

use std::fs;

use longhaul_core::job::Moment;
use longhaul_store::{DECISIONS_PER_THREAD_MAX, DecisionEnd, DecisionRow, Store};

use crate::sample::Temp;

pub fn decision(thread: &str, seq: u64, at_ms: i64) -> (DecisionRow, String) {
    let row = DecisionRow {
        decision_id: 0,
        thread_id: thread.into(),
        policy: "default".into(),
        settings: format!("digest-{}", at_ms / 1_000),
        shadow: false,
        at_ms,
        seq,
        turn: seq,
        action: "wait".into(),
        tier: Some("asap".into()),
        body: format!(r#"{{"situation":{{"at_ms":{at_ms}}},"decision":{{"n":{seq}}}}}"#),
        compaction_id: None,
        not_made: None,
    };
    (row, format!(r#"{{"mode":"auto","n":{}}}"#, at_ms / 1_000))
}

/// Stores decisions and the watcher in one step.
async fn stepped(store: &Store, thread: &str, now_ms: i64, rows: Vec<(DecisionRow, String)>) {
    let change = |_| (Some(format!(r#"{{"at":{now_ms}}}"#)), rows, ());
    store.policies.watcher_step((thread, now_ms), change).await.unwrap();
}

async fn kept(store: &Store, thread: &str) -> Vec<u64> {
    let rows = store.policies.decisions(Some(thread), None, (None, 10_000)).await.unwrap();
    rows.into_iter().map(|row| row.seq).collect()
}

/// Defect 7.11: records grew without bound.
#[tokio::test]
async fn defect_7_11_decisions_and_watchers_are_bounded_by_number_and_age() {
    let (_temp, store) = Temp::opened().await;
    let most = u64::from(DECISIONS_PER_THREAD_MAX);
    let lived = async |boot_ms| {
        let moment = Moment { wall_ms: 0, boot: "a".into(), boot_ms };
        store.age.advance(moment).await.unwrap();
    };
    lived(0).await;
    lived(1_000).await;
    stepped(&store, "old", 1_000, vec![decision("old", 1, 1_000)]).await;
    lived(9_000).await;
    let many = (0..most + 7).map(|seq| decision("busy", seq, 9_000)).collect();
    stepped(&store, "busy", 9_000, many).await;
    assert_eq!(store.policies.prune(2_000).await.unwrap(), 8, "seven over the bound, one too old");
    let busy = kept(&store, "busy").await;
    assert_eq!((busy.len() as u64, busy[0]), (most, most + 6), "the newest are kept");
    assert_eq!(kept(&store, "old").await, [0; 0]);
    assert_eq!(store.policies.watcher_get("old").await.unwrap(), None);
    assert_eq!(store.policies.watcher_get("busy").await.unwrap().unwrap(), r#"{"at":9000}"#);
    assert_eq!(store.policies.prune(2_000).await.unwrap(), 0);
    // Only policies that a decision still names are kept.
    let newest = store.policies.decisions(Some("busy"), None, (None, 1)).await.unwrap().remove(0);
    let (row, settings) = store.policies.decision_get(newest.decision_id).await.unwrap().unwrap();
    assert_eq!((row, settings.as_str()), (newest, r#"{"mode":"auto","n":9}"#));
}

/// Defect 7.11: numbers restarted with each process, so that two records shared one.
#[tokio::test]
async fn defect_7_11_numbers_continue_across_restarts_and_repetitions_get_no_new_one() {
    let temp = Temp::new();
    let mut last = 0;
    for seq in 0..3 {
        let (store, _) = temp.open().await;
        for at_ms in [5_000, 5_001, 5_002] {
            stepped(&store, "t", at_ms, vec![decision("t", seq, at_ms)]).await;
        }
        let newest = store.policies.decisions(Some("t"), None, (None, 1)).await.unwrap().remove(0);
        assert!(newest.decision_id > last);
        last = newest.decision_id;
        // The number of a pruned decision is not reused.
        store.policies.prune(6_000).await.unwrap();
        store.database.close().await;
    }
    let (store, _) = temp.open().await;
    for (seq, expected) in [(7, vec![7]), (7, vec![7]), (8, vec![8, 7]), (7, vec![7, 8, 7])] {
        stepped(&store, "t", 9_000, vec![decision("t", seq, 9_000)]).await;
        assert_eq!(kept(&store, "t").await, expected, "only consecutive repetitions are dropped");
    }
}

/// Three callers ask at the end of a turn: the daemon, a hook and an acting client.
#[tokio::test]
async fn the_end_of_a_turn_has_one_decision_with_its_result() {
    let (_temp, store) = Temp::opened().await;
    let at_end = |turn: u64, seq: u64, action: &str, point: &str| {
        let (mut row, settings) = decision("t", seq, 9_000);
        (row.turn, row.action) = (turn, action.to_owned());
        row.body = format!(r#"{{"situation":{{"point":"{point}"}},"decision":{{"n":{seq}}}}}"#);
        (row, settings)
    };
    for (turn, seq, action, point, expected) in [
        (1, 5, "wait", "turn_end", vec![5]),
        (1, 6, "wait", "turn_end", vec![5]),
        (1, 7, "compact", "turn_end", vec![7, 5]),
        (1, 8, "compact", "turn_end", vec![7, 5]),
        (1, 9, "wait", "turn_end", vec![7, 5]),
        (2, 10, "compact", "mid_turn", vec![10, 7, 5]),
        (2, 11, "compact", "turn_end", vec![11, 10, 7, 5]),
    ] {
        stepped(&store, "t", 9_000, vec![at_end(turn, seq, action, point)]).await;
        assert_eq!(kept(&store, "t").await, expected, "{action} at {seq}");
    }
    let first = store.policies.decision_of_turn("t", 1).await.unwrap().unwrap();
    let of = async |id| store.policies.decision_get(id).await.unwrap().unwrap().0;
    assert_eq!(of(first).await.seq, 7, "the decision for a compaction");
    assert_eq!(store.policies.decision_of_turn("t", 3).await.unwrap(), None);
    store
        .policies
        .set_decision_end(first, DecisionEnd::NotMade("a turn is running"))
        .await
        .unwrap();
    assert_eq!(of(first).await.not_made.as_deref(), Some("a turn is running"));
    store.policies.set_decision_end(first, DecisionEnd::Compaction("c1")).await.unwrap();
    let row = of(first).await;
    assert_eq!((row.compaction_id.as_deref(), row.not_made), (Some("c1"), None));
}

/// Defect 7.11: an unreadable state made every later record fail.
#[tokio::test]
async fn defect_7_11_an_unreadable_state_is_overwritten() {
    let (_temp, store) = Temp::opened().await;
    store
        .policies
        .watcher_step(("t", 1), |_| (Some("{ torn".into()), Vec::new(), ()))
        .await
        .unwrap();
    let seen = |found: Option<String>| (Some("{}".to_owned()), Vec::new(), found);
    let (found, _) = store.policies.watcher_step(("t", 2), seen).await.unwrap();
    assert_eq!(found.as_deref(), Some("{ torn"));
    assert_eq!(store.policies.watcher_get("t").await.unwrap().as_deref(), Some("{}"));
}

#[tokio::test]
async fn watchers_and_decisions_are_salvaged_from_a_damaged_database() {
    let (temp, store) = Temp::opened().await;
    for n in 0..300_u64 {
        let thread = format!("t{n:03}");
        let at_ms = 1_000 * i64::try_from(n).unwrap();
        stepped(&store, &thread, at_ms, vec![decision(&thread, n, at_ms)]).await;
    }
    store.database.close().await;
    fs::rename(temp.path(), temp.path().with_extension("db.corrupt-5")).unwrap();
    let (store, opened) = temp.open().await;
    let salvaged = opened.salvaged.unwrap();
    assert_eq!((salvaged.decisions, salvaged.complete), (300, true));
    assert_eq!(store.policies.watcher_get("t299").await.unwrap().unwrap(), r#"{"at":299000}"#);
    let row = store.policies.decisions(Some("t123"), None, (None, 1)).await.unwrap().remove(0);
    let (_, settings) = store.policies.decision_get(row.decision_id).await.unwrap().unwrap();
    assert_eq!(settings, r#"{"mode":"auto","n":123}"#, "a decision can be reproduced");
}
