//! The watcher: from a decision to a finished compaction and the handoff after it.
//!
//! # Theory of operation
//! *Owns* one thread's state in the sequence judgment → scratch → packet → compaction → handoff, and what
//! prevents loops: the baseline for growth and the times of compactions. [`step`] takes state and event and
//! returns state and effects. It performs no effects: a client asks the agent and compacts, the daemon asks the
//! judge, and each reports the result as the next event.
//!
//! *Every state ends*: by the event it waits for, by one that invalidates it (someone else's compaction, a
//! cancel), or by timeout ([`super::settings::Policy::wait_ms`], for a judgment `judgment_timeout_ms`), which the next
//! event detects, unless its client can only notify. Ending without a
//! compaction warns, keeps the packet for the next attempt, and sets the baseline, so that the next attempt
//! needs growth.
//!
//! *An emergency* needs no judgment: it aborts the current wait and compacts with the daemon's own packet.
//!
//! *A user's message* that arrives during the sequence is held, never changed: the handoff precedes it as a
//! separate message, unless the client accepts a prefix.
//!
//! *A crash*: the daemon stores the state with every step and continues from it. A client that lost an
//! answer, or takes a thread over, sends `resume` and receives the pending effect again.

mod compact_only;
mod consider;
mod event;
mod sequence;

use std::collections::{BTreeSet, VecDeque};

use serde::{Deserialize, Serialize};

use super::decide::{Baseline, Decision, PolicyAction, Situation, decide, growth_needed};
use super::judgment::Judgment;
use super::settings::{Author, Mode, OnFailure, Policy};
use super::{Point, Tier};
use crate::limits::HOUR_MS;
use crate::signal::Boundary;
use crate::template::{Kind, Texts};

pub use event::{Effect, Event};

const MADE_MAX: usize = 64;

/// Maximum bytes of a packet.
pub const PACKET_BYTES: usize = 16 * 1_024;

/// Cause of a compaction, stored in its record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trigger {
    pub tier: Tier,
    pub percent_remaining: u64,
    /// All signs, including those read from text.
    pub boundaries: BTreeSet<Boundary>,
    pub used: u64,
    pub point: Point,
    pub turn: u64,
    pub packet_author: Author,
    /// The agent's last message, redacted.
    pub message: Option<String>,
    /// The repository in one line, if read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repository: Option<String>,
    /// The client compacts and does nothing else: it sends the agent no message before or after.
    #[serde(default)]
    pub compact_only: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(tag = "phase", rename_all = "snake_case")]
#[derive(strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum Phase {
    /// Waiting for a turn to end.
    #[default]
    Idle,
    AwaitingJudgment {
        request_id: String,
        trigger: Trigger,
        /// Start of the wait, Unix milliseconds.
        since_ms: i64,
    },
    AwaitingScratch {
        trigger: Trigger,
        since_ms: i64,
    },
    AwaitingPacket {
        trigger: Trigger,
        since_ms: i64,
    },
    Compacting {
        trigger: Trigger,
        packet: String,
        since_ms: i64,
        /// Tokens left after the compaction, while its turn has not ended.
        tokens_after: Option<u64>,
        /// The turn ended before the compaction was reported.
        saw_turn_end: bool,
    },
}

