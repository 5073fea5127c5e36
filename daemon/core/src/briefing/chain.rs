//! A command line of several commands: which one is the check, and whether the line's exit code is its exit
//! code.

use crate::rollout::shell::{self, Class, CommandPart, Joint};

/// The command of a line that runs the check.
#[derive(Debug)]
pub(super) struct CheckingPart<'a> {
    pub text: &'a str,
    pub class: Class,
    /// Exit code 0 of the line means that this command succeeded: no pipe, `;` or `||` hides its own.
    pub owns_exit_code: bool,
    /// The exit code of this command or of one after it may be hidden.
    pub is_masked: bool,
    /// The last lines of the output may come from this command.
    pub is_last: bool,
}

/// The commands of a line and their classes, read once for all rules.
#[derive(Debug)]
pub(super) struct Chain<'a> {
    line: &'a str,
    parts: Vec<(CommandPart<'a>, Class)>,
    /// Number of loops and conditions that are open after each of them.
    depths: Vec<usize>,
}

impl<'a> Chain<'a> {
    pub(super) fn of(line: &'a str) -> Self {
        let parts = shell::parts_run(line);
        let classes = Class::of_parts(&parts);
        let mut depth = 0;
        let mut after = |part: &CommandPart<'_>| {
            depth = depth_after(part.text, depth);
            depth
        };
        let depths = parts.iter().map(&mut after).collect();
        Self { line, parts: parts.into_iter().zip(classes).collect(), depths }
    }

    /// Whether the line has several commands, or an inline program.
    pub(super) fn is_compound(&self) -> bool {
        self.parts.len() > 1 || self.line.contains("<<")
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

    /// Whether nothing but checks and the filters of their output prints.
    pub(super) fn only_checks(&self) -> bool {
        const SILENT: [&str; 8] =
            ["cd ", "set ", "export ", "source ", "mkdir ", "rm ", "true", "pushd "];
        self.parts.iter().all(|(part, class)| {
            let is_silent = || SILENT.iter().any(|program| part.text.starts_with(program));
            class.is_check() || part.before == Some(Joint::Pipe) || is_silent()
        })
    }

    /// The checks in the line that passed if its exit code is 0.
    pub(super) fn checking_parts(&self) -> Vec<(&'a str, Class)> {
        let checks = self.parts.iter().enumerate();
        let checks = checks.filter(|(at, (_, class))| class.is_check() && self.is_proven(*at));
        checks.map(|(_, (part, class))| (part.text, *class)).collect()
    }

    /// Whether exit code 0 of the line means that the command succeeded: `a` did in `a && b | c`, not in
    /// `a && b; c`.
    fn is_proven(&self, at: usize) -> bool {
        let mut after = self.parts.iter().map(|(part, _)| part.after).enumerate().skip(at);
        let own = after.next().and_then(|(_, own)| own);
        // The joints inside a loop that follows join nothing to this command.
        let is_inside = self.depths.get(at).is_some_and(|depth| *depth > 0);
        let mut later = after.filter(|(at, _)| is_inside || self.depths.get(*at) == Some(&0));
        let joins = |joint| matches!(joint, Some(Joint::And | Joint::Pipe) | None);
        matches!(own, Some(Joint::And) | None) && later.all(|(_, joint)| joins(joint))
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
                is_masked: false,
                is_last: true,
            };
        };
        let after = &self.parts[best..];
        let is_masked =
            after.iter().any(|(part, _)| !matches!(part.after, Some(Joint::And) | None));
        // A pipe then fails with any of its commands.
        let fails_with_any = self.line.contains("pipefail");
        let piped = after.iter().take_while(|(part, _)| part.after == Some(Joint::Pipe)).count();
        CheckingPart {
            text: part.text,
            class: *class,
            owns_exit_code: self.is_proven(best) || fails_with_any,
            is_masked: is_masked && !fails_with_any,
            is_last: piped + 1 == after.len(),
        }
    }
}

/// Number of loops and conditions that are open after a command.
fn depth_after(command: &str, before: usize) -> usize {
    let mut depth = before;
    for word in command.split([' ', '(', ')', '\n']).filter(|word| !word.is_empty()) {
        match word {
            "for" | "while" | "until" | "if" | "case" | "select" => depth += 1,
            "done" | "fi" | "esac" => depth = depth.saturating_sub(1),
            "do" | "then" | "else" | "elif" | "{" | "!" => continue,
            _ => {}
        }
        break;
    }
    depth
}

/// Whether a part only sets variables.
fn only_assigns(part: &str) -> bool {
    part.contains('=') && shell::commands(part).is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_code_0_of_a_line_means_that_the_checks_which_nothing_hides_passed() {
        for (line, expected) in [
            ("go build ./... && golangci-lint run && go test ./...", 3),
            ("cd a && cargo test", 1),
            ("go build ./... && go test ./... | tail -3", 1),
            ("go build ./... && go vet ./... | tail -1 && go test ./... && rm a", 2),
            ("go build ./...; go test ./...", 1),
            ("go build ./... && go test ./... || true", 0),
            ("go build ./... && go test ./...\nls", 0),
            ("go build ./... & go test ./...", 1),
            ("go build ./... && for a in b c; do go test $a; go vet $a | tail; done", 1),
            ("go build ./... && for a in b c; do ls $a; done; ls", 0),
            ("if go build ./... && go vet ./...; then go test ./...; fi", 0),
            ("for a in b; do if ls; then go build $a && ls; fi; done && go test ./...", 1),
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
            ("make && ls | tail -3", "make", true, false),
            ("make && for a in b c; do ./run $a; done", "make", true, false),
            ("for a in b c; do make $a && ls; done", "do make $a", false, false),
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
