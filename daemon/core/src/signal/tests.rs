use serde_json::json;

use super::*;
use crate::fold::{Fold, Place, Source};

/// The signs of a script that succeeds.
fn signs(script: &str) -> Vec<Boundary> {
    let effects = CommandEffects::of(&shell::commands(script));
    let commit = effects.commits.then_some(Boundary::Commit);
    commit.into_iter().chain(effects.moves_pull_request.then_some(Boundary::PrCheckpoint)).collect()
}

#[test]
fn a_commit_is_found_in_any_shell_form() {
    for script in [
        "git commit -m 'fix'",
        "cd /w && git add -A && git commit -qm fix",
        "git -C sub -c user.name=x commit --amend --no-edit",
        "GIT_AUTHOR_NAME=x /usr/bin/git commit -m y",
        "sudo -u dev env A=1 git commit -m y",
        "timeout -k 5 60 git commit -m y",
        "bash -lc 'git add . && git commit -m y'",
        "if git commit -m y; then echo ok; fi",
        "{ git commit -m y; }",
        "(cd sub; git commit -m y)",
        "x=$(git commit -m y)",
        "git add . ; git commit -F - <<'EOF'\nmessage\nEOF\n",
        "eval \"git commit -m y\"",
        "jj commit -m y",
    ] {
        assert_eq!(signs(script), [Boundary::Commit], "{script}");
    }
}

/// Defects 7.3 and 7.13.12: substrings counted, and so did `git push`.
#[test]
fn defect_7_13_12_a_word_inside_an_echo_is_no_commit_and_a_push_is_no_pull_request() {
    for script in [
        "echo git commit",
        "echo 'git commit -m x' > notes",
        "# git commit",
        "grep -rn 'git commit' docs",
        "git log --grep commit",
        "git commit-tree abc",
        "git commit --dry-run",
        "cat <<EOF\ngit commit -m x\ngh pr create\nEOF",
        "git push origin main",
        "echo gh pr create",
        "gh pr view 3",
        "gh issue create",
    ] {
        assert_eq!(signs(script), [], "{script}");
    }
}

#[test]
fn a_pull_request_is_moved_by_gh_and_by_gt() {
    for script in [
        "gh pr create --fill",
        "gh -R o/r pr merge 7 --squash",
        "git push && gh pr create -t x -b 'y'",
        "gt submit --stack",
        "gt ss",
    ] {
        assert_eq!(signs(script), [Boundary::PrCheckpoint], "{script}");
    }
}

/// Folds items and returns the signs after each.
fn fold(items: &[serde_json::Value]) -> Fold {
    let mut fold = Fold::new(Source::Codex);
    for (line, item) in (0..).zip(items) {
        let kind = if item["type"] == "task_complete" { "event_msg" } else { "response_item" };
        let text = json!({"timestamp":"2026-01-01T00:00:00Z","type":kind,"payload":item});
        let text = text.to_string();
        let place = Place { line, offset: line * 1_000, bytes: text.len() as u64 };
        fold.line(place, text.as_bytes());
    }
    fold
}

fn user(words: &str) -> serde_json::Value {
    json!({"type":"message","role":"user","content":[{"type":"input_text","text":words}]})
}

fn ran(command: &str, exit: i32, output: &str) -> [serde_json::Value; 2] {
    let arguments = json!({ "cmd": command }).to_string();
    let output = format!("Exit code: {exit}\nOutput:\n{output}\n");
    [
        json!({"type":"function_call","name":"exec_command","arguments":arguments,"call_id":"c"}),
        json!({"type":"function_call_output","call_id":"c","output":output}),
    ]
}

fn present(items: &[serde_json::Value]) -> Vec<Boundary> {
    fold(items).signals().present().iter().copied().collect()
}

#[test]
fn a_command_counts_by_its_outcome() {
    let check = |command: &str, exit, output: &str, expected: &[Boundary]| {
        let mut items = vec![user("go")];
        items.extend(ran(command, exit, output));
        assert_eq!(present(&items), expected, "{command} {exit} {output}");
    };
    check("git commit -m x", 0, "[main 1a2b3c4] x", &[Boundary::Commit]);
    check("git commit -m x", 1, "error: hook failed", &[]);
    check("git commit -m x | tail -1", 0, "nothing to commit, working tree clean", &[]);
    check("git commit -m x; cargo test", 101, "[main 1a2b3c4] x\nfailed", &[Boundary::Commit]);
    check("gh pr create --fill", 0, "https://example.com/pull/1", &[Boundary::PrCheckpoint]);
    check("gh pr create --fill", 4, "not logged in", &[]);
}

/// A script that counts as a patch may also commit.
#[test]
fn a_commit_beside_a_patch_in_one_script_counts() {
    let patch = "apply_patch <<'PATCH'\n*** Begin Patch\n*** Add File: a\n+git commit\n*** End Patch\nPATCH\n";
    let check = |more: &str, exit, expected: &[Boundary]| {
        let mut items = vec![user("go")];
        items.extend(ran(&format!("{patch}{more}"), exit, "Success. Updated files"));
        assert_eq!(present(&items), expected, "{more}");
    };
    check("git add a && git commit -qm x", 0, &[Boundary::Commit]);
    check("git add a && git commit -qm x", 1, &[]);
    check("git status", 0, &[]);
    check("", 0, &[]);
}

