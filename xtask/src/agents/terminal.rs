//! An agent on a terminal of its own, which `script` of util-linux gives it.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, ensure};

use crate::daemon;
use crate::process::{Deadline, POLL};

/// Gone with its program.
pub(super) struct Terminal {
    child: Child,
    log: PathBuf,
}

impl Terminal {
    /// Runs what `script` is told to; the screen is kept beside `home`.
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

    /// The end of what stood on its screen.
    pub(super) fn shown(&self) -> String {
        let shown = fs::read(&self.log).unwrap_or_default();
        let from = shown.len().saturating_sub(2_000);
        String::from_utf8_lossy(&shown[from..]).escape_debug().to_string()
    }

    /// How often these words were on its screen, as far as no escape divides them.
    pub(super) fn count(&self, words: &str) -> anyhow::Result<usize> {
        let shown = fs::read(&self.log)?;
        Ok(String::from_utf8_lossy(&shown).matches(words).count())
    }

    /// Types a line as a person does.
    pub(super) fn enter(&mut self, line: &str) -> anyhow::Result<()> {
        let keys = self.child.stdin.as_mut().context("no keys")?;
        Ok(write!(keys, "{line}\r")?)
    }

    /// Leaves by a line, so that all is written; a program that does not end is ended.
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
        // Ended already, where all went well.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
