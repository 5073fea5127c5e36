use serde_json::json;

use super::*;
use crate::rollout::tool;
use crate::step::{Action, At, NewCall, Step};

/// A command of Codex.
fn command(script: &str) -> NewCall {
    NewCall::alone(&tool::Call {
        call_id: "p".into(),
        name: "exec_command".into(),
        namespace: None,
        arguments: json!({ "cmd": script }).to_string().into(),
    })
}

#[test]
fn an_agent_that_waits_for_a_command_has_not_ended_its_turn() {
    for action in [Action::Poll, Action::Ours, Action::Plan(Vec::new())] {
        let mut briefing = thread();
        briefing.hold_words(20, "Still running. I'll keep waiting.");
        assert!(
            view_of(&briefing, 4_000).contains("the agent spoke last"),
            "{}",
            view_of(&briefing, 4_000)
        );
        let called = NewCall { action, ..command("sleep 9") };
        briefing.step(None, At { seq: 21, ms: 0 }, &Step::Called(called));
        let text = view_of(&briefing, 4_000);
        assert!(!text.contains("the agent spoke last"), "{text}");
    }
}

#[test]
fn a_prompt_that_a_script_hands_on_is_work_of_another_agent() {
    let prompt =
        "Remove the old layout of the lexer.\nThe person wants no code for both of them.\n";
    for (after, is_of_others) in [
        ("workmux add lexer -P \"$prompt\"", true),
        ("cat \"$prompt\"", false),
        ("gh pr create --body-file \"$prompt\"", false),
    ] {
        let mut briefing = thread();
        let script = format!("cat > \"$prompt\" <<'EOF'\n{prompt}EOF\n{after}");
        briefing.step(None, At { seq: 20, ms: 0 }, &Step::Called(command(&script)));
        let text = view_of(&briefing, 4_000);
        assert_eq!(text.contains("those of other agents not among them"), is_of_others, "{text}");
    }
}

#[test]
fn a_command_that_works_only_outside_the_sandbox_says_so() {
    for (again, is_unconfined, expected) in [
        ("gh pr list", true, "; worked later, outside the sandbox"),
        ("gh pr list --limit 3", true, "; then worked, outside the sandbox: gh pr list --limit 3"),
        ("gh pr list", false, "; worked later\n"),
    ] {
        let mut briefing = thread();
        let error = "error connecting to github.com";
        briefing.record_command(ran("gh", (20, "gh pr list"), 1, error), None);
        let run = ran("gh", (21, again), 0, "");
        briefing.record_command(CommandRun { is_unconfined, ..run }, None);
        let text = view_of(&briefing, 4_000);
        let failure = format!("#20 gh pr list → exit 1: error connecting to github.com{expected}");
        assert!(text.contains(&failure), "{failure}: {text}");
    }
}

#[test]
fn a_fix_by_options_of_git_shows_them() {
    let mut briefing = thread();
    let identity = "git -c user.name=\"Ann Lee\" commit -m x";
    for (seq, script, code) in [(20, "git commit -m x", 128), (21, identity, 0)] {
        let run =
            ran("git", (seq, script), code, if code == 0 { "" } else { "Author identity unknown" });
        briefing.record_command(run, None);
    }
    let text = view_of(&briefing, 4_000);
    assert!(text.contains(&format!("; then worked: {identity}")), "{text}");
}

#[test]
fn an_earlier_failure_that_needed_another_command_outweighs_those_that_worked_later() {
    let mut briefing = thread();
    let identity = "git -c user.name=\"Ann Lee\" commit -m x";
    let mut seq = 20;
    let mut run = |briefing: &mut Briefing, (program, script): (&str, &str), code| {
        seq += 1;
        let printed =
            if code == 0 { "" } else { "fatal: the table of the generator was not found" };
        briefing.record_command(ran(program, (seq, script), code, printed), None);
    };
    run(&mut briefing, ("git", "git commit -m x"), 128);
    run(&mut briefing, ("git", identity), 0);
    for part in 0..10 {
        let script = format!("deploy part{part} --to the-staging-server");
        run(&mut briefing, ("deploy", &script), 1);
        run(&mut briefing, ("deploy", &script), 0);
    }
    briefing.hold_words(60, "All parts are deployed.");
    briefing.end_turn(false, None);
    briefing.begin_turn(61, "Deploy the rest.", None);
    let text = view_of(&briefing, 250);
    assert!(text.contains(&format!("; then worked: {identity}")), "{text}");
}

