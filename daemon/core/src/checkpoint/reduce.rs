//! Entries in order → checkpoint.
//!
//! A call is noted when it is made and bound to its outcome when it is answered; between the two it
//! waits in a bounded list. Files count as changed once the change is known to have worked: by the
//! call's answer, or by the harness's own report, whichever comes first.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::Checkpoint;
use super::commands::CommandOutcome;
use super::files::{self, FileState, FileTouch, Touch};
use super::plan::Plan;
use super::printed::Printed;
use super::requests::Outcome;
use super::terms::{Anchor, Spot, Voice};
use crate::digest::ContentHash;
use crate::limits;
use crate::redact::redact;
use crate::rollout::patch::{FileOp, Op};
use crate::rollout::tool::{Action, Call};
use crate::rollout::{contextual, output, shell, tool};
use crate::{text, tokens};

/// What the reducer must remember besides the checkpoint.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Reducer {
    pending: VecDeque<Pending>,
    /// Calls whose outcome is known: the harness may report them once more.
    settled: VecDeque<String>,
    /// The agent spoke since the last request.
    spoken: bool,
    /// Where the agent's shell stands, when that is not the thread's folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    folder: Option<String>,
    /// State before each of the last turns, for rollbacks.
    turns: VecDeque<TurnStart>,
    #[serde(skip)]
    touched: Vec<Touch>,
}

/// A call awaiting its answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Pending {
    call_id: String,
    seq: u64,
    /// Words that name it in an error.
    what: String,
    kind: PendingKind,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
enum PendingKind {
    /// A script; the only file it reads, if there is just one.
    Shell {
        reads: Option<String>,
    },
    /// Changes to apply if it works.
    Patch {
        ops: Vec<(String, FileState, Option<ContentHash>)>,
    },
    /// A step of the plan that the answer names.
    Step {
        text: String,
    },
    Other,
}

/// What a rollback restores.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct TurnStart {
    /// Only of the newest turns: few are taken back, and each plan is a copy.
    plan: Option<Plan>,
}

/// Bytes of a tool's output searched for names: all that an agent's own bound of 10,000 tokens lets through.
const OUTPUT_BYTES: usize = 48 * 1_024;

/// Bytes of a message searched for names.
const TALK_BYTES: usize = 8 * 1_024;

/// One touch of a file.
struct Touching<'a> {
    path: &'a str,
    /// Folder the command ran in, if it says.
    folder: Option<&'a str>,
    state: FileState,
    hash: Option<ContentHash>,
}

impl<'a> Touching<'a> {
    fn of(path: &'a str, state: FileState) -> Self {
        Self { path, folder: None, state, hash: None }
    }
}

/// Where and when an entry stands.
#[derive(Debug, Clone, Copy)]
pub struct At {
    /// Line.
    pub seq: u64,
    /// Unix milliseconds; 0 unknown.
    pub ms: i64,
}

impl Reducer {
    /// The agent's shell has moved to `folder`.
    pub fn stand_in(&mut self, state: &Checkpoint, folder: &str) {
        let is_new = state.cwd.as_deref() != Some(folder) && folder.len() <= limits::PATH_BYTES;
        let moved = is_new.then_some(folder);
        if self.folder.as_deref() != moved {
            self.folder = moved.map(|folder| redact(folder).text.into_owned());
        }
    }

    /// Another agent goes on, whose shell stands in the thread's folder.
    pub fn leave_folder(&mut self) {
        self.folder = None;
    }

    /// The person's words, or context that the harness wrote in their name. True when they begin a
    /// turn.
    pub fn user(&mut self, state: &mut Checkpoint, at: At, message: &str) -> bool {
        let Some(request) = contextual::request(message) else { return false };
        if self.turns.len() >= limits::ROLLBACK_TURNS {
            self.turns.pop_front();
        }
        self.turns.push_back(TurnStart { plan: Some(state.plan.clone()) });
        if let Some(old) = self.turns.iter_mut().rev().nth(limits::ROLLBACK_PLANS) {
            old.plan = None;
        }
        let window = text::cut_middle(request, limits::REQUEST_BYTES);
        let redacted = redact(&window);
        state.requests.push(at.seq, &redacted.text, request.len() as u64, self.spoken);
        self.spoken = false;
        // A view may hold a long request without its middle: what that names is wanted all the same.
        note(state, &redacted.text, &Anchor::Talk, Voice::Used);
        true
    }

