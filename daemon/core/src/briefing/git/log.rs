//! Lists of commits that git printed.

use crate::rollout::shell;

/// Whether a line of commands lists commits: the offsets that `od` prints look like ids.
pub(super) fn prints_log(script: &str) -> bool {
    let names = |words: &&str| script.contains(*words);
    ["git log", "git show", "git reflog", "git rev-list", "git cherry", "--oneline"]
        .iter()
        .any(names)
}

/// The words after each `git log`, as a shell reads them.
fn logs(script: &str) -> impl DoubleEndedIterator<Item = Vec<String>> {
    let commands = shell::commands(script).into_iter().map(|command| command.words);
    commands.filter(|words| words.starts_with(&["git".into(), "log".into()])).map(|mut words| {
        words.drain(..2);
        words
    })
}

/// Whether a log starts with the checked-out commit: it names no file, branch or author.
pub(super) fn lists_all(script: &str) -> bool {
    logs(script).next_back().is_some_and(|words| {
        words.iter().all(|word| {
            let count = word.strip_prefix("--max-count=").or_else(|| word.strip_prefix("-n"));
            let is_count = |word: &str| word.bytes().all(|b| b.is_ascii_digit() || b == b'-');
            is_count(count.unwrap_or(word)) || word.ends_with("..HEAD") || is_of_form(word)
        })
    })
}

/// Whether an option only says how each commit is printed, with its id first.
fn is_of_form(word: &str) -> bool {
    let form = word.strip_prefix("--format=").or_else(|| word.strip_prefix("--pretty="));
    let has_id = |form: &str| {
        let form = form.trim_start_matches('t').trim_start_matches("format:");
        form == "oneline" || form.trim_start_matches("%C(auto)").starts_with("%h ")
    };
    form.is_some_and(has_id)
        || ["--oneline", "--decorate", "--graph", "HEAD", "--no-color", "--abbrev-commit"]
            .contains(&word)
}

/// Whether a log names a branch, a file or a person: something other than the checked-out commits.
pub(super) fn names_another(script: &str, branch: Option<&str>) -> bool {
    logs(script).any(|words| {
        words.iter().any(|word| {
            let is_number = word.bytes().all(|byte| byte.is_ascii_digit());
            let is_here = word.ends_with("HEAD") || Some(word.as_str()) == branch;
            !word.starts_with('-') && !is_number && !is_here
        })
    })
}

/// Id and subject of `[main 1926682b] feat: …` or `1926682b feat: …`.
pub(super) fn commit_of(line: &str) -> Option<(&str, &str)> {
    match line.strip_prefix('[') {
        Some(rest) => {
            let (place, subject) = rest.split_once("] ")?;
            Some((place.rsplit(' ').next()?, subject))
        }
        None => is_log_line(line).then(|| line.split_once(' ')).flatten(),
    }
}

/// `1926682b feat: …`
pub(in crate::briefing) fn is_log_line(line: &str) -> bool {
    let Some((id, words)) = line.split_once(' ') else { return false };
    (7..=12).contains(&id.len())
        && id.bytes().all(|byte| byte.is_ascii_hexdigit())
        && words.len() > 8
}
