use std::path::Path;
use std::process::Command;

use crate::answers::script;
use crate::{Desk, program, run, surround};

/// The program in its own folder, beside a `longhauld` that is a shell script.
fn beside_daemon(folder: &Path, script: &str) -> Command {
    let own = folder.join("longhaul");
    // A shell writes it: a file that this process has open for writing cannot be run while another test forks.
    let write =
        r#"cp "$0" longhaul && printf '#!/bin/sh\n%s\n' "$1" > longhauld && chmod +x longhauld"#;
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", write, env!("CARGO_BIN_EXE_longhaul"), script]).current_dir(folder);
    assert!(shell.status().unwrap().success());
    let mut command = Command::new(own);
    surround(&mut command, folder);
    command
}

#[test]
fn daemon_that_exits_at_once_is_reported_with_its_last_error() {
    let folder = tempfile::tempdir().unwrap();
    let mut program = beside_daemon(folder.path(), "echo the disk is full >&2; exit 3");
    let done = run(program.arg("up"));
    assert_eq!(done.code, 78, "{done:?}");
    assert!(done.stderr.contains("exit status: 3"), "{done:?}");
    assert!(done.stderr.contains("the disk is full"), "{done:?}");
    assert!(done.stderr.contains("hint: its log is "), "{done:?}");
}

#[test]
fn a_database_of_a_newer_version_is_named_as_the_cause() {
    let folder = tempfile::tempdir().unwrap();
    // The words and the exit code of longhauld, whose own test has them, too.
    let cause = "the database /s/longhaul.db has schema 99, this longhauld knows up to 13: update longhauld";
    let script = format!("echo 'longhauld: {cause}' >&2; exit 78");
    for command in ["up", "doctor"] {
        let done = run(beside_daemon(folder.path(), &script).arg(command));
        assert_eq!(done.code, 78, "{done:?}");
        let said = format!("{}{}", done.stdout, done.stderr);
        assert!(said.contains(cause), "{command}: {done:?}");
    }
}

#[test]
fn daemon_gets_its_flags_and_socket() {
    let folder = tempfile::tempdir().unwrap();
    let mut program = beside_daemon(folder.path(), r#"echo "$@"; exit 1"#);
    let up = ["up", "--foreground", "--socket", "/x/v1.sock", "--", "--codex-home", "/srv/codex"];
    let done = run(program.args(up));
    assert_eq!(done.stdout, "--codex-home /srv/codex --socket /x/v1.sock\n", "{done:?}");
}

#[test]
fn a_state_folder_that_cannot_be_written_is_named() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("state"), "a file").unwrap();
    let done = run(beside_daemon(folder.path(), "exit 0").arg("up"));
    assert_eq!(done.code, 78, "{done:?}");
    let path = folder.path().join("state");
    assert!(done.stderr.contains(&format!("cannot write {}", path.display())), "{done:?}");
    assert!(done.stderr.contains("LONGHAUL_STATE_DIR"), "{done:?}");
}

#[test]
fn daemon_is_found_where_the_configuration_puts_its_socket() {
    let desk = Desk::new(script());
    let folder = desk.folder.path();
    std::fs::write(folder.join("config.toml"), "socket = 'v1.sock'\n").unwrap();
    let mut program = program(folder);
    let done = run(program.arg("up").env("LONGHAUL_CONFIG", folder.join("config.toml")));
    assert!(done.stdout.starts_with("running already"), "{done:?}");
}

#[test]
fn daemon_that_exits_with_later_is_started_again() {
    let folder = tempfile::tempdir().unwrap();
    // The first start finds the lock held, the second fails for another reason.
    let script = "test -e held && { echo longhauld: no memory; exit 70; }; touch held; exit 75";
    let done = run(beside_daemon(folder.path(), script).arg("up"));
    assert!(done.stderr.contains("(exit status: 70): no memory"), "{done:?}");
}

#[test]
fn doctor_checks_the_configuration_of_a_stopped_daemon() {
    let folder = tempfile::tempdir().unwrap();
    let script =
        r#"test "$1" = --check-config && echo "longhauld: config.toml, line 3: no" >&2; exit 78"#;
    let done = run(beside_daemon(folder.path(), script).arg("doctor"));
    assert_eq!(done.code, 78, "{done:?}");
    assert!(done.stdout.contains("config.toml, line 3: no"), "{done:?}");
    let done = run(beside_daemon(folder.path(), "exit 0").arg("doctor"));
    assert!(done.stdout.lines().any(|line| line.starts_with("ok    config")), "{done:?}");
}

#[test]
fn doctor_checks_the_configuration_of_the_next_start_beside_a_running_daemon() {
    let desk = Desk::new(script());
    let folder = desk.folder.path();
    let invalid = r#"echo "longhauld: config.toml, line 3: no" >&2; exit 78"#;
    for (script, state) in [(invalid, "fail"), ("exit 0", "ok")] {
        let mut program = beside_daemon(folder, script);
        let done = run(program.arg("--socket").arg(desk.server.path()).args(["doctor", "--json"]));
        assert_eq!((done.check("daemon").0, done.check("config").0), ("ok".into(), state.into()));
    }
}

/// It bound its socket and exited when it opened its database, so earlier connections were reset.
#[test]
fn daemon_that_exits_after_binding_is_reported_with_its_last_error() {
    let folder = tempfile::tempdir().unwrap();
    let (socket, end) = (folder.path().join("v1.sock"), folder.path().join("end"));
    let script =
        "while test ! -e end; do :; done; echo longhauld: schema 9, update longhauld >&2; exit 78";
    let mut program = beside_daemon(folder.path(), script);
    let listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let resets = std::thread::spawn(move || {
        for _ in 0..3 {
            drop(listener.accept().unwrap());
        }
        drop(listener);
        std::fs::write(end, "").unwrap();
    });
    program.current_dir(folder.path());
    let done = run(program.arg("--socket").arg(&socket).arg("up"));
    assert!(done.stderr.contains("(exit status: 78): schema 9, update longhauld"), "{done:?}");
    resets.join().unwrap();
}
