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

/// The commands of a line and their classes, read once for all rules.
#[derive(Debug)]
pub(super) struct Chain<'a> {
    line: &'a str,
    parts: Vec<ChainPart<'a>>,
}

#[derive(Debug)]
struct ChainPart<'a> {
    text: &'a str,
    end: End,
    class: Class,
}

impl<'a> Chain<'a> {
    pub(super) fn of(line: &'a str) -> Self {
        let parts = parts(line).into_iter();
        let parts = parts.map(|(text, end)| ChainPart { text, end, class: Class::of(text) });
        Self { line, parts: parts.collect() }
    }

    /// The class of the line.
    pub(super) fn class(&self) -> Class {
        match self.parts.as_slice() {
            // Most lines are one command.
            [part] => part.class,
            _ => Class::of(self.line),
        }
    }

    /// Classes of the commands that are known to have run. After a failure only the first one is certain.
    pub(super) fn classes_run(&self, failed: bool) -> impl Iterator<Item = Class> {
        let runs = if failed { 1 } else { self.parts.len() };
        self.parts.iter().take(runs).map(|part| part.class)
    }

    /// Every check in the line, if exit code 0 of the line means that all of them passed.
    pub(super) fn checking_parts(&self) -> Vec<&'a str> {
        let is_chain = self.parts.iter().all(|part| matches!(part.end, End::And | End::Line));
        let checks = self.parts.iter().filter(|part| part.class.is_check()).map(|part| part.text);
        if is_chain { checks.collect() } else { Vec::new() }
    }

    /// The first command of the most relevant class.
    pub(super) fn checking_part(&self) -> CheckingPart<'a> {
        let acts = self.parts.iter().enumerate().filter(|(_, part)| !only_assigns(part.text));
        let best = acts.min_by_key(|(_, part)| part.class).map_or(0, |(index, _)| index);
        let Some(part) = self.parts.get(best).filter(|part| !part.text.is_empty()) else {
            return CheckingPart { text: self.line, owns_exit_code: true, is_last: true };
        };
        let after = &self.parts[best..];
        let is_hidden = after.iter().any(|part| matches!(part.end, End::Pipe | End::Any));
        let piped = after.iter().take_while(|part| part.end == End::Pipe).count();
        CheckingPart {
            text: part.text,
            owns_exit_code: !is_hidden || self.line.contains("pipefail"),
            is_last: piped + 1 == after.len(),
        }
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
            assert_eq!(Chain::of(line).checking_parts().len(), expected, "{line}");
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
            assert_eq!(Chain::of(line).checking_part(), expected, "{line}");
        }
    }
}
