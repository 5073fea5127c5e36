//! `longhaul rescue`, and reports of blocked threads.

use longhaul_client::scripted::{Reply, Script, field, set, text_at};
use longhaul_protocol::thread;
use longhaul_protocol::{ErrorKind, WireError};
use serde_json::{Value, json};

use crate::Desk;
use crate::answers::{OTHER, THREAD, script, thread};

fn blocked(id: &str, cause: &str, failures: u32) -> Value {
    let mut blocked = thread();
    set(&mut blocked, "thread_id", id);
    set(&mut blocked, "blocked", json!({ "cause": cause, "failures": failures }));
    blocked
}

fn with_blocked(threads: Vec<Value>) -> Script {
    script().on::<thread::ThreadList>(move |params| {
        let is_asked = params.blocked == Some(true);
        let threads = if is_asked { threads.clone() } else { vec![thread()] };
        Reply::Result(json!({ "threads": threads }))
    })
}

#[test]
fn only_blocked_thread_is_continued() {
    let desk = Desk::new(with_blocked(vec![blocked(THREAD, "context_full", 2)]));
    let done = desk.run(&["rescue"]);
    assert_eq!((done.code, done.stderr.as_str()), (0, ""), "{done:?}");
    assert!(done.stdout.contains("resume it:"), "{done:?}");
    let asked = desk.last_params::<thread::Continue>();
    let expected = thread::ContinueParams { thread_id: THREAD.to_owned(), ..Default::default() };
    assert_eq!(asked, expected, "no model of its agent is asked");
    let result = desk.run(&["rescue", "--to", "claude", "--json"]).json();
    assert!(field(&result, "command").is_array(), "{result}");
    assert_eq!(desk.last_params::<thread::Continue>().to.as_deref(), Some("claude"));
}

#[test]
fn several_blocked_threads_are_listed_with_causes() {
    let several = vec![blocked(THREAD, "context_full", 3), blocked(OTHER, "compaction", 1)];
    let desk = Desk::new(with_blocked(several));
    let done = desk.run(&["rescue"]);
    assert_eq!(done.code, 0, "{done:?}");
    for words in [
        "its last 3 requests did not fit the window",
        "its agent could not compact it",
        "longhaul rescue THREAD",
    ] {
        assert!(done.stdout.contains(words), "{words}: {}", done.stdout);
    }
    assert!(desk.server.calls::<thread::Continue>().unwrap().is_empty());
    let done = Desk::new(with_blocked(vec![])).run(&["rescue"]);
    assert!(done.stdout.starts_with("No thread is blocked, or"), "{done:?}");
    // A named thread that is not blocked.
    let done = Desk::new(with_blocked(vec![])).run(&["rescue", THREAD]);
    assert_eq!(done.code, 64, "{done:?}");
    assert!(done.stderr.contains(&format!("hint: longhaul continue {THREAD}")), "{done:?}");
}

#[test]
fn open_thread_must_be_closed_first() {
    let busy = |_| {
        let error = WireError::new(ErrorKind::ThreadBusy, "open in Codex");
        Reply::Error(error.with_detail(json!({ "agents": ["claude"] })))
    };
    let open = with_blocked(vec![blocked(THREAD, "context_full", 2)]).on::<thread::Continue>(busy);
    let done = Desk::new(open).run(&["rescue"]);
    assert_eq!(done.code, 75, "{done:?}");
    let again = format!("and run longhaul rescue {THREAD} again");
    assert!(done.stderr.contains("close the session") && done.stderr.contains(&again), "{done:?}");
    assert!(done.stderr.contains("--to claude") && !done.stderr.contains("turn"), "{done:?}");
}

#[test]
fn status_and_doctor_report_blocked_threads() {
    let words = "1 thread is blocked: its last 2 requests did not fit the window";
    for (threads, is_reported) in
        [(vec![blocked(THREAD, "context_full", 2)], true), (vec![], false)]
    {
        let desk = Desk::new(with_blocked(threads));
        let status = desk.run(&["status"]);
        assert_eq!(status.code, 0, "{status:?}");
        let line = format!("{words}; run longhaul rescue\n");
        assert_eq!(status.stdout.contains(&line), is_reported, "{}", status.stdout);
        let json = desk.run(&["status", "--json"]).json();
        let blocked = json.get("blocked").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let ids: Vec<_> = blocked.iter().map(|thread| text_at(thread, "thread_id")).collect();
        assert_eq!(ids, [THREAD; 1][..usize::from(is_reported)], "{json}");
        let expected = match is_reported {
            true => {
                json!({ "name": "threads", "state": "warn", "detail": words, "hint": "run longhaul rescue" })
            }
            false => json!({ "name": "threads", "state": "ok", "detail": "none blocked" }),
        };
        assert_eq!(desk.run(&["doctor", "--json"]).checks("threads"), [expected]);
    }
}
