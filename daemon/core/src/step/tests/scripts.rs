use super::*;
use crate::briefing::{self, HostFacts};

#[test]
fn a_script_that_fails_has_changed_what_comes_before_the_failure() {
    let program = "python3 - <<'E'\nopen('src/a.rs', 'w').write('x')\nE";
    let failed = "Chunk ID: 1\nProcess exited with code 1\nOutput:\nno such file\n";
    let worked = "Chunk ID: 1\nProcess exited with code 0\nOutput:\n";
    for (script, answer, changes) in [
        ("sed -i 's/a/b/' src/a.rs", worked, 1),
        ("sed -i 's/a/b/' src/a.rs", failed, 0),
        ("cat > src/a.rs <<'E'\nx\nE", failed, 0),
        ("cat > src/a.rs <<'E'\nx\nE\ncargo test", failed, 1),
        (program, worked, 1),
        (program, failed, 0),
        (&format!("{program}\ncargo test"), failed, 1),
        ("test -d src && rm src/a.rs", failed, 0),
        // The shell opens the file first.
        ("cargo test > src/a.rs", failed, 1),
    ] {
        let mut lines = vec![asked("change the file")];
        lines.extend(ran("a", script, answer));
        let folded = Folded::of(Source::Codex, &lines);
        assert_eq!(folded.changes("src/a.rs"), changes, "{script}");
        let summary = folded.memory.as_ref().map_or("", |memory| &memory.rollout_summary);
        assert_eq!(summary.contains("- `src/a.rs`"), changes > 0, "{script}: {summary}");
    }
    let poll = called("b", "write_stdin", &json!({ "session_id": 7, "chars": "" }));
    let mut lines = vec![asked("change the file")];
    lines.extend(ran("a", "sed -i 's/a/b/' src/a.rs", RUNS_ON));
    assert_eq!(Folded::of(Source::Codex, &lines).changes("src/a.rs"), 1);
    lines.extend([poll, answered("b", worked)]);
    assert_eq!(Folded::of(Source::Codex, &lines).changes("src/a.rs"), 1);
}

#[test]
fn the_exit_code_of_a_filter_says_nothing_of_what_is_before_it() {
    for (command, says) in
        [("./sync parts", "exit 0; 41 parts"), ("./sync parts | tail -1", "41 parts")]
    {
        let mut lines = vec![asked("count them")];
        lines.extend(ran("z", command, "Exit code: 0\nOutput:\n41 parts"));
        lines.push(asked("now the parser"));
        let folded = Folded::of(Source::Codex, &lines);
        let view =
            briefing::render(&folded.fold.checkpoint().briefing, &HostFacts::default(), 2_000).text;
        assert!(view.contains(&format!("{command} → {says}\n")), "{view}");
    }
}

#[test]
fn git_that_failed_before_a_filter_has_failed() {
    for (command, printed, failed) in [
        ("git ls-remote origin | sed -n 1,9p", "fatal: Could not resolve host", true),
        ("git fetch || git init", "fatal: not a git repository\nInitialized", false),
        ("grep -h fatal log.txt | head", "a fatal: error", false),
    ] {
        let mut lines = vec![asked("check it")];
        lines.extend(ran("z", command, &format!("Exit code: 0\nOutput:\n{printed}")));
        let outcome = Folded::of(Source::Codex, &lines).commands()[0].1;
        assert_eq!(outcome == CommandOutcome::Failed, failed, "{command}: {outcome:?}");
    }
}
