use std::fs::File;
use std::path::Path;

use longhaul_client::scripted::{Reply, field, set, text_at};
use longhaul_protocol::version::Disagreement;
use longhaul_protocol::{ErrorKind, WireError};
use longhaul_protocol::{archive, compaction, daemon, history, job, policy, thread};
use serde_json::{Value, json};

use crate::answers::{OTHER, THREAD, script, summary};
use crate::{Desk, program, run};

fn refused(kind: ErrorKind) -> crate::Done {
    let answer = move |_| Reply::Error(WireError::new(kind, "the daemon's message"));
    Desk::new(script().on::<compaction::Run>(answer)).run(&["compact", THREAD])
}

#[test]
fn exit_code_depends_on_the_error_kind() {
    let cases = [
        (ErrorKind::NotWorthwhile, 1),
        (ErrorKind::LimitExceeded, 64),
        (ErrorKind::InvalidParams, 64),
        (ErrorKind::ConfigInvalid, 78),
        (ErrorKind::Internal, 70),
        (ErrorKind::ModelOutputInvalid, 70),
        (ErrorKind::StoreBusy, 75),
        (ErrorKind::DiskFull, 78),
    ];
    for (kind, code) in cases {
        let done = refused(kind);
        assert_eq!((done.code, done.stdout.as_str()), (code, ""), "{}: {done:?}", kind.name());
        assert!(done.stderr.starts_with("error: the daemon's message\n"), "{done:?}");
        assert!(done.stderr.matches("hint: ").count() <= 1, "{done:?}");
    }
}

#[test]
fn no_daemon_is_69_with_a_hint() {
    let folder = tempfile::tempdir().unwrap();
    let done = run(program(folder.path()).arg("status"));
    assert_eq!(done.code, 69, "{done:?}");
    let socket = folder.path().join("state/run/v1.sock");
    assert!(done.stderr.contains(&socket.display().to_string()), "{done:?}");
    assert!(done.stderr.ends_with("hint: start it with: longhaul up\n"), "{done:?}");
    let done = run(program(folder.path()).arg("down"));
    assert_eq!((done.code, done.stdout.as_str()), (0, "the daemon is not running\n"));
}

/// As in the worktree that an agent has removed.
#[test]
fn removed_folder_is_named_as_the_reason() {
    let desk = Desk::new(script());
    for command in ["usage", "memory show", "thread list --here", "prompts --here", "thread open"] {
        let folder = desk.folder.path().join("gone");
        std::fs::create_dir(&folder).unwrap();
        let longhaul = env!("CARGO_BIN_EXE_longhaul");
        let socket = desk.server.path().display();
        let line = format!("rmdir ../gone && exec {longhaul} --socket {socket} {command}");
        let mut shell = std::process::Command::new("sh");
        crate::surround(&mut shell, desk.folder.path());
        let done = run(shell.env("PATH", "/usr/bin:/bin").args(["-c", &line]).current_dir(&folder));
        assert_eq!((done.code, done.stdout.as_str()), (78, ""), "{command}: {done:?}");
        assert!(done.stderr.starts_with("error: the current folder cannot be found"), "{done:?}");
    }
}

#[test]
fn a_daemon_of_another_protocol_version_is_a_matter_for_a_person() {
    let cases = [
        (Disagreement::ClientTooOld, "update this program, or start the daemon of its version"),
        (Disagreement::DaemonTooOld, "restart the daemon: longhaul down, then longhaul up"),
    ];
    for (end, hint) in cases {
        let refuse = move |_| {
            let error = WireError::new(ErrorKind::VersionUnsupported, "revisions 2 to 3");
            Reply::Error(error.with_detail(json!({ "disagreement": end })))
        };
        let done = Desk::new(script().on::<daemon::Initialize>(refuse)).run(&["thread", "list"]);
        assert_eq!((done.code, done.stdout.as_str()), (78, ""), "{done:?}");
        assert!(done.stderr.contains("revisions 2 to 3"), "{done:?}");
        assert!(done.stderr.ends_with(&format!("hint: {hint}\n")), "{done:?}");
    }
}

