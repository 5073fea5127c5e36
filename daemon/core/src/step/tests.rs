//! Checkpoint, signals and memory agree on the content of a transcript.

mod scripts;

use serde_json::{Value, json};

use crate::checkpoint::commands::CommandOutcome;
use crate::fold::{Fold, Place, Source};
use crate::limits;
use crate::memory::RolloutMemory;
use crate::memory::extract::{Extractor, ThreadRef};
use crate::memory::own::Own;
use crate::signal::Boundary;

/// The state of the folds after some lines.
struct Folded {
    fold: Fold,
    memory: Option<RolloutMemory>,
}

impl Folded {
    fn of(source: Source, lines: &[Value]) -> Self {
        let thread = ThreadRef { thread_id: "t".into(), source, project: None };
        let mut extractor = Extractor::new(thread, Own::default());
        let mut fold = Fold::new(source);
        for (line, value) in (0..).zip(lines) {
            let text = value.to_string();
            let place = Place { line, offset: line * 1_000, bytes: text.len() as u64 };
            fold.line(place, text.as_bytes());
            extractor.line(place, text.as_bytes());
            // A transcript may be cut anywhere.
            fold = Fold::load(&fold.save().unwrap()).unwrap();
        }
        Self { fold, memory: extractor.finish() }
    }

    /// Commands in the checkpoint, newest first, with their outcomes.
    /// How often a file was changed.
    fn changes(&self, path: &str) -> u32 {
        let state = self.fold.checkpoint();
        state.files.find(path, state.cwd.as_deref()).map_or(0, |file| file.changes)
    }

    fn commands(&self) -> Vec<(&str, CommandOutcome)> {
        let commands = self.fold.checkpoint().commands.newest();
        commands.map(|command| (command.text.as_str(), command.outcome)).collect()
    }

    fn file(&self, path: &str) -> Option<&'static str> {
        let state = self.fold.checkpoint();
        state.files.find(path, state.cwd.as_deref()).map(|file| file.state.into_str())
    }

    /// Text that memory learned.
    fn learned(&self) -> String {
        let learnings = self.memory.iter().flat_map(|memory| &memory.learnings);
        learnings.map(|learning| format!("{}\n", learning.text)).collect()
    }

    fn has_committed(&self) -> bool {
        self.fold.signals().present().contains(&Boundary::Commit)
    }
}

fn codex(kind: &str, payload: &Value) -> Value {
    json!({ "timestamp": "2026-01-01T00:00:00Z", "type": kind, "payload": payload })
}

fn asked(words: &str) -> Value {
    let content = json!([{ "type": "input_text", "text": words }]);
    codex("response_item", &json!({ "type": "message", "role": "user", "content": content }))
}

fn called(id: &str, tool: &str, arguments: &Value) -> Value {
    let arguments = arguments.to_string();
    let call =
        json!({ "type": "function_call", "name": tool, "arguments": arguments, "call_id": id });
    codex("response_item", &call)
}

fn answered(id: &str, output: &str) -> Value {
    let output = json!({ "type": "function_call_output", "call_id": id, "output": output });
    codex("response_item", &output)
}

fn ran(id: &str, script: &str, output: &str) -> [Value; 2] {
    [called(id, "exec_command", &json!({ "cmd": script })), answered(id, output)]
}

fn event(payload: &Value) -> Value {
    codex("event_msg", payload)
}

const RUNS_ON: &str = "Chunk ID: 1\nProcess running with session ID 7\nOutput:\nCompiling\n";

