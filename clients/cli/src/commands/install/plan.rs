//! What an installation does, before it is done.

use std::process::Command;

use serde::Serialize;

use super::change::Change;
use crate::failure::{A_PERSON, Failure};
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
    /// Files that programs which are run first have to find.
    pub(super) prepared: Vec<Change>,
    /// Programs that are run before the other files are changed.
    pub(super) first: Vec<Vec<String>>,
    /// Only files that do change.
    pub(super) changes: Vec<Change>,
    /// Programs that are run after it.
    pub(super) last: Vec<Vec<String>>,
    /// A program that fails is told of and passed over.
    pub(super) is_forgiving: bool,
    /// What a person should know or do.
    pub(super) notes: Vec<String>,
    /// What a person should know before they agree.
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

    /// Adds a change, unless it is none.
    pub(super) fn change(&mut self, change: Change) {
        self.changes.extend(change.is_one().then_some(change));
    }

    /// Adds a change that comes before all others, unless it is none.
    pub(super) fn prepare(&mut self, change: Change) {
        self.prepared.extend(change.is_one().then_some(change));
    }

    /// Does it, in order, up to the first fault; what was passed over.
    pub(super) fn carry_out(&self) -> Result<Vec<String>, Failure> {
        self.prepared.iter().try_for_each(Change::make)?;
        let mut passed_over = self.run_all(&self.first)?;
        self.changes.iter().try_for_each(Change::make)?;
        passed_over.extend(self.run_all(&self.last)?);
        Ok(passed_over)
    }

    fn run_all(&self, commands: &[Vec<String>]) -> Result<Vec<String>, Failure> {
        let mut passed_over = Vec::new();
        for command in commands {
            match run(command) {
                Err(failure) if self.is_forgiving => {
                    passed_over.push(format!("note: {}", failure.message()));
                }
                outcome => outcome?,
            }
        }
        Ok(passed_over)
    }

    /// What to say when it is done.
    pub(super) fn words(&self, passed_over: &[String], style: &Style) -> String {
        let done = match self.direction {
            Direction::Install => "installed",
            Direction::Uninstall => "uninstalled",
        };
        let notes = self.notes.iter().chain(passed_over);
        let notes: String = notes.map(|note| format!("{note}\n")).collect();
        format!("{}\n{notes}", style.good(done))
    }
}

fn run(command: &[String]) -> Result<(), Failure> {
    let line = command.join(" ");
    let [program, arguments @ ..] = command else { return Ok(()) };
    let failed = |why: String| {
        Failure::new(A_PERSON, format!("`{line}` failed: {why}"))
            .with_hint("once its cause is mended, run the same command again")
    };
    let output = Command::new(program).args(arguments).output();
    let output = output.map_err(|error| failed(error.to_string()))?;
    match output.status.success() {
        true => Ok(()),
        false => {
            let said = String::from_utf8_lossy(&output.stderr);
            // Programs on Node end their words with their version.
            let mut lines = said.trim().lines().rev();
            let last = lines.clone().next().unwrap_or("it said nothing");
            let why = lines.find(|line| line.to_lowercase().contains("error")).unwrap_or(last);
            Err(failed(why.trim().to_owned()))
        }
    }
}
