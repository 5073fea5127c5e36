//! Running other programs.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, ensure};

use crate::daemon;
use crate::stopwatch::Stopwatch;

/// Pause between two checks of an awaited state.
pub(crate) const POLL: Duration = Duration::from_millis(20);

#[derive(Clone, Copy)]
pub(crate) struct Deadline {
    since: Stopwatch,
    limit: Duration,
}

impl Deadline {
    pub(crate) fn after(limit: Duration) -> Self {
        Self { since: Stopwatch::start(), limit }
    }

    pub(crate) fn is_over(&self) -> bool {
        self.since.elapsed() > self.limit
    }
}

/// Runs a program with inherited output; fails if it fails.
pub(crate) fn check(command: &mut Command) -> anyhow::Result<()> {
    let status = command.status().with_context(|| format!("cannot run {}", line(command)))?;
    ensure!(status.success(), "{} ended with {status}", line(command));
    Ok(())
}

/// Whether a program is installed and runs.
pub(crate) fn is_present(command: &mut Command) -> bool {
    command.output().is_ok_and(|output| output.status.success())
}

/// The command line, to show.
pub(crate) fn line(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let name = program.file_name().unwrap_or(program.as_os_str());
    let mut line = name.to_string_lossy().into_owned();
    for argument in command.get_args() {
        line.push(' ');
        line.push_str(&argument.to_string_lossy());
    }
    line
}

/// Runs a program until it ends or the deadline passes; returns whether it succeeded and its output.
pub(crate) fn finish(
    command: &mut Command,
    log: &Path,
    deadline: Deadline,
) -> anyhow::Result<(bool, String)> {
    let output = File::create(log)?;
    let mut child = command
        .stdin(Stdio::null())
        .stdout(output.try_clone()?)
        .stderr(output)
        .spawn()
        .with_context(|| format!("cannot run {}", line(command)))?;
    let is_done = loop {
        match child.try_wait()? {
            Some(status) => break status.success(),
            None if deadline.is_over() => {
                child.kill()?;
                child.wait()?;
                break false;
            }
            None => daemon::pause(POLL),
        }
    };
    let output_bytes = fs::read(log).unwrap_or_default();
    Ok((is_done, String::from_utf8_lossy(&output_bytes).into_owned()))
}