#[test]
fn a_command_that_is_polled_ends_in_every_fold() {
    let poll = |id: &str| called(id, "write_stdin", &json!({ "session_id": 7, "chars": "" }));
    let test_run = "Chunk ID: 2\nProcess exited with code 0\nOutput:\n\
                    test result: ok. 12 passed; 0 failed; 0 ignored\n";
    let mut lines = vec![asked("run the tests and commit")];
    lines.extend(ran("a", "cargo test --workspace && git commit -m x", RUNS_ON));
    let begun = Folded::of(Source::Codex, &lines);
    assert_eq!(begun.commands()[0].1, CommandOutcome::Running);
    assert!(!begun.has_committed() && !begun.learned().contains("cargo test"));
    lines.extend([poll("b"), answered("b", RUNS_ON), poll("c"), answered("c", test_run)]);
    let ended = Folded::of(Source::Codex, &lines);
    let line = "cargo test --workspace && git commit -m x";
    assert_eq!(ended.commands(), [(line, CommandOutcome::Exit(0))]);
    let tests = ended.fold.checkpoint().commands.newest().next().and_then(|run| run.tests);
    assert_eq!(tests.map(|tests| (tests.passed, tests.failed)), Some((12, 0)));
    assert!(ended.has_committed());
    assert!(ended.learned().contains("cargo test --workspace"), "{}", ended.learned());
    assert!(ended.learned().contains("12 tests pass"), "{}", ended.learned());
}

#[test]
fn the_first_report_of_an_outcome_counts_once_in_every_fold() {
    let done = |id: &str, exit: i64| {
        let command = ["bash", "-lc", "make check"];
        event(&json!({ "type": "exec_command_end", "call_id": id, "command": command,
            "exit_code": exit }))
    };
    let call = called("a", "exec_command", &json!({ "cmd": "make check" }));
    let failed = CommandOutcome::Exit(2);
    for (what, lines, expected) in [
        ("only the report tells", vec![call.clone(), done("a", 2), answered("a", "x")], failed),
        (
            "the answer tells the same",
            vec![call.clone(), done("a", 2), answered("a", "Exit code: 2\nOutput:\nx")],
            failed,
        ),
        (
            "the report comes late",
            vec![call.clone(), answered("a", "Exit code: 2\nOutput:\nx"), done("a", 2)],
            failed,
        ),
        (
            "it kept running and was not polled",
            vec![call.clone(), answered("a", RUNS_ON), done("a", 2), done("a", 2)],
            failed,
        ),
        (
            "it was stopped when the harness went",
            vec![call, answered("a", RUNS_ON), done("a", -1)],
            CommandOutcome::Unknown,
        ),
        ("no call shows it", vec![done("nested", 2)], failed),
    ] {
        let mut whole = vec![asked("check it")];
        whole.extend(lines);
        whole.extend(ran("z", "make check", "Exit code: 0\nOutput:\nfine"));
        let folded = Folded::of(Source::Codex, &whole);
        let checkpoint = folded.fold.checkpoint();
        assert_eq!(folded.commands(), [("make check", CommandOutcome::Exit(0))], "{what}");
        assert_eq!(checkpoint.commands.newest().map(|run| run.runs).sum::<u32>(), 2, "{what}");
        whole.truncate(whole.len() - 2);
        assert_eq!(Folded::of(Source::Codex, &whole).commands()[0].1, expected, "{what}");
        let summary = folded.memory.map(|memory| memory.learnings).unwrap_or_default();
        assert!(summary.iter().any(|known| known.text.contains("`make check` works")), "{what}");
    }
}

#[test]
fn a_patch_that_the_harness_reports_is_one_change() {
    let patch = "*** Begin Patch\n*** Update File: src/a.rs\n@@\n-x\n+y\n*** End Patch";
    let report = event(&json!({ "type": "patch_apply_end", "call_id": "p", "success": true,
        "changes": { "/w/src/a.rs": { "type": "update" } } }));
    let lines = [
        codex("session_meta", &json!({ "id": "t", "cwd": "/w" })),
        asked("change it"),
        called("p", "apply_patch", &json!({ "input": patch })),
        report,
        answered("p", "Exit code: 0\nOutput:\nSuccess"),
    ];
    let folded = Folded::of(Source::Codex, &lines);
    let state = folded.fold.checkpoint();
    assert_eq!(state.files.find("src/a.rs", Some("/w")).map(|file| file.changes), Some(1));
    let account = folded.memory.map(|memory| memory.raw_memory).unwrap_or_default();
    assert!(account.contains("src/a.rs"), "{account}");
}

