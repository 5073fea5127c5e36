use std::io;

use longhaul_client::scripted::{Reply, Script, ScriptedServer, field};
use longhaul_protocol::{event, policy};
use serde_json::{Value, json};

use crate::answers::{THREAD, script};
use crate::{Desk, end, interrupt, lines, piped};

/// The evaluation of the thread at `turn`.
fn evaluated(turn: u64) -> Value {
    json!({
        "thread_id": THREAD, "seq": turn * 10, "turn": turn, "used": turn * 40_000, "window": 200_000,
        "decision": {
            "policy": "default", "action": "wait", "tier": "asap",
            "percent_remaining": 100_u64.saturating_sub(turn * 20), "satisfied": [],
            "boundaries": if turn == 3 { json!(["agent_done", "turn_complete"]) } else { json!(["turn_complete"]) },
            "reasons": [
                { "rule": "window", "passed": true, "text": "fine" },
                { "rule": "boundary", "passed": false, "text": "asap needs another sign than turn_complete" },
            ],
        },
        "shadows": [],
        "forecast": { "tokens_per_turn": 40_000, "next_tier": "emergency", "turns_to_next_tier": 3 },
        "watcher": { "phase": "idle", "mode": "suggest", "deferred": false, "held": false,
            "packet_kept": false, "state": {} },
    })
}

fn event(kind: &str, data: &Value) -> String {
    let event = json!({ "seq": 8, "at": 0, "kind": kind, "data": data });
    let params = json!({ "subscription": "s1", "result": event });
    json!({ "jsonrpc": "2.0", "method": "event", "params": params }).to_string()
}

fn updated(thread: &str) -> String {
    event("thread_updated", &json!({ "thread_id": thread }))
}

fn decided(action: &str) -> String {
    let data = json!({
        "thread_id": THREAD, "decision_id": "7", "turn": 3, "seq": 30, "point": "turn_end",
        "action": action, "tier": "asap", "percent_remaining": 12,
    });
    event("policy_decided", &data)
}

fn crossed(thread: &str) -> String {
    let data = json!({
        "thread_id": thread, "tokens": 180_000, "limit": 180_000, "window": 200_000, "percent_remaining": 10,
    });
    event("limit_crossed", &data)
}

/// A daemon whose thread advances a turn with each evaluation, and which sends updates of this thread, another one
/// and this one.
fn desk() -> Desk {
    desk_with_events(vec![updated(THREAD), updated("another"), updated(THREAD)])
}

fn desk_with_events(events: Vec<String>) -> Desk {
    Desk::new(of_turns(1, events))
}

fn of_turns(first: u64, events: Vec<String>) -> Script {
    let asked = std::sync::atomic::AtomicU64::new(first);
    let next = move || asked.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let log = json!({ "decisions": [], "events": [
        { "seq": 1, "turn": 1, "kind": "commit" }, { "seq": 2, "turn": 2, "kind": "plan_update" },
    ] });
    script()
        .on::<policy::Evaluate>(move |_| Reply::Result(evaluated(next())))
        .on::<event::Subscribe>(move |_| {
            Reply::ResultThen(json!({ "subscription": "s1", "seq": 7 }), events.clone())
        })
        .result::<policy::Log>(log)
}

fn watch(desk: &Desk, more: &[&str]) -> std::process::Child {
    let mut command = desk.program();
    command.args(["watch", THREAD]).args(more);
    piped(&mut command)
}

#[test]
fn every_change_prints_a_line_until_ctrl_c() {
    let desk = desk();
    let mut child = watch(&desk, &[]);
    let mut lines = lines(&mut child);
    let expected = [
        "turn   1   40.0k used   80 % left  asap       [commit]  \
         wait: asap needs another sign than turn_complete  emergency in 3 turns",
        "turn   2   80.0k used   60 % left  asap       [plan update]  \
         wait: asap needs another sign than turn_complete  emergency in 3 turns",
        "turn   3    120k used   40 % left  asap       [agent done]  \
         wait: asap needs another sign than turn_complete  emergency in 3 turns",
    ];
    for line in expected {
        assert_eq!(lines.next().as_deref(), Some(line));
    }
    interrupt(child);
}

#[test]
fn decisions_and_a_crossed_limit_print_a_line() {
    let events = vec![crossed("another"), decided("wait"), crossed(THREAD), decided("compact")];
    let desk = desk_with_events(events);
    let mut child = watch(&desk, &[]);
    let lines = lines(&mut child);
    let mut messages = lines.filter(|line| !line.starts_with("turn"));
    let crossed = "compaction limit reached: 180k of 200k tokens, 10 % left";
    assert_eq!(messages.next().as_deref(), Some(crossed));
    let decided =
        "the policy decided: compact at asap, 12 % left (longhaul policy explain --decision 7)";
    assert_eq!(messages.next().as_deref(), Some(decided));
    interrupt(child);
}

#[test]
fn json_lines_are_the_daemons_answers() {
    let desk = desk();
    let mut child = watch(&desk, &["--json"]);
    let mut lines = lines(&mut child);
    for turn in 1..=3 {
        let now: Value = serde_json::from_str(&lines.next().unwrap()).unwrap();
        assert_eq!(field(&now, "turn"), turn);
    }
    interrupt(child);
    let methods: Vec<_> = desk.server.requests().into_iter().map(|(method, _)| method).collect();
    assert!(!methods.contains(&"policy/log".to_owned()), "no unneeded requests");
}

#[test]
fn a_daemon_that_restarts_is_watched_again() {
    let desk = desk_with_events(Vec::new());
    let mut child = watch(&desk, &["--json"]);
    let mut lines = lines(&mut child);
    let mut errors = child.stderr.take().unwrap();
    let mut next = || {
        let Some(line) = lines.next() else {
            panic!("{}", io::read_to_string(&mut errors).unwrap())
        };
        field(&serde_json::from_str(&line).unwrap(), "turn").as_u64().unwrap()
    };
    assert_eq!(next(), 1);

    let Desk { server, folder: _folder } = desk;
    let socket = server.path().to_owned();
    end(server);
    let _second = ScriptedServer::start(&socket, of_turns(9, vec![updated(THREAD)])).unwrap();
    assert_eq!((next(), next()), (9, 10));

    interrupt(child);
}

#[test]
fn once_shows_every_reason_and_ends() {
    let done = desk().run(&["watch", THREAD, "--once", "--window", "200000"]);
    assert_eq!(done.code, 0, "{done:?}");
    assert!(done.stdout.contains("wait: 80 % of the window left, asap"), "{done:?}");
    assert!(
        done.stdout.contains("no   boundary    asap needs another sign than turn_complete"),
        "{done:?}"
    );
}
