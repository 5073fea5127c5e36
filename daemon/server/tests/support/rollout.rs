//! Writes transcripts in Codex's current format.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

/// Builds a transcript.
pub struct Rollout {
    thread_id: String,
    /// Seq of its first line.
    first: usize,
    lines: Vec<String>,
    calls: u32,
}

impl Rollout {
    /// A thread in the folder `cwd`.
    pub fn new(thread_id: &str, cwd: &Path) -> Self {
        let mut rollout =
            Self { thread_id: thread_id.to_owned(), first: 0, lines: Vec::new(), calls: 0 };
        let meta = json!({
            "id": thread_id, "timestamp": "2026-03-02T09:14:07.000Z", "cwd": cwd, "originator": "codex_cli_rs",
            "cli_version": "0.130.0", "source": "cli", "git": { "branch": "main" },
        });
        rollout.line("session_meta", &meta);
        rollout
    }

    /// A thread with `request` and then `rounds` rounds of a command that succeeds and an answer.
    pub fn with_rounds(thread_id: &str, cwd: &Path, request: &str, rounds: u32) -> Self {
        let mut rollout = Self::new(thread_id, cwd);
        rollout.message("user", request);
        for round in 0..rounds {
            rollout.command(&format!("cargo test fetch_{round}"), 0, "running tests\n");
            rollout.message("assistant", &format!("Round {round} is through."));
        }
        rollout
    }

    pub fn thread_id(&self) -> &str {
        &self.thread_id
    }

    /// The provider's token count, with a window of this many tokens.
    pub fn token_count(&mut self, total: u64, window: u64) -> &mut Self {
        let usage =
            json!({ "input_tokens": total - 10, "output_tokens": 10, "total_tokens": total });
        let info = json!({ "last_token_usage": usage, "model_context_window": window });
        self.line("event_msg", &json!({ "type": "token_count", "info": info }))
    }

    /// A compaction by the agent that left these items.
    pub fn compacted(&mut self, items: &[Value]) -> &mut Self {
        let compacted = json!({ "message": "SUMMARY", "replacement_history": items });
        self.line("compacted", &compacted)
    }

    pub fn rolled_back(&mut self, turns: u64) -> &mut Self {
        self.line("event_msg", &json!({ "type": "thread_rolled_back", "num_turns": turns }))
    }

    pub fn turn_ended(&mut self) -> &mut Self {
        self.line("event_msg", &json!({ "type": "task_complete" }))
    }

    /// A fork of `base` that continues the first `lines` lines of its file by reference.
    pub fn forked(thread_id: &str, base: &Self, lines: usize) -> Self {
        let bytes: usize = base.lines[..lines].iter().map(|line| line.len() + 1).sum();
        let first = base.first + lines;
        let cut = json!({
            "thread_id": base.thread_id, "end_ordinal_exclusive": first, "end_byte_offset": bytes,
        });
        let (thread_id, calls) = (thread_id.to_owned(), base.calls);
        let mut rollout = Self { thread_id, first, lines: Vec::new(), calls };
        let meta = json!({
            "id": rollout.thread_id, "cwd": "/w", "forked_from_id": base.thread_id, "history_base": cut,
        });
        rollout.line("session_meta", &meta);
        rollout
    }

    /// Adds to the thread's first line.
    pub fn meta(&mut self, key: &str, value: Value) -> &mut Self {
        let mut first: Value = serde_json::from_str(&self.lines[0]).unwrap();
        let payload = first.pointer_mut("/payload").and_then(Value::as_object_mut).unwrap();
        payload.insert(key.to_owned(), value);
        self.lines[0] = first.to_string();
        self
    }

    pub fn line(&mut self, kind: &str, payload: &Value) -> &mut Self {
        let second = self.lines.len() % 60;
        let line = json!({
            "timestamp": format!("2026-03-02T09:15:{second:02}.000Z"), "type": kind, "payload": payload,
        });
        self.lines.push(line.to_string());
        self
    }

    pub fn message(&mut self, role: &str, text: &str) -> &mut Self {
        self.line("response_item", &super::message(role, text))
    }

    /// Runs a command; returns the id of its call.
    pub fn command(&mut self, script: &str, exit_code: i32, printed: &str) -> String {
        let arguments = json!({ "cmd": script }).to_string();
        let output = format!(
            "Chunk ID: 1\nWall time: 0.1 seconds\nProcess exited with code {exit_code}\nOutput:\n{printed}"
        );
        self.call("function_call", "exec_command", ("arguments", &arguments), &output)
    }

    pub fn patch(&mut self, patch: &str) -> String {
        self.call(
            "custom_tool_call",
            "apply_patch",
            ("input", patch),
            "Exit code: 0\nOutput:\nSuccess.",
        )
    }

    fn call(&mut self, kind: &str, name: &str, argument: (&str, &str), output: &str) -> String {
        self.calls += 1;
        let call_id = format!("call_{}", self.calls);
        self.line(
            "response_item",
            &json!({ "type": kind, "name": name, argument.0: argument.1, "call_id": call_id }),
        );
        let answer =
            json!({ "type": format!("{kind}_output"), "call_id": call_id, "output": output });
        self.line("response_item", &answer);
        call_id
    }

    /// Seq of the last line.
    pub fn seq(&self) -> u64 {
        self.lines.len() as u64 - 1
    }

    /// Appends the lines that a transcript which was written does not have yet.
    pub fn append(&self, path: &Path) {
        let written = fs::read_to_string(path).unwrap().lines().count();
        let mut file = fs::OpenOptions::new().append(true).open(path).unwrap();
        for line in &self.lines[written..] {
            writeln!(file, "{line}").unwrap();
        }
    }

    /// Writes it to Codex's place under the user's folder.
    pub fn write(&self, home: &Path) -> PathBuf {
        let folder = home.join(".codex/sessions/2026/03/02");
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join(format!("rollout-2026-03-02T09-14-07-{}.jsonl", self.thread_id));
        fs::write(&path, self.lines.join("\n") + "\n").unwrap();
        path
    }
}
