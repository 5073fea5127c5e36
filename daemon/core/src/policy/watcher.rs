//! The watcher: from a decision to a finished compaction and the handoff after it.
//!
//! # Theory of operation
//! *Owns* one thread's place in the sequence judgment → scratch → packet → compaction → handoff, and
//! what keeps it from going round: the baseline growth is counted from, and the times of compactions.
//! [`step`] takes state and event and gives state and effects. It does nothing itself: a client asks the
//! agent and compacts, the daemon asks the judge, and each tells how that ended as the next event.
//!
//! *Every state is left*: by the event it waits for, by one that makes it void (a compaction of someone
//! else, a cancel), or by time ([`super::settings::Policy::wait_ms`]), of which any event tells. Leaving
//! without a compaction gives a warning, keeps the packet for the next attempt, and sets the baseline,
//! so that the next attempt needs growth.
//!
//! *An emergency* asks nobody: it breaks off whatever waits and compacts with a packet of our own.
//!
//! *A user's message* that comes in the middle is held back, never changed: the handoff goes before it
//! as a message of its own, unless the client says that a prefix is welcome.
//!
//! *A crash*: the state is a value; the daemon stores it with every step and goes on from there. Whoever
//! lost an answer, or takes a thread over, says `resume` and is asked once more for what is still to be done.

mod consider;
mod event;
mod sequence;

use std::collections::{BTreeSet, VecDeque};

use serde::{Deserialize, Serialize};

use super::decide::{Action, Baseline, Decision, Situation, decide, growth_needed};
use super::judgment::Judgment;
use super::settings::{Author, Mode, OnFailure, Policy};
use super::{Point, Tier};
use crate::signal::Boundary;
use crate::template::{Kind, Texts};

pub use event::{Effect, Event};

/// Times of compactions that are remembered.
const MADE_MAX: usize = 64;

/// An hour, in milliseconds.
const HOUR_MS: i64 = 3_600_000;

/// Bytes of a packet.
pub const PACKET_BYTES: usize = 16 * 1_024;

/// Why a compaction is to be made: goes into its record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trigger {
    /// How urgent it was.
    pub tier: Tier,
    /// Parts of a hundred that were left.
    pub percent_remaining: u64,
    /// All signs, those read from words included.
    pub boundaries: BTreeSet<Boundary>,
    /// Tokens in the window.
    pub used: u64,
    /// Where in the conversation.
    pub point: Point,
    /// The turn.
    pub turn: u64,
    /// Who writes the packet.
    pub packet_author: Author,
    /// The agent's last words, redacted.
    pub message: Option<String>,
    /// The repository in one line, where it was looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repository: Option<String>,
}

/// Where the watcher is.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(tag = "phase", rename_all = "snake_case")]
pub enum Phase {
    /// It waits for a turn to end.
    #[default]
    Idle,
    /// A judge was asked.
    AwaitingJudgment {
        /// Names the question.
        request_id: String,
        /// Why.
        trigger: Trigger,
        /// Since when, Unix milliseconds.
        since_ms: i64,
    },
    /// The agent was asked to write its scratch file.
    AwaitingScratch {
        /// Why.
        trigger: Trigger,
        /// Since when.
        since_ms: i64,
    },
    /// The agent was asked for a packet.
    AwaitingPacket {
        /// Why.
        trigger: Trigger,
        /// Since when.
        since_ms: i64,
    },
    /// A compaction was asked for.
    Compacting {
        /// Why.
        trigger: Trigger,
        /// What carries the work over.
        packet: String,
        /// Since when.
        since_ms: i64,
        /// It was made; tokens that are left. Its turn has not ended yet.
        tokens_after: Option<u64>,
        /// Its turn ended before it was told of.
        saw_turn_end: bool,
    },
}

impl Phase {
    /// Name on the wire.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::AwaitingJudgment { .. } => "awaiting_judgment",
            Self::AwaitingScratch { .. } => "awaiting_scratch",
            Self::AwaitingPacket { .. } => "awaiting_packet",
            Self::Compacting { .. } => "compacting",
        }
    }

    fn since_ms(&self) -> Option<i64> {
        match self {
            Self::Idle => None,
            Self::AwaitingJudgment { since_ms, .. }
            | Self::AwaitingScratch { since_ms, .. }
            | Self::AwaitingPacket { since_ms, .. }
            | Self::Compacting { since_ms, .. } => Some(*since_ms),
        }
    }
}

