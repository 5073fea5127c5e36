//! Calls and their answers: what ran, what it read and changed, how it ended.

use super::line;
use super::names::{self, Voice};
use super::runs::End;
use super::{Extractor, Fact, SCRIPT_BYTES, Waiting, hazard};
use crate::checkpoint::semantic::policy::behaviour;
use crate::digest::Digest128;
use crate::redact::redact;
use crate::rollout::tool::{self, Action, Call, StepStatus};
use crate::rollout::{output, patch, shell};
use crate::{limits, text};

/// Bytes of a tool's answer that are looked at.
const OUTPUT_BYTES: usize = 48 * 1_024;

/// Lines from outside that are known again.
const OUTSIDE_LINES_MAX: usize = 4_096;

impl Extractor {
    pub(super) fn call(&mut self, call: &Call<'_>) {
        self.names.calls = self.names.calls.saturating_add(1);
        let waiting = if self.own.is_read(call) { Waiting::Own } else { self.interpret(call) };
        if self.waiting.len() >= limits::PENDING_CALLS {
            self.waiting.pop_front();
        }
        self.waiting.push_back((call_key(&call.call_id), waiting));
    }

    fn interpret(&mut self, call: &Call<'_>) -> Waiting {
        let outside = is_outside(call);
        self.reached_outside |= outside;
        let cwd = self.cwd.clone();
        match tool::interpret(call) {
            Action::Shell { script, workdir } => self.shell(&script, workdir.as_deref()),
            Action::Patch(ops) => Waiting::Patch(self.patch(&ops)),
            Action::Plan(steps) => {
                let done = steps.iter().filter(|step| step.status == StepStatus::Done).count();
                self.signs.steps = (done, steps.len());
                Waiting::Other
            }
            Action::View { path } => {
                self.names.path(&redact(&path).text, Voice::Used, cwd.as_deref());
                let file = names::shown(&path, cwd.as_deref()).to_owned();
                Waiting::Shell { line: None, folder: None, is_look: true, file: Some(file) }
            }
            Action::Look { values, path, .. } => {
                let file =
                    path.as_deref().map(|path| names::shown(path, cwd.as_deref()).to_owned());
                if let Some(path) = &path {
                    self.names.path(&redact(path).text, Voice::Used, cwd.as_deref());
                }
                let redacted = redact(text::prefix(&values, SCRIPT_BYTES));
                self.names.read(&redacted.text, Voice::Used, cwd.as_deref(), None);
                Waiting::Shell { line: None, folder: None, is_look: true, file }
            }
            Action::AddStep { .. } | Action::ChangeStep { .. } => Waiting::Other,
            Action::Other { values, .. } => {
                let redacted = redact(text::prefix(&values, SCRIPT_BYTES));
                self.names.read(&redacted.text, Voice::Used, cwd.as_deref(), None);
                if outside { Waiting::Outside } else { Waiting::Other }
            }
        }
    }

    fn shell(&mut self, script: &str, workdir: Option<&str>) -> Waiting {
        let redacted = redact(text::prefix(script, SCRIPT_BYTES)).text.into_owned();
        let commands = shell::commands(&redacted);
        let reads = self.own.reads(script, workdir.or(self.cwd.as_deref()));
        if !reads.is_empty() || commands.iter().any(super::super::own::is_ours) {
            return Waiting::Own;
        }
        let folder = shell::entered_folder(&redacted).or(workdir);
        let folder = folder.map(|folder| names::shown(folder, self.cwd.as_deref()).to_owned());
        let is_look = !commands.is_empty() && commands.iter().all(shell::only_looks);
        let mut read: Vec<String> = Vec::new();
        for command in &commands {
            for (what, path) in shell::uses(command) {
                let path = names::shown(&path, self.cwd.as_deref()).to_owned();
                if matches!(what, shell::Use::Written | shell::Use::Removed) {
                    self.turn_change(&path);
                }
                if what == shell::Use::Read {
                    read.push(path);
                }
            }
        }
        let file = if read.len() == 1 { read.pop() } else { None };
        self.names.read(&redacted, Voice::Used, self.cwd.as_deref(), file.as_deref());
        let line = names::line_of(&redacted);
        if let Some(line) = line.as_ref().filter(|line| self.may_tell(line)) {
            self.names.command(line, is_look);
        }
        let fetches = |c: &shell::Command| {
            c.words.first().is_some_and(|w| matches!(w.as_str(), "curl" | "wget" | "lynx" | "w3m"))
        };
        if commands.iter().any(fetches) {
            self.reached_outside = true;
            return Waiting::Outside;
        }
        let folder = folder.filter(|f| self.cwd.as_deref().is_none_or(|cwd| cwd != f.as_str()));
        Waiting::Shell { line, folder, is_look, file }
    }

