//! Signs that a phase of the work ends, read from a transcript line after line: commits, pull requests,
//! plan steps, the agent's last words, the end of a turn.
//!
//! They are part of the fold, so that they are the same however the transcript came in, at any line of
//! it, and after any restart. What is read from *words* is not decided here: phrase lists are a
//! person's to change, so the words are kept and read when a decision is made
//! ([`crate::policy::phrase`]).
//!
//! A sign belongs to the turn it was seen in; a new turn, a rollback and a compaction begin without.

use std::collections::{BTreeSet, VecDeque};
use strum::VariantArray as _;

use serde::{Deserialize, Serialize};

use crate::checkpoint::plan::{Plan, StepState};
use crate::rollout::shell::{self, CommandEffects};
use crate::step::{Answered, At, CommandOutcome, Step, Work};
use crate::{limits, text};

/// A sign that a phase of the work ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[derive(strum::IntoStaticStr, strum::EnumString, strum::VariantArray)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum Boundary {
    /// A commit was made: the command ended well.
    Commit,
    /// A step of the plan was done.
    PlanCheckpoint,
    PlanUpdate,
    /// A pull request was opened, merged, closed, reviewed.
    PrCheckpoint,
    /// The agent says it is done.
    AgentDone,
    /// The agent turns to something else.
    TopicShift,
    /// The agent sums up.
    ConcludingThought,
    TurnComplete,
}

impl Boundary {
    /// All of them, in their order.
    pub const ALL: &'static [Self] = Self::VARIANTS;

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
    TurnStarted,
    Boundary(Boundary),
    /// The agent compacted its history.
    Compacted,
    /// The person took turns back.
    RolledBack,
}

impl Occurrence {
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::TurnStarted => "turn_started",
            Self::Boundary(boundary) => boundary.into_str(),
            Self::Compacted => "compacted",
            Self::RolledBack => "rolled_back",
        }
    }
}

/// Something that happened, and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Happened {
    #[serde(rename = "s")]
    pub seq: u64,
    /// The turn, from 1.
    #[serde(rename = "n")]
    pub turn: u64,
    /// Unix milliseconds of the line; 0 when it is not dated.
    #[serde(rename = "t")]
    pub at_ms: i64,
    #[serde(rename = "k")]
    pub what: Occurrence,
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

    /// Takes in the next step; `plan` is as the step left it.
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
            // Signs of before are used up.
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
            | Step::FilesChanged(_)
            | Step::TurnInterrupted => {}
        }
    }

    /// Only what ended well counts; of a commit also what git itself confirms.
    fn answered(&mut self, at: At, answered: &Answered<'_>) {
        let effects = answered.call.effects;
        if effects == CommandEffects::default() {
            return;
        }
        let is_command = matches!(answered.call.work, Work::Script { .. } | Work::Patch(_));
        let is_well = match answered.outcome {
            CommandOutcome::Exit(code) => code == 0 && !shell::refuses_commit(answered.printed()),
            // A tool has no exit status: any answer but a refusal counts.
            CommandOutcome::Unknown => !is_command,
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

    /// A plan that has more steps done than before is at a checkpoint; one with fewer is a new plan.
    fn plan(&mut self, at: At, plan: &Plan) {
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
        if self.happened.len() >= limits::SIGNAL_EVENTS {
            self.happened.pop_front();
        }
        let At { seq, ms: at_ms } = at;
        self.happened.push_back(Happened { seq, turn: self.turn, at_ms, what });
    }
}

#[cfg(test)]
mod tests;