/// The state of one thread's watcher.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Watcher {
    /// Where it is.
    pub phase: Phase,
    /// From where growth is counted.
    pub baseline: Option<Baseline>,
    /// What was told last, in the modes that only tell: the tier and the tokens then.
    pub noticed: Option<(Tier, u64)>,
    /// A compaction that waits for the user's next message.
    pub deferred: Option<Trigger>,
    /// A message is held back; whether a prefix to it is welcome.
    pub held: Option<bool>,
    /// A packet whose compaction did not come about.
    pub kept_packet: Option<String>,
    /// Questions asked so far: makes their ids.
    pub asked: u64,
    /// When compactions were made, oldest first.
    pub made_ms: VecDeque<i64>,
    /// The turn that was last decided on in its middle, and the tier then.
    #[serde(default)]
    pub pressed: Option<(u64, Tier)>,
}

/// What stays the same for the steps of a thread.
#[derive(Debug, Clone, Copy)]
pub struct Env<'a> {
    /// The policy in force.
    pub policy: &'a Policy,
    /// The text of each kind.
    pub texts: &'a Texts,
    /// The thread.
    pub thread_id: &'a str,
    /// Its scratch file.
    pub scratch_file: &'a str,
    /// The present, Unix milliseconds.
    pub now_ms: i64,
}

/// What a step gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stepped {
    /// The new state.
    pub state: Watcher,
    /// What is to be done, in order.
    pub effects: Vec<Effect>,
    /// The decision, where one was made, and what it was made of.
    pub decided: Option<(Situation, Decision)>,
    /// The decision is worth being logged: not one more *no* in the middle of a turn that has become no more
    /// urgent.
    pub is_news: bool,
}

/// Takes a step.
#[must_use]
pub fn step(env: &Env<'_>, state: Watcher, event: Event) -> Stepped {
    let mut run = Run { env, state, effects: Vec::new(), decided: None, is_news: false };
    // Who can only tell could not carry out what an end of a wait asks for.
    let is_begun = !matches!(event, Event::TurnSeen(_)) && run.expire();
    match event {
        // What time has just begun is not ended by what came before it.
        Event::TurnEnded(_) | Event::MidTurn(_) | Event::Resume { .. } if is_begun => {}
        Event::TurnEnded(situation) => run.turn_ended(situation),
        Event::TurnSeen(situation) => run.turn_seen(situation),
        Event::MidTurn(situation) => run.mid_turn(situation),
        Event::Judged { request_id, judgment } => run.judged(&request_id, judgment),
        Event::Compacted { tokens_after, turn_end_follows } => {
            run.compacted(tokens_after, turn_end_follows);
        }
        Event::CompactionFailed { reason } => run.failed(&reason),
        Event::UserMessage { is_shell, takes_prefix } => run.user_message(is_shell, takes_prefix),
        Event::Resume { compacted } => run.resume(compacted),
        Event::Tick => {}
        Event::Cancel => run.give_up("the compaction was taken back"),
    }
    let Run { state, effects, decided, is_news, .. } = run;
    Stepped { state, effects, decided, is_news }
}

impl Watcher {
    /// A situation as the decision sees it: with what this thread's past adds. Compactions that the agent
    /// made by itself, the transcript tells; those we saw through stand in both.
    #[must_use]
    pub fn complete(&self, mut situation: Situation) -> Situation {
        let newest = [situation.baseline, self.baseline].into_iter().flatten();
        situation.baseline =
            newest.max_by_key(|baseline| baseline.at_ms).map(|baseline| Baseline {
                // What was taken back by a rollback or by others need not grow again.
                used: baseline.used.min(situation.used),
                ..baseline
            });
        let hour_ago = situation.at_ms - HOUR_MS;
        let made = self.made_ms.iter().filter(|made| **made > hour_ago).count() as u64;
        situation.compactions_in_hour = situation.compactions_in_hour.max(made);
        situation
    }
}