    fn patch(&mut self, ops: &[patch::FileOp]) -> Vec<String> {
        let mut paths = Vec::new();
        for op in ops.iter().take(limits::PENDING_FILES) {
            let path = redact(&op.path).text.into_owned();
            let shown = names::shown(&path, self.cwd.as_deref()).to_owned();
            let lines = redact(text::prefix(&op.changed, SCRIPT_BYTES)).text.into_owned();
            self.names.read(&lines, Voice::Used, self.cwd.as_deref(), Some(&shown));
            paths.push(shown);
        }
        paths
    }

    pub(super) fn answer(&mut self, seq: u64, call_id: &str, raw: &str) {
        let key = call_key(call_id);
        let Some(at) = self.waiting.iter().rposition(|(id, _)| *id == key) else { return };
        let Some((_, waiting)) = self.waiting.remove(at) else { return };
        if matches!(waiting, Waiting::Own) {
            return;
        }
        let answer = output::read(raw);
        let window = self.own.strip(&text::cut_middle(&answer.text, OUTPUT_BYTES));
        let printed = redact(&window).text.into_owned();
        let failed = answer.refused || answer.exit_code.is_some_and(|code| code != 0);
        let cwd = self.cwd.clone();
        match waiting {
            Waiting::Shell { line, folder, is_look, file } => {
                self.names.read(&printed, Voice::Printed, cwd.as_deref(), file.as_deref());
                let Some(line) = line.filter(|_| !answer.running && !answer.refused) else {
                    return;
                };
                if answer.exit_code == Some(0) {
                    self.names.worked(&line);
                    self.fact(seq, &line, &printed);
                }
                if let Some(code) = answer.exit_code.filter(|_| !is_look) {
                    // The end of `cargo test | tail` is that of `tail`.
                    let is_hidden = line::hides_its_end(&line) && output::says_failure(&printed);
                    self.end(seq, (&line, folder.as_deref()), code == 0 && !is_hidden, &printed);
                }
            }
            Waiting::Patch(paths) if !failed => paths.iter().for_each(|path| self.change(path)),
            Waiting::Outside => self.outside(&printed),
            Waiting::Patch(_) | Waiting::Other | Waiting::Own => {
                self.names.read(&printed, Voice::Printed, cwd.as_deref(), None);
            }
        }
    }

    /// Lines that came from outside: a command that repeats one was not the agent's own idea.
    fn outside(&mut self, printed: &str) {
        for line in printed.lines() {
            let bare =
                line.trim().trim_start_matches(['$', '`', ' ', '-', '*']).trim_end_matches('`');
            if (8..=limits::COMMAND_BYTES).contains(&bare.len())
                && self.outside_lines.len() < OUTSIDE_LINES_MAX
            {
                self.outside_lines.insert(Digest128::of(bare.trim().as_bytes()).0);
            }
        }
    }

    fn end(&mut self, seq: u64, (line, folder): (&str, Option<&str>), passed: bool, printed: &str) {
        if !self.may_tell(line) {
            return;
        }
        let printed = if behaviour(printed).is_some() { "" } else { printed };
        self.runs.end(line, folder, End { seq, at_ms: self.updated_at_ms, passed, printed });
    }

    /// Whether a later thread may be told of the command: it harms nothing, orders nobody about, and was not
    /// copied from a page.
    fn may_tell(&self, line: &str) -> bool {
        let is_foreign = || self.outside_lines.contains(&Digest128::of(line.as_bytes()).0);
        !hazard::is_hazardous(line) && behaviour(line).is_none() && !is_foreign()
    }

    pub(super) fn nested_command(&mut self, seq: u64, command: &str, code: i64) {
        let redacted = redact(text::prefix(command, SCRIPT_BYTES)).text.into_owned();
        let is_look = shell::commands(&redacted).iter().all(shell::only_looks);
        if let Some(line) = names::line_of(&redacted).filter(|_| !is_look) {
            self.end(seq, (&line, None), code == 0, "");
        }
    }

    /// A version that a program told, as `node --version` does.
    fn fact(&mut self, seq: u64, line: &str, printed: &str) {
        let words: Vec<&str> = line.split(' ').collect();
        let [program, "--version" | "-V" | "-v" | "version"] = words.as_slice() else { return };
        let first =
            printed.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
        let is_version = first.len() <= 60 && first.bytes().any(|b| b.is_ascii_digit());
        if is_version && behaviour(first).is_none() && self.facts.len() < 24 {
            let (slot, at_ms) = (format!("version of {program}"), self.updated_at_ms);
            let text = format!("`{program}` is {first}");
            let fact = Fact { slot: slot.clone(), text, quote: first.to_owned(), seq, at_ms };
            self.facts.insert(slot, fact);
        }
    }
}

fn call_key(call_id: &str) -> String {
    text::prefix(call_id, limits::NAME_BYTES).to_owned()
}

/// Whether a call reaches outside of the machine: the web, or a server of tools.
pub(crate) fn is_outside(call: &Call<'_>) -> bool {
    let name = call.name.to_ascii_lowercase();
    call.namespace.is_some()
        || name.starts_with("mcp__")
        || ["web", "fetch", "browse", "http"].iter().any(|mark| name.contains(mark))
}
