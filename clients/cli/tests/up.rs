use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use crate::{run, surround};

/// The program in a folder of its own, beside a `longhauld` that is a shell script.
fn beside_daemon(folder: &Path, script: &str) -> Command {
    let own = folder.join("longhaul");
    std::fs::copy(env!("CARGO_BIN_EXE_longhaul"), &own).unwrap();
    let daemon = folder.join("longhauld");
    std::fs::write(&daemon, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&daemon, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = Command::new(own);
    surround(&mut command, folder);
    command
}

#[test]
fn a_daemon_that_ends_at_once_is_shown_with_its_last_words() {
    let folder = tempfile::tempdir().unwrap();
    let mut program = beside_daemon(folder.path(), "echo the disk is full >&2; exit 3");
    let done = run(program.arg("up"));
    assert_eq!(done.code, 78, "{done:?}");
    assert!(done.stderr.contains("exit status: 3"), "{done:?}");
    assert!(done.stderr.contains("the disk is full"), "{done:?}");
    assert!(done.stderr.contains("hint: its log is "), "{done:?}");
}

#[test]
fn flags_for_the_daemon_and_the_socket_reach_it() {
    let folder = tempfile::tempdir().unwrap();
    let mut program = beside_daemon(folder.path(), r#"echo "$@"; exit 1"#);
    let up = ["up", "--foreground", "--socket", "/x/v1.sock", "--", "--codex-home", "/srv/codex"];
    let done = run(program.args(up));
    assert_eq!(done.stdout, "--codex-home /srv/codex --socket /x/v1.sock\n", "{done:?}");
}
