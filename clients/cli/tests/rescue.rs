//! `longhaul rescue`, and reports of blocked threads.

use longhaul_client::scripted::{Reply, Script};
use longhaul_protocol::{ErrorKind, WireError};
use serde_json::{Value, json};

use crate::Desk;
use crate::answers::{OTHER, THREAD, script, thread};

fn blocked(id: &str, cause: &str, failures: u32) -> Value {
    let mut blocked = thread();
    blocked["thread_id"] = json!(id);
    blocked["blocked"] = json!({ "cause": cause, "failures": failures });
    blocked
}

fn with_blocked(threads: Vec<Value>) -> Script {
    script().on("thread/list", move |params| {
        let threads = if params["blocked"] == true { threads.clone() } else { vec![thread()] };
        Reply::Result(json!({ "threads": threads }))
    })
}

#[test]
fn only_blocked_thread_is_continued() {
    let desk = Desk::new(with_blocked(vec![blocked(THREAD, "context_full", 2)]));
    let done = desk.run(&["rescue"]);
    assert_eq!((done.code, done.stderr.as_str()), (0, ""), "{done:?}");
    assert!(done.stdout.contains("resume it:"), "{done:?}");
    let asked = desk.last_params("thread/continue");
    assert_eq!(asked, json!({ "thread_id": THREAD }), "no model of its agent is asked");
    let done = desk.run(&["rescue", "--to", "claude", "--json"]);
    let result: Value = serde_json::from_str(&done.stdout).unwrap();
    assert!(result["command"].is_array(), "{result}");
    assert_eq!(desk.last_params("thread/continue")["to"], "claude");
}

#[test]
fn several_blocked_threads_are_listed_with_causes() {
    let several = vec![blocked(THREAD, "context_full", 3), blocked(OTHER, "compaction", 1)];
    let desk = Desk::new(with_blocked(several));
    let done = desk.run(&["rescue"]);
    assert_eq!(done.code, 0, "{done:?}");
    for words in [
        "the window is full, 3 times in a row",
        "its agent could not compact it",
        "longhaul rescue THREAD",
    ] {
        assert!(done.stdout.contains(words), "{words}: {}", done.stdout);
    }
    assert!(!desk.server.requests().iter().any(|(method, _)| method == "thread/continue"));
    let done = Desk::new(with_blocked(vec![])).run(&["rescue"]);
    assert!(done.stdout.starts_with("No thread is blocked."), "{done:?}");
    // A named thread that is not blocked.
    let done = Desk::new(with_blocked(vec![])).run(&["rescue", THREAD]);
    assert_eq!(done.code, 64, "{done:?}");
    assert!(done.stderr.contains(&format!("hint: longhaul continue {THREAD}")), "{done:?}");
}

#[test]
fn open_thread_must_be_closed_first() {
    let busy = |_: &Value| Reply::Error(WireError::new(ErrorKind::ThreadBusy, "open in Codex"));
    let open = with_blocked(vec![blocked(THREAD, "context_full", 2)]).on("thread/continue", busy);
    let done = Desk::new(open).run(&["rescue"]);
    assert_eq!(done.code, 75, "{done:?}");
    let again = format!("and run longhaul rescue {THREAD} again");
    assert!(done.stderr.contains("close the session") && done.stderr.contains(&again), "{done:?}");
    assert!(done.stderr.contains("--to claude") && !done.stderr.contains("turn"), "{done:?}");
}

#[test]
fn status_and_doctor_report_blocked_threads() {
    let words = "1 thread is blocked: the window is full, 2 times in a row";
    for (threads, is_reported) in
        [(vec![blocked(THREAD, "context_full", 2)], true), (vec![], false)]
    {
        let desk = Desk::new(with_blocked(threads));
        let status = desk.run(&["status"]);
        assert_eq!(status.code, 0, "{status:?}");
        let line = format!("{words}; run longhaul rescue\n");
        assert_eq!(status.stdout.contains(&line), is_reported, "{}", status.stdout);
        let json: Value = serde_json::from_str(&desk.run(&["status", "--json"]).stdout).unwrap();
        assert_eq!(json["blocked"][0]["thread_id"] == THREAD, is_reported, "{json}");
        let doctor: Value = serde_json::from_str(&desk.run(&["doctor", "--json"]).stdout).unwrap();
        let checks = doctor["checks"].as_array().unwrap();
        let check = checks.iter().find(|check| check["name"] == "threads").unwrap();
        let expected = match is_reported {
            true => {
                json!({ "name": "threads", "state": "warn", "detail": words, "hint": "run longhaul rescue" })
            }
            false => json!({ "name": "threads", "state": "ok", "detail": "none blocked" }),
        };
        assert_eq!(*check, expected);
    }
}
