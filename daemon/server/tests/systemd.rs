//! The units under a real user manager: activation, readiness, watchdog, restart, stop.
//!
//! `systemd/test/run.sh` does the work and can also be run by hand. It needs root (to set up a manager in namespaces) and
//! systemd; without them it prints `not run: …` and the reason.

use std::path::Path;
use std::process::Command;

/// The exit code for a missing requirement of the test.
const NOT_RUN: i32 = 77;

#[test]
fn the_units_work_under_a_real_user_manager() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../systemd/test/run.sh");
    let output =
        Command::new("bash").arg(script).arg(env!("CARGO_BIN_EXE_longhauld")).output().unwrap();
    let text = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    match output.status.code() {
        Some(0) => {}
        Some(NOT_RUN) => eprintln!("{text}"),
        code => panic!("exit code {code:?}\n{text}"),
    }
}