/// Its parent does not wait for it, as in a container without an init.
#[cfg(target_os = "linux")]
#[test]
fn daemon_that_ended_as_a_zombie_is_stopped() {
    let mut ended = std::process::Command::new("/bin/true").spawn().unwrap();
    let answer = json!({ "pid": ended.id(), "requests_in_flight": 0 });
    let script = script().on::<daemon::Shutdown>(move |_| {
        Reply::ResultThen(answer.clone(), vec!["this is no JSON and ends the connection".into()])
    });
    let done = Desk::new(script).run(&["down"]);
    let expected = format!("stopped: process {}\n", ended.id());
    assert_eq!((done.code, done.stdout), (0, expected), "{}", done.stderr);
    ended.wait().unwrap();
}

/// The lock of a daemon that wrote `words` there.
fn held_lock(path: &Path, words: &str) -> File {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, words).unwrap();
    let held = File::open(path).unwrap();
    held.lock().unwrap();
    held
}

/// A daemon whose socket was removed and cannot be bound again.
#[test]
fn unresponsive_daemon_is_reported_with_its_process() {
    let folder = tempfile::tempdir().unwrap();
    let held = held_lock(&folder.path().join("state/longhauld.lock"), "4242\n");
    for command in ["status", "down"] {
        let done = run(program(folder.path()).arg(command));
        assert_eq!((done.code, done.stdout.as_str()), (75, ""), "{done:?}");
        assert!(done.stderr.contains("process 4242 holds the daemon's lock"), "{done:?}");
        assert!(done.stderr.contains("kill 4242, then longhaul up"), "{done:?}");
    }
    let done = run(program(folder.path()).arg("doctor"));
    assert!(done.stdout.contains("process 4242 holds the daemon's lock"), "{done:?}");
    drop(held);
    assert_eq!(run(program(folder.path()).arg("down")).stdout, "the daemon is not running\n");
}

/// The system accepts its connections, as for a process that was stopped.
#[test]
fn daemon_that_hangs_is_reported_with_its_process() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("v1.sock");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let lock = folder.path().join("v1.sock.lock");
    let _held = held_lock(&lock, &format!("4242\n{}\n", socket.display()));
    let said = |command: &str| {
        let done = run(program(folder.path()).arg("--socket").arg(&socket).arg(command));
        (done.code, done.stdout + &done.stderr)
    };
    std::thread::scope(|scope| {
        let commands = [("status", 75), ("up", 75), ("down", 75), ("doctor", 78)];
        let asked =
            commands.map(|(command, code)| (command, code, scope.spawn(move || said(command))));
        for (command, expected, done) in asked {
            let (code, text) = done.join().unwrap();
            assert_eq!(code, expected, "{command}: {text}");
            assert!(text.contains("process 4242 holds the daemon's lock"), "{command}: {text}");
            assert!(text.contains("kill 4242, then longhaul up"), "{command}: {text}");
            assert!(!text.contains("longhaul status"), "{command}: {text}");
        }
    });
}

/// As from cron or su, where `XDG_RUNTIME_DIR` is not set: the daemon is healthy, so nobody is told to kill it.
#[test]
fn daemon_on_another_socket_is_named_with_its_socket() {
    let desk = Desk::new(script());
    let lock = desk.folder.path().join("state/longhauld.lock");
    let socket = desk.server.path().display().to_string();
    let _held = held_lock(&lock, &format!("4242\n{socket}\n"));
    for command in ["status", "down"] {
        let done = run(program(desk.folder.path()).arg(command));
        assert_eq!((done.code, done.stdout.as_str()), (78, ""), "{done:?}");
        assert!(done.stderr.contains(&format!("process 4242 listens on {socket}")), "{done:?}");
        assert!(done.stderr.contains(&format!("--socket {socket}")), "{done:?}");
        assert!(!done.stderr.contains("kill"), "{done:?}");
    }
    let done = run(program(desk.folder.path()).arg("doctor"));
    assert!(done.stdout.contains("listens on") && !done.stdout.contains("kill"), "{done:?}");
    assert!(!done.stdout.contains("start the daemon"), "it runs: {done:?}");
    assert!(!done.stdout.contains("folders to watch"), "nobody knows them: {done:?}");
}

