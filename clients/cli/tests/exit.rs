use longhaul_client::scripted::Reply;
use longhaul_protocol::{ErrorKind, WireError};
use serde_json::{Value, json};

use crate::answers::{THREAD, script};
use crate::{Desk, program, run};

fn refused(kind: ErrorKind) -> crate::Done {
    let answer = move |_: &Value| Reply::Error(WireError::new(kind, "the daemon's words"));
    Desk::new(script().on("compaction/run", answer)).run(&["compact", THREAD])
}

#[test]
fn the_exit_code_says_who_must_act() {
    let cases = [
        (ErrorKind::NotWorthwhile, 1),
        (ErrorKind::LimitExceeded, 64),
        (ErrorKind::InvalidParams, 64),
        (ErrorKind::Internal, 70),
        (ErrorKind::ModelRefused, 70),
        (ErrorKind::StoreBusy, 75),
        (ErrorKind::DiskFull, 78),
    ];
    for (kind, code) in cases {
        let done = refused(kind);
        assert_eq!((done.code, done.stdout.as_str()), (code, ""), "{}: {done:?}", kind.name());
        assert!(done.stderr.starts_with("error: the daemon's words\n"), "{done:?}");
        assert!(done.stderr.matches("hint: ").count() <= 1, "{done:?}");
    }
}

#[test]
fn no_daemon_is_69_and_the_hint_starts_it() {
    let folder = tempfile::tempdir().unwrap();
    let done = run(program(folder.path()).arg("status"));
    assert_eq!(done.code, 69, "{done:?}");
    let socket = folder.path().join("state/run/v1.sock");
    assert!(done.stderr.contains(&socket.display().to_string()), "{done:?}");
    assert!(done.stderr.ends_with("hint: start it with: longhaul up\n"), "{done:?}");
    let done = run(program(folder.path()).arg("down"));
    assert_eq!((done.code, done.stdout.as_str()), (0, "the daemon is not running\n"));
}

#[test]
fn errors_are_json_for_scripts() {
    let answer = |_: &Value| Reply::Error(WireError::new(ErrorKind::StoreBusy, "busy"));
    let done = Desk::new(script().on("daemon/status", answer)).run(&["status", "--json"]);
    let error: Value = serde_json::from_str(&done.stderr).unwrap();
    assert_eq!((&error["error"]["data"]["retry"], done.code), (&Value::from("backoff"), 75));
    assert_eq!(done.stdout, "");
}

#[test]
fn a_reader_that_leaves_early_is_no_error() {
    use std::process::Stdio;
    let desk = Desk::new(script());
    let mut command = program(desk.folder.path());
    command.arg("--socket").arg(desk.server.path()).args(["thread", "list"]);
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = command.stdout(writer).stderr(Stdio::piped()).spawn().unwrap().wait_with_output();
    let output = output.unwrap();
    assert_eq!((output.status.code(), output.stderr.len()), (Some(0), 0));
}

#[test]
fn a_policy_that_would_be_refused_fails_its_check() {
    for (is_fatal, code) in [(true, 78), (false, 0)] {
        let problem = json!({
            "policy": "default", "key": "wait_ms", "reason": "5 is out of bounds", "is_fatal": is_fatal,
        });
        let checked = json!({ "policies": [], "problems": [problem] });
        let done = Desk::new(script().result("policy/check", checked)).run(&["policy", "check"]);
        assert_eq!(done.code, code, "{done:?}");
        assert!(done.stdout.contains("default wait_ms: 5 is out of bounds"), "{done:?}");
    }
}
