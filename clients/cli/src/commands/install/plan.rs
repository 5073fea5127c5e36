//! What an installation does, before it is done.

use std::process::Command;

use serde::Serialize;

use super::change::Change;
use crate::failure::{A_PERSON, Failure};
use crate::style::Style;

/// In or out.
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
    /// Programs that are run before the files are changed.
    pub(super) first: Vec<Vec<String>>,
    /// Only files that do change.
    pub(super) changes: Vec<Change>,
    /// Programs that are run after it.
    pub(super) last: Vec<Vec<String>>,
    /// What a person should know or do.
    pub(super) notes: Vec<String>,
}

impl Plan {
    pub(super) fn new(direction: Direction) -> Self {
        let (first, changes, last, notes) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Self { direction, first, changes, last, notes }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.first.is_empty() && self.changes.is_empty() && self.last.is_empty()
    }

    /// Adds a change, unless it is none.
    pub(super) fn change(&mut self, change: Change) {
        self.changes.extend(change.is_one().then_some(change));
    }

    /// Does it, in order, up to the first fault.
    pub(super) fn carry_out(&self) -> Result<(), Failure> {
        self.first.iter().try_for_each(|command| run(command))?;
        self.changes.iter().try_for_each(Change::make)?;
        self.last.iter().try_for_each(|command| run(command))
    }

    /// What to say when it is done.
    pub(super) fn words(&self, direction: Direction, style: &Style) -> String {
        let done = match direction {
            Direction::Install => "installed",
            Direction::Uninstall => "uninstalled",
        };
        let notes: String = self.notes.iter().map(|note| format!("{note}\n")).collect();
        format!("{}\n{notes}", style.good(done))
    }
}

fn run(command: &[String]) -> Result<(), Failure> {
    let line = command.join(" ");
    let [program, arguments @ ..] = command else { return Ok(()) };
    let failed = |why: String| {
        Failure::new(A_PERSON, format!("`{line}` failed: {why}"))
            .with_hint("the files are written; run it yourself once its cause is mended")
    };
    let output = Command::new(program).args(arguments).output();
    let output = output.map_err(|error| failed(error.to_string()))?;
    match output.status.success() {
        true => Ok(()),
        false => {
            let said = String::from_utf8_lossy(&output.stderr);
            Err(failed(said.trim().lines().last().unwrap_or("it said nothing").to_owned()))
        }
    }
}
