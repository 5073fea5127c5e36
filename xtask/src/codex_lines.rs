//! Transcripts as Codex writes them: paths, times and lines.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

/// The path of a thread that began at midnight of a day like `2026-01-31`.
pub(crate) fn path(home: &Path, day: &str, thread: &str) -> PathBuf {
    let folder = home.join("sessions").join(day.replace('-', "/"));
    folder.join(format!("rollout-{day}T00-00-00-{thread}.jsonl"))
}

/// The time that is `second` seconds after the day began; a second day begins again.
pub(crate) fn time(day: &str, second: u64) -> String {
    let (hour, minute, second) = (second / 3_600 % 24, second / 60 % 60, second % 60);
    format!("{day}T{hour:02}:{minute:02}:{second:02}.000Z")
}

/// A line without its end. Its keys are in Codex's order; `json!` would sort them.
pub(crate) fn line(time: &str, kind: &str, payload: &Value) -> String {
    format!(r#"{{"timestamp":"{time}","type":"{kind}","payload":{payload}}}"#)
}

/// The first line of a thread.
pub(crate) fn first(time: &str, thread: &str, cwd: &str) -> String {
    let meta = json!({
        "id": thread, "timestamp": time, "cwd": cwd, "originator": "codex_cli_rs",
        "cli_version": "0.169.0", "source": "cli",
    });
    line(time, "session_meta", &meta)
}

/// The item of a message.
pub(crate) fn message(role: &str, text: &str) -> Value {
    let kind = if role == "user" { "input_text" } else { "output_text" };
    json!({ "type": "message", "role": role, "content": [{ "type": kind, "text": text }] })
}
