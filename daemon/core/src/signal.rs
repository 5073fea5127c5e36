//! Signs that a phase of the work ends, read from a transcript line after line: commits, pull requests,
//! plan steps, the agent's last words, the end of a turn.
//!
//! They are part of the fold, so that they are the same however the transcript came in, at any line of
//! it, and after any restart. What is read from *words* is not decided here: phrase lists are a
//! person's to change, so the words are kept and read when a decision is made
//! ([`crate::policy::phrase`]).
//!
//! A sign belongs to the turn it was seen in; a new turn, a rollback and a compaction begin without.

mod command;

use std::collections::{BTreeSet, VecDeque};

use serde::{Deserialize, Serialize};

use crate::checkpoint::plan::{Plan, StepState};
use crate::rollout::output;
use crate::rollout::tool::{self, Action, Call};
use crate::{limits, redact, text};

/// A sign that a phase of the work ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Boundary {
    /// A commit was made: the command ended well.
    Commit,
    /// A step of the plan was done.
    PlanCheckpoint,
    /// The plan was changed.
    PlanUpdate,
    /// A pull request was opened, merged, closed, reviewed.
    PrCheckpoint,
    /// The agent says it is done.
    AgentDone,
    /// The agent turns to something else.
    TopicShift,
    /// The agent sums up.
    ConcludingThought,
    /// The turn ended.
    TurnComplete,
}

impl Boundary {
    /// All of them, in their order.
    pub const ALL: [Self; 8] = [
        Self::Commit,
        Self::PlanCheckpoint,
        Self::PlanUpdate,
        Self::PrCheckpoint,
        Self::AgentDone,
        Self::TopicShift,
        Self::ConcludingThought,
        Self::TurnComplete,
    ];

    /// Name on the wire, in the configuration and in the store.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Commit => "commit",
            Self::PlanCheckpoint => "plan_checkpoint",
            Self::PlanUpdate => "plan_update",
            Self::PrCheckpoint => "pr_checkpoint",
            Self::AgentDone => "agent_done",
            Self::TopicShift => "topic_shift",
            Self::ConcludingThought => "concluding_thought",
            Self::TurnComplete => "turn_complete",
        }
    }

    /// The boundary of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|boundary| boundary.name() == name)
    }

    /// Whether it comes from the plan alone, which often changes in the middle of a phase.
    #[must_use]
    pub fn is_plan(self) -> bool {
        matches!(self, Self::PlanCheckpoint | Self::PlanUpdate)
    }

    /// Whether it is read from the agent's words.
    #[must_use]
    pub fn is_semantic(self) -> bool {
        matches!(self, Self::AgentDone | Self::TopicShift | Self::ConcludingThought)
    }
}

/// What happened, for the log of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Occurrence {
    /// A turn began.
    TurnStarted,
    /// A sign was seen.
    Boundary(Boundary),
    /// The agent compacted its history.
    Compacted,
    /// The person took turns back.
    RolledBack,
}

impl Occurrence {
    /// Name on the wire.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::TurnStarted => "turn_started",
            Self::Boundary(boundary) => boundary.name(),
            Self::Compacted => "compacted",
            Self::RolledBack => "rolled_back",
        }
    }
}

/// Something that happened, and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Happened {
    /// The line.
    #[serde(rename = "s")]
    pub seq: u64,
    /// The turn, from 1.
    #[serde(rename = "n")]
    pub turn: u64,
    /// Unix milliseconds of the line; 0 when it is not dated.
    #[serde(rename = "t")]
    pub at_ms: i64,
    /// What.
    #[serde(rename = "k")]
    pub what: Occurrence,
}

/// Where and when a line stands.
#[derive(Debug, Clone, Copy)]
pub struct Moment {
    /// The line.
    pub seq: u64,
    /// Unix milliseconds; 0 when it is not dated.
    pub at_ms: i64,
}

/// A call whose end will tell whether its signs count.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Pending {
    call_id: String,
    signs: Vec<Boundary>,
    /// A tool that has no exit status: any answer but a refusal counts.
    is_tool: bool,
    /// The process that still runs: whoever asks after it is told how it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    session: Option<i64>,
}

/// A call that asks after a process.
#[derive(Debug, Deserialize)]
struct Asked {
    session_id: i64,
}

