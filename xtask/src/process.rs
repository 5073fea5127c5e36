//! Running other programs.

use std::process::Command;

use anyhow::{Context as _, ensure};

/// Runs a program with our own output and fails where it fails.
pub(crate) fn check(command: &mut Command) -> anyhow::Result<()> {
    let status = command.status().with_context(|| format!("cannot run {}", line(command)))?;
    ensure!(status.success(), "{} ended with {status}", line(command));
    Ok(())
}

/// Whether a program is there and answers.
pub(crate) fn is_present(command: &mut Command) -> bool {
    command.output().is_ok_and(|output| output.status.success())
}

/// The command line as a person would type it.
pub(crate) fn line(command: &Command) -> String {
    let program = std::path::Path::new(command.get_program());
    let name = program.file_name().unwrap_or(program.as_os_str());
    let mut line = name.to_string_lossy().into_owned();
    for argument in command.get_args() {
        line.push(' ');
        line.push_str(&argument.to_string_lossy());
    }
    line
}
