//! Commands as evidence: checks with their results, failures with the commands that fixed them, the output of
//! git.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::finished::{FinishedCommand, has_git, is_same_work, purpose};
use super::git::GitState;
use super::outcome;
use crate::bounded::push_bounded;
use crate::rollout::output;
use crate::rollout::shell::{self, Class};
use crate::step::CommandOutcome;
use crate::text;

/// Program name recorded for a patch.
pub(super) const EDIT: &str = "edit";

/// Exit code of a shell that does not find the program.
const NOT_FOUND: i64 = 127;

/// Maximum checks and failures to keep.
const CHECKS_MAX: usize = 16;
const FAILURES_MAX: usize = 12;

/// A test, build or lint run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Check {
    pub seq: u64,
    pub turn: u32,
    pub is_test: bool,
    pub outcome: CommandOutcome,
    pub command: String,
    /// Counts and the most informative lines of its output.
    pub result: String,
}

/// A command that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FailedCommand {
    pub seq: u64,
    pub turn: u32,
    pub program: String,
    pub text: String,
    /// The next successful command of the same program and purpose.
    pub repair: Option<String>,
    /// The program succeeded later, for another purpose.
    pub is_usable: bool,
    /// It failed in the sandbox, and what succeeded later did so outside of it.
    pub needs_no_sandbox: bool,
    /// It failed outside the sandbox.
    pub is_unconfined: bool,
    /// The line has several commands: which of them failed may be unknown.
    pub is_compound: bool,
}

/// A failure of a command or an edit, as `checkpoint/get` tells it.
#[derive(Debug, Serialize)]
pub struct Failure<'a> {
    pub seq: u64,
    /// The command, its exit status and the most informative lines of its output.
    pub text: &'a str,
    /// Whether the program has succeeded since.
    pub resolved: bool,
}

/// Which kinds of commands were seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Census {
    pub tests: bool,
    pub builds: bool,
    pub lints: bool,
    pub commits: bool,
    pub pushes: bool,
    pub failed_pushes: bool,
    /// Work was handed over to other agents.
    pub agents: bool,
    /// An inline program wrote files; which ones is unknown.
    pub programs: bool,
}

impl FailedCommand {
    /// Whether a success of this run would say more than is known. `python3` succeeding fixes `python` failing.
    fn awaits(&self, run: &FinishedCommand<'_>) -> bool {
        let is_open = self.repair.is_none() || self.needs_no_sandbox;
        is_open && versionless(&self.program) == versionless(run.program)
    }

    pub(super) fn summary(&self) -> Failure<'_> {
        let resolved = self.repair.is_some() || self.is_usable;
        Failure { seq: self.seq, text: &self.text, resolved }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Commands {
    pub checks: VecDeque<Check>,
    pub failures: VecDeque<FailedCommand>,
    pub git: GitState,
    pub census: Census,
    /// Files that inline programs which wrote some name, newest last.
    pub named_by_scripts: VecDeque<String>,
}

impl Commands {
    pub(super) fn finish(&mut self, run: &FinishedCommand<'_>) {
        self.recognize(run);
        if run.class.is_check() {
            self.check(run);
        }
        // A program that is missing is missed by more than one look.
        let is_missing = run.outcome == CommandOutcome::Exit(NOT_FOUND);
        if run.outcome.is_failure() && (!run.is_look || is_missing) {
            self.fail(run);
        } else if self.failures.iter().any(|it| it.awaits(run)) && outcome::is_success(run) {
            self.repair(run);
        }
        match run.outcome.is_failure() {
            false => self.git.read(run),
            true => self.git.read_failed(run),
        }
    }

    fn check(&mut self, run: &FinishedCommand<'_>) {
        let part = run.chain.checking_part();
        if run.outcome == CommandOutcome::Exit(0) {
            let others = run.chain.checking_parts().into_iter().filter(|it| it.0 != part.text);
            for other in others {
                self.note(run, other, run.outcome, "exit 0".to_owned());
            }
        }
        let is_certain = part.owns_exit_code || run.outcome.is_failure();
        let outcome = if is_certain { run.outcome } else { CommandOutcome::Unknown };
        self.note(run, (part.text, part.class), outcome, outcome::result(run));
    }

