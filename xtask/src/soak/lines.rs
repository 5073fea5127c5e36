//! Lines of transcripts as Codex and Claude Code write them.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::chance::Chance;
use crate::codex_lines;

/// The sessions' working folder. It does not exist, since a soak does not test files on disk.
const FOLDER: &str = "/home/dev/importer";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Program {
    Codex,
    Claude,
}

/// Values that every line of a thread repeats.
#[derive(Debug, Clone)]
pub(super) struct Heading {
    pub(super) program: Program,
    pub(super) thread: String,
    /// The fork point: thread, lines and bytes.
    pub(super) base: Option<(String, usize, u64)>,
    pub(super) second: u64,
    /// All written lines, from which ids of calls and messages are derived.
    pub(super) written: u64,
}

impl Heading {
    fn time(&self) -> String {
        codex_lines::time("2026-03-02", self.second)
    }

    /// The first line of a file; Claude Code writes none.
    pub(super) fn first(&mut self) -> Option<String> {
        if self.program == Program::Claude {
            return None;
        }
        let mut meta = json!({
            "id": self.thread, "timestamp": self.time(), "cwd": FOLDER, "originator": "codex_cli_rs",
            "cli_version": "0.130.0", "source": "cli", "git": { "branch": "main" },
        });
        if let Some((thread, lines, bytes)) = &self.base {
            meta["forked_from_id"] = json!(thread);
            meta["history_base"] = json!({
                "thread_id": thread, "end_ordinal_exclusive": lines, "end_byte_offset": bytes,
            });
        }
        Some(self.codex("session_meta", &meta))
    }

    /// The lines of one turn: a request, commands with output, an edit, an answer.
    pub(super) fn turn(&mut self, chance: &mut Chance) -> Vec<String> {
        let (row, module) = (chance.below(100_000), chance.below(97));
        let request = format!("Please make import {row} work: module_{module} drops row {row}.");
        let mut lines = vec![self.message("user", &request)];
        for _ in 0..=chance.below(4) {
            let module = chance.below(97);
            let (script, code) = match chance.below(3) {
                0 => ("cargo test --all".to_owned(), chance.below(2)),
                _ => (format!("cat src/module_{module}.rs"), 0),
            };
            let printed = listing(chance);
            lines.extend(self.command(&script, code, &printed));
        }
        lines.extend(self.edit(module, row));
        let answer = format!("Import {row} works now; the tests of module_{module} pass.");
        lines.push(self.message("assistant", &answer));
        if self.program == Program::Codex {
            lines.push(self.codex("event_msg", &json!({"type": "task_complete"})));
        }
        lines
    }

    fn message(&mut self, role: &str, text: &str) -> String {
        match (self.program, role) {
            (Program::Codex, _) => self.codex("response_item", &codex_lines::message(role, text)),
            (Program::Claude, "user") => {
                self.claude("user", &json!({"message": {"role": role, "content": text}}))
            }
            (Program::Claude, _) => {
                let content = json!([{"type": "text", "text": text}]);
                self.claude(
                    "assistant",
                    &json!({"message": {"role": role, "model": "claude-x", "content": content}}),
                )
            }
        }
    }

    fn command(&mut self, script: &str, code: u64, printed: &str) -> [String; 2] {
        match self.program {
            Program::Codex => {
                let arguments = json!({ "cmd": script }).to_string();
                let output = format!(
                    "Wall time: 0.1 seconds\nProcess exited with code {code}\nOutput:\n{printed}"
                );
                self.codex_call("function_call", ("exec_command", "arguments", &arguments), &output)
            }
            Program::Claude if code == 0 => {
                self.claude_call("Bash", &json!({"command": script}), printed, false)
            }
            Program::Claude => {
                let output = format!("Exit code {code}\n{printed}");
                self.claude_call("Bash", &json!({"command": script}), &output, true)
            }
        }
    }

    fn edit(&mut self, module: u64, row: u64) -> [String; 2] {
        let path = format!("src/module_{module}.rs");
        match self.program {
            Program::Codex => {
                let patch = format!(
                    "*** Begin Patch\n*** Update File: {path}\n@@\n-    row({row})\n+    row({row})?\n*** End Patch\n"
                );
                let done = format!(
                    "Exit code: 0\nOutput:\nSuccess. Updated the following files:\nM {path}\n"
                );
                self.codex_call("custom_tool_call", ("apply_patch", "input", &patch), &done)
            }
            Program::Claude => {
                let input = json!({
                    "file_path": format!("{FOLDER}/{path}"), "old_string": format!("row({row})"),
                    "new_string": format!("row({row})?"),
                });
                self.claude_call("Edit", &input, "The file has been updated", false)
            }
        }
    }

    fn codex_call(
        &mut self,
        kind: &str,
        (tool, key, argument): (&str, &str, &str),
        output: &str,
    ) -> [String; 2] {
        let id = format!("call_{}", self.written);
        let call = json!({"type": kind, "name": tool, key: argument, "call_id": id});
        let answer = json!({"type": format!("{kind}_output"), "call_id": id, "output": output});
        [self.codex("response_item", &call), self.codex("response_item", &answer)]
    }

    fn claude_call(
        &mut self,
        tool: &str,
        input: &Value,
        output: &str,
        is_error: bool,
    ) -> [String; 2] {
        let id = format!("toolu_{}", self.written);
        let call = json!([{"type": "tool_use", "id": id, "name": tool, "input": input}]);
        let answer = json!([
            {"type": "tool_result", "tool_use_id": id, "content": output, "is_error": is_error},
        ]);
        [
            self.claude(
                "assistant",
                &json!({"message": {"role": "assistant", "model": "claude-x", "content": call}}),
            ),
            self.claude(
                "user",
                &json!({"message": {"role": "user", "content": answer}, "toolUseResult": {}}),
            ),
        ]
    }

    fn codex(&mut self, kind: &str, payload: &Value) -> String {
        self.written += 1;
        codex_lines::line(&self.time(), kind, payload)
    }

    fn claude(&mut self, kind: &str, more: &Value) -> String {
        let parent = (self.written > 0).then(|| self.uuid());
        self.written += 1;
        let mut line = json!({
            "parentUuid": parent, "isSidechain": false, "sessionId": self.thread, "cwd": FOLDER,
            "version": "2.1.0", "gitBranch": "main", "type": kind, "uuid": self.uuid(),
            "timestamp": self.time(),
        });
        if let (Some(line), Some(more)) = (line.as_object_mut(), more.as_object()) {
            line.extend(more.clone());
        }
        line.to_string()
    }

    fn uuid(&self) -> String {
        format!("{}-{:04x}", &self.thread[..8], self.written)
    }
}

/// Up to a few kilobytes of source code, as a tool prints it.
fn listing(chance: &mut Chance) -> String {
    let mut text = String::new();
    for row in 0..=chance.below(60) {
        let value = chance.below(1_009);
        // Writing into a string cannot fail.
        writeln!(text, "    let row_{row} = source.read_row({value})?;").unwrap_or_default();
    }
    text
}