/// The signs of a thread.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Signals {
    turn: u64,
    present: BTreeSet<Boundary>,
    /// The agent's last words in this turn, redacted.
    message: Option<String>,
    /// Whether a call of this turn is not answered, or was answered after the last words.
    works: bool,
    pending: VecDeque<Pending>,
    settled: VecDeque<String>,
    /// Steps done when the plan was last changed.
    done_steps: u64,
    happened: VecDeque<Happened>,
}

impl Signals {
    /// The turn, from 1; 0 before the first.
    #[must_use]
    pub fn turn(&self) -> u64 {
        self.turn
    }

    /// Signs of this turn that are not read from words.
    #[must_use]
    pub fn present(&self) -> &BTreeSet<Boundary> {
        &self.present
    }

    /// The agent's last words in this turn, redacted, at most [`limits::SIGNAL_MESSAGE_BYTES`].
    #[must_use]
    pub fn message(&self) -> Option<&str> {
        self.message.as_deref()
    }

    /// Whether the turn has ended.
    #[must_use]
    pub fn is_turn_complete(&self) -> bool {
        self.present.contains(&Boundary::TurnComplete)
    }

    /// Whether the agent is at work: it called a tool and has not spoken since.
    #[must_use]
    pub fn works(&self) -> bool {
        self.works && !self.is_turn_complete()
    }

    /// What happened, oldest first, at most [`limits::SIGNAL_EVENTS`].
    pub fn happened(&self) -> impl DoubleEndedIterator<Item = &Happened> {
        self.happened.iter()
    }

    /// A turn begins.
    pub fn begin_turn(&mut self, at: Moment) {
        self.turn += 1;
        self.clear();
        self.log(at, Occurrence::TurnStarted);
    }

    /// The agent calls a tool; `plan` is as the call left it.
    pub fn call(&mut self, at: Moment, call: &Call<'_>, plan: &Plan) {
        self.works = true;
        self.plan(at, plan);
        if self.ask_after(call) {
            return;
        }
        let (signs, is_tool) = signs_of(call);
        if signs.is_empty() {
            return;
        }
        if self.pending.len() >= limits::SIGNAL_PENDING {
            self.pending.pop_front();
        }
        let call_id = text::prefix(&call.call_id, limits::NAME_BYTES).to_owned();
        self.pending.push_back(Pending { call_id, signs, is_tool, session: None });
    }

    /// A tool answers; `plan` is as the answer left it.
    pub fn answer(&mut self, at: Moment, call_id: &str, raw: &str, plan: &Plan) {
        self.plan(at, plan);
        let call_id = text::prefix(call_id, limits::NAME_BYTES);
        let Some(index) = self.pending.iter().rposition(|p| p.call_id == call_id) else { return };
        let answer = output::read(raw);
        // A command that still runs tells its end by an event of its own, or to who asks after it.
        if answer.running {
            if let Some(pending) = self.pending.get_mut(index) {
                pending.session = answer.session.or(pending.session);
            }
            return;
        }
        let Some(pending) = self.pending.remove(index) else { return };
        self.settle(call_id);
        if answer.refused {
            return;
        }
        let is_well = match answer.exit_code {
            Some(code) => code == 0 && !command::is_refused(&answer.text),
            None => pending.is_tool,
        };
        let is_confirmed = !pending.is_tool && command::is_confirmed(&answer.text);
        for sign in pending.signs {
            if is_well || (is_confirmed && sign == Boundary::Commit) {
                self.note(at, sign);
            }
        }
    }

    /// The agent asks after a command that still runs: the answer will be that command's.
    fn ask_after(&mut self, call: &Call<'_>) -> bool {
        if call.name.rsplit("__").next() != Some("write_stdin") {
            return false;
        }
        let Ok(asked) = serde_json::from_str::<Asked>(&call.arguments) else { return true };
        let is_it = |pending: &&mut Pending| pending.session == Some(asked.session_id);
        let Some(pending) = self.pending.iter_mut().rev().find(is_it) else { return true };
        let call_id = text::prefix(&call.call_id, limits::NAME_BYTES).to_owned();
        let before = std::mem::replace(&mut pending.call_id, call_id);
        self.settle(&before);
        true
    }

