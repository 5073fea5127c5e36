use std::path::Path;

use longhaul_client::scripted::{Reply, Script, ScriptedServer, field, text_at};
use longhaul_protocol::daemon::Initialize;
use longhaul_protocol::{ErrorKind, WireError, event, thread};
use serde_json::{Value, json};

use crate::answers::{THREAD, script};
use crate::{end, interrupt, lines, piped, program};

fn item(seq: u64) -> Value {
    json!({ "seq": seq, "kind": "tool_call", "tokens": 1, "handle": "h", "excerpt": format!("item {seq}") })
}

/// A daemon whose thread has items up to `end`, and which sends one update event.
fn daemon(end: u64) -> Script {
    let event = json!({ "jsonrpc": "2.0", "method": "event", "params": { "subscription": "s1", "result": {
        "seq": 8, "at": 0, "kind": "thread_updated", "data": { "thread_id": THREAD },
    } } });
    script()
        .on::<event::Subscribe>(move |_| {
            Reply::ResultThen(json!({ "subscription": "s1", "seq": 7 }), vec![event.to_string()])
        })
        .on::<thread::Items>(move |params| {
            let first = params.from_seq.unwrap_or(end - 1);
            let items: Vec<Value> = (first..end).map(item).collect();
            Reply::Result(json!({ "items": items, "next_seq": end, "more": false }))
        })
}

#[test]
fn follow_shows_new_items_survives_a_restart_and_ends_with_ctrl_c() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("v1.sock");
    let first = ScriptedServer::start(&socket, daemon(10)).unwrap();
    let mut child = follow(folder.path(), &socket);
    let mut lines = lines(&mut child);
    let mut next = || {
        let row: Value = serde_json::from_str(&lines.next().unwrap()).unwrap();
        assert_eq!(text_at(&row, "thread_id"), THREAD);
        field(&row, "seq").as_u64().unwrap()
    };
    assert_eq!(next(), 9);

    // The daemon is replaced by one with more items.
    end(first);
    let second = ScriptedServer::start(&socket, daemon(13)).unwrap();
    assert_eq!((next(), next(), next()), (10, 11, 12));

    interrupt(child);
    drop(second);
}

#[test]
fn follow_ends_with_a_daemon_of_another_version() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("v1.sock");
    let first = ScriptedServer::start(&socket, daemon(10)).unwrap();
    let mut child = follow(folder.path(), &socket);
    let mut lines = lines(&mut child);
    lines.next().unwrap();
    end(first);
    let newer = script().on::<Initialize>(|_| {
        let error = WireError::new(ErrorKind::VersionUnsupported, "revisions 2 to 3 are spoken");
        Reply::Error(error.with_detail(json!({ "disagreement": "client_too_old" })))
    });
    let _second = ScriptedServer::start(&socket, newer).unwrap();
    let done = child.wait_with_output().unwrap();
    let stderr = String::from_utf8(done.stderr).unwrap();
    assert_eq!(done.status.code(), Some(78), "{stderr}");
    assert!(stderr.contains("too old for the running daemon"), "{stderr}");
}

fn follow(folder: &Path, socket: &Path) -> std::process::Child {
    let mut command = program(folder);
    let args = ["thread", "tail", "-f", "-n", "1", "--json", "--socket"];
    piped(command.args(args).arg(socket))
}
