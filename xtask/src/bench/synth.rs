//! Generates deterministic transcripts of any size.

use std::fs::{self, File};
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde_json::{Value, json};

use crate::codex_lines;

#[derive(Clone, Copy)]
pub(super) enum Length {
    /// Minimum bytes of the file.
    Bytes(u64),
    /// Minimum tokens that a model would see, at four bytes per token.
    Tokens(u64),
}

/// Writes a session to a Codex home; returns its path.
pub(super) fn write(codex_home: &Path, number: u32, length: Length) -> anyhow::Result<PathBuf> {
    let thread = format!("019b7000-0000-7000-8000-{number:012x}");
    let path = codex_lines::path(codex_home, "2026-01-01", &thread);
    fs::create_dir_all(path.parent().context("a path without a folder")?)?;
    let mut session = Session::new(File::create(&path)?);
    session.open(&thread)?;
    while !session.is_enough(length) {
        session.turn()?;
    }
    session.out.flush()?;
    Ok(path)
}

struct Session {
    out: BufWriter<File>,
    ordinal: u64,
    bytes: u64,
    visible_bytes: u64,
    turns: u64,
}

impl Session {
    fn new(file: File) -> Self {
        let out = BufWriter::with_capacity(1 << 20, file);
        Self { out, ordinal: 0, bytes: 0, visible_bytes: 0, turns: 0 }
    }

    fn is_enough(&self, length: Length) -> bool {
        match length {
            Length::Bytes(bytes) => self.bytes >= bytes,
            Length::Tokens(tokens) => self.visible_bytes / 4 >= tokens,
        }
    }

    fn line(&mut self, kind: &str, payload: &Value) -> anyhow::Result<()> {
        let seconds = self.ordinal / 4;
        let day = format!("2026-01-{:02}", seconds / 86_400 % 28 + 1);
        // In Codex's order; `json!` would sort the keys.
        let line = format!(
            "{{\"timestamp\":\"{}\",\"ordinal\":{},\"type\":\"{kind}\",\"payload\":{}}}",
            codex_lines::time(&day, seconds),
            self.ordinal,
            type_first(payload)
        );
        self.ordinal += 1;
        self.bytes += line.len() as u64 + 1;
        if kind == "response_item" {
            self.visible_bytes += payload.to_string().len() as u64;
        }
        writeln!(self.out, "{line}")?;
        Ok(())
    }

    fn open(&mut self, thread: &str) -> anyhow::Result<()> {
        let meta = json!({
            "session_id": thread, "id": thread, "timestamp": "2026-01-01T00:00:00.000Z",
            "cwd": "/home/dev/long", "originator": "codex_cli_rs", "cli_version": "0.169.0",
            "source": "cli", "model_provider": "openai", "history_mode": "paginated",
        });
        self.line("session_meta", &meta)
    }

    /// One turn: a request, a plan, commands with their output, an edit, an answer.
    fn turn(&mut self) -> anyhow::Result<()> {
        self.turns += 1;
        let turn = self.turns;
        let request =
            format!("Please make request {turn} work: the importer drops row {}.", turn * 7);
        self.line("response_item", &codex_lines::message("user", &request))?;
        let plan = json!({"plan": [
            {"step": format!("Reproduce {turn}"), "status": "completed"},
            {"step": format!("Fix module_{}", turn % 97), "status": "in_progress"},
        ]});
        self.call("update_plan", &plan, "Plan updated")?;
        for command in 0..4 {
            let arguments = json!({"cmd": format!("cat src/module_{}.rs | head -{}", (turn + command) % 97, 80 + command)});
            let output = listing(turn, command);
            let head =
                "Chunk ID: 0000aa\nWall time: 0.1 seconds\nProcess exited with code 0\nOutput:\n";
            self.call("exec_command", &arguments, &format!("{head}{output}"))?;
        }
        self.patch(turn)?;
        self.line("event_msg", &json!({"type": "token_count", "info": null, "rate_limits": null}))?;
        let answer = format!("Request {turn} works now; its tests pass.");
        self.line("response_item", &codex_lines::message("assistant", &answer))
    }

    fn call(&mut self, name: &str, arguments: &Value, output: &str) -> anyhow::Result<()> {
        let id = format!("call_{}", self.ordinal);
        let call = json!({"type": "function_call", "name": name, "arguments": arguments.to_string(), "call_id": id});
        self.line("response_item", &call)?;
        let output = json!({"type": "function_call_output", "call_id": id, "output": output});
        self.line("response_item", &output)
    }

    fn patch(&mut self, turn: u64) -> anyhow::Result<()> {
        let id = format!("call_{}", self.ordinal);
        let module = turn % 97;
        let input = format!(
            "*** Begin Patch\n*** Update File: src/module_{module}.rs\n@@\n-    row({turn})\n+    row({turn})?\n*** End Patch\n"
        );
        let call = json!({"type": "custom_tool_call", "status": "completed", "call_id": id, "name": "apply_patch", "input": input});
        self.line("response_item", &call)?;
        let output = format!(
            "Exit code: 0\nWall time: 0 seconds\nOutput:\nSuccess. Updated the following files:\nM src/module_{module}.rs\n"
        );
        self.line(
            "response_item",
            &json!({"type": "custom_tool_call_output", "call_id": id, "output": output}),
        )
    }
}

/// The payload as JSON, with its type first.
fn type_first(payload: &Value) -> String {
    let mut fields = payload.clone();
    match fields.as_object_mut().and_then(|fields| fields.remove("type")) {
        Some(kind) => format!("{{\"type\":{kind},{}", &fields.to_string()[1..]),
        None => payload.to_string(),
    }
}

/// A few kilobytes of source code, as a tool would print it.
fn listing(turn: u64, command: u64) -> String {
    let line = |i: u64| {
        let value = (turn * 31 + command * 7 + i) % 1009;
        format!("    let row_{i} = source.read_row({value})?; // column {}\n", value % 13)
    };
    (0..40).map(line).collect()
}
