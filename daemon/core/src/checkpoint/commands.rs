//! Commands that ran, each with its outcome.

use serde::{Deserialize, Serialize};

use super::output_ref::OutputRef;
use crate::rollout::output::TestCounts;
use crate::rollout::shell::Class;
use crate::{limits, text};

pub use crate::step::CommandOutcome;

/// Commands in the order of their last run.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Commands {
    list: Vec<Command>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Command {
    /// The line as it was run, redacted.
    pub text: String,
    /// Last line that ran it or answered it.
    pub seq: u64,
    /// Outcome of its last run.
    pub outcome: CommandOutcome,
    pub runs: u32,
    /// Test counts of its last run.
    pub tests: Option<TestCounts>,
    /// Output of its last run.
    pub printed: Option<OutputRef>,
    /// It only inspects files, which the file list also shows.
    pub is_look: bool,
    /// It checks the work: a test, a build, a linter.
    pub is_check: bool,
}

impl Commands {
    pub fn run(&mut self, seq: u64, redacted: &str, is_look: bool) {
        let text = text::cut_middle(redacted.trim(), limits::COMMAND_BYTES).into_owned();
        let before = self.list.iter().position(|command| command.text == text);
        let runs = before.map_or(0, |at| self.list.remove(at).runs);
        self.list.push(Command {
            text,
            seq,
            outcome: CommandOutcome::Unknown,
            runs: runs.saturating_add(1),
            tests: None,
            printed: None,
            is_look,
            is_check: Class::of(redacted).is_check(),
        });
        if self.list.len() > limits::COMMANDS {
            // Evict inspections first.
            let oldest_look = self.list.iter().position(|command| command.is_look);
            self.list.remove(oldest_look.unwrap_or(0));
        }
    }

    /// Records the outcome of the run at `seq`.
    pub fn end(
        &mut self,
        seq: u64,
        outcome: CommandOutcome,
        tests: Option<TestCounts>,
    ) -> Option<&Command> {
        let command = self.list.iter_mut().rev().find(|command| command.seq == seq)?;
        command.outcome = outcome;
        command.tests = tests;
        Some(command)
    }

    /// Records the output of the run at `seq`.
    pub fn print(&mut self, seq: u64, printed: OutputRef) {
        if let Some(command) = self.list.iter_mut().rev().find(|command| command.seq == seq) {
            command.printed = Some(printed);
        }
    }

    /// All commands, newest run first.
    pub fn newest(&self) -> impl Iterator<Item = &Command> {
        self.list.iter().rev()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rerun_moves_to_the_front_and_drops_its_old_outcome() {
        let mut commands = Commands::default();
        commands.run(1, "cargo test", false);
        commands.end(1, CommandOutcome::Exit(101), None);
        commands.run(2, "ls", true);
        commands.run(3, "cargo test", false);
        let newest = commands.newest().next().cloned();
        assert_eq!(
            newest.map(|c| (c.text, c.runs, c.outcome)),
            Some(("cargo test".into(), 2, CommandOutcome::Unknown))
        );
        assert_eq!(
            commands.end(3, CommandOutcome::Exit(0), None).map(|c| c.outcome),
            Some(CommandOutcome::Exit(0))
        );
        assert!(commands.end(1, CommandOutcome::Exit(0), None).is_none());
    }

    #[test]
    fn inspections_are_evicted_first() {
        let mut commands = Commands::default();
        commands.run(0, "make", false);
        for seq in 1..1_000 {
            commands.run(seq, &format!("cat {seq}"), true);
        }
        assert_eq!(commands.newest().count(), limits::COMMANDS);
        assert!(commands.newest().any(|command| command.text == "make"));
    }

    #[test]
    fn an_output_belongs_to_the_run_on_its_line() {
        let mut commands = Commands::default();
        commands.run(1, "make", false);
        commands.run(2, "ls", true);
        commands.run(3, "cargo test", false);
        commands.print(2, OutputRef { seq: 4, tokens: 9 });
        let printed: Vec<_> = commands.newest().map(|it| it.printed.map(|it| it.seq)).collect();
        assert_eq!(printed, [None, Some(4), None]);
    }
}
