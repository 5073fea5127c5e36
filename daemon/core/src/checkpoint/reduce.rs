//! Turns steps into the checkpoint, in order.
//!
//! A command is recorded when called and bound to its outcome when answered. A file counts as changed once
//! the change is known to have succeeded: by the call's answer or by the harness's own report, whichever
//! comes first.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::Checkpoint;
use super::files::{FileState, FileTouch, Touch};
use super::output_ref::OutputRef;
use super::plan::Plan;
use crate::bounded::push_bounded;
use crate::limits;
use crate::paths;
use crate::rollout::shell::FileUse;
use crate::step::{
    Action, At, Call, CallResult, Change, ChangeKind, CommandOutcome, NewCall, Script, Step, Words,
    Work, one_line_of,
};

/// State of the reducer beyond the checkpoint.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Reducer {
    /// The plan before each of the last turns, for rollbacks. Kept only for the newest turns: few are rolled back, and each
    /// plan is a copy.
    turns: VecDeque<Option<Plan>>,
    #[serde(skip)]
    touched: Vec<Touch>,
}

impl Reducer {
    /// Records the next step.
    pub fn step(&mut self, state: &mut Checkpoint, at: At, step: &Step<'_>) {
        state.briefing.step(state.cwd.as_deref(), at, step);
        match step {
            Step::Asked { words, .. } => self.request(state, at, words),
            Step::Called(called) => self.called(state, at, called),
            Step::Answered(answered) => self.answered(state, at, answered),
            Step::Ran { script, exit_code } => {
                self.act(state, at, script);
                let outcome = exit_code.map_or(CommandOutcome::Unknown, CommandOutcome::Exit);
                if script.call.has_changed(outcome) {
                    self.apply(state, at, &script.call);
                }
                state.commands.end(at.seq, outcome, None);
            }
            Step::FilesChanged(changes) => {
                for change in changes {
                    self.change(state, at, (change, change.kind.into()), None);
                }
            }
            Step::RolledBack { turns } => self.roll_back(state, *turns),
            Step::Said(_)
            | Step::Reported(_)
            | Step::Thought(_)
            | Step::Instructed(_)
            | Step::Compacted(_)
            | Step::TurnComplete
            | Step::TurnInterrupted => {}
        }
    }

    /// Files touched since the last call, for the host to inspect.
    pub fn take_touched(&mut self) -> Vec<Touch> {
        std::mem::take(&mut self.touched)
    }

    fn request(&mut self, state: &mut Checkpoint, at: At, words: &Words<'_>) {
        push_bounded(&mut self.turns, Some(state.plan.clone()), limits::ROLLBACK_TURNS);
        if let Some(old) = self.turns.iter_mut().rev().nth(limits::ROLLBACK_PLANS) {
            *old = None;
        }
        state.requests.push(at.seq, state.briefing.turn(), words.redacted(), words.bytes());
    }

    fn called(&mut self, state: &mut Checkpoint, at: At, called: &NewCall) {
        state.calls += 1;
        self.act(state, at, called);
    }

    fn act(&mut self, state: &mut Checkpoint, at: At, NewCall { call, action }: &NewCall) {
        match action {
            Action::Script(script) => self.script(state, at, (call, script)),
            Action::Plan(steps) => state.plan.replace(at.seq, steps),
            Action::ChangePlanItem { id, status, is_dropped } => {
                state.plan.change(at.seq, id, *status, *is_dropped);
            }
            Action::View { path } => {
                let cwd = call.starts_in(state.cwd.as_deref());
                self.touch(state, touch_of(at, path, FileState::Read, cwd.as_deref()));
            }
            Action::Look { tool, values, path } => {
                if let Some(path) = path {
                    let cwd = call.starts_in(state.cwd.as_deref());
                    self.touch(state, touch_of(at, path, FileState::Searched, cwd.as_deref()));
                }
                other(state, at, (tool, values), true);
            }
            Action::Other { tool, values } => other(state, at, (tool, values), false),
            Action::Patch(_) | Action::AddPlanItem | Action::Poll | Action::Ours => {}
        }
    }