    /// Words of the agent.
    pub fn assistant(&mut self, state: &mut Checkpoint, at: At, message: &str) {
        if message.trim().is_empty() {
            return;
        }
        self.spoken = true;
        let window = text::prefix(message, TALK_BYTES);
        let redacted = redact(window);
        state.push_note(at.seq, &redacted.text);
        note(state, &redacted.text, &Anchor::Talk, Voice::Used);
    }

    /// The summary of a compaction, or what another agent reports: what it names, a model wrote.
    pub fn report(&mut self, state: &mut Checkpoint, message: &str) {
        let redacted = redact(text::prefix(message, TALK_BYTES));
        note(state, &redacted.text, &Anchor::Talk, Voice::Used);
    }

    /// A call is made. Returns what it is, in redacted words, where it has any.
    pub fn call(&mut self, state: &mut Checkpoint, at: At, call: &Call<'_>) -> Option<String> {
        state.requests.reopen();
        state.calls += 1;
        if tool::is_ours(call) {
            return None;
        }
        let (what, kind) = match tool::interpret(call) {
            Action::Shell { script, workdir } => self.shell(state, at, &script, workdir.as_deref()),
            Action::Patch(ops) => self.patch(state, ops),
            Action::Plan(steps) => {
                state.plan.replace(at.seq, steps);
                self.settle(&call.call_id);
                return None;
            }
            Action::AddStep { text } => ("plan".to_owned(), PendingKind::Step { text }),
            Action::ChangeStep { id, status, is_dropped } => {
                state.plan.change(at.seq, &id, status, is_dropped);
                self.settle(&call.call_id);
                return None;
            }
            Action::View { path } => {
                let key = self.touch(state, at, Touching::of(&path, FileState::Read));
                (format!("view {path}"), PendingKind::Shell { reads: Some(key) })
            }
            Action::Look { tool, values, path } => {
                if let Some(path) = path {
                    self.touch(state, at, Touching::of(&path, FileState::Searched));
                }
                (self.other(state, at, (&tool, &values), true), PendingKind::Other)
            }
            Action::Other { tool, values } => {
                (self.other(state, at, (&tool, &values), false), PendingKind::Other)
            }
        };
        let call_id = short_id(&call.call_id).to_owned();
        let what = redact(text::prefix(&what, limits::COMMAND_BYTES / 2)).text.into_owned();
        let shown = what.clone();
        self.pending.push_back(Pending { call_id, seq: at.seq, what, kind });
        let files = |pending: &Pending| match &pending.kind {
            PendingKind::Patch { ops } => ops.len(),
            PendingKind::Shell { .. } | PendingKind::Step { .. } | PendingKind::Other => 0,
        };
        while self.pending.len() > limits::PENDING_CALLS
            || self.pending.len() > 1
                && self.pending.iter().map(files).sum::<usize>() > limits::PENDING_FILES
        {
            self.pending.pop_front();
        }
        Some(shown)
    }

    /// A call is answered. Returns the redacted beginning of what was printed; `None` for an answer
    /// to a call that nobody made or that was made too long ago.
    pub fn answer(
        &mut self,
        state: &mut Checkpoint,
        at: At,
        call_id: &str,
        raw: &str,
    ) -> Option<String> {
        let call_id = short_id(call_id);
        let index = self.pending.iter().rposition(|pending| pending.call_id == call_id)?;
        let pending = self.pending.remove(index)?;
        self.settle(call_id);
        let answer = output::read(raw);
        let whole = Printed { seq: at.seq, tokens: tokens::of_text(raw) };
        let outcome = match (answer.refused, answer.running, answer.exit_code) {
            (true, ..) => CommandOutcome::Refused,
            (_, true, _) => CommandOutcome::Running,
            (_, _, Some(code)) => CommandOutcome::Exit(code),
            (false, false, None) => CommandOutcome::Unknown,
        };
        let window = text::cut_middle(&answer.text, OUTPUT_BYTES);
        let window = text::without_escapes(&window);
        let printed = redact(&window);
        if outcome.is_failure() {
            let lines = output::failure_lines(&printed.text, 3).join("\n");
            // A search that found nothing also ends with a status that is not zero.
            if !lines.is_empty() {
                state.push_failure(whole, &pending.what, &lines);
            }
        } else if outcome == CommandOutcome::Exit(0) {
            state.resolve_failure(&pending.what);
        }
        let tests = output::test_counts(&printed.text);
        state.commands.end(pending.seq, outcome, tests);
        state.commands.print(pending.seq, whole);
        match pending.kind {
            PendingKind::Patch { ops } if !outcome.is_failure() => self.apply(state, at, ops),
            PendingKind::Patch { .. } => {}
            PendingKind::Step { text } => {
                if let Some(id) = tool::step_id(&answer.text) {
                    state.plan.add(at.seq, id, &text);
                }
            }
            PendingKind::Shell { reads } => {
                if let Some(key) = reads.as_deref().filter(|_| !outcome.is_failure()) {
                    state.files.print(key, whole);
                }
                let anchor =
                    reads.map_or(Anchor::Command(pending.seq), |key| Anchor::File(key.into()));
                note(state, &printed.text, &anchor, Voice::Printed);
            }
            PendingKind::Other => {
                note(state, &printed.text, &Anchor::Command(pending.seq), Voice::Printed);
            }
        }
        Some(text::prefix(&printed.text, limits::EXCERPT_BYTES * 4).to_owned())
    }

