use super::*;

#[test]
fn options_before_a_git_subcommand_do_not_hide_it() {
    let identity = "git -c user.name=\"Ann Lee\" -c user.email=ann@example.org commit -m x";
    let mut commands = Commands::default();
    commands.finish(&run("git commit -m x", 128, "Author identity unknown"));
    commands.finish(&run(identity, 0, "[main 1926682b] x"));
    assert_eq!(commands.failures[0].repair.as_deref(), Some(identity));
    assert!(commands.census.commits && !commands.census.pushes);
    commands.finish(&run("git -C ../app push origin main", 0, ""));
    assert!(commands.census.pushes);
    assert!(!has_git("echo git commit", "commit"));
}

#[test]
fn a_rehearsal_pushes_and_commits_nothing() {
    for command in [
        "git push --dry-run origin main",
        "git push -n",
        "git commit --dry-run -m x",
        "git push --help",
    ] {
        let mut commands = Commands::default();
        commands.finish(&run(command, 0, "To ../app.git\n   95a01a3..4e480f9  main -> main"));
        assert!(!commands.census.pushes && !commands.census.commits, "{command}");
        let lines: Vec<&str> = commands.git.lines.iter().map(|line| line.text.as_str()).collect();
        assert_eq!(lines, [""; 0], "{command}");
    }
    assert!(has_git("git commit -n -m x", "commit"), "it only skips the hooks");
}

#[test]
fn another_command_of_the_same_program_does_not_fix_a_failure() {
    for (later, is_repaired) in
        [("git add .", false), ("git push --force-with-lease origin", true), ("git push", true)]
    {
        let mut commands = Commands::default();
        commands.finish(&run("git push -q", 1, "error: failed to push some refs"));
        commands.finish(&run(later, 0, ""));
        assert_eq!(commands.failures[0].repair.is_some(), is_repaired, "{later}");
    }
}

fn run<'a>(command: &'a str, code: i64, printed: &'a str) -> FinishedCommand<'a> {
    let is_look = command.starts_with("rg ");
    FinishedCommand { is_look, ..FinishedCommand::example(command, code, printed) }
}

#[test]
fn checks_failures_and_git_are_recorded_separately() {
    let mut commands = Commands::default();
    commands.finish(&run(
        "cargo test",
        101,
        "test result: FAILED. 3 passed; 1 failed; in 2s\nthread 'a' panicked at x.rs:4",
    ));
    commands.finish(&run("cargo test --doc || true", 0, ""));
    commands.finish(&run("cargo test --lib", 0, "test result: ok. 4 passed; 0 failed; in 1s"));
    commands.finish(&run("rg nothing", 1, ""));
    commands.finish(&run(
        "go vet ./... | tail -1 && git add .",
        0,
        "a.go:4: x declared and not used",
    ));
    commands.finish(&run("git commit -m x", 0, "[main 1926682b] fix: the lexer keeps state"));
    commands.finish(&run("git status -sb", 0, "## main...origin/main [behind 2]\n?? old.md\n"));
    let log = "[main 9926682a] fix: the lexer keeps state\n9926682a fix: the lexer keeps state\n1026682a feat: a lexer";
    commands.finish(&run("git commit --amend --no-edit && git log --oneline", 0, log));
    let printed = "## main...origin/main\n## Testing Guidelines\n M src/a.rs\n?? notes.md\n";
    commands.finish(&FinishedCommand { seq: 2, ..run("git status -sb", 0, printed) });
    let results: Vec<_> = commands.checks.iter().map(|check| check.result.as_str()).collect();
    assert_eq!(
        results,
        [
            "exit 101; 3 passed, 1 failed; thread 'a' panicked at x.rs:4",
            "exit code hidden by what follows it; printed nothing",
            "exit 0; 4 passed, 0 failed",
            "exit code hidden by what follows it"
        ]
    );
    assert_eq!(commands.failures.len(), 1);
    assert_eq!(commands.failures[0].repair.as_deref(), Some("cargo test --lib"));
    let git: Vec<_> = commands.git.lines.iter().map(|line| line.text.as_str()).collect();
    assert_eq!(
        git,
        [
            "1026682a feat: a lexer",
            "[main 9926682a] fix: the lexer keeps state",
            "## main...origin/main",
            "uncommitted at the last look: modified: src/a.rs; untracked: notes.md"
        ]
    );
    assert_eq!(
        (commands.census.tests, commands.census.commits, commands.census.pushes),
        (true, true, false)
    );
    assert_eq!((commands.git.head(""), &*commands.git.replaced[0]), (Some(1), "1926682b"));
}

/// `run` at another line of the transcript.
fn at<'a>(seq: u64, command: &'a str, code: i64, printed: &'a str) -> FinishedCommand<'a> {
    FinishedCommand { seq, ..run(command, code, printed) }
}

