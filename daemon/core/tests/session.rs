//! Hand-made transcripts in an agent's format.

use longhaul_core::checkpoint::file_standing::Disk;
use longhaul_core::checkpoint::semantic::Semantics;
use longhaul_core::checkpoint::view::{ViewCaps, ViewInputs, render};
use longhaul_core::fold::{Fold, Place, Source};
use serde_json::{Value, json};

pub(crate) fn line(kind: &str, payload: &Value) -> Vec<u8> {
    json!({"timestamp": "2026-01-02T03:04:05.678Z", "type": kind, "payload": payload})
        .to_string()
        .into_bytes()
}

pub(crate) fn meta() -> Vec<u8> {
    line("session_meta", &json!({"id": "0199-test", "cwd": "/w", "originator": "codex_cli"}))
}

pub(crate) fn message(role: &str, text: &str) -> Vec<u8> {
    let content = json!([{"type": "input_text", "text": text}]);
    line("response_item", &json!({"type": "message", "role": role, "content": content}))
}

/// A call of `tool` and its answer.
pub(crate) fn call(id: &str, tool: &str, arguments: &Value, output: &str) -> [Vec<u8>; 2] {
    let arguments = match arguments {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    [
        line(
            "response_item",
            &json!({"type": "function_call", "name": tool, "call_id": id, "arguments": arguments}),
        ),
        line(
            "response_item",
            &json!({"type": "function_call_output", "call_id": id, "output": output}),
        ),
    ]
}

pub(crate) fn shell(id: &str, script: &str, exit_code: i64, printed: &str) -> [Vec<u8>; 2] {
    let output = format!("Exit code: {exit_code}\nWall time: 0.1 seconds\nOutput:\n{printed}");
    call(id, "exec_command", &json!({"cmd": script}), &output)
}

pub(crate) fn fold<'a>(lines: impl IntoIterator<Item = &'a Vec<u8>>) -> Fold {
    let mut fold = Fold::new(Source::Codex);
    for line in lines {
        push(&mut fold, line);
    }
    fold
}

/// Folds the next line; byte offsets do not matter here.
pub(crate) fn push(fold: &mut Fold, line: &[u8]) {
    let seq = fold.next_seq();
    fold.line(Place { line: seq, offset: seq * 1_000, bytes: line.len() as u64 }, line);
}

pub(crate) fn view(fold: &Fold, caps: &ViewCaps, max_tokens: u64) -> String {
    let (semantics, disk) = (Semantics::default(), Disk::new());
    let state = fold.checkpoint();
    let inputs = ViewInputs {
        thread_id: Some("0199-test"),
        state,
        semantics: &semantics,
        disk: &disk,
        focus: "",
    };
    render(&inputs, caps, max_tokens)
}

/// A session with every kind of item.
pub(crate) fn everything() -> Vec<Vec<u8>> {
    let mut lines = vec![meta(), message("user", "Look around first.")];
    lines.extend(shell("c1", "rg -n fetch src", 0, "src/fetch.rs:3:pub fn fetch_once(\n"));
    lines.extend(shell("c2", "sed -n 1,80p /w/src/fetch.rs", 0, "fn fetch_once(c: &HttpClient)\n"));
    lines.push(message("assistant", "The fetcher is in `src/fetch.rs`."));
    lines.push(message("user", "Add a retry to the fetcher.\nKeep the API stable."));
    let plan = json!({"plan": [
        {"step": "Read the fetcher", "status": "completed"},
        {"step": "Add fetch_retry", "status": "in_progress"},
        {"step": "Run the tests", "status": "pending"},
    ]});
    lines.extend(call("c3", "update_plan", &plan, "Plan updated"));
    let patch = "*** Begin Patch\n*** Update File: src/fetch.rs\n@@\n+fn fetch_retry() {}\n\
                 *** Add File: tests/retry.rs\n+mod retry_cases;\n*** Delete File: old.txt\n*** End Patch";
    lines.extend(call(
        "c4",
        "apply_patch",
        &json!({"input": patch}),
        "Exit code: 0\nOutput:\nDone",
    ));
    let failed = "error[E0308]: mismatched types\n --> src/fetch.rs:9:5\ntest result: FAILED. 3 passed; 1 failed";
    lines.extend(shell("c5", "cd /w && cargo test --all", 101, failed));
    lines.extend(shell("c6", "git status --short", 0, " M src/fetch.rs\n"));
    lines
}
