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
    pub chain: Chain<'a>,
    pub program: &'a str,
    pub is_look: bool,
    pub class: Class,
    pub outcome: CommandOutcome,
    pub counts: Option<TestCounts>,
    pub printed: &'a str,
    /// The folder it ran in, if outside the thread's tree.
    pub place: &'a str,
}

/// The purpose of a line's first command: a successful `git add` does not fix a failed `git push`.
pub(super) fn purpose(line: &str) -> Vec<String> {
    let commands = shell::commands(line);
    let words = commands.first().map(shell::purpose).unwrap_or_default();
    words.into_iter().map(str::to_owned).collect()
}

/// Whether a line runs a git subcommand, with any options before it.
pub(super) fn has_git(line: &str, verb: &str) -> bool {
    line.contains("git")
        && line.contains(verb)
        && shell::commands(line).iter().any(|command| shell::purpose(command) == ["git", verb])
}