#[test]
fn the_census_names_what_ran_and_what_worked() {
    for (command, code, expected) in [
        ("cargo test", 0, "tests"),
        ("make", 2, "builds"),
        ("cargo clippy", 0, "lints"),
        ("make && cargo clippy && cargo test", 0, "tests builds lints"),
        ("make && cargo test", 1, "tests builds"),
        ("ls", 0, ""),
        ("git commit -m x", 0, "commits"),
        ("git commit -m x", 1, ""),
        ("git -c user.name=\"Ann Lee\" commit -m x", 0, "commits"),
        ("git push", 0, "pushes"),
        ("git push", 1, "failed_pushes"),
        ("gh repo create app --source . --push", 0, "pushes"),
        ("gh repo create app", 0, ""),
        ("./sync --push", 0, ""),
    ] {
        let mut commands = Commands::default();
        commands.finish(&run(command, code, ""));
        let Census { tests, builds, lints, commits, pushes, failed_pushes, .. } = commands.census;
        let seen = [
            (tests, "tests"),
            (builds, "builds"),
            (lints, "lints"),
            (commits, "commits"),
            (pushes, "pushes"),
            (failed_pushes, "failed_pushes"),
        ];
        let seen: Vec<_> = seen.iter().filter(|(is_seen, _)| *is_seen).map(|it| it.1).collect();
        assert_eq!(seen.join(" "), expected, "{command}, exit {code}");
    }
}

#[test]
fn a_check_has_passed_after_a_failure_if_a_later_run_of_it_did() {
    for (seq, command, code, expected) in [
        (2, "cargo test --lib", 0, true),
        (2, "cargo test --lib", 101, false),
        (2, "cargo clippy", 0, false),
        (1, "cargo test --lib", 0, false),
        (0, "cargo test --lib", 0, false),
    ] {
        let mut commands = Commands::default();
        commands.finish(&at(1, "cargo test", 101, ""));
        commands.finish(&at(seq, command, code, ""));
        let found = commands.has_passed_after(&commands.checks[0]);
        assert_eq!(found, expected, "{command} at {seq}, exit {code}");
    }
}

#[test]
fn a_check_has_the_outcome_that_the_lines_exit_code_proves() {
    use CommandOutcome::{Exit, Unknown};
    for (line, code, expected) in [
        ("cargo test", 0, &[("cargo test", Exit(0))][..]),
        ("make && cargo test", 0, &[("make", Exit(0)), ("cargo test", Exit(0))]),
        ("make && cargo test", 1, &[("cargo test", Exit(1))]),
        ("cargo test | tail", 0, &[("cargo test", Unknown)]),
        ("cargo test | tail", 1, &[("cargo test", Exit(1))]),
    ] {
        let mut commands = Commands::default();
        commands.finish(&run(line, code, ""));
        let checks = commands.checks.iter().map(|it| (it.command.as_str(), it.outcome));
        assert_eq!(checks.collect::<Vec<_>>(), expected, "{line}, exit {code}");
    }
}

#[test]
fn only_a_success_that_is_certain_repairs_a_failure() {
    for (failed, later, printed, is_usable, is_repaired) in [
        ("git push", "git push origin", "", true, true),
        ("git push", "git push origin | tail -1", "", false, false),
        (
            "vale --config a b.md",
            "vale --config a b.md 2>&1 | tail -2",
            "✖ 0 errors, 5 warnings",
            true,
            true,
        ),
        (
            "vale --config a b.md",
            "vale --config a b.md 2>&1 | tail -2",
            "✖ 2 errors, 5 warnings",
            false,
            false,
        ),
        ("git push", "git push origin", "error: failed to push some refs", false, false),
        ("git push", "git add .", "", true, false),
        ("git push", "ls src", "", false, false),
        // Another name of the program is a repair of any purpose.
        ("python a.py", "python3 b.py", "", true, true),
        ("python a.py", "python b.py", "", true, false),
        // The same subcommand for another target proves nothing.
        ("gh api user/emails", "gh api repos/a/b", "", true, false),
        ("gh api user/emails", "gh api user/emails --jq .[0]", "", true, true),
        ("bun cli.ts skills get", "bun cli.ts eval run", "", true, false),
        ("npm install a", "npm install a b --force", "", true, true),
        ("python3 -c 'a()'", "python3 -c 'b()'", "", true, false),
        ("python3 -c 'a()'", "python3 - <<'E'\nb()\nE", "", true, false),
    ] {
        let mut commands = Commands::default();
        commands.finish(&run(failed, 1, "error: it broke"));
        commands.finish(&run(later, 0, printed));
        let failure = &commands.failures[0];
        let found = (failure.is_usable, failure.repair.is_some());
        assert_eq!(found, (is_usable, is_repaired), "{failed}; {later}");
    }
}

