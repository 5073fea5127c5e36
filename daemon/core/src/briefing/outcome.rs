//! Formats the outcome of a command.

use super::finished::FinishedCommand;
use crate::rollout::output;
use crate::rollout::shell::Class;
use crate::step::CommandOutcome;
use crate::text;

pub(super) fn words(outcome: CommandOutcome) -> String {
    match outcome {
        CommandOutcome::Unknown => "outcome not seen".to_owned(),
        CommandOutcome::Running => "still running at the last look".to_owned(),
        CommandOutcome::Exit(_) | CommandOutcome::Failed | CommandOutcome::Refused => {
            outcome.words()
        }
    }
}

/// Whether the command that matters most in a line is certain to have worked: by its exit code, or by its own words.
pub(super) fn is_success(run: &FinishedCommand<'_>) -> bool {
    let says = || match run.counts {
        Some(counts) => counts.failed == 0,
        None => success_line(run.class, run.printed).is_some(),
    };
    run.outcome == CommandOutcome::Exit(0)
        && !output::says_failure(run.printed)
        && (run.chain.checking_part().owns_exit_code || says())
}

/// The result of a check: counts first, then the failing lines, else the line that reports success. The exit
/// code of another command, such as `tail` in `test | tail`, proves nothing and is omitted.
pub(super) fn result(run: &FinishedCommand<'_>) -> String {
    let part = run.chain.checking_part();
    // The output of several checks belongs to no single one.
    let is_only = run.chain.classes_run(false).filter(|class| class.is_check()).count() < 2;
    let is_hidden =
        run.class.is_check() && !part.owns_exit_code && run.outcome == CommandOutcome::Exit(0);
    let counts =
        run.counts.map(|counts| format!("{} passed, {} failed", counts.passed, counts.failed));
    let failed = run.outcome.is_failure()
        || run.counts.is_some_and(|counts| counts.failed > 0)
        || is_hidden && output::says_failure(run.printed);
    let success = success_line(run.class, run.printed).filter(|_| is_only || part.is_last);
    let lines = match () {
        () if failed => output::failure_lines(run.printed, 3).join(" | "),
        () if counts.is_some() => String::new(),
        () => match success {
            Some(line) => line.to_owned(),
            None if is_hidden && run.printed.trim().is_empty() => "printed nothing".to_owned(),
            None if part.is_last => last_line(run.printed).to_owned(),
            None if is_hidden && is_only => match run.class {
                // A linter names what it found without words for it.
                Class::Lint => String::new(),
                _ => "no failure in what was printed".to_owned(),
            },
            None => String::new(),
        },
    };
    let lines = text::one_line_cut(&lines, if failed { 320 } else { 140 });
    let outcome = if is_hidden && counts.is_none() {
        match success {
            _ if failed => "failed",
            Some(_) => "worked, by what it printed",
            None => "exit code hidden by what follows it",
        }
        .to_owned()
    } else {
        words(run.outcome)
    };
    let parts = [Some(outcome), counts, (!lines.is_empty()).then_some(lines)];
    parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
}

/// The result of a line of several commands: a failure inside that did not end it is mentioned as such.
pub(super) fn of_line(run: &FinishedCommand<'_>) -> String {
    // The last line of a listing does not describe the listing.
    if run.is_look && run.printed.trim().contains('\n') {
        return words(run.outcome);
    }
    let is_masked = run.outcome == CommandOutcome::Exit(0)
        && run.chain.checking_part().is_masked
        && output::says_failure(run.printed);
    if !is_masked {
        return result(run);
    }
    let lines = output::failure_lines(run.printed, 2).join(" | ");
    let last = text::one_line_cut(last_line(run.printed), 140);
    let lines = text::one_line_cut(&lines, 240);
    format!("exit 0, though a part of it printed: {lines}; last line: {last}")
}

fn last_line(printed: &str) -> &str {
    printed.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or_default()
}