/// An MCP server states no exit status; a command whose status is not known may have failed.
#[test]
fn an_answer_without_a_status_counts_only_for_a_tool() {
    let answers = |tool: &str, arguments: &serde_json::Value, output: &str| {
        let call = json!({"type":"function_call","name":tool,"call_id":"c",
            "arguments":arguments.to_string()});
        let output = json!({"type":"function_call_output","call_id":"c","output":output});
        present(&[user("go"), call, output])
    };
    let (tool, title) = ("mcp__github__create_pull_request", json!({ "title": "x" }));
    assert_eq!(answers(tool, &title, "#7"), [Boundary::PrCheckpoint]);
    assert_eq!(answers(tool, &title, "aborted"), []);
    assert_eq!(answers("mcp__github__get_pull_request", &title, "#7"), []);
    let commit = json!({ "cmd": "git commit -m x" });
    assert_eq!(answers("exec_command", &commit, "hooks ran"), []);
}

#[test]
fn a_command_without_an_outcome_does_not_count() {
    let items = [user("go"), ran("git commit -m x", 0, "")[0].clone()];
    assert_eq!(present(&items), []);
}

/// A commit whose hooks outlast the agent's first wait ends in the answer to a poll.
#[test]
fn a_background_command_counts_by_its_polled_outcome() {
    let runs = |id: &str| {
        let output =
            "Chunk ID: 1\nWall time: 1 seconds\nProcess running with session ID 72650\nOutput:\n";
        json!({"type":"function_call_output","call_id":id,"output":output})
    };
    let asks = |id: &str, session: u32| {
        let arguments = json!({ "session_id": session, "chars": "" }).to_string();
        json!({"type":"function_call","name":"write_stdin","arguments":arguments,"call_id":id})
    };
    let ended = |id: &str, code: u8| {
        let output = format!("Chunk ID: 2\nProcess exited with code {code}\nOutput:\nhooks ran\n");
        json!({"type":"function_call_output","call_id":id,"output":output})
    };
    let begun = || vec![user("go"), ran("git commit -m x", 0, "")[0].clone(), runs("c")];
    assert_eq!(present(&begun()), []);
    for (session, code, expected) in
        [(72_650, 0, &[Boundary::Commit][..]), (72_650, 1, &[]), (4, 0, &[])]
    {
        let mut items = begun();
        items.extend([asks("d", 72_650), runs("d"), asks("e", session), ended("e", code)]);
        assert_eq!(present(&items), expected, "{session} {code}");
    }
}

#[test]
fn an_agent_works_from_its_call_to_its_message() {
    let says = json!({"type":"message","role":"assistant",
        "content":[{"type":"output_text","text":"Done."}]});
    let [call, answer] = ran("just test", 0, "ok");
    let done = json!({"type":"task_complete"});
    let lines = [
        (user("go"), false),
        (call.clone(), true),
        (answer, true),
        (says, false),
        (call.clone(), true),
        (done, false),
        (user("go on"), false),
        (call, true),
        (user("wait"), false),
    ];
    for end in 1..=lines.len() {
        let items: Vec<_> = lines[..end].iter().map(|(item, _)| item.clone()).collect();
        assert_eq!(fold(&items).signals().works(), lines[end - 1].1, "after {end} lines");
    }
}

fn plan(states: &[&str]) -> serde_json::Value {
    let steps: Vec<_> = states.iter().map(|s| json!({"step":"do it","status":s})).collect();
    json!({"type":"function_call","name":"update_plan","call_id":"p",
        "arguments":json!({ "plan": steps }).to_string()})
}

/// Defect 7.3: a completed step made every later update a checkpoint.
#[test]
fn defect_7_3_a_plan_is_at_a_checkpoint_only_when_more_steps_are_done() {
    let both = [Boundary::PlanCheckpoint, Boundary::PlanUpdate];
    let done = ["completed", "in_progress"];
    assert_eq!(present(&[user("a"), plan(&["in_progress", "pending"])]), [Boundary::PlanUpdate]);
    assert_eq!(present(&[user("a"), plan(&done)]), both);
    let again = [user("a"), plan(&done), user("b"), plan(&done)];
    assert_eq!(present(&again), [Boundary::PlanUpdate]);
    let more = [user("a"), plan(&done), user("b"), plan(&["completed", "completed"])];
    assert_eq!(present(&more), both);
}

#[test]
fn signs_belong_to_their_turn_and_a_compaction_clears_them() {
    let mut items = vec![user("a")];
    items.extend(ran("git commit -m x", 0, "ok"));
    items.push(json!({"type":"task_complete"}));
    assert_eq!(present(&items), [Boundary::Commit, Boundary::TurnComplete]);
    items.push(user("b"));
    assert_eq!(present(&items), []);
    let fold = fold(&items);
    assert_eq!(fold.signals().turn(), 2);
    let log: Vec<_> = fold.signals().happened().map(|event| event.what.name()).collect();
    assert_eq!(log, ["turn_started", "commit", "turn_complete", "turn_started"]);
}

#[test]
fn the_last_message_is_redacted_and_bounded() {
    let words = format!("token ghp_{} {}", "a1B2".repeat(9), "word ".repeat(10_000));
    let answer = json!({"type":"message","role":"assistant",
        "content":[{"type":"output_text","text":words}]});
    let fold = fold(&[user("a"), answer]);
    let kept = fold.signals().message().unwrap();
    assert!(kept.len() <= limits::SIGNAL_MESSAGE_BYTES && !kept.contains("a1B2a1B2"), "{kept}");
}