    /// The harness reports changed files: those of a pending call, or of code no call shows.
    pub fn files_changed(
        &mut self,
        state: &mut Checkpoint,
        at: At,
        call_id: &str,
        report: (bool, Vec<FileOp>),
    ) {
        let (success, changes) = report;
        let call_id = short_id(call_id);
        if self.settled.iter().any(|settled| settled == call_id) {
            return;
        }
        if let Some(pending) = self.pending.iter_mut().find(|pending| pending.call_id == call_id) {
            // The answer will say the same: apply now and leave it nothing to apply.
            let kind = std::mem::replace(&mut pending.kind, PendingKind::Other);
            match kind {
                PendingKind::Patch { ops } if success => return self.apply(state, at, ops),
                PendingKind::Patch { .. } => return,
                other => pending.kind = other,
            }
        }
        if success {
            let ops = changes.into_iter().map(change_of).collect();
            self.apply(state, at, ops);
        }
        self.settle(call_id);
    }

    /// The harness reports a finished command; one that no call shows is noted.
    pub fn command_done(
        &mut self,
        state: &mut Checkpoint,
        at: At,
        call_id: &str,
        done: (&str, Option<i64>),
    ) {
        let call_id = short_id(call_id);
        let is_known = self.settled.iter().any(|settled| settled == call_id)
            || self.pending.iter().any(|pending| pending.call_id == call_id);
        if is_known {
            return;
        }
        let (script, exit_code) = done;
        let (what, _) = self.shell(state, at, script, None);
        let outcome = exit_code.map_or(CommandOutcome::Unknown, CommandOutcome::Exit);
        if outcome.is_failure() {
            let line = Printed { seq: at.seq, tokens: 0 };
            state.push_failure(line, &what, &outcome.words());
        }
        state.commands.end(at.seq, outcome, None);
        self.settle(call_id);
    }

    /// The turn ended.
    pub fn turn_ended(&mut self, state: &mut Checkpoint, outcome: Outcome) {
        state.requests.end(outcome);
    }

    /// The person took back the last turns: what they asked and planned is void. What was done to
    /// files stays done.
    pub fn roll_back(&mut self, state: &mut Checkpoint, turns: u64) {
        let turns = usize::try_from(turns).unwrap_or(usize::MAX);
        state.requests.roll_back(turns);
        for _ in 0..turns.min(self.turns.len()) {
            if let Some(TurnStart { plan: Some(plan) }) = self.turns.pop_back() {
                state.plan = plan;
            }
        }
        self.spoken = true;
    }

    /// Files touched since the last call, for the host to look at.
    pub fn take_touched(&mut self) -> Vec<Touch> {
        std::mem::take(&mut self.touched)
    }

    fn shell(
        &mut self,
        state: &mut Checkpoint,
        at: At,
        script: &str,
        workdir: Option<&str>,
    ) -> (String, PendingKind) {
        let window = text::prefix(script, TALK_BYTES);
        let redacted = redact(window);
        let commands = shell::commands(&redacted.text);
        let folder = match (shell::entered_folder(&redacted.text), workdir) {
            (Some(entered), workdir) => Some(files::key(entered, workdir)),
            (None, workdir) => workdir.map(str::to_owned),
        };
        let mut is_look = !commands.is_empty();
        let mut reads = Vec::new();
        for command in &commands {
            is_look &= shell::only_looks(command);
            for (used, path) in shell::uses(command) {
                let touching =
                    Touching { folder: folder.as_deref(), ..Touching::of(&path, used.into()) };
                let key = self.touch(state, at, touching);
                if used == shell::Use::Read {
                    reads.push(key);
                }
            }
        }
        state.commands.run(at.seq, &redacted.text, is_look);
        let only = if reads.len() == 1 { reads.pop() } else { None };
        let anchor =
            only.as_deref().map_or(Anchor::Command(at.seq), |key| Anchor::File(key.into()));
        note(state, &redacted.text, &anchor, Voice::Used);
        let what =
            text::cut(&text::one_line(&redacted.text), limits::COMMAND_BYTES / 2).into_owned();
        (what, PendingKind::Shell { reads: only })
    }

