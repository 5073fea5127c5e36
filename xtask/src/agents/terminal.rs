//! Runs an agent on a pseudo-terminal, by `script` of util-linux.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, ensure};

use crate::daemon;
use crate::process::{Deadline, POLL};

/// Killed when dropped.
pub(super) struct Terminal {
    child: Child,
    log: PathBuf,
}

impl Terminal {
    /// Runs `script`; what it prints is saved beside `home`.
    pub(super) fn open(script: &mut Command, home: &Path) -> anyhow::Result<Self> {
        let log = home.with_file_name("terminal");
        let output = File::create(&log)?;
        let child = script
            .stdin(Stdio::piped())
            .stdout(output.try_clone()?)
            .stderr(output)
            .spawn()
            .context("cannot run script of util-linux, which gives a program a terminal")?;
        Ok(Self { child, log })
    }

    /// The end of what it printed.
    pub(super) fn shown(&self) -> String {
        let shown = fs::read(&self.log).unwrap_or_default();
        let from = shown.len().saturating_sub(2_000);
        String::from_utf8_lossy(&shown[from..]).escape_debug().to_string()
    }

    /// How often it printed a text, not counting those split by an escape sequence.
    pub(super) fn count(&self, text: &str) -> anyhow::Result<usize> {
        let shown = fs::read(&self.log)?;
        Ok(String::from_utf8_lossy(&shown).matches(text).count())
    }

    /// Types a line and Return.
    pub(super) fn enter(&mut self, line: &str) -> anyhow::Result<()> {
        let keys = self.child.stdin.as_mut().context("the session has no input")?;
        Ok(write!(keys, "{line}\r")?)
    }

    /// Ends the session with a command, so that it saves everything.
    pub(super) fn close(mut self, line: &str, within: Deadline) -> anyhow::Result<()> {
        self.enter(line)?;
        while self.child.try_wait()?.is_none() && !within.is_over() {
            daemon::pause(POLL);
        }
        ensure!(self.child.try_wait()?.is_some(), "the session did not end: {}", self.shown());
        Ok(())
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // Both fail if the program has already ended.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
