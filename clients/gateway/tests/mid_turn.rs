//! Requests in the middle of a turn: the policy may want a compaction before them, and only then are they answered.

use std::sync::atomic::{AtomicUsize, Ordering};

use longhaul_client::scripted::{Reply, Script, field};
use longhaul_protocol::policy;
use longhaul_protocol::policy::StepEvent;
use serde_json::{Value, json};

use crate::compact::{MODEL, THREAD, daemon, output, request, rig};
use crate::desk::Desk;
use crate::provider::{Message, Provider, post};

const CODEX: &str = "codex_exec/0.169.0 (Debian 12.0.0; x86_64)";

/// A daemon whose policy wants a compaction at the first `times` steps.
fn policy(times: usize, mid_turn: bool) -> Script {
    let steps = AtomicUsize::new(0);
    daemon().on::<policy::Step>(move |params| {
        let is_asked = matches!(params.event, StepEvent::MidTurn { .. });
        let is_due = is_asked && mid_turn && steps.fetch_add(1, Ordering::Relaxed) < times;
        let effects =
            if is_due { json!([{ "effect": "compact", "packet": "" }]) } else { json!([]) };
        let watcher = json!({
            "phase": "idle", "mode": "auto", "mid_turn": mid_turn, "deferred": false, "held": false,
            "packet_kept": false, "state": {},
        });
        Reply::Result(json!({ "thread_id": THREAD, "watcher": watcher, "effects": effects }))
    })
}

/// Codex's next request of a turn, after a tool.
fn next(desk: &Desk, agent: &str, newest: &str) -> Vec<u8> {
    let metadata =
        json!({ "request_kind": "turn", "thread_id": THREAD, "agent_name": "/root" }).to_string();
    let body = json!({ "model": "m", "input": [output(newest)], "stream": true }).to_string();
    let headers = [("user-agent", agent), ("x-codex-turn-metadata", metadata.as_str())];
    post(&desk.path("/responses"), &headers, body.as_bytes())
}

/// The events that the policy received, in order.
fn events(desk: &Desk) -> Vec<StepEvent> {
    let steps = desk.daemon().calls::<policy::Step>().unwrap();
    steps.into_iter().map(|params| params.event).collect()
}

/// Why the second event says that there was no compaction.
fn reason(desk: &Desk) -> String {
    match &events(desk)[1] {
        StepEvent::CompactionEnded { reason: Some(reason), .. } => reason.clone(),
        other => panic!("{other:?}"),
    }
}

/// Checks that a request went to the provider as it came.
fn is_passed(desk: &Desk, provider: &Provider, sent: &[u8]) {
    assert_eq!(desk.send(sent).text(), MODEL);
    assert!(sent.ends_with(&provider.received().pop().unwrap().body));
}

fn completed(message: &Message) -> Value {
    let data = message.text().strip_prefix("event: response.completed\ndata: ").unwrap();
    serde_json::from_str(data.trim_end()).unwrap()
}

#[test]
fn the_policy_has_codex_compact_and_learns_that_it_did() {
    let (provider, desk) = rig(Some(policy(1, true)));
    let full = completed(&desk.send(&next(&desk, CODEX, "call_9")));
    assert_eq!(field(&full, "response.end_turn"), false, "{full}");
    assert_eq!(field(&full, "response.output"), &json!([]), "{full}");
    assert!(field(&full, "response.usage.total_tokens").as_u64().unwrap() > 0, "{full}");
    assert_eq!(field(&full, "response.usage.input_tokens"), 0, "{full}");
    assert_eq!(field(&full, "response.usage.output_tokens"), 0, "{full}");
    let compaction = request(&desk, &json!([output("call_9"), { "type": "compaction_trigger" }]));
    assert!(desk.send(&compaction).text().contains("longhaul-view-"));
    assert!(provider.received().is_empty(), "no model was asked");
    is_passed(&desk, &provider, &next(&desk, CODEX, "call_9"));
    let asked = StepEvent::MidTurn { boundaries: None, compact_only: Some(true) };
    let ended = StepEvent::CompactionEnded { tokens_after: None, reason: None };
    assert_eq!(events(&desk), [asked.clone(), ended, asked]);
}

#[test]
fn where_codex_does_not_compact_the_turn_goes_on_and_the_policy_is_told() {
    let (provider, desk) = rig(Some(policy(1, true)));
    completed(&desk.send(&next(&desk, CODEX, "call_9")));
    is_passed(&desk, &provider, &next(&desk, CODEX, "call_9"));
    let reason = reason(&desk);
    assert!(reason.contains("model_auto_compact_token_limit"), "{reason}");
}

#[test]
fn a_view_that_would_be_older_than_the_history_is_not_announced() {
    let (provider, desk) = rig(Some(policy(1, true)));
    is_passed(&desk, &provider, &next(&desk, CODEX, "call_10"));
    let reason = reason(&desk);
    assert!(reason.contains("not read"), "{reason}");
}

#[test]
fn without_the_setting_the_policy_is_asked_once_and_requests_pass() {
    let (provider, desk) = rig(Some(policy(9, false)));
    for _ in 0..3 {
        is_passed(&desk, &provider, &next(&desk, CODEX, "call_9"));
    }
    assert_eq!(events(&desk).len(), 1);
}

#[test]
fn a_version_that_would_end_the_turn_is_never_answered_and_no_daemon_delays_none() {
    let (provider, desk) = rig(Some(policy(9, true)));
    is_passed(&desk, &provider, &next(&desk, "codex_exec/0.168.0 (Debian)", "call_9"));
    assert!(events(&desk).is_empty());
    let alone = Desk::new(&provider.url());
    is_passed(&alone, &provider, &next(&alone, CODEX, "call_9"));
}

/// Otherwise every request of the turn would wait for it.
#[test]
fn a_daemon_that_does_not_answer_is_asked_once() {
    let (provider, desk) = rig(Some(daemon().on::<policy::Step>(|_| Reply::Close)));
    for _ in 0..3 {
        is_passed(&desk, &provider, &next(&desk, CODEX, "call_9"));
    }
    assert_eq!(events(&desk).len(), 1);
}
