use super::*;
use serde_json::json;

/// Lines of any generation as one file.
fn parse(lines: &[Value]) -> Transcript {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    Transcript::parse(text.as_bytes())
}

fn envelope(payload: &Value) -> Value {
    json!({"timestamp": "2026-01-01T00:00:00Z", "type": "response_item", "payload": payload})
}

fn call(name: &str, arguments: &Value) -> Call {
    let item = json!({"type": "function_call", "name": name, "call_id": "c1",
        "arguments": arguments.to_string()});
    let transcript = parse(&[envelope(&item)]);
    match transcript.steps.into_iter().next().map(|step| step.kind) {
        Some(StepKind::Call(call)) => call,
        other => panic!("no call: {other:?}"),
    }
}

fn output(output: &Value) -> Output {
    let item = json!({"type": "function_call_output", "call_id": "c1", "output": output});
    let transcript = parse(&[envelope(&item)]);
    match transcript.steps.into_iter().next().map(|step| step.kind) {
        Some(StepKind::Output(output)) => output,
        other => panic!("no output: {other:?}"),
    }
}

const PATCH: &str = "*** Begin Patch\n*** Add File: src/new.rs\n+fn added() {}\n\
    *** Update File: src/old.rs\n*** Move to: src/moved.rs\n@@\n-a\n+b\n\
    *** Delete File: src/gone.rs\n*** End Patch";

fn patched(call: &Call) -> Vec<(&str, PatchAction)> {
    call.patches.iter().map(|op| (op.path.as_str(), op.action)).collect()
}

#[test]
fn commands_are_found_under_every_tool_name() {
    let check = |name: &str, arguments: Value, expected: &str| {
        assert_eq!(call(name, &arguments).command.as_deref(), Some(expected), "{name}");
    };
    check("shell", json!({"command": ["bash", "-lc", "cargo test"]}), "cargo test");
    check("shell", json!({"command": ["git", "status"]}), "git status");
    check("shell_command", json!({"command": "ls -la", "workdir": "/w"}), "ls -la");
    check("exec_command", json!({"cmd": "rg main", "yield_time_ms": 1000}), "rg main");
}

#[test]
fn patches_are_found_in_every_wrapper() {
    let expected = [
        ("src/new.rs", PatchAction::Create),
        ("src/old.rs", PatchAction::Delete),
        ("src/moved.rs", PatchAction::Create),
        ("src/gone.rs", PatchAction::Delete),
    ];
    let custom = json!({"type": "custom_tool_call", "name": "apply_patch", "call_id": "c1",
        "input": PATCH});
    let transcript = parse(&[envelope(&custom)]);
    let Some(StepKind::Call(custom)) = transcript.steps.first().map(|step| &step.kind) else {
        panic!("no call");
    };
    assert_eq!(patched(custom), expected);

    let argv = call("shell", &json!({"command": ["apply_patch", PATCH]}));
    assert_eq!(patched(&argv), expected);

    let script = format!("cd sub && apply_patch <<'EOF'\n{PATCH}\nEOF\n");
    for (name, arguments) in [
        ("shell", json!({"command": ["bash", "-lc", script]})),
        ("shell_command", json!({"command": script})),
        ("exec_command", json!({"cmd": script})),
    ] {
        assert_eq!(patched(&call(name, &arguments)), expected, "{name}");
    }
}

#[test]
fn quoted_patch_changes_nothing() {
    let shown = call("exec_command", &json!({"cmd": format!("cat <<'EOF'\n{PATCH}\nEOF")}));
    assert_eq!(patched(&shown), []);
}

#[test]
fn argument_names_and_small_numbers_are_not_kept() {
    let call =
        call("write_stdin", &json!({"session_id": 72650, "yield_time_ms": 1000, "chars": "yes"}));
    let mut texts: Vec<&str> = call.arguments.iter().map(String::as_str).collect();
    texts.sort_unstable();
    assert_eq!(texts, ["#72650", "yes"]);
}

#[test]
fn exit_codes_are_read_in_their_three_forms() {
    let check = |value: Value, text: &str, code: Option<i64>| {
        let output = output(&value);
        assert_eq!((output.text.as_str(), output.exit_code), (text, code));
    };
    let quoted = r#"{"output":"out\n","metadata":{"exit_code":2,"duration_seconds":0.1}}"#;
    check(json!(quoted), "out\n", Some(2));
    check(json!("Exit code: 1\nWall time: 0 seconds\nOutput:\nout"), "out", Some(1));
    let chunk =
        "Chunk ID: 27d55e\nWall time: 0.0 seconds\nProcess exited with code 0\nOutput:\nout";
    check(json!(chunk), "out", Some(0));
    check(json!("Plan updated"), "Plan updated", None);
    check(json!([{"type": "input_text", "text": "seen"}]), "seen", None);
    assert!(output(&json!("apply_patch verification failed: no such lines")).failed());
}