    fn script(&mut self, state: &mut Checkpoint, at: At, (call, script): (&Call, &Script)) {
        let cwd = call.starts_in(state.cwd.as_deref());
        for FileUse { used, path, .. } in script.uses.iter().filter(|it| !it.used.is_change()) {
            self.touch(state, touch_of(at, path, (*used).into(), cwd.as_deref()));
        }
        state.commands.run(at.seq, &script.text, script.is_look);
    }

    fn answered(&mut self, state: &mut Checkpoint, at: At, answered: &CallResult<'_>) {
        let CallResult { call, outcome, .. } = answered;
        let whole = OutputRef { seq: at.seq, tokens: answered.tokens.unwrap_or(0) };
        state.commands.end(call.seq, *outcome, answered.tests());
        if answered.tokens.is_some() {
            state.commands.print(call.seq, whole);
        }
        if answered.has_changed {
            self.apply(state, at, call);
        }
        match &call.work {
            Work::PlanItem { text } => {
                if let Some(id) = answered.step_id() {
                    state.plan.add(at.seq, id, text);
                }
            }
            Work::Script { reads: Some(path), .. } | Work::View { path } => {
                let key = paths::absolute(path, call.starts_in(state.cwd.as_deref()).as_deref());
                if outcome.is_failure() {
                    state.files.unread(&key, call.seq);
                } else if answered.tokens.is_some() {
                    state.files.print(&key, whole);
                }
            }
            Work::Script { .. } | Work::Patch(_) | Work::Search { .. } | Work::Other => {}
        }
    }

    /// Applies the changes that a call made.
    fn apply(&mut self, state: &mut Checkpoint, at: At, call: &Call) {
        let cwd = call.starts_in(state.cwd.as_deref());
        for change in call.changes() {
            let mut file_state = FileState::from(change.kind);
            // Overwriting a file that was read before does not create it.
            let known = state.files.find(&change.path, state.cwd.as_deref());
            if file_state == FileState::Created && known.is_some_and(|f| f.state >= FileState::Read)
            {
                file_state = FileState::Edited;
            }
            self.change(state, at, (change, file_state), cwd.clone());
        }
    }

    fn change(
        &mut self,
        state: &mut Checkpoint,
        at: At,
        (change, file_state): (&Change, FileState),
        cwd: Option<String>,
    ) {
        let cwd = cwd.or_else(|| state.cwd.clone());
        let touch = touch_of(at, &change.path, file_state, cwd.as_deref());
        self.touch(state, FileTouch { hash: change.hash.clone(), ..touch });
    }

    /// Removes the requests and plans of the last turns. Changes to files remain.
    fn roll_back(&mut self, state: &mut Checkpoint, turns: u64) {
        let turns = usize::try_from(turns).unwrap_or(usize::MAX);
        state.requests.roll_back(turns);
        for _ in 0..turns.min(self.turns.len()) {
            if let Some(Some(plan)) = self.turns.pop_back() {
                state.plan = plan;
            }
        }
    }

    fn touch(&mut self, state: &mut Checkpoint, touch: FileTouch<'_>) {
        let cwd = touch.cwd.filter(|cwd| cwd.len() <= limits::PATH_BYTES);
        if self.touched.len() < limits::TOUCHES && touch.state >= FileState::Read {
            let (path, cwd) = (touch.path.to_owned(), cwd.map(str::to_owned));
            self.touched.push(Touch { path, seq: touch.seq, at_ms: touch.at_ms, cwd });
        }
        state.files.touch(FileTouch { cwd, ..touch });
    }
}

fn touch_of<'a>(at: At, path: &'a str, state: FileState, cwd: Option<&'a str>) -> FileTouch<'a> {
    FileTouch { path, cwd, state, seq: at.seq, at_ms: at.ms, hash: None }
}

impl From<ChangeKind> for FileState {
    fn from(kind: ChangeKind) -> Self {
        match kind {
            ChangeKind::Created => Self::Created,
            ChangeKind::Edited => Self::Edited,
            ChangeKind::Deleted => Self::Deleted,
        }
    }
}

/// Records a call of a tool without a handler.
fn other(state: &mut Checkpoint, at: At, (tool, values): (&str, &str), is_look: bool) {
    state.commands.run(at.seq, &one_line_of(tool, values), is_look);
}
