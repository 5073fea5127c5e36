//! What is kept of a call while it waits.

use serde_json::{Value, json};

use super::*;

fn call<'a>(id: &'a str, tool: &'a str, arguments: &Value) -> tool::Call<'a> {
    let arguments = arguments.to_string().into();
    tool::Call { call_id: id.into(), name: tool.into(), namespace: None, arguments }
}

#[test]
fn a_call_that_asks_to_leave_the_sandbox_is_marked() {
    for (tool, arguments, expected) in [
        (
            "exec_command",
            json!({ "cmd": "gh pr list", "sandbox_permissions": "require_escalated" }),
            true,
        ),
        (
            "exec_command",
            json!({ "cmd": "gh pr list", "sandbox_permissions": "use_default" }),
            false,
        ),
        ("shell", json!({ "command": ["gh", "pr"], "with_escalated_permissions": true }), true),
        ("shell", json!({ "command": ["gh", "pr"], "with_escalated_permissions": false }), false),
        ("Bash", json!({ "command": "gh pr list", "dangerouslyDisableSandbox": true }), true),
        ("shell", json!({ "command": ["rg", "with_escalated_permissions"] }), false),
    ] {
        let called = NewCall::of(At::default(), &call("a", tool, &arguments), None);
        assert_eq!(called.call.is_unconfined, expected, "{arguments}");
    }
}

#[test]
fn the_estimated_size_of_a_call_is_near_its_saved_size() {
    let long = |letter: &str| format!("{letter}/").repeat(limits::PATH_BYTES / 2);
    let files: String =
        (0..20).map(|n| format!("*** Update File: {n:02}{}a\n@@\n+y\n", long("f"))).collect();
    let patch = format!("*** Begin Patch\n{files}*** End Patch");
    let script = |script: String| json!({ "cmd": script, "workdir": long("w") });
    let lines: Vec<String> = (0..90).map(|n| format!("make target-{n}")).collect();
    for (tool, arguments, tolerance) in [
        ("exec_command", script(format!("cat {}a", long("r"))), 40),
        ("exec_command", script(lines.join("\n")), 40),
        ("view_image", json!({ "path": long("p") }), 40),
        ("Grep", json!({ "pattern": "x", "path": long("s") }), 40),
        ("TaskCreate", json!({ "subject": long("t") }), 40),
        ("mcp__tracker__find", json!({ "words": long("m") }), 40),
        // Each change may have a hash.
        ("apply_patch", json!({ "input": patch }), 20 * 70),
    ] {
        let (id, base) = (long("i"), long("b"));
        let called = NewCall::of(At::default(), &call(&id, tool, &arguments), Some(&base)).call;
        let (estimated, saved) = (called.bytes(), postcard::to_allocvec(&called).unwrap().len());
        assert!(saved.abs_diff(estimated) < tolerance, "{tool}: {estimated} of {saved}");
    }
}

#[test]
fn a_call_is_named_on_one_line_of_bounded_length() {
    let long = |words: &str| words.repeat(2_000 / words.len());
    let half = limits::COMMAND_BYTES / 2;
    let wide = format!("mcp__{}", "t".repeat(limits::NAME_BYTES));
    for (tool, arguments, opening, shortest) in [
        ("exec_command", json!({ "cmd": "just test" }), "just test", 9),
        ("exec_command", json!({ "cmd": long("echo a\n") }), "echo a", half - 10),
        ("mcp__tracker__find", json!({ "words": "a b" }), "mcp__tracker__find a b", 22),
        ("mcp__tracker__find", json!({ "words": long("w ") }), "mcp__tracker__find w w", half - 10),
        (wide.as_str(), json!({ "words": long("é ") }), "mcp__ttt", half - 10),
        ("Grep", json!({ "pattern": long("p ") }), "Grep p p", half - 10),
        ("Read", json!({ "file_path": long("/p") }), "view /p/p", limits::PATH_BYTES),
    ] {
        let what = NewCall::alone(&call("c", tool, &arguments)).call.what;
        assert!(what.starts_with(opening) && !what.contains('\n'), "{what}");
        assert!((shortest..=half).contains(&what.len()), "{}: {what}", what.len());
    }
    let line = one_line_of("grep", &long("w "));
    assert!((half - 10..=half + 5).contains(&line.len()), "{}", line.len());
}

#[test]
fn a_script_of_several_lines_is_summarized_within_its_bound() {
    let lines: String = (0..400).map(|n| format!("make target-{n}\n")).collect();
    let called = NewCall::alone(&call("c", "exec_command", &json!({ "cmd": lines }))).call;
    let Work::Script { gist: Some(gist), line: None, .. } = called.work else {
        panic!("{:?}", called.work)
    };
    let twice = 2 * limits::COMMAND_BYTES;
    assert!((twice - 20..=twice).contains(&gist.len()), "{}", gist.len());
}

#[test]
fn a_call_that_prints_a_fetched_page_is_known_by_its_program() {
    let fetches = |script: &str| {
        let called = NewCall::alone(&call("c", "exec_command", &json!({ "cmd": script })));
        matches!(called.call.work, Work::Script { fetches: true, .. })
    };
    for script in [
        "curl -s https://x.io",
        "cd web && /usr/bin/curl https://x.io | head -50",
        "curl.exe https://x.io",
        "xh get x.io/setup",
        "gh api repos/a/b/readme",
        "gh gist view 1a2b",
        "timeout 9 aria2c -o- https://x.io",
        "bash -lc 'wget -qO- https://x.io'",
        "aws s3 cp s3://bucket/a -",
    ] {
        assert!(fetches(script), "{script}");
    }
    for script in [
        "cargo test",
        "gh pr create --fill",
        "echo curl",
        "scp build.tar host:/srv",
        "aws s3 cp site s3://bucket --recursive",
    ] {
        assert!(!fetches(script), "{script}");
    }
}

#[test]
fn a_script_that_fails_may_have_changed_what_it_does_not_say() {
    let program = |code: &str| format!("python3 - <<'E'\n{code}\nE");
    let failed = CommandOutcome::Exit(1);
    for (script, outcome, expected) in [
        (program("for path in paths:\n    open(path, 'w').write(text)"), failed, true),
        (program("open('src/a.rs', 'w').write('x')"), failed, false),
        (program("open('src/a.rs', 'w').write('x')"), CommandOutcome::Exit(0), true),
        ("cargo test".to_owned(), CommandOutcome::Refused, false),
    ] {
        let arguments = json!({ "cmd": script });
        let called = NewCall::of(At::default(), &call("a", "exec_command", &arguments), None);
        assert_eq!(called.call.has_changed(outcome), expected, "{script}");
    }
}