#[test]
fn a_change_that_only_the_harness_reports_is_known() {
    let patch = "*** Begin Patch\n*** Update File: src/a.rs\n@@\n-x\n+y\n*** End Patch";
    let report = |id: &str, success: bool| {
        event(&json!({ "type": "patch_apply_end", "call_id": id, "success": success,
            "changes": { "/w/src/a.rs": { "type": "update" } } }))
    };
    let call = called("p", "apply_patch", &json!({ "input": patch }));
    for (what, lines, changes) in [
        ("a call without an answer", vec![call.clone(), report("p", true)], Some(1)),
        ("a call that failed", vec![call.clone(), report("p", false)], None),
        ("code that has no call", vec![report("n", true)], Some(1)),
        ("both forms of the report", vec![report("n", true), report("n", true)], Some(1)),
        ("two changes", vec![call, report("p", true), report("n", true)], Some(2)),
    ] {
        let mut whole = vec![codex("session_meta", &json!({ "id": "t", "cwd": "/w" })), asked("x")];
        whole.extend(lines);
        let folded = Folded::of(Source::Codex, &whole);
        let state = folded.fold.checkpoint();
        assert_eq!(state.files.get("/w/src/a.rs").map(|file| file.changes), changes, "{what}");
    }
}

#[test]
fn a_script_reads_files_relative_to_where_it_runs() {
    for (script, workdir, path) in [
        ("cat a.rs", None, "/w/a.rs"),
        ("cat a.rs", Some("/v/x"), "/v/x/a.rs"),
        ("cat a.rs", Some("x"), "/w/x/a.rs"),
        ("cd sub && cat a.rs", None, "/w/sub/a.rs"),
        ("cd sub && cat a.rs", Some("/v/x/"), "/v/x/sub/a.rs"),
        ("cd /u && cat a.rs", Some("/v/x"), "/u/a.rs"),
    ] {
        let arguments = json!({ "cmd": script, "workdir": workdir });
        let meta = codex("session_meta", &json!({ "id": "t", "cwd": "/w" }));
        let lines = [meta, asked("look"), called("a", "exec_command", &arguments)];
        let folded = Folded::of(Source::Codex, &lines);
        let keys: Vec<_> = folded.fold.checkpoint().files.iter().map(|(key, _)| key).collect();
        assert!(keys.contains(&path), "{script} in {workdir:?}: {keys:?}");
    }
}

#[test]
fn a_shell_stays_in_the_folder_it_entered() {
    let mut lines = vec![claude("user", 0, &json!({ "role": "user", "content": "look" }), None)];
    let long = format!("/{}", "x".repeat(limits::PATH_BYTES));
    // Without a folder the shell is where it was; one that is too long to keep is not known.
    let folders = [
        ("/w/sub", "/w/sub/f1.rs"),
        ("", "/w/sub/f2.rs"),
        ("/w", "/w/f3.rs"),
        (long.as_str(), "/w/f4.rs"),
    ];
    for (number, (folder, _)) in (1..).zip(folders) {
        let script = json!({ "command": format!("cat f{number}.rs") });
        let mut call = uses(number, &format!("c{number}"), "Bash", &script);
        call["cwd"] = json!(Some(folder).filter(|folder| !folder.is_empty()));
        lines.push(call);
    }
    let folded = Folded::of(Source::Claude, &lines);
    let keys: Vec<_> = folded.fold.checkpoint().files.iter().map(|(key, _)| key).collect();
    for (_, path) in folders {
        assert!(keys.contains(&path), "{path}: {keys:?}");
    }
}

