//! The plan of an installation.

use std::process::Command;

use serde::Serialize;

use super::change::Change;
use crate::failure::{CONFIG, Failure};
use crate::style::Style;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Direction {
    Install,
    Uninstall,
}

/// Files to change and programs to run.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) direction: Direction,
    /// Files that the programs in `first` need.
    pub(super) prepared: Vec<Change>,
    /// Programs to run before the other changes.
    pub(super) first: Vec<Vec<String>>,
    pub(super) changes: Vec<Change>,
    /// Programs to run after the changes.
    pub(super) last: Vec<Vec<String>>,
    /// Report a failing program and continue.
    pub(super) is_forgiving: bool,
    /// Shown at the end.
    pub(super) notes: Vec<String>,
    /// Shown before asking for confirmation.
    pub(super) warnings: Vec<String>,
}

impl Plan {
    pub(super) fn new(direction: Direction) -> Self {
        let (prepared, first, changes) = (Vec::new(), Vec::new(), Vec::new());
        let (last, notes, warnings) = (Vec::new(), Vec::new(), Vec::new());
        Self { direction, prepared, first, changes, last, is_forgiving: false, notes, warnings }
    }

    pub(super) fn is_empty(&self) -> bool {
        let has_commands = !self.first.is_empty() || !self.last.is_empty();
        !has_commands && self.prepared.is_empty() && self.changes.is_empty()
    }

    /// Adds a change, unless it has no effect.
    pub(super) fn change(&mut self, change: Change) {
        self.changes.extend(change.is_effective().then_some(change));
    }

    /// Adds a change that precedes all others, unless it has no effect.
    pub(super) fn prepare(&mut self, change: Change) {
        self.prepared.extend(change.is_effective().then_some(change));
    }

    /// Carries it out in order, up to the first failure; returns notes on skipped programs.
    pub(super) fn carry_out(&self) -> Result<Vec<String>, Failure> {
        self.prepared.iter().try_for_each(Change::make)?;
        let mut skipped = self.run_all(&self.first)?;
        self.changes.iter().try_for_each(Change::make)?;
        skipped.extend(self.run_all(&self.last)?);
        Ok(skipped)
    }

    fn run_all(&self, commands: &[Vec<String>]) -> Result<Vec<String>, Failure> {
        let mut skipped = Vec::new();
        for command in commands {
            match run(command) {
                Err(failure) if self.is_forgiving => {
                    skipped.push(format!("note: {}", failure.message()));
                }
                outcome => outcome?,
            }
        }
        Ok(skipped)
    }

    /// The text to print at the end.
    pub(super) fn outcome(&self, skipped: &[String], style: &Style) -> String {
        let done = match self.direction {
            Direction::Install => "installed",
            Direction::Uninstall => "uninstalled",
        };
        let notes = self.notes.iter().chain(skipped);
        let notes: String = notes.map(|note| format!("{note}\n")).collect();
        format!("{}\n{notes}", style.good(done))
    }
}

fn run(command: &[String]) -> Result<(), Failure> {
    let line = command.join(" ");
    let [program, arguments @ ..] = command else { return Ok(()) };
    let failed = |why: String| {
        Failure::new(CONFIG, format!("`{line}` failed: {why}"))
            .with_hint("fix the cause, then run the same command again")
    };
    let output = Command::new(program).args(arguments).output();
    let output = output.map_err(|error| failed(error.to_string()))?;
    match output.status.success() {
        true => Ok(()),
        false => {
            let output = String::from_utf8_lossy(&output.stderr);
            // Node programs print their version last, so prefer a line with "error".
            let mut lines = output.trim().lines().rev();
            let last = lines.clone().next().unwrap_or("no message");
            let why = lines.find(|line| line.to_lowercase().contains("error")).unwrap_or(last);
            Err(failed(why.trim().to_owned()))
        }
    }
}
