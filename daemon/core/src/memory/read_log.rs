//! Finds the memory files that a thread's agent read with a command or a file tool.
//!
//! Reading `…/memory/MEMORY.md` counts as use, like a request for memory: used threads are kept and served first.
//! Lines that name no memory file are not parsed.

use std::collections::BTreeSet;

use super::usage::{self, UsageKind};
use crate::fold::Place;
use crate::rollout::{self, Body, Item};
use crate::step::{Action, NewCall};
use crate::thread::Source;

/// Maximum files recorded per thread.
const FILES_MAX: usize = 256;

/// Every path of a memory file contains one of these names.
const NAMES: [&[u8]; 5] =
    [b"MEMORY.md", b"memory_summary", b"raw_memories", b"rollout_summaries", b"skills"];

/// The memory files read in one thread.
#[derive(Debug, Clone)]
pub struct ReadLog {
    source: Source,
    /// Default folder of commands.
    cwd: Option<String>,
    /// Absolute paths of the memory folder.
    roots: Vec<String>,
    /// First line to count; earlier ones were counted before.
    from_seq: u64,
    paths: BTreeSet<String>,
}

impl ReadLog {
    pub fn new(source: Source, cwd: Option<String>, roots: Vec<String>, from_seq: u64) -> Self {
        Self { source, cwd, roots, from_seq, paths: BTreeSet::new() }
    }

    /// Reads the next line.
    pub fn line(&mut self, place: Place, line: &[u8]) {
        let names = |name: &&[u8]| memchr::memmem::find(line, name).is_some();
        if place.line < self.from_seq || !NAMES.iter().any(names) {
            return;
        }
        let source = self.source;
        rollout::read(source, line, false, &mut |entry| {
            if let Body::Item(Item::Call(call), _) = &entry.body {
                self.action(NewCall::alone(call).action);
            }
        });
    }

    fn action(&mut self, action: Action) {
        let found: Vec<String> = match action {
            Action::Script(script) => {
                let folder = script.workdir.as_deref().or(self.cwd.as_deref());
                usage::reads(&script.commands, folder, &self.roots)
            }
            Action::View { path } | Action::Look { path: Some(path), .. } => {
                usage::below_any(&path, &self.roots).map(str::to_owned).into_iter().collect()
            }
            Action::Look { path: None, .. }
            | Action::Patch(_)
            | Action::Plan(_)
            | Action::AddPlanItem
            | Action::Poll
            | Action::Ours
            | Action::ChangePlanItem { .. }
            | Action::Other { .. } => Vec::new(),
        };
        let room = FILES_MAX.saturating_sub(self.paths.len());
        self.paths.extend(found.into_iter().take(room));
    }

    /// Distinct paths below the memory folder.
    pub fn into_paths(self) -> Vec<String> {
        let is_file = |path: &String| UsageKind::of(path).is_some();
        self.paths.into_iter().filter(is_file).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(lines: &[&str], from_seq: u64) -> Vec<String> {
        let cwd = Some("/w/app".to_owned());
        let mut log = ReadLog::new(Source::Codex, cwd, vec!["/s/memory".to_owned()], from_seq);
        for (number, script) in (0..).zip(lines) {
            let arguments = json!({ "cmd": script }).to_string();
            let call = json!({ "type": "function_call", "name": "exec_command",
                "arguments": arguments, "call_id": format!("c{number}") });
            let line = json!({ "type": "response_item", "payload": call }).to_string();
            log.line(Place { line: number, offset: 0, bytes: 0 }, line.as_bytes());
        }
        log.into_paths()
    }

    #[test]
    fn only_commands_that_read_memory_are_recorded_and_once() {
        let scripts = [
            "cat /s/memory/MEMORY.md",
            "rg -n tests /s/memory/MEMORY.md",
            "cd /s/memory && cat rollout_summaries/a.md",
            "cat MEMORY.md",
            "echo x > /s/memory/raw_memories.md",
            "cat /elsewhere/memory_summary.md",
        ];
        assert_eq!(read(&scripts, 0), ["MEMORY.md", "rollout_summaries/a.md"]);
        assert_eq!(read(&scripts, 1), ["MEMORY.md", "rollout_summaries/a.md"]);
        assert_eq!(read(&scripts, 2), ["rollout_summaries/a.md"], "counted before");
    }
}