#[test]
fn another_agents_message_is_a_request_and_reasoning_is_none() {
    let says = |words: &str| {
        let content = json!([{ "type": "output_text", "text": words }]);
        codex(
            "response_item",
            &json!({ "type": "message", "role": "assistant", "content": content }),
        )
    };
    let thinks = |words: &str| {
        let summary = json!([{ "type": "summary_text", "text": words }]);
        codex("response_item", &json!({ "type": "reasoning", "summary": summary }))
    };
    let sent = |content: &str| {
        says(
            &json!({ "author": "/lead", "recipient": "/lead/a", "other_recipients": [],
            "content": content, "trigger_turn": true })
            .to_string(),
        )
    };
    let escaped = "Fix the parser:\nalways use \"tabs\" in this repository";
    let lines = [sent(escaped), thinks("**Reading the grammar**"), thinks(""), sent("Go on")];
    let folded = Folded::of(Source::Codex, &lines[..3]);
    let request = folded.fold.checkpoint().requests.active().unwrap();
    assert_eq!((request.text.as_str(), request.bytes), (escaped, escaped.len() as u64));
    let briefing = serde_json::to_string(&folded.fold.checkpoint().briefing).unwrap();
    assert!(briefing.contains("Reading the grammar"), "{briefing}");
    assert!(!folded.learned().contains("tabs"), "no person said it: {}", folded.learned());
    let folded = Folded::of(Source::Codex, &lines);
    assert_eq!(folded.fold.checkpoint().requests.all().len(), 2);
}

#[test]
fn files_behind_wrappers_are_read() {
    for script in [
        "sudo -u dev cat src/a.rs",
        "timeout -k 5 60 cat src/a.rs",
        "timeout --signal=KILL 60 cat src/a.rs",
        "env -u HOME A=1 B=2 cat src/a.rs",
        "A=1 nice -n 5 setsid cat src/a.rs",
        "echo src/a.rs | xargs -n 1 cat src/a.rs",
        "if ! cat src/a.rs; then true; fi",
    ] {
        let mut lines = vec![asked("look")];
        lines.extend(ran("a", script, "Exit code: 0\nOutput:\nx"));
        assert_eq!(Folded::of(Source::Codex, &lines).file("src/a.rs"), Some("read"), "{script}");
    }
}

fn claude(kind: &str, number: u32, message: &Value, result: Option<Value>) -> Value {
    let mut line = json!({ "type": kind, "uuid": format!("u{number}"), "sessionId": "s",
        "parentUuid": number.checked_sub(1).map(|before| format!("u{before}")),
        "timestamp": "2026-01-01T00:00:00Z", "cwd": "/w", "message": message });
    if let Some(result) = result {
        line["toolUseResult"] = result;
    }
    line
}

fn uses(number: u32, id: &str, tool: &str, input: &Value) -> Value {
    let block = json!({ "type": "tool_use", "id": id, "name": tool, "input": input });
    claude("assistant", number, &json!({ "role": "assistant", "content": [block] }), None)
}

fn result(number: u32, id: &str, text: &str, more: Value) -> Value {
    let block = json!({ "type": "tool_result", "tool_use_id": id, "content": text });
    claude("user", number, &json!({ "role": "user", "content": [block] }), Some(more))
}

#[test]
fn a_team_leaders_message_is_a_request_and_a_members_is_none() {
    let sent = |number: u32, from: &str, words: &str| {
        let text =
            format!("<teammate-message teammate_id=\"{from}\">\n{words}\n</teammate-message>");
        claude("user", number, &json!({ "role": "user", "content": text }), None)
    };
    let order = "Fix the parser: always use \"tabs\" in this repository";
    let lines = [sent(0, "team-lead", order), sent(1, "bob", "The lexer is done.")];
    let folded = Folded::of(Source::Claude, &lines);
    let requests = folded.fold.checkpoint().requests.all();
    assert_eq!(
        requests.iter().map(|it| it.text.as_str()).collect::<Vec<_>>(),
        [format!("team-lead: {order}")]
    );
    assert!(!folded.learned().contains("tabs"), "no person said it: {}", folded.learned());
}