#[test]
fn a_socket_whose_path_is_too_long_is_named_with_the_limit() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("x".repeat(110));
    for command in ["status", "doctor"] {
        let done = run(program(folder.path()).arg("--socket").arg(&socket).arg(command));
        let said = done.stdout + &done.stderr;
        assert!(said.contains("the system allows 107"), "{command}: {said}");
        assert!(
            said.contains("LONGHAUL_SOCKET") && !said.contains("shows why"),
            "{command}: {said}"
        );
    }
}

#[test]
fn errors_are_json_with_json_flag() {
    let answer = |_| Reply::Error(WireError::new(ErrorKind::StoreBusy, "busy"));
    let done = Desk::new(script().on::<daemon::Status>(answer)).run(&["status", "--json"]);
    let error: Value = serde_json::from_str(&done.stderr).unwrap();
    assert_eq!((text_at(&error, "error.data.retry"), done.code), ("backoff", 75));
    assert_eq!(done.stdout, "");
}

#[test]
fn usage_errors_are_json_with_json_flag() {
    let folder = tempfile::tempdir().unwrap();
    for args in [&["compact", "--max-tokens", "many", "--json"][..], &["--json", "frobnicate"]] {
        let done = run(program(folder.path()).args(args));
        let error: Value = serde_json::from_str(&done.stderr).unwrap();
        assert_eq!((done.code, field(&error, "exit")), (64, &json!(64)), "{done:?}");
        let message = text_at(&error, "error.message");
        assert!(message.contains("many") || message.contains("frobnicate"), "{message}");
        assert!(!message.starts_with("error"), "{message}");
    }
}

#[test]
fn unknown_job_kind_lists_the_kinds() {
    let answer = |_| {
        let message = "params.kind: one of extract, prune";
        Reply::Error(WireError::new(ErrorKind::InvalidParams, message))
    };
    let done = Desk::new(script().on::<job::JobList>(answer)).run(&["job", "why", "nonsense"]);
    assert_eq!(done.code, 64, "{done:?}");
    assert_eq!(
        done.stderr,
        "error: \"nonsense\" is not a job\n\
         hint: a name is KIND or KIND/SUBJECT; the kinds are extract, prune\n",
    );
    let answer =
        |_| Reply::Error(WireError::new(ErrorKind::InvalidParams, "params.handle: no handle"));
    let done = Desk::new(script().on::<history::Expand>(answer)).run(&["expand", "nonsense"]);
    assert!(done.stderr.starts_with("error: HANDLE: no handle\n"), "{done:?}");
}

#[test]
fn undo_without_an_id_is_of_the_compaction_that_the_daemon_names() {
    let nothing = |why: &str| Err((1, format!("error: {why}\n")));
    let all_undone = nothing("all compactions of this thread are undone");
    let never = nothing("this thread was never compacted");
    let of_base = [("thread_id", json!(OTHER))];
    let row = |changes: &[(&str, Value)]| {
        let mut row = summary();
        changes.iter().for_each(|(field, value)| set(&mut row, field, value.clone()));
        json!({ "summary": row })
    };
    for (undo_next, compactions, expected) in [
        (json!("cmp_used"), vec![row(&[])], Ok("cmp_used")),
        (Value::Null, vec![row(&[])], all_undone),
        (Value::Null, vec![row(&of_base)], never.clone()),
        (Value::Null, vec![], never),
    ] {
        let bill = json!({
            "thread_id": THREAD, "agent": { "source": "none", "compactions": 0 }, "agent_compactions": [],
            "compactions": compactions, "undo_next": undo_next,
        });
        let desk = Desk::new(script().result::<thread::Bill>(bill));
        let done = desk.run(&["undo", "--thread", THREAD]);
        match expected {
            Ok(id) => assert_eq!(desk.last_params::<compaction::Undo>().compaction_id, id),
            Err(expected) => assert_eq!((done.code, done.stderr), expected),
        }
    }
}

#[test]
fn closed_stdout_is_not_an_error() {
    use std::process::Stdio;
    let desk = Desk::new(script());
    let mut command = desk.program();
    command.args(["thread", "list"]);
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = command.stdout(writer).stderr(Stdio::piped()).spawn().unwrap().wait_with_output();
    let output = output.unwrap();
    assert_eq!((output.status.code(), output.stderr.len()), (Some(0), 0));
}