/// One step under way.
struct Run<'e, 'a> {
    env: &'e Env<'a>,
    state: Watcher,
    effects: Vec<Effect>,
    decided: Option<(Situation, Decision)>,
    is_news: bool,
}

impl Run<'_, '_> {
    fn turn_ended(&mut self, situation: Situation) {
        if self.breaks_off(&situation) {
            return;
        }
        let now_ms = self.env.now_ms;
        match std::mem::take(&mut self.state.phase) {
            Phase::Idle => self.consider(situation),
            waiting @ Phase::AwaitingJudgment { .. } => self.state.phase = waiting,
            Phase::AwaitingScratch { trigger, .. } => self.compact(trigger, None),
            Phase::AwaitingPacket { trigger, .. } => self.compact(trigger, situation.message),
            Phase::Compacting { trigger, packet, since_ms, tokens_after, .. } => match tokens_after
            {
                Some(tokens_after) => self.finish(&trigger, &packet, tokens_after),
                None => {
                    let saw_turn_end = true;
                    let since_ms = since_ms.min(now_ms);
                    self.state.phase =
                        Phase::Compacting { trigger, packet, since_ms, tokens_after, saw_turn_end };
                }
            },
        }
    }

    fn mid_turn(&mut self, situation: Situation) {
        if !self.breaks_off(&situation) && self.state.phase == Phase::Idle {
            self.consider(situation);
        }
    }

    /// An emergency does not wait for a judge, a scratch file or a packet.
    fn breaks_off(&mut self, situation: &Situation) -> bool {
        let waits = matches!(
            self.state.phase,
            Phase::AwaitingJudgment { .. }
                | Phase::AwaitingScratch { .. }
                | Phase::AwaitingPacket { .. }
        );
        if !waits || self.env.policy.tier(situation.percent_remaining) != Some(Tier::Emergency) {
            return false;
        }
        let situation = self.state.complete(situation.clone());
        let decision = decide(self.env.policy, &situation);
        if decision.action != Action::Compact {
            return false;
        }
        let trigger = self.trigger(&situation, &decision, Author::Watcher);
        self.note_decided(situation, decision);
        self.compact(trigger, None);
        true
    }

    fn judged(&mut self, answered: &str, judgment: Option<Judgment>) {
        let policy = self.env.policy;
        let trigger = match &self.state.phase {
            Phase::AwaitingJudgment { request_id, trigger, .. } if request_id == answered => {
                trigger.clone()
            }
            // An answer to another question, or too late: not ours (facts §7.0).
            _ => return,
        };
        self.state.phase = Phase::Idle;
        let is_yes = match &judgment {
            Some(judgment) => judgment.should_compact,
            None => policy.on_judgment_failure == OnFailure::Compact,
        };
        match (is_yes, judgment) {
            (true, Some(_)) => self.begin(trigger),
            (true, None) => {
                let text = "the judge did not answer; compacting all the same".to_owned();
                self.effects.push(Effect::Warn { text });
                self.begin(trigger);
            }
            (false, judgment) => {
                let reason = judgment.map_or("the judge did not answer".to_owned(), |j| j.reason);
                let text = format!("not compacting: {reason}");
                self.effects.push(Effect::Notify { text });
                self.rest(trigger.used);
                self.release(None);
            }
        }
    }

    fn user_message(&mut self, is_shell: bool, takes_prefix: bool) {
        if is_shell {
            // Defect 7.5: the user's shell commands were kept waiting.
            self.effects.push(Effect::ReleaseMessage { prefix: None });
            return;
        }
        if let Phase::Compacting { saw_turn_end: true, tokens_after: None, .. } = self.state.phase {
            self.give_up("the compaction ended without a result");
        }
        if self.state.phase == Phase::Idle
            && let Some(trigger) = self.state.deferred.take()
        {
            self.hold(takes_prefix);
            self.compact(trigger, None);
            return;
        }
        match self.state.phase {
            Phase::Idle => self.effects.push(Effect::ReleaseMessage { prefix: None }),
            _ => self.hold(takes_prefix),
        }
    }

    fn hold(&mut self, takes_prefix: bool) {
        self.state.held = Some(takes_prefix);
        self.effects.push(Effect::HoldMessage);
    }
}

#[cfg(test)]
mod tests;
