//! Signs of the end of a phase of work, read from a transcript line by line: commits, pull requests, plan
//! steps, the agent's last message, the end of a turn.
//!
//! They are part of the fold, so they do not depend on how the transcript arrived, at any of its lines, and
//! survive a restart. This module does not interpret the message: a person can change the phrase lists, so it
//! keeps the message, and [`crate::policy::phrase`] reads it when a decision is made.
//!
//! A sign belongs to the turn it was seen in; a new turn, a rollback and a compaction clear all signs.

use std::collections::{BTreeSet, VecDeque};
use strum::VariantArray as _;

use serde::{Deserialize, Serialize};

use crate::bounded::push_bounded;
use crate::checkpoint::plan::{Plan, PlanState};
use crate::rollout::shell::{self, CommandEffects};
use crate::step::{At, CallResult, CommandOutcome, Step, Work};
use crate::{limits, text};

/// A sign of the end of a phase of work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[derive(strum::IntoStaticStr, strum::EnumString, strum::VariantArray)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum Boundary {
    /// A commit was made by a command that succeeded.
    Commit,
    /// A plan step was completed.
    PlanCheckpoint,
    PlanUpdate,
    /// A pull request was opened, merged, closed or reviewed.
    PrCheckpoint,
    AgentDone,
    /// The agent turns to another subject.
    TopicShift,
    /// The agent summarizes.
    ConcludingThought,
    TurnComplete,
}

impl Boundary {
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// Whether it comes from the plan alone, which often changes in the middle of a phase.
    pub fn is_plan(self) -> bool {
        matches!(self, Self::PlanCheckpoint | Self::PlanUpdate)
    }

    /// Whether it is read from the agent's message.
    pub fn is_semantic(self) -> bool {
        matches!(self, Self::AgentDone | Self::TopicShift | Self::ConcludingThought)
    }
}

/// An event in the log of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Occurrence {
    TurnStarted,
    Boundary(Boundary),
    Compacted,
    RolledBack,
}

impl Occurrence {
    pub fn name(self) -> &'static str {
        match self {
            Self::TurnStarted => "turn_started",
            Self::Boundary(boundary) => boundary.into_str(),
            Self::Compacted => "compacted",
            Self::RolledBack => "rolled_back",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignalEvent {
    pub seq: u64,
    /// Number of the turn, from 1.
    pub turn: u64,
    /// Unix milliseconds of the line; 0 if it has no time.
    pub at_ms: i64,
    pub what: Occurrence,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Signals {
    turn: u64,
    present: BTreeSet<Boundary>,
    /// The agent's last message in this turn, redacted.
    message: Option<String>,
    /// Whether a call of this turn is not answered, or was answered after the last message.
    works: bool,
    /// Completed steps when the plan last changed.
    done_steps: u64,
    happened: VecDeque<SignalEvent>,
}

impl Signals {
    /// Number of the turn, from 1; 0 before the first.
    pub fn turn(&self) -> u64 {
        self.turn
    }

    /// Signs of this turn that do not come from the message.
    pub fn present(&self) -> &BTreeSet<Boundary> {
        &self.present
    }

    /// The agent's last message in this turn, redacted, at most [`limits::SIGNAL_MESSAGE_BYTES`].
    pub fn message(&self) -> Option<&str> {
        self.message.as_deref()
    }

    pub fn is_turn_complete(&self) -> bool {
        self.present.contains(&Boundary::TurnComplete)
    }

    /// Whether the agent is working: it called a tool and has sent no message since.
    pub fn works(&self) -> bool {
        self.works && !self.is_turn_complete()
    }

    /// The log, oldest first, at most [`limits::SIGNAL_EVENTS`].
    pub fn happened(&self) -> impl DoubleEndedIterator<Item = &SignalEvent> {
        self.happened.iter()
    }

    /// Folds the next step; `plan` is the plan after the step.
    pub fn step(&mut self, at: At, step: &Step<'_>, plan: &Plan) {
        match step {
            Step::Asked { .. } => {
                self.turn += 1;
                self.clear();
                self.log(at, Occurrence::TurnStarted);
            }
            Step::Said(words) => {
                self.works = false;
                let kept = text::cut_middle(words.redacted(), limits::SIGNAL_MESSAGE_BYTES);
                self.message = Some(kept.into_owned());
            }
            Step::Called(_) => {
                self.works = true;
                self.plan(at, plan);
            }
            Step::Answered(answered) => {
                self.plan(at, plan);
                self.answered(at, answered);
            }
            Step::Ran { script, exit_code: Some(0) } => self.done(at, script.call.effects),
            Step::TurnComplete => self.note(at, Boundary::TurnComplete),
            // A compaction clears earlier signs.
            Step::Compacted(_) => {
                self.clear();
                self.log(at, Occurrence::Compacted);
            }
            Step::RolledBack { turns } => {
                self.turn = self.turn.saturating_sub(*turns);
                self.clear();
                self.log(at, Occurrence::RolledBack);
            }
            Step::Ran { .. }
            | Step::Reported(_)
            | Step::Thought(_)
            | Step::Instructed(_)
            | Step::FilesChanged(_)
            | Step::TurnInterrupted => {}
        }
    }

    /// Only success counts; a commit also counts if git itself confirms it.
    fn answered(&mut self, at: At, answered: &CallResult<'_>) {
        let effects = answered.call.effects;
        if effects == CommandEffects::default() {
            return;
        }
        let is_command = matches!(answered.call.work, Work::Script { .. } | Work::Patch(_));
        let is_well = match answered.outcome {
            CommandOutcome::Exit(code) => code == 0 && !shell::refuses_commit(answered.printed()),
            // A tool has no exit status: any answer but a refusal counts.
            CommandOutcome::Unknown => !is_command,
            CommandOutcome::Failed => false,
            CommandOutcome::Refused | CommandOutcome::Running => return,
        };
        if is_well {
            self.done(at, effects);
        } else if effects.commits && is_command && shell::confirms_commit(answered.printed()) {
            self.note(at, Boundary::Commit);
        }
    }

    fn done(&mut self, at: At, effects: CommandEffects) {
        if effects.commits {
            self.note(at, Boundary::Commit);
        }
        if effects.moves_pull_request {
            self.note(at, Boundary::PrCheckpoint);
        }
    }

    /// A plan with more completed steps than before is at a checkpoint; one with fewer is a new plan.
    fn plan(&mut self, at: At, plan: &Plan) {
        if plan.seq != at.seq || plan.items.is_empty() {
            return;
        }
        let done = plan.items.iter().filter(|item| item.state == PlanState::Done).count() as u64;
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

    fn note(&mut self, at: At, boundary: Boundary) {
        if !self.present.contains(&boundary) {
            self.note_again(at, boundary);
        }
    }

    fn note_again(&mut self, at: At, boundary: Boundary) {
        self.present.insert(boundary);
        self.log(at, Occurrence::Boundary(boundary));
    }

    fn log(&mut self, at: At, what: Occurrence) {
        let At { seq, ms: at_ms } = at;
        let event = SignalEvent { seq, turn: self.turn, at_ms, what };
        push_bounded(&mut self.happened, event, limits::SIGNAL_EVENTS);
    }
}

#[cfg(test)]
mod tests;