impl Phase {
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

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Watcher {
    pub phase: Phase,
    pub baseline: Option<Baseline>,
    /// Last notification in the modes that only notify: tier and tokens.
    pub noticed: Option<(Tier, u64)>,
    /// A handoff to deliver with the user's next message.
    pub deferred: Option<Trigger>,
    /// Whether a held-back message accepts a prefix.
    pub held: Option<bool>,
    /// A packet whose compaction failed.
    pub kept_packet: Option<String>,
    /// Number of requests so far; their ids are derived from it.
    pub asked: u64,
    /// Compaction times, oldest first.
    pub made_ms: VecDeque<i64>,
    /// The last running turn in which a decision was made, and its tier.
    #[serde(default)]
    pub pressed: Option<(u64, Tier)>,
}

#[derive(Debug, Clone, Copy)]
pub struct Env<'a> {
    pub policy: &'a Policy,
    pub texts: &'a Texts,
    pub thread_id: &'a str,
    pub scratch_file: &'a str,
    /// Unix milliseconds.
    pub now_ms: i64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WatcherOutcome {
    pub state: Watcher,
    pub effects: Vec<Effect>,
    pub decided: Option<(Situation, Decision)>,
    /// Whether to log the decision: repeated refusals at the same urgency within a turn are omitted.
    pub should_log: bool,
    /// A compaction that was requested and not made, and the reason.
    pub given_up: Option<(Trigger, String)>,
}

#[must_use]
pub fn step(env: &Env<'_>, state: Watcher, event: Event) -> WatcherOutcome {
    let compact_only =
        matches!(event, Event::TurnEndedCompactOnly(_) | Event::MidTurnCompactOnly(_));
    let (effects, decided, given_up) = (Vec::new(), None, None);
    let mut run = Run { env, state, compact_only, effects, decided, should_log: false, given_up };
    // A mode that only notifies cannot do what a timeout requires.
    let is_begun = !matches!(event, Event::TurnSeen(_)) && run.expire();
    match event {
        // An older event does not end a state that this timeout began.
        Event::TurnEnded(_)
        | Event::TurnEndedCompactOnly(_)
        | Event::MidTurn(_)
        | Event::MidTurnCompactOnly(_)
        | Event::Resume { .. }
            if is_begun => {}
        Event::TurnEnded(situation) => run.turn_ended(situation),
        Event::TurnSeen(situation) => run.turn_seen(situation),
        Event::TurnEndedCompactOnly(situation) => run.consider_compact_only(situation),
        Event::MidTurn(situation) => run.mid_turn(situation),
        Event::MidTurnCompactOnly(_) if !env.policy.mid_turn => {}
        Event::MidTurnCompactOnly(situation) => run.consider_compact_only(situation),
        Event::Judged { request_id, judgment } => run.end_judgment(&request_id, judgment),
        Event::Compacted { tokens_after, turn_end_follows } => {
            run.compacted(tokens_after, turn_end_follows);
        }
        Event::CompactionFailed { reason, compacted } => run.failed(&reason, compacted),
        Event::CompactOnlyEnded { made } => run.compact_only_ended(made),
        Event::UserMessage { is_shell, takes_prefix } => run.user_message(is_shell, takes_prefix),
        Event::Resume { compacted } => run.resume(compacted),
        Event::Tick => {}
        Event::Cancel => run.give_up("the compaction was taken back"),
    }
    let Run { state, effects, decided, should_log, given_up, .. } = run;
    WatcherOutcome { state, effects, decided, should_log, given_up }
}

impl Watcher {
    /// Adds this thread's past to a situation. The agent's own compactions are in the transcript; those of the
    /// watcher are in both.
    #[must_use]
    pub fn complete(&self, mut situation: Situation) -> Situation {
        let newest = [situation.baseline, self.baseline].into_iter().flatten();
        situation.baseline =
            newest.max_by_key(|baseline| baseline.at_ms).map(|baseline| Baseline {
                // Tokens removed by a rollback or by others need not grow again.
                used: baseline.used.min(situation.used),
                ..baseline
            });
        let hour_ago = situation.at_ms - HOUR_MS;
        let made = self.made_ms.iter().filter(|made| **made > hour_ago).count() as u64;
        situation.compactions_in_hour = situation.compactions_in_hour.max(made);
        situation
    }
}

struct Run<'e, 'a> {
    env: &'e Env<'a>,
    state: Watcher,
    /// Whether the client can only compact and notify.
    compact_only: bool,
    effects: Vec<Effect>,
    decided: Option<(Situation, Decision)>,
    should_log: bool,
    given_up: Option<(Trigger, String)>,
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

    /// Aborts a wait in an emergency; returns whether it did.
    fn breaks_off(&mut self, situation: &Situation) -> bool {
        let waits = matches!(
            self.state.phase,
            Phase::AwaitingJudgment { .. }
                | Phase::AwaitingScratch { .. }
                | Phase::AwaitingPacket { .. }
        );
        let tier = situation.percent_remaining.and_then(|percent| self.env.policy.tier(percent));
        if !waits || tier != Some(Tier::Emergency) {
            return false;
        }
        let situation = self.state.complete(situation.clone());
        let decision = decide(self.env.policy, &situation);
        if decision.action != PolicyAction::Compact {
            return false;
        }
        let trigger = self.trigger(&situation, &decision, Author::Watcher);
        self.note_decided(situation, decision);
        self.compact(trigger, None);
        true
    }

    fn end_judgment(&mut self, answered: &str, judgment: Option<Judgment>) {
        let policy = self.env.policy;
        let trigger = match &self.state.phase {
            Phase::AwaitingJudgment { request_id, trigger, .. } if request_id == answered => {
                trigger.clone()
            }
            // An answer to another request, or a late one.
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
                let text = "the judge did not answer; compacting anyway".to_owned();
                self.effects.push(Effect::Warn { text });
                self.begin(trigger);
            }
            (false, judgment) => {
                let reason = judgment.map_or("the judge did not answer".to_owned(), |j| j.reason);
                let text = format!("not compacting: {reason}");
                self.given_up = Some((trigger.clone(), text.clone()));
                self.effects.push(Effect::Notify { text });
                self.rest(trigger.used);
                self.release(None);
            }
        }
    }

    fn user_message(&mut self, is_shell: bool, takes_prefix: bool) {
        if is_shell {
            // A shell command of the user never waits.
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