#[test]
fn code_that_calls_a_tool_shows_its_command() {
    let item = json!({"type": "custom_tool_call", "name": "exec", "call_id": "c1",
        "input": "const r = await tools.exec_command({cmd: \"echo \\\"a\\\"\"});"});
    let transcript = parse(&[envelope(&item)]);
    let Some(StepKind::Call(call)) = transcript.steps.first().map(|step| &step.kind) else {
        panic!("no call");
    };
    assert_eq!(call.command.as_deref(), Some("echo \"a\""));
}

#[test]
fn plans_keep_text_and_state() {
    let plan = json!({"plan": [{"step": "Read", "status": "completed"},
        {"step": "Write", "status": "in_progress"}, {"step": "Test", "status": "pending"}]});
    let plan = call("update_plan", &plan).plan.unwrap_or_default();
    let states: Vec<PlanState> = plan.iter().map(|step| step.state).collect();
    assert_eq!(states, [PlanState::Completed, PlanState::InProgress, PlanState::Pending]);
}

#[test]
fn injected_text_and_notices_are_not_requests() {
    let user = |text: &str| {
        envelope(&json!({"type": "message", "role": "user",
            "content": [{"type": "input_text", "text": text}]}))
    };
    let transcript = parse(&[
        user("# AGENTS.md instructions for /w\nBe kind."),
        user("<environment_context>\n<cwd>/w</cwd>\n</environment_context>"),
        user("<turn_aborted>\nby the user\n</turn_aborted>"),
        user(
            "# Context from my IDE setup:\n## Open tabs:\n- a.rs\n## My request for Codex:\nFix it",
        ),
        user(
            "# Files mentioned by the user:\n## a.png: /w/a.png\n## My request for Codex:\nSee it",
        ),
        user("Do it"),
    ]);
    assert_eq!(transcript.cwds, ["/w"]);
    let seen: Vec<(&str, bool)> = transcript
        .steps
        .iter()
        .filter_map(|step| match &step.kind {
            StepKind::User { text, request } => Some((text.as_str(), *request)),
            _ => None,
        })
        .collect();
    assert_eq!(
        seen,
        [
            ("<turn_aborted>\nby the user\n</turn_aborted>", false),
            ("Fix it", true),
            ("See it", true),
            ("Do it", true)
        ]
    );
}

#[test]
fn several_objects_on_a_line_are_read_and_counted_once() {
    let report =
        r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"hello"}]}"#;
    for (line, steps, malformed) in [
        (report.to_owned(), 1, 0),
        (report.repeat(2), 2, 1),
        (format!("{report} {report}\r"), 2, 1),
        (format!("{report}{}", &report[..9]), 1, 1),
        (format!("{}{report}", &report[..9]), 0, 1),
        ("[1]".to_owned(), 0, 1),
    ] {
        let transcript = Transcript::parse(format!("{line}\n").as_bytes());
        assert_eq!((transcript.steps.len(), transcript.malformed), (steps, malformed), "{line}");
    }
}

#[test]
fn bare_lines_events_and_damage_are_tolerated() {
    let bare = r#"{"id":"t1","timestamp":"2025-01-01T00:00:00Z","instructions":"rules","git":{}}
{"record_type":"state"}
{"type":"message","role":"user","content":[{"type":"input_text","text":"hello"}]}

not json
{"timestamp":"x","type":"event_msg","payload":{"type":"user_message","message":"hello"}}
{"type":"function_call","name":"shell","arguments":"{\"command\":[\"bash\",\"-lc\",\"ls\"]}","call_id":"c"}
{"type":"function_call_output","call_id":"c","output":"tor"#;
    let transcript = Transcript::parse(bare.as_bytes());
    assert_eq!(transcript.thread_id.as_deref(), Some("t1"));
    assert_eq!(transcript.malformed, 2);
    assert_eq!(transcript.steps.len(), 3);
    let ends: Vec<&[u8]> =
        transcript.steps.iter().map(|step| &bare.as_bytes()[step.end - 1..step.end]).collect();
    assert!(ends.iter().all(|end| *end == b"\n"), "steps end at line boundaries");
}