#[test]
fn a_background_shell_of_claude_code_ends_when_polled() {
    let shell = json!({ "stdout": "", "stderr": "", "interrupted": false,
        "backgroundTaskId": "b1" });
    let begun = [
        claude("user", 0, &json!({ "role": "user", "content": "run the tests" }), None),
        uses(1, "a", "Bash", &json!({ "command": "cargo test -q", "run_in_background": true })),
        result(2, "a", "Command running in background with ID: b1", shell),
    ];
    let status = |status: &str, exit: &str, printed: &str| {
        format!(
            "<retrieval_status>success</retrieval_status>\n\n<task_id>b1</task_id>\n\n\
             <status>{status}</status>\n\n{exit}<output>\n{printed}\n</output>"
        )
    };
    let ended =
        status("completed", "<exit_code>0</exit_code>\n\n", "test result: ok. 3 passed; 0 failed");
    for (tool, input, printed, outcome) in [
        ("TaskOutput", json!({ "task_id": "b1" }), ended.as_str(), CommandOutcome::Exit(0)),
        ("BashOutput", json!({ "bash_id": "b1" }), &ended, CommandOutcome::Exit(0)),
        (
            "TaskOutput",
            json!({ "task_id": "b1" }),
            &status("running", "", "Compiling"),
            CommandOutcome::Running,
        ),
        ("KillShell", json!({ "shell_id": "b1" }), "killed b1", CommandOutcome::Unknown),
        ("KillShell", json!({ "shell_id": "b1" }), &ended, CommandOutcome::Unknown),
        ("TaskOutput", json!({ "task_id": "other" }), &ended, CommandOutcome::Running),
        (
            "TaskOutput",
            json!({ "task_id": "b1" }),
            "<tool_use_error>Task is locked</tool_use_error>",
            CommandOutcome::Running,
        ),
    ] {
        let mut lines = begun.to_vec();
        lines.extend([uses(3, "p", tool, &input), result(4, "p", printed, json!({}))]);
        let folded = Folded::of(Source::Claude, &lines);
        let line = folded.commands().into_iter().find(|(line, _)| *line == "cargo test -q");
        assert_eq!(line.map(|(_, outcome)| outcome), Some(outcome), "{tool} {input}");
        let is_learned = folded.learned().contains("cargo test -q");
        assert_eq!(is_learned, outcome == CommandOutcome::Exit(0), "{tool} {input}");
    }
}

#[test]
fn an_edited_request_replaces_the_first_in_every_fold() {
    let asks = |words: &str| json!({ "role": "user", "content": words });
    let says = json!({ "role": "assistant", "content": [{ "type": "text", "text": "done" }] });
    let mut again = claude("user", 4, &asks("always use spaces in this repository"), None);
    again["parentUuid"] = json!("u1");
    let lines = [
        claude("user", 0, &asks("fix the parser"), None),
        claude("assistant", 1, &says, None),
        claude("user", 2, &asks("always use tabs in this repository"), None),
        claude("assistant", 3, &says, None),
        again,
    ];
    let folded = Folded::of(Source::Claude, &lines);
    let requests = folded.fold.checkpoint().requests.all();
    assert_eq!(requests.len(), 2);
    assert!(!requests.iter().any(|request| request.text.contains("tabs")));
    let learned = folded.learned();
    assert!(learned.contains("spaces") && !learned.contains("tabs"), "{learned}");
}

/// A line of Claude Code, `second` seconds after the first.
fn written(second: u32, role: &str, content: &Value) -> Value {
    json!({
        "type": role, "sessionId": "t", "cwd": "/w", "uuid": format!("{role}{second}"), "parentUuid": "p",
        "timestamp": format!("2026-01-01T00:00:{second:02}Z"),
        "message": { "role": role, "model": "m", "content": content, "usage": { "input_tokens": 90_000 } },
    })
}

