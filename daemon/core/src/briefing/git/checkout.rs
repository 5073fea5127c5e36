//! What commands of git do to the checked-out commit and to the uncommitted files.

use super::super::finished::FinishedCommand;
use crate::rollout::shell::{self, Command};

/// The branch that a command checked out. Git's message may be on a stream that was not kept, or after a long
/// list of files.
pub(super) fn checked_out_branch<'c>(run: &FinishedCommand<'c>) -> Option<&'c str> {
    let says = |words: &str| run.printed.contains(words);
    let mut parts = shell::parts(run.command).into_iter().map(|part| part.text);
    let words = parts.find_map(|part| {
        part.strip_prefix("git checkout ").or_else(|| part.strip_prefix("git switch "))
    })?;
    let mut words = words.split_whitespace();
    match words.next()? {
        "-b" | "-B" | "-c" | "-C" => words.next(),
        // `git checkout` also accepts a file.
        name => {
            let is_branch = says("Your branch ") || says("Switched to ") || says("Already on ");
            Some(name).filter(|name| is_branch && !name.starts_with('-'))
        }
    }
}

/// Whether a command checked out another commit, as far as its words say.
pub(super) fn moves_head(run: &FinishedCommand<'_>) -> bool {
    let moves = |command: &Command| {
        let Some(words) = words_after_checkout(command) else { return false };
        // A new branch without a start begins at the same commit.
        let names = words.iter().filter(|word| !word.starts_with('-')).count();
        (names > 1 || !is_new_branch(words)) && !is_of_files(command, run.printed)
    };
    !run.outcome.is_failure()
        && !run.printed.contains("Already on ")
        && shell::commands(run.command).iter().any(moves)
}

/// Whether a command may commit, discard or put away changes. A checkout of a branch carries them along.
pub(super) fn drops_changes(run: &FinishedCommand<'_>) -> bool {
    let drops = |command: &Command| match shell::purpose(command).as_slice() {
        ["git", "commit" | "restore" | "clean" | "reset"] => true,
        ["git", "stash"] => !command.words.iter().any(|word| word == "list" || word == "show"),
        _ => is_of_files(command, run.printed),
    };
    shell::commands(run.command).iter().any(drops)
}

fn words_after_checkout(command: &Command) -> Option<&[String]> {
    let is_checkout = matches!(shell::purpose(command).as_slice(), ["git", "checkout" | "switch"]);
    let verb = command.words.iter().position(|word| word == "checkout" || word == "switch")?;
    is_checkout.then(|| &command.words[verb + 1..])
}

fn is_new_branch(words: &[String]) -> bool {
    words.iter().any(|word| ["-b", "-B", "-c", "-C"].contains(&word.as_str()))
}

/// Whether a checkout replaces files by those of a commit. One of a branch prints that.
fn is_of_files(command: &Command, printed: &str) -> bool {
    let Some(words) = words_after_checkout(command) else { return false };
    let has = |options: &[&str]| words.iter().any(|word| options.contains(&word.as_str()));
    let says = ["Switched to ", "Your branch ", "Already on ", "HEAD is now at "];
    has(&["--", ".", "-f", "--force", "--discard-changes", "-p", "--patch"])
        || !is_new_branch(words)
            && !command.words.iter().any(|word| word == "switch")
            && !says.iter().any(|words| printed.contains(words))
}