#[test]
fn a_success_outside_the_sandbox_repairs_until_one_inside_does() {
    let fetch = "git fetch origin";
    for (failed_outside, runs, expected) in [
        (false, &[(fetch, true)][..], (true, true)),
        (false, &[(fetch, true), (fetch, false)], (true, false)),
        (false, &[(fetch, true), ("git add .", false)], (true, true)),
        (false, &[("git add .", false), (fetch, true)], (true, true)),
        (false, &[(fetch, false), (fetch, true)], (true, false)),
        (false, &[("git add .", false), ("git pull", true)], (false, false)),
        (true, &[(fetch, true)], (true, false)),
    ] {
        let mut commands = Commands::default();
        let failure = run(fetch, 1, "error: it broke");
        commands.finish(&FinishedCommand { is_unconfined: failed_outside, ..failure });
        for (command, is_unconfined) in runs {
            let is_unconfined = *is_unconfined;
            commands.finish(&FinishedCommand { is_unconfined, ..run(command, 0, "") });
        }
        let failure = &commands.failures[0];
        let found = (failure.repair.is_some(), failure.needs_no_sandbox);
        assert_eq!(found, expected, "{failed_outside} {runs:?}");
    }
}

#[test]
fn a_failure_knows_that_its_line_had_several_commands_even_if_it_is_cut() {
    let long = format!("./sync --of {}", "part ".repeat(40));
    for (line, is_compound) in [
        (long.clone(), false),
        (format!("{long} && ls"), true),
        ("python - <<'E'".to_owned(), true),
    ] {
        let mut commands = Commands::default();
        commands.finish(&run(&line, 1, "error: it broke"));
        assert_eq!(commands.failures[0].is_compound, is_compound, "{line}");
    }
}

#[test]
fn a_look_fails_only_if_its_program_is_missing_and_a_silent_failure_ends_with_its_code() {
    for (code, printed, expected) in [
        (1, "", None),
        (2, "rg: a: No such file or directory", None),
        (127, "command not found: rg", Some("rg a → exit 127: command not found: rg")),
        (127, "", Some("rg a → exit 127")),
    ] {
        let mut commands = Commands::default();
        commands.finish(&run("rg a", code, printed));
        let failure = commands.failures.front().map(|failure| failure.text.as_str());
        assert_eq!(failure, expected, "exit {code}: {printed}");
    }
}

#[test]
fn git_confirms_a_commit_whatever_the_line_looks_like() {
    const MADE: &str = "[main (root-commit) 1926682b] fix: the lexer";
    for (command, code, printed, is_seen) in [
        ("./release.sh", 0, MADE, true),
        ("git commit -m x && git push", 1, MADE, true),
        ("rg main", 0, MADE, false),
        ("./release.sh", 0, "done", false),
    ] {
        let mut commands = Commands::default();
        commands.finish(&run(command, code, printed));
        assert_eq!(commands.census.commits, is_seen, "{command}: {printed}");
    }
}

#[test]
fn failures_without_a_specific_fix_are_evicted_first() {
    let mut commands = Commands::default();
    commands.finish(&run("git push", 1, "error: it broke"));
    commands.finish(&run("git push origin", 0, ""));
    commands.finish(&run("npm start", 1, "error: it broke"));
    commands.finish(&run("npm outdated", 0, ""));
    for number in 2..=FAILURES_MAX {
        commands.finish(&run(&format!("./run{number} x"), 1, "error: it broke"));
    }
    let programs: Vec<&str> = commands.failures.iter().map(|it| it.program.as_str()).collect();
    assert_eq!((programs.len(), &programs[..2]), (FAILURES_MAX, &["git", "./run2"][..]));
}

#[test]
fn an_edit_repairs_open_edits_of_the_same_file_only() {
    for (program, text, repair, expected) in [
        (EDIT, "edit of src/a.rs → refused", None, Some("edited later, at #7")),
        (EDIT, "edit of src/b.rs → refused", None, None),
        (EDIT, "edit of src/a.rs → refused", Some("as before"), Some("as before")),
        ("cargo", "cargo run src/a.rs → exit 1", None, None),
    ] {
        let mut commands = Commands::default();
        commands.failures.push_back(FailedCommand {
            seq: 1,
            turn: 1,
            program: program.to_owned(),
            text: text.to_owned(),
            repair: repair.map(str::to_owned),
            is_usable: false,
            needs_no_sandbox: false,
            is_unconfined: false,
            is_compound: false,
        });
        commands.edited(7, &["src/a.rs".to_owned()]);
        assert_eq!(commands.failures[0].repair.as_deref(), expected, "{text}");
    }
}