#[test]
fn messages_kept_after_our_briefing_count_once() {
    let call = json!([{ "type": "tool_use", "id": "c1", "name": "Bash", "input": { "command": "just test" } }]);
    let result = json!([{ "type": "tool_result", "tool_use_id": "c1", "content": "7 passed" }]);
    let kept = [
        written(1, "user", &json!("fix the parser")),
        written(2, "assistant", &call),
        written(3, "user", &result),
        written(4, "assistant", &json!([{ "type": "text", "text": "Fixed and tested." }])),
    ];
    let view = "The conversation so far was compacted. Below is a briefing.\n\n[SESSION_CHECKPOINT v1]\n- Fixed and tested.";
    let briefing = written(5, "user", &json!(view));
    let once = Folded::of(Source::Claude, &kept);
    let again = [&kept[..], &[briefing], &kept[..]].concat();
    let twice = Folded::of(Source::Claude, &again);
    assert_eq!(twice.commands(), once.commands());
    assert_eq!(twice.fold.checkpoint().requests, once.fold.checkpoint().requests);
    assert_eq!(twice.learned(), once.learned());
    let evidence = |folded: &Folded| {
        let state = serde_json::to_value(folded.fold.checkpoint()).unwrap();
        state["briefing"].to_string().matches("Fixed and tested").count()
    };
    assert_eq!(evidence(&twice), evidence(&once));
    assert_eq!(twice.fold.meter().report(), None, "the count of a history that was replaced");

    // A restored history is written again within milliseconds.
    let back = |line: &Value| {
        let mut line = line.clone();
        line["timestamp"] = json!("2026-01-01T00:00:06.001Z");
        line
    };
    let mark = "[longhaul put back below what a compaction had replaced]";
    let restored = [&again[..], &[written(6, "user", &json!(mark))]].concat();
    let restored: Vec<Value> = restored.into_iter().chain(kept.iter().map(back)).collect();
    let restored = Folded::of(Source::Claude, &restored);
    assert_eq!(restored.commands(), once.commands());
    assert_eq!(restored.fold.checkpoint().requests, once.fold.checkpoint().requests);

    let mut timeless = written(6, "user", &json!("now the lexer"));
    timeless.as_object_mut().unwrap().remove("timestamp");
    let summary = |second: u32| {
        let mut line = written(second, "user", &json!("The parser is fixed, the lexer is next."));
        line["isCompactSummary"] = json!(true);
        line
    };
    let asks = |second: u32| written(second, "user", &json!("now the lexer"));
    for (what, after) in [
        ("later", vec![asks(6)]),
        ("at the same time as the briefing", vec![asks(5)]),
        ("without a time", vec![timeless]),
        ("the agent compacted again and its clock went back", vec![summary(8), asks(7)]),
    ] {
        let goes_on = Folded::of(Source::Claude, &[&again[..], &after].concat());
        let active = goes_on.fold.checkpoint().requests.active().map(|it| it.text.clone());
        assert_eq!(active.as_deref(), Some("now the lexer"), "{what}");
    }
}

#[test]
fn a_briefing_of_ours_is_not_recorded_again() {
    let view = "The conversation so far was compacted. Below is a briefing.\n\n[SESSION_CHECKPOINT v1]\n\
                The cause: the parser drops the last line.";
    let own = "The cause: the parser drops the last line. It must be fixed.";
    for (what, words, is_recorded) in [("ours", view, false), ("the agent's", own, true)] {
        let mut line = written(5, "user", &json!(words));
        line["isCompactSummary"] = json!(true);
        let folded = Folded::of(Source::Claude, &[written(1, "user", &json!("fix it")), line]);
        let briefing = serde_json::to_string(&folded.fold.checkpoint().briefing).unwrap();
        assert_eq!(briefing.contains("drops the last line"), is_recorded, "{what}: {briefing}");
    }
}