#[test]
fn a_state_of_the_worktree_that_a_script_enters_is_named() {
    for (script, place) in [
        ("cp a.md /w/lexer-docs/a.md && cd /w/lexer-docs && git status", "/w/lexer-docs"),
        ("git status && cd /w/lexer-docs && ls", ""),
    ] {
        let mut briefing = thread();
        let run = CommandRun {
            from: Some("/w/lexer"),
            is_look: true,
            ..ran("git", (20, script), 0, "On branch docs\n")
        };
        briefing.record_command(run, Some("/w/lexer"));
        let states = briefing.commands.git.lines.iter();
        let branch: Vec<_> = states.map(|line| (line.place.as_str(), line.text.as_str())).collect();
        assert_eq!(branch, [(place, "On branch docs")], "{script}");
    }
}

#[test]
fn the_branch_is_named_and_the_oldest_commits_of_a_log_are_not() {
    let mut briefing = thread();
    let log: String =
        (0..10).map(|n| format!("aaaaaa{n} fix: the part {n} of the lexer\n")).collect();
    let switch = "git checkout -b fix/lexer-strings";
    for (seq, script, printed) in [(20, "git log --oneline -10", &*log), (21, switch, "")] {
        briefing.record_command(ran("git", (seq, script), 0, printed), None);
    }
    let ran = [(21, format!("{switch} (exit 0)"))];
    let host = HostFacts { ran: ran.to_vec(), ..HostFacts::default() };
    let text = render(&briefing, &host, 1_000);
    assert!(text.contains("\nOn branch fix/lexer-strings\n"), "{text}");
    assert!(text.contains("aaaaaa0 fix") && text.contains("aaaaaa2 fix"), "{text}");
    assert!(!text.contains("aaaaaa7 fix"), "{text}");
}

#[test]
fn a_status_of_an_earlier_turn_says_when_it_was_printed() {
    let mut briefing = thread();
    let turn = briefing.turn();
    briefing.record_command(ran("git", (20, "git status --short"), 0, " M src/a.rs\n"), None);
    let text = view_of(&briefing, 2_000);
    assert!(text.contains("uncommitted at the last look: src/a.rs"), "{text}");
    briefing.begin_turn(21, "Rename the lexer.", None);
    let text = view_of(&briefing, 2_000);
    let looked = format!("uncommitted at the last look (turn {turn}): src/a.rs");
    assert!(text.contains(&looked), "{text}");
}

#[test]
fn a_build_that_has_not_ended_counts_as_seen() {
    let mut briefing = Briefing::default();
    briefing.record_call(running(0, "a", "dotnet build app.sln"), None);
    briefing.mark_running("a", Some("72650"), "Restoring packages\n");
    let text = view_of(&briefing, 2_000);
    assert!(text.contains("seen: builds; not seen: tests, lints"), "{text}");
    let running =
        "still running at the last look (session 72650): #0 dotnet build app.sln; printed so far";
    assert!(text.contains(running), "{text}");
}

#[test]
fn of_a_program_that_writes_the_files_it_names_are_told() {
    let mut briefing = thread();
    edits(
        &mut briefing,
        12,
        "plan.md",
        "---\nsteps: [1]\nstate: begun\n---\nThe plan has parts.\n",
        "",
    );
    assert!(view_of(&briefing, 4_000).contains("steps: [1]"), "{}", view_of(&briefing, 4_000));
    for (seq, path) in [(20, "plan.md"), (21, "out/board.svg")] {
        let script =
            format!("python3 - <<'E'\nfor path in ['{path}']:\n    open(path, 'w').write(text)\nE");
        briefing.step(None, At { seq, ms: 0 }, &Step::Called(command(&script)));
        assert_eq!(view_of(&briefing, 4_000).contains("steps: [1]"), seq == 20);
        briefing.record_changes(seq, "p");
    }
    let text = view_of(&briefing, 4_000);
    assert!(!text.contains("steps: [1]"), "the program may have set another\n{text}");
    assert!(
        text.contains("(those that scripts wrote not among them: their code names out/board.svg)"),
        "{text}"
    );
}
