//! A command line of several commands: which one is the check, and whether the line's exit code is its exit
//! code.

use crate::rollout::shell::{self, Class, CommandPart, Joint};

/// The command of a line that runs the check.
#[derive(Debug)]
pub(super) struct CheckingPart<'a> {
    pub text: &'a str,
    pub class: Class,
    /// The line's exit code is this command's: no pipe, `;` or `||` hides it.
    pub owns_exit_code: bool,
    /// The last lines of the output may come from this command.
    pub is_last: bool,
}

/// The commands of a line and their classes, read once for all rules.
#[derive(Debug)]
pub(super) struct Chain<'a> {
    line: &'a str,
    parts: Vec<(CommandPart<'a>, Class)>,
}

impl<'a> Chain<'a> {
    pub(super) fn of(line: &'a str) -> Self {
        let parts = shell::parts_run(line);
        let classes = Class::of_parts(&parts);
        Self { line, parts: parts.into_iter().zip(classes).collect() }
    }

    /// The class of the line.
    pub(super) fn class(&self) -> Class {
        self.parts.iter().map(|(_, class)| *class).min().unwrap_or(Class::Other)
    }

    /// Classes of the commands that are known to have run. After a failure only the first one is certain.
    pub(super) fn classes_run(&self, failed: bool) -> impl Iterator<Item = Class> {
        let runs = if failed { 1 } else { self.parts.len() };
        self.parts.iter().take(runs).map(|(_, class)| *class)
    }

    /// Every check in the line, if exit code 0 of the line means that all of them passed.
    pub(super) fn checking_parts(&self) -> Vec<(&'a str, Class)> {
        let is_chain =
            self.parts.iter().all(|(part, _)| matches!(part.after, Some(Joint::And) | None));
        let checks = self.parts.iter().filter(|(_, class)| class.is_check());
        let checks = checks.map(|(part, class)| (part.text, *class));
        if is_chain { checks.collect() } else { Vec::new() }
    }

    /// The first command of the most relevant class.
    pub(super) fn checking_part(&self) -> CheckingPart<'a> {
        let acts = self.parts.iter().enumerate().filter(|(_, (part, _))| !only_assigns(part.text));
        let best = acts.min_by_key(|(_, (_, class))| *class).map_or(0, |(index, _)| index);
        let Some((part, class)) = self.parts.get(best) else {
            return CheckingPart {
                text: self.line,
                class: Class::Other,
                owns_exit_code: true,
                is_last: true,
            };
        };
        let after = &self.parts[best..];
        let is_hidden =
            after.iter().any(|(part, _)| !matches!(part.after, Some(Joint::And) | None));
        let piped = after.iter().take_while(|(part, _)| part.after == Some(Joint::Pipe)).count();
        CheckingPart {
            text: part.text,
            class: *class,
            owns_exit_code: !is_hidden || self.line.contains("pipefail"),
            is_last: piped + 1 == after.len(),
        }
    }
}

/// Whether a part only sets variables.
fn only_assigns(part: &str) -> bool {
    part.contains('=') && shell::commands(part).is_empty()
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
            ("echo \"a \\\" ; b\"; make", "make", true, true),
            ("x=$(ls | wc -l) && make", "make", true, true),
            ("out=$(go test ./... | head -2); echo $out", "go test ./...", false, false),
            ("ls .styles && echo there || vale sync", "ls .styles", false, false),
            ("swap='s/a/b/ ; p'; perl -pe \"$swap\" a.md", "perl -pe \"$swap\" a.md", true, true),
        ] {
            let part = Chain::of(line).checking_part();
            let found = (part.text, part.owns_exit_code, part.is_last);
            assert_eq!(found, (text, owns_exit_code, is_last), "{line}");
        }
    }
}
