//! Recognizes the commands of a script that make a commit or change a pull request.
//!
//! A word inside an `echo`, a comment, a quoted message or a heredoc does not count: the script is split as a
//! shell would split it, and only the program and its subcommand matter.

use serde::{Deserialize, Serialize};

use super::programs::nested_script;
use super::{Command, commands};

/// Effects of a call on the history of the work, if it succeeds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CommandEffects {
    pub commits: bool,
    /// Opens, merges, closes or reviews a pull request.
    pub moves_pull_request: bool,
}

/// Nested scripts to follow.
const DEPTH_MAX: u32 = 3;

/// Options before a program's subcommand that take a value.
const VALUED: &[&str] = &[
    "-C",
    "-c",
    "--git-dir",
    "--work-tree",
    "--namespace",
    "-R",
    "--repo",
    "--cwd",
    "--repository",
];

impl CommandEffects {
    /// The effects of a script's commands, and of the scripts inside it.
    pub fn of(commands: &[Command]) -> Self {
        let mut effects = Self::default();
        effects.collect(commands, 0);
        effects
    }

    fn collect(&mut self, within: &[Command], depth: u32) {
        for command in within {
            let words: Vec<&str> = command.words.iter().map(String::as_str).collect();
            let Some((program, arguments)) = words.split_first() else { continue };
            match nested_script(&words) {
                Some(inner) if depth < DEPTH_MAX => self.collect(&commands(&inner), depth + 1),
                Some(_) => {}
                None => {
                    let program = program.trim_start_matches('`');
                    self.add(program.rsplit('/').next().unwrap_or(program), arguments);
                }
            }
        }
    }

    fn add(&mut self, program: &str, arguments: &[&str]) {
        if arguments.iter().any(|word| matches!(*word, "--dry-run" | "--help" | "-h")) {
            return;
        }
        let mut rest = operands(arguments);
        let Some(verb) = rest.next() else { return };
        match (program, verb) {
            ("git" | "jj" | "hg" | "sl" | "gt", "commit") | ("hg" | "sl", "ci") => {
                self.commits = true;
            }
            ("gh", "pr") => {
                const ACTS: &[&str] =
                    &["create", "new", "close", "merge", "reopen", "review", "ready"];
                self.moves_pull_request |= rest.next().is_some_and(|act| ACTS.contains(&act));
            }
            ("gt", "submit" | "ss" | "s" | "create" | "review" | "land" | "merge") => {
                self.moves_pull_request = true;
            }
            _ => {}
        }
    }
}

/// The purpose of a command: its program and its first words that are not options, `git push`.
pub fn purpose(command: &Command) -> Vec<&str> {
    let Some((program, arguments)) = command.words.split_first() else { return Vec::new() };
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    [program.as_str()].into_iter().chain(operands(&arguments).take(1)).collect()
}

/// Whether the output says that no commit was made although the script succeeded.
pub fn refuses_commit(output: &str) -> bool {
    const REFUSALS: &[&str] = &[
        "nothing to commit",
        "nothing added to commit",
        "no changes added to commit",
        "Aborting commit",
        "fatal: ",
    ];
    REFUSALS.iter().any(|refusal| output.contains(refusal))
}

/// Whether git itself confirms a commit: `[branch 1a2b3c4] message`. Counts even if a later command of the
/// script failed.
pub fn confirms_commit(output: &str) -> bool {
    let begins_line = |at: &usize| *at == 0 || output.as_bytes()[*at - 1] == b'\n';
    memchr::memchr_iter(b'[', output.as_bytes()).filter(begins_line).any(|at| {
        let line = output[at + 1..].lines().next().unwrap_or_default();
        let head = line.split_once("] ").map(|(head, _)| head);
        let last = head.and_then(|head| head.rsplit_once(' ')).map(|(_, last)| last);
        last.is_some_and(|id| id.len() >= 7 && id.bytes().all(|b| b.is_ascii_hexdigit()))
    })
}

/// The words that are neither options nor their values.
fn operands<'a>(arguments: &[&'a str]) -> impl Iterator<Item = &'a str> {
    let mut is_value = false;
    arguments.iter().copied().filter(move |word| {
        if std::mem::take(&mut is_value) {
            return false;
        }
        is_value = VALUED.contains(word);
        !word.starts_with('-')
    })
}