#[test]
fn invalid_policy_fails_its_check() {
    for (is_fatal, code) in [(true, 78), (false, 0)] {
        let problem = json!({
            "policy": "default", "key": "wait_ms", "reason": "5 is out of bounds", "is_fatal": is_fatal,
        });
        let checked = json!({ "policies": [], "problems": [problem] });
        let done = Desk::new(script().result::<policy::Check>(checked)).run(&["policy", "check"]);
        assert_eq!(done.code, code, "{done:?}");
        assert!(done.stdout.contains("default wait_ms: 5 is out of bounds"), "{done:?}");
    }
}

#[test]
fn damage_in_the_archive_is_1() {
    let lost = json!(["0199a213-0000-7000-8000-000000000003"]);
    for (damaged, lost, code) in [(0, json!([]), 0), (1, json!([]), 1), (1, lost, 1)] {
        let found = json!({ "files": 3, "bytes": 5, "damaged": damaged, "damaged_threads": lost });
        let done = Desk::new(script().result::<archive::Verify>(found)).run(&["archive", "verify"]);
        assert_eq!(done.code, code, "{done:?}");
        assert_eq!(done.stderr.is_empty(), code == 0, "{done:?}");
        assert_eq!(
            done.stdout.contains("longhaul archive forget"),
            done.stderr.contains("restored")
        );
    }
}

#[test]
fn export_onto_a_file_is_a_usage_error() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("threads");
    std::fs::write(&file, "").unwrap();
    let file = file.display().to_string();
    let done = Desk::new(script()).run(&["archive", "export", &file]);
    assert_eq!(done.code, 64, "{done:?}");
    assert!(done.stderr.contains(&format!("{file} is not a folder")), "{done:?}");
}

#[test]
fn export_goes_on_without_threads_that_are_forgotten_meanwhile() {
    let ids = ["ses/1", "ses?1", "ses_1", "forgotten"];
    let row = |id: &str| {
        json!({
            "thread_id": id, "source": "opencode", "path": "/a.json", "bytes": 5, "updated_at": 1, "gone": true,
            "redacted": false,
        })
    };
    let rows: Vec<Value> = ids.iter().map(|id| row(id)).collect();
    let written = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let paths = std::sync::Arc::clone(&written);
    let restore = move |params: archive::RestoreParams| {
        if params.thread_id == "forgotten" {
            return Reply::Error(WireError::new(ErrorKind::NotArchived, "no"));
        }
        let path = params.to.unwrap();
        paths.lock().unwrap().push(path.clone());
        let id = params.thread_id;
        Reply::Result(json!({
            "thread_id": id, "files": [{ "path": path, "bytes": 5 }], "redacted": false, "command": [],
        }))
    };
    let script = script()
        .result::<archive::ArchiveList>(json!({ "threads": rows }))
        .on::<archive::Restore>(restore);
    let done = Desk::new(script).run(&["archive", "export", "/x"]);
    assert_eq!(done.code, 0, "{done:?}");
    assert!(done.stdout.contains("no longer archived, not written: forgotten\n"), "{done:?}");
    let mut written = written.lock().unwrap().clone();
    written.sort_unstable();
    let names = ["ses%2F1", "ses%3F1", "ses_1"].map(|name| format!("/x/opencode/{name}.jsonl"));
    assert_eq!(written, names);
}

#[test]
fn an_empty_archive_claims_nothing() {
    let empty = json!({
        "state": "off", "path": "/state/archive", "bytes": 0, "text_bytes": 0, "stored_text_bytes": 0, "threads": 0,
        "transcripts": 0, "gone": 0, "forgotten": 1, "files_behind": 0, "damaged": 0, "max_bytes": 5_000_000_000_u64, "max_age_days": 0,
        "redacts": false,
    });
    let done = Desk::new(script().result::<archive::Overview>(empty)).run(&["archive", "status"]);
    assert!(done.stdout.contains("holds    nothing"), "{}", done.stdout);
    assert!(!done.stdout.contains("exist") && !done.stdout.contains("verif"), "{}", done.stdout);
    assert!(done.stdout.contains("1 thread forgotten, never archived again"), "{}", done.stdout);
}
