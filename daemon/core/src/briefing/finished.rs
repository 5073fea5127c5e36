//! A finished command, as the briefing reads it.

use super::chain::Chain;
use crate::rollout::output::TestCounts;
use crate::rollout::shell::{self, Class};
use crate::step::CommandOutcome;

/// A finished command.
#[derive(Debug)]
pub(super) struct FinishedCommand<'a> {
    pub seq: u64,
    pub turn: u32,
    /// One line, redacted, without a leading `cd`.
    pub command: &'a str,
    /// The same with the options between `git` and its subcommand.
    pub typed: &'a str,
    pub chain: Chain<'a>,
    pub program: &'a str,
    pub is_look: bool,
    /// It ran outside the agent's sandbox.
    pub is_unconfined: bool,
    pub class: Class,
    pub outcome: CommandOutcome,
    pub counts: Option<TestCounts>,
    pub printed: &'a str,
    /// The folder it ran in, if outside the thread's tree.
    pub place: &'a str,
}

#[cfg(test)]
impl<'a> FinishedCommand<'a> {
    /// A command of the first turn that ended so.
    pub(super) fn example(command: &'a str, code: i64, printed: &'a str) -> Self {
        Self {
            seq: 1,
            turn: 1,
            command,
            typed: command,
            chain: Chain::of(command),
            program: command.split(' ').next().unwrap_or_default(),
            is_look: false,
            is_unconfined: false,
            class: Class::of(command),
            outcome: CommandOutcome::Exit(code),
            counts: crate::rollout::output::test_counts(printed),
            printed,
            place: "",
        }
    }
}

/// The purpose of a line's first command: a successful `git add` does not fix a failed `git push`.
pub(super) fn purpose(line: &str) -> Vec<String> {
    let commands = shell::commands(line);
    let words = commands.first().map(shell::purpose).unwrap_or_default();
    words.into_iter().map(str::to_owned).collect()
}

/// Whether a line's first command does what that of the failed line should have done: its options may differ,
/// and it may name more or fewer targets, but no others.
pub(super) fn is_same_work(failed: &str, line: &str) -> bool {
    let (failed, line) = (shell::commands(failed), shell::commands(line));
    let (Some(failed), Some(line)) = (failed.first(), line.first()) else { return false };
    let (before, after) = (targets(failed), targets(line));
    let has_all = |these: &[&str], of: &[&str]| of.iter().all(|it| these.contains(it));
    let purpose = shell::purpose(failed);
    // Without a subcommand, only the targets say what a program does.
    let is_near = purpose.len() > 1 && (has_all(&before, &after) || has_all(&after, &before));
    purpose == shell::purpose(line) && (is_near || before == after)
}

/// The words of a command that are neither options nor may be values of options.
fn targets(command: &shell::Command) -> Vec<&str> {
    let words = command.words.iter().map(String::as_str);
    let before = std::iter::once("").chain(words.clone());
    let is_git = command.words.first().is_some_and(|program| program == "git");
    let plain = words.zip(before).filter(|(word, before)| {
        // An inline program is what the command does.
        let is_program = matches!(*before, "-c" | "-e") && !is_git;
        let is_value = before.starts_with('-') && !before.contains('=') && !is_program;
        // The end of a command that was cut.
        !is_value && !word.starts_with('-') && !word.ends_with('…')
    });
    plain.map(|(word, _)| word).collect()
}

/// Whether a line runs a git subcommand, with any options before it, and not only to see what it would do.
pub(super) fn has_git(line: &str, verb: &str) -> bool {
    let is_it = |command: &shell::Command| {
        let mut options = command.words.iter().map(String::as_str);
        let is_rehearsal = options.any(|word| match word {
            "--dry-run" | "--help" | "-h" => true,
            // For a commit it skips the hooks.
            "-n" => verb == "push",
            _ => false,
        });
        !is_rehearsal && shell::purpose(command) == ["git", verb]
    };
    line.contains("git") && line.contains(verb) && shell::commands(line).iter().any(is_it)
}