    fn note(
        &mut self,
        run: &FinishedCommand<'_>,
        (command, class): (&str, Class),
        outcome: CommandOutcome,
        result: String,
    ) {
        let is_test = class == Class::Test;
        let command = text::cut_words(command, 150).into_owned();
        self.checks.retain(|known| known.command != command);
        let check = Check { seq: run.seq, turn: run.turn, is_test, outcome, command, result };
        push_bounded(&mut self.checks, check, CHECKS_MAX);
    }

    /// Whether a later check of the same program and purpose passed.
    pub(super) fn has_passed_after(&self, check: &Check) -> bool {
        self.checks.iter().any(|later| {
            later.seq > check.seq
                && later.outcome == CommandOutcome::Exit(0)
                && purpose(&later.command) == purpose(&check.command)
        })
    }

    fn recognize(&mut self, run: &FinishedCommand<'_>) {
        let census = &mut self.census;
        let failed = run.outcome.is_failure();
        for class in run.chain.classes_run(failed).chain([run.class]) {
            match class {
                Class::Test => census.tests = true,
                Class::Build => census.builds = true,
                Class::Lint => census.lints = true,
                _ => {}
            }
        }
        let commits = !run.is_look && shell::confirms_commit(run.printed);
        census.commits |= commits || !failed && has_git(run.command, "commit");
        let pushes = has_git(run.command, "push")
            || run.command.contains("gh repo create") && run.command.contains(" --push");
        census.pushes |= !failed && pushes;
        census.failed_pushes |= failed && pushes;
    }

    fn fail(&mut self, run: &FinishedCommand<'_>) {
        let lines = output::failure_lines(run.printed, 2).join(" | ");
        let lines = text::one_line_cut(&lines, 240);
        let command = text::cut_words(run.command, 120);
        let lines = if lines.is_empty() { lines } else { format!(": {lines}") };
        let text = format!("{command} → {}{lines}", outcome::words(run.outcome));
        let program = run.program.to_owned();
        self.failures.retain(|known| known.text != text);
        let failure = FailedCommand {
            seq: run.seq,
            turn: run.turn,
            program,
            text,
            repair: None,
            is_usable: false,
            needs_no_sandbox: false,
            is_unconfined: run.is_unconfined,
            is_compound: run.chain.is_compound(),
        };
        if self.failures.len() >= FAILURES_MAX {
            // Failures that have no specific fix are evicted first.
            let passed = |known: &FailedCommand| known.is_usable && known.repair.is_none();
            let index = self.failures.iter().position(passed).unwrap_or_default();
            self.failures.remove(index);
        }
        self.failures.push_back(failure);
    }

    /// Records an edit: marks failed edits of the same files as fixed.
    pub(super) fn edited(&mut self, seq: u64, paths: &[String]) {
        let open = self.failures.iter_mut().filter(|f| f.program == EDIT && f.repair.is_none());
        for failure in open {
            if paths.iter().any(|path| failure.text.contains(path)) {
                failure.repair = Some(format!("edited later, at #{seq}"));
            }
        }
    }

    /// A success after a failure shows how the program is used here.
    fn repair(&mut self, run: &FinishedCommand<'_>) {
        for failure in self.failures.iter_mut().filter(|failure| failure.awaits(run)) {
            let failed = failure.text.split(" → ").next().unwrap_or_default();
            let is_other = failure.program != run.program;
            let is_repair = is_other || is_same_work(failed, run.command);
            let is_outside = run.is_unconfined && !failure.is_unconfined;
            // What is known already says more: another purpose less than the same one, outside the sandbox less
            // than inside.
            let says_less = match failure.repair {
                Some(_) => is_outside || !is_repair,
                None => is_outside && !is_repair && failure.is_usable,
            };
            if says_less {
                continue;
            }
            failure.needs_no_sandbox = is_outside;
            if is_repair {
                failure.repair = Some(text::cut_words(run.typed, 120).into_owned());
            }
            failure.is_usable = true;
        }
    }
}

/// The name of a program without its version: `python` of `python3`.
fn versionless(name: &str) -> &str {
    name.trim_end_matches(|c: char| !c.is_alphabetic())
}

/// Whether one subcommand of a program says nothing about another: `git status` works where `git commit` fails.
pub(super) fn has_verbs(program: &str) -> bool {
    ["git", "jj"].contains(&program)
}

#[cfg(test)]
mod tests;
