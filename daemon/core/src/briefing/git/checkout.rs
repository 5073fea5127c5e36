//! What commands of git do to the checked-out commit and to the uncommitted files.

use super::super::finished::FinishedCommand;
use crate::rollout::shell::{self, Command};

/// What git prints when it checks out a branch or a commit, not files.
const CHECKED_OUT: [&str; 4] = ["Switched to ", "Your branch ", "Already on ", "HEAD is now at "];

/// The branch that a command checked out. Git's message may be on a stream that was not kept, or after a long
/// list of files.
pub(super) fn checked_out_branch<'c>(run: &FinishedCommand<'c>) -> Option<&'c str> {
    let mut parts = shell::parts(run.command).into_iter().map(|part| part.text);
    let words = parts.find_map(|part| {
        part.strip_prefix("git checkout ").or_else(|| part.strip_prefix("git switch "))
    })?;
    let mut words = words.split_whitespace().skip_while(|word| ["-q", "--quiet"].contains(word));
    match words.next()? {
        "-b" | "-B" | "-c" | "-C" => words.next(),
        // `git checkout` also accepts a file. A commit is no branch.
        name => {
            let is_branch = CHECKED_OUT[..3].iter().any(|words| run.printed.contains(words));
            Some(name).filter(|name| is_branch && !name.starts_with('-'))
        }
    }
}

/// Whether a command that succeeded checked out another commit, as far as its words say.
pub(super) fn moves_head(run: &FinishedCommand<'_>) -> bool {
    let moves = |command: &Command| {
        let Some(words) = words_after_checkout(command) else { return false };
        // A new branch without a start begins at the same commit.
        let names = words.iter().filter(|word| !word.starts_with('-')).count();
        (names > 1 || !is_new_branch(words)) && !is_of_files(command, words, run.printed)
    };
    !run.printed.contains("Already on ") && shell::commands(run.command).iter().any(moves)
}

/// Whether a command may take commits from the branch. A reset without a commit only discards changes.
pub(super) fn rewrites_commits(run: &FinishedCommand<'_>) -> bool {
    let rewrites = |command: &Command| match shell::purpose(command).as_slice() {
        ["git", "rebase"] => true,
        ["git", "reset"] => {
            let mut words = command.words.iter().skip_while(|word| *word != "reset").skip(1);
            words.any(|word| !word.starts_with('-') && word != "HEAD")
        }
        _ => false,
    };
    shell::commands(run.command).iter().any(rewrites)
}

/// Whether a command may commit, discard or put away changes. A checkout of a branch carries them along.
pub(super) fn drops_changes(run: &FinishedCommand<'_>) -> bool {
    let drops = |command: &Command| match shell::purpose(command).as_slice() {
        ["git", "commit" | "restore" | "clean" | "reset"] => true,
        ["git", "stash"] => !command.words.iter().any(|word| word == "list" || word == "show"),
        _ => words_after_checkout(command).is_some_and(|words| {
            has(words, &["-f", "--force", "--discard-changes"])
                || is_of_files(command, words, run.printed)
        }),
    };
    shell::commands(run.command).iter().any(drops)
}

fn words_after_checkout(command: &Command) -> Option<&[String]> {
    let is_checkout = matches!(shell::purpose(command).as_slice(), ["git", "checkout" | "switch"]);
    let verb = command.words.iter().position(|word| word == "checkout" || word == "switch")?;
    is_checkout.then(|| &command.words[verb + 1..])
}

fn has(words: &[String], options: &[&str]) -> bool {
    words.iter().any(|word| options.contains(&word.as_str()))
}

fn is_new_branch(words: &[String]) -> bool {
    has(words, &["-b", "-B", "-c", "-C"])
}

/// Whether a checkout, with these words after it, replaces files by those of a commit.
fn is_of_files(command: &Command, words: &[String], printed: &str) -> bool {
    has(words, &["--", ".", "-p", "--patch"])
        || !is_new_branch(words)
            && !command.words.iter().any(|word| word == "switch")
            && !CHECKED_OUT.iter().any(|words| printed.contains(words))
}
