//! A command line of several commands: which one is the check, and whether the line's exit code is its exit
//! code.

use crate::rollout::shell::{self, Class};

/// The command of a line that runs the check.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct CheckingPart<'a> {
    pub text: &'a str,
    /// The line's exit code is this command's: no pipe, `;` or `||` hides it.
    pub owns_exit_code: bool,
    /// The last lines of the output may come from this command.
    pub is_last: bool,
}

/// The commands of a line that are known to have run. After a failure only the first one is certain.
pub(super) fn parts_run(line: &str, failed: bool) -> Vec<&str> {
    let parts = parts(line);
    let runs = if failed { 1 } else { parts.len() };
    parts.into_iter().take(runs).map(|(text, _)| text).collect()
}

/// Every check in a line, if exit code 0 of the line means that all of them passed.
pub(super) fn checking_parts(line: &str) -> Vec<&str> {
    let parts = parts(line);
    let is_chain = parts.iter().all(|(_, end)| matches!(end, End::And | End::Line));
    let checks = parts.iter().map(|(text, _)| *text).filter(|text| Class::of(text).is_check());
    if is_chain { checks.collect() } else { Vec::new() }
}

/// The first command of the most relevant class.
pub(super) fn checking_part(line: &str) -> CheckingPart<'_> {
    let parts = parts(line);
    let acts = |index: &usize| !only_assigns(parts[*index].0);
    let best = (0..parts.len()).filter(acts).min_by_key(|index| Class::of(parts[*index].0));
    let best = best.unwrap_or(0);
    let Some((text, _)) = parts.get(best).filter(|(text, _)| !text.is_empty()) else {
        return CheckingPart { text: line, owns_exit_code: true, is_last: true };
    };
    let after = &parts[best..];
    let is_hidden = after.iter().any(|(_, end)| matches!(end, End::Pipe | End::Any));
    CheckingPart {
        text,
        owns_exit_code: !is_hidden || line.contains("pipefail"),
        is_last: after.iter().take_while(|(_, end)| *end == End::Pipe).count() + 1 == after.len(),
    }
}

/// Whether a part only sets variables.
fn only_assigns(part: &str) -> bool {
    part.contains('=') && shell::commands(part).is_empty()
}

/// The separator between a command and the next one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// `&&`: the next one runs only if this one succeeded.
    And,
    /// `|`: the next one reads its output and gives the exit code.
    Pipe,
    /// `;`, `||` or `&`: the next one runs regardless of this one's outcome.
    Any,
    Line,
}

fn parts(line: &str) -> Vec<(&str, End)> {
    let bytes = line.as_bytes();
    let (mut parts, mut start, mut at, mut quote) = (Vec::new(), 0, 0, None);
    while at < bytes.len() {
        let byte = bytes[at];
        let next = bytes.get(at + 1).copied();
        let end = match (quote, byte) {
            (Some(open), _) => {
                quote = (byte != open).then_some(open);
                None
            }
            (None, b'\'' | b'"') => {
                quote = Some(byte);
                None
            }
            (None, b'&') if next == Some(b'&') => Some((End::And, 2)),
            (None, b'|') if next == Some(b'|') => Some((End::Any, 2)),
            (None, b'|') => Some((End::Pipe, 1)),
            (None, b';') => Some((End::Any, 1)),
            // `2>&1` and `&>` redirect.
            (None, b'&') if next == Some(b' ') => Some((End::Any, 1)),
            _ => None,
        };
        match end {
            Some((end, width)) => {
                parts.push((line[start..at].trim(), end));
                at += width;
                start = at;
            }
            None => at += 1,
        }
    }
    match line[start..].trim() {
        "" => {
            if let Some(last) = parts.last_mut() {
                last.1 = End::Line;
            }
        }
        rest => parts.push((rest, End::Line)),
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_code_0_of_an_and_chain_means_that_all_its_checks_passed() {
        for (line, expected) in [
            ("go build ./... && golangci-lint run && go test ./...", 3),
            ("cd a && cargo test", 1),
            ("go build ./... && go test ./... | tail -3", 0),
            ("go build ./...; go test ./...", 0),
        ] {
            assert_eq!(checking_parts(line).len(), expected, "{line}");
        }
    }

    #[test]
    fn the_line_owns_the_exit_code_of_its_check_unless_something_hides_it() {
        for (line, text, owns_exit_code, is_last) in [
            ("cargo test", "cargo test", true, true),
            ("cd a && go test ./... && git add .", "go test ./...", true, false),
            ("go test ./... 2>&1 | tail -3", "go test ./... 2>&1", false, true),
            ("npm run lint; echo done", "npm run lint", false, false),
            ("set -o pipefail; pytest | tail", "pytest", true, true),
            ("pytest -k 'a && b' || true", "pytest -k 'a && b'", false, false),
            ("cargo test;", "cargo test", true, true),
            ("swap='s/a/b/ ; p'; perl -pe \"$swap\" a.md", "perl -pe \"$swap\" a.md", true, true),
        ] {
            let expected = CheckingPart { text, owns_exit_code, is_last };
            assert_eq!(checking_part(line), expected, "{line}");
        }
    }
}
