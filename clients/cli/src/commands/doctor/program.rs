//! The daemon's program: whether it is installed and would start with the configuration as it is now.

use std::path::Path;
use std::process::{Command, Stdio};

use super::check::Check;
use crate::commands::up;

pub(super) fn check() -> Check {
    match up::find_program() {
        Ok(program) => configuration(&program),
        Err(missing) => Check::fail(
            "program",
            missing.message().to_owned(),
            "cargo install --locked --path daemon/server",
        ),
    }
}

/// The same while a daemon runs, which does not need its program until the next start.
pub(super) fn check_next_start() -> Option<Check> {
    up::find_program().ok().map(|program| configuration(&program))
}

/// Asks the program: only it can read its configuration.
fn configuration(program: &Path) -> Check {
    let mut command = Command::new(program);
    let asked = command.arg("--check-config").stdin(Stdio::null()).output();
    match asked {
        Ok(answer) if answer.status.success() => {
            Check::ok("config", format!("{} accepts it", program.display()))
        }
        Ok(answer) => {
            let words = String::from_utf8_lossy(&answer.stderr);
            let words = words.lines().next().unwrap_or_default();
            let detail = words.trim_start_matches("longhauld: ").to_owned();
            Check::fail("config", detail, "fix it, then run longhauld --check-config")
        }
        Err(error) => Check::fail(
            "program",
            format!("{} cannot be run: {error}", program.display()),
            "reinstall the daemon: cargo install --locked --path daemon/server",
        ),
    }
}