/// The last line in which a program of that class reports success itself.
fn success_line(class: Class, printed: &str) -> Option<&str> {
    let (openings, marks): (&[&str], &[&str]) = match class {
        Class::Test => (
            &["ok ", "ok\t", "pass"],
            &[" passed", "test result: ok", "build success", "** test succeeded **"],
        ),
        Class::Lint => (
            &["0 issues", "0 errors", "0 violations"],
            &[
                " 0 errors",
                " 0 violations",
                "no errors",
                "no issues",
                "no offenses",
                "checks passed",
                "build success",
                "configuration is valid",
                "use prettier code style",
                "would be left unchanged",
            ],
        ),
        Class::Build => (
            &["finished "],
            &["build succe", "build complete", "built in", "compiled successfully"],
        ),
        _ => return None,
    };
    printed.lines().map(str::trim).rfind(|line| {
        let lower = text::prefix(line, 200).to_ascii_lowercase();
        openings.iter().any(|opening| lower.starts_with(opening))
            || marks.iter().any(|mark| lower.contains(mark))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_says_it_passed_is_quoted() {
        for (class, printed, expected) in [
            (
                Class::Test,
                "ok  \tx/config\t0.1s\nok  \tx/prompt\t0.2s\n",
                Some("ok  \tx/prompt\t0.2s"),
            ),
            (Class::Lint, "0 issues.\ndone\n", Some("0 issues.")),
            (Class::Test, "BUILD SUCCESSFUL in 5s\n3 tasks\n", Some("BUILD SUCCESSFUL in 5s")),
            (
                Class::Build,
                "    Finished `dev` profile in 2s\n",
                Some("Finished `dev` profile in 2s"),
            ),
            (Class::Test, "compiling\n", None),
            (Class::Other, "ok then", None),
        ] {
            assert_eq!(success_line(class, printed), expected, "{printed}");
        }
    }

    fn run<'a>(
        command: &'a str,
        is_look: bool,
        code: i64,
        printed: &'a str,
    ) -> FinishedCommand<'a> {
        FinishedCommand { is_look, ..FinishedCommand::example(command, code, printed) }
    }

    #[test]
    fn a_line_is_described_by_its_last_output_unless_it_lists() {
        for (command, is_look, code, printed, expected) in [
            ("ls src", true, 0, "a.rs\nb.rs\n", "exit 0"),
            ("ls src", true, 0, "a.rs\n", "exit 0; a.rs"),
            ("./sync", false, 0, "read\ndone\n", "exit 0; done"),
            ("./sync", false, 3, "read\nerror: no space\ndone", "exit 3; error: no space"),
            ("./sync", false, 0, "error: no space\ndone", "exit 0; done"),
            (
                "./sync | tail",
                false,
                0,
                "error: no space\ndone",
                "exit 0, though a part of it printed: error: no space; last line: done",
            ),
            ("./sync | tail", false, 3, "error: no space\ndone", "exit 3; error: no space"),
            ("./sync | tail", false, 0, "read\ndone", "exit 0; done"),
        ] {
            assert_eq!(
                of_line(&run(command, is_look, code, printed)),
                expected,
                "{command}: {printed}"
            );
        }
    }

    #[test]
    fn the_result_of_a_check_is_that_of_its_own_output() {
        const FAILED: &str =
            "test result: FAILED. 3 passed; 1 failed; in 2s\nthread 'a' panicked at x.rs:4";
        for (command, code, printed, expected) in [
            (
                "cargo test || true",
                0,
                FAILED,
                "exit 0; 3 passed, 1 failed; thread 'a' panicked at x.rs:4",
            ),
            ("cargo test || true", 0, "error: it broke", "failed; error: it broke"),
            ("cargo test | tail -1", 0, "done", "exit code hidden by what follows it; done"),
            (
                "npm run build | tail -1",
                0,
                "✓ built in 2s",
                "worked, by what it printed; ✓ built in 2s",
            ),
            (
                "go test ./... | grep -v ^ok; echo $?",
                0,
                "? x/fonts [no test files]\n1",
                "exit code hidden by what follows it; no failure in what was printed",
            ),
            ("tsc | tail", 0, "", "exit code hidden by what follows it; printed nothing"),
            ("go vet ./...; ls", 0, "a.go:4: x not used", "exit code hidden by what follows it"),
            ("make && ls | tail -1", 0, "a.rs", "exit 0"),
            ("make && ls", 0, "Finished `dev` in 2s\na.rs", "exit 0; Finished `dev` in 2s"),
            ("make && cargo clippy && ls", 0, "Finished `dev` in 2s\na.rs", "exit 0"),
            ("ls && make", 0, "a.rs\nlinked", "exit 0; linked"),
            ("make && ls", 0, "linked\na.rs", "exit 0"),
        ] {
            assert_eq!(
                result(&run(command, false, code, printed)),
                expected,
                "{command}: {printed}"
            );
        }
    }
}