    /// The harness reports a finished command.
    pub fn command_done(&mut self, at: Moment, call_id: &str, done: (&str, Option<i64>)) {
        let call_id = text::prefix(call_id, limits::NAME_BYTES);
        if self.settled.iter().any(|settled| settled == call_id) {
            return;
        }
        let (script, exit_code) = done;
        let signs = match self.pending.iter().rposition(|p| p.call_id == call_id) {
            Some(index) => self.pending.remove(index).map(|p| p.signs).unwrap_or_default(),
            None => command::signs(script),
        };
        if signs.is_empty() {
            return;
        }
        self.settle(call_id);
        if exit_code == Some(0) {
            signs.into_iter().for_each(|sign| self.note(at, sign));
        }
    }

    /// The agent speaks.
    pub fn speak(&mut self, words: &str) {
        if words.trim().is_empty() {
            return;
        }
        self.works = false;
        let window = text::cut_middle(words, 4 * limits::SIGNAL_MESSAGE_BYTES);
        let redacted = redact::redact(&window);
        self.message =
            Some(text::cut_middle(&redacted.text, limits::SIGNAL_MESSAGE_BYTES).into_owned());
    }

    /// The turn ended by itself.
    pub fn turn_complete(&mut self, at: Moment) {
        self.note(at, Boundary::TurnComplete);
    }

    /// The agent compacted its history: signs of before are used up.
    pub fn compacted(&mut self, at: Moment) {
        self.clear();
        self.log(at, Occurrence::Compacted);
    }

    /// The person took back turns.
    pub fn roll_back(&mut self, at: Moment, turns: u64) {
        self.turn = self.turn.saturating_sub(turns);
        self.clear();
        self.log(at, Occurrence::RolledBack);
    }

    /// A plan that has more steps done than before is at a checkpoint; one with fewer is a new plan.
    fn plan(&mut self, at: Moment, plan: &Plan) {
        if plan.seq != at.seq || plan.steps.is_empty() {
            return;
        }
        let done = plan.steps.iter().filter(|step| step.state == StepState::Done).count() as u64;
        self.note(at, Boundary::PlanUpdate);
        if done > self.done_steps {
            self.note_again(at, Boundary::PlanCheckpoint);
        }
        self.done_steps = done;
    }

    fn clear(&mut self) {
        self.present.clear();
        self.message = None;
        self.works = false;
    }

    fn note(&mut self, at: Moment, boundary: Boundary) {
        if !self.present.contains(&boundary) {
            self.note_again(at, boundary);
        }
    }

    fn note_again(&mut self, at: Moment, boundary: Boundary) {
        self.present.insert(boundary);
        self.log(at, Occurrence::Boundary(boundary));
    }

    fn log(&mut self, at: Moment, what: Occurrence) {
        if self.happened.len() >= limits::SIGNAL_EVENTS {
            self.happened.pop_front();
        }
        let Moment { seq, at_ms } = at;
        self.happened.push_back(Happened { seq, turn: self.turn, at_ms, what });
    }

    fn settle(&mut self, call_id: &str) {
        if self.settled.len() >= limits::SIGNAL_PENDING {
            self.settled.pop_front();
        }
        self.settled.push_back(call_id.to_owned());
    }
}

/// The signs a call may give, and whether it is a tool without an exit status. Most calls are told by
/// a look at their bytes to give none.
fn signs_of(call: &Call<'_>) -> (Vec<Boundary>, bool) {
    if call.name.contains("pull_request") {
        let is_act = ["create_", "merge_", "update_", "close_"]
            .iter()
            .any(|verb| call.name.rsplit("__").next().unwrap_or(&call.name).starts_with(verb));
        return (if is_act { vec![Boundary::PrCheckpoint] } else { Vec::new() }, true);
    }
    let words = call.arguments.as_ref();
    if !["commit", "gh", "gt"].iter().any(|word| words.contains(word)) {
        return (Vec::new(), false);
    }
    match tool::interpret(call) {
        Action::Shell { script, .. } => (command::signs(&script), false),
        Action::Patch(_) => {
            let script = tool::script_of(call).unwrap_or_default();
            (command::signs(&script), false)
        }
        Action::Plan(_)
        | Action::AddStep { .. }
        | Action::ChangeStep { .. }
        | Action::Look { .. }
        | Action::View { .. }
        | Action::Other { .. } => (Vec::new(), false),
    }
}

#[cfg(test)]
mod tests;