    /// A call of a tool without a reading of its own; what it is, in words.
    fn other(
        &self,
        state: &mut Checkpoint,
        at: At,
        (tool, values): (&str, &str),
        is_look: bool,
    ) -> String {
        let line = text::one_line(values).into_owned();
        let redacted = redact(text::prefix(&line, limits::COMMAND_BYTES * 2));
        let shown =
            format!("{} {}", short_id(tool), text::cut(&redacted.text, limits::COMMAND_BYTES / 2));
        state.commands.run(at.seq, &shown, is_look);
        note(state, &redacted.text, &Anchor::Command(at.seq), Voice::Used);
        shown
    }

    fn patch(&mut self, state: &mut Checkpoint, ops: Vec<FileOp>) -> (String, PendingKind) {
        let what = match ops.first() {
            Some(first) => format!("apply_patch {}", first.path),
            None => "apply_patch".to_owned(),
        };
        let mut changes = Vec::with_capacity(ops.len());
        for op in ops {
            let path = redact(text::prefix(&op.path, limits::PATH_BYTES)).text;
            let anchor = Anchor::File(files::key(&path, state.cwd.as_deref()).into());
            note(state, &redact(&op.changed).text, &anchor, Voice::Used);
            let mut change = change_of(op);
            // Whole content written over a file that was read before makes nothing new.
            let known = state.files.find(&change.0, state.cwd.as_deref());
            if change.1 == FileState::Created && known.is_some_and(|f| f.state >= FileState::Read) {
                change.1 = FileState::Edited;
            }
            changes.push(change);
        }
        (what, PendingKind::Patch { ops: changes })
    }

    fn apply(
        &mut self,
        state: &mut Checkpoint,
        at: At,
        ops: Vec<(String, FileState, Option<ContentHash>)>,
    ) {
        for (path, file_state, hash) in ops {
            self.touch(state, at, Touching { hash, ..Touching::of(&path, file_state) });
        }
    }

    fn touch(&mut self, state: &mut Checkpoint, at: At, touch: Touching<'_>) -> String {
        let base = self.folder.as_deref().or(state.cwd.as_deref());
        let cwd = match touch.folder {
            Some(folder) => Some(files::key(folder, base)),
            None => base.map(str::to_owned),
        };
        let cwd = cwd.filter(|cwd| cwd.len() <= limits::PATH_BYTES);
        let path = redact(text::prefix(touch.path, limits::PATH_BYTES)).text;
        if self.touched.len() < limits::TOUCHES && touch.state >= FileState::Read {
            let path = path.clone().into_owned();
            self.touched.push(Touch { path, seq: at.seq, at_ms: at.ms, cwd: cwd.clone() });
        }
        state.files.touch(FileTouch {
            path: &path,
            cwd: cwd.as_deref(),
            state: touch.state,
            seq: at.seq,
            at_ms: at.ms,
            hash: touch.hash,
        })
    }

    fn settle(&mut self, call_id: &str) {
        if self.settled.len() >= limits::PENDING_CALLS {
            self.settled.pop_front();
        }
        self.settled.push_back(short_id(call_id).to_owned());
    }
}

/// Ids are short; one that is not is told apart by its beginning.
fn short_id(call_id: &str) -> &str {
    text::prefix(call_id, limits::NAME_BYTES)
}

/// Notes the terms of a redacted text.
fn note(state: &mut Checkpoint, text: &str, anchor: &Anchor, voice: Voice) {
    let spot = Spot { anchor, voice, tick: state.calls, cwd: state.cwd.as_deref() };
    state.terms.note(text, spot);
}

fn change_of(op: FileOp) -> (String, FileState, Option<ContentHash>) {
    match op.op {
        Op::Created { content } => (
            op.path,
            FileState::Created,
            content.map(|content| ContentHash::of(content.as_bytes())),
        ),
        Op::Edited => (op.path, FileState::Edited, None),
        Op::Deleted => (op.path, FileState::Deleted, None),
    }
}
