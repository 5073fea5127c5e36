//! Lists of commits that git printed.

use crate::rollout::shell;

/// Whether a line of commands lists commits: the offsets that `od` prints look like ids.
pub(super) fn prints_log(script: &str) -> bool {
    let names = |words: &&str| script.contains(*words);
    ["git log", "git show", "git reflog", "git rev-list", "git cherry", "--oneline"]
        .iter()
        .any(names)
}

/// Whether a log starts with the checked-out commit: it names no file, branch or author.
pub(super) fn lists_all(script: &str) -> bool {
    let parts = shell::parts(script).into_iter().map(|part| part.text);
    let mut logs = parts.filter_map(|part| part.strip_prefix("git log"));
    logs.next_back().is_some_and(|options| {
        options.split_whitespace().all(|word| {
            let count = word.strip_prefix("--max-count=").or_else(|| word.strip_prefix("-n"));
            let is_count = |word: &str| word.bytes().all(|b| b.is_ascii_digit() || b == b'-');
            is_count(count.unwrap_or(word))
                || word.ends_with("..HEAD")
                || ["--oneline", "--decorate", "--graph", "HEAD", "2>/dev/null"].contains(&word)
        })
    })
}

/// Whether a log names a branch, a file or a person: something other than the checked-out commits.
pub(super) fn names_another(script: &str, branch: Option<&str>) -> bool {
    let parts = shell::parts(script).into_iter().map(|part| part.text);
    parts.filter_map(|part| part.strip_prefix("git log")).any(|options| {
        options.split_whitespace().any(|word| {
            let is_number = word.bytes().all(|byte| byte.is_ascii_digit());
            let is_here = word.ends_with("HEAD") || Some(word) == branch || word.contains('>');
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
