//! One step of a watcher: converts a client's report to an event, and advances the stored state.

use std::collections::BTreeSet;

use longhaul_core::policy::watcher::{self, Env, Event, Watcher};
use longhaul_core::policy::{Point, Situation, replay};
use longhaul_core::signal::Boundary;
use longhaul_core::template::Texts;
use longhaul_store::{DecisionEnd, PolicyTable, StoreError};

use super::judge::{StepEffect, step_effect};
use super::record::{NamedDecision, publish, row_of, watcher_of};
use super::thread_state::ThreadState;
use crate::clock::Clock;
use crate::config::Config;
use crate::events::EventHub;
use crate::service::error::ServiceError;

/// Values that a client knows and the transcript lacks.
#[derive(Debug, Clone, Default)]
pub struct TurnWords {
    pub words: Option<String>,
    pub signs: BTreeSet<Boundary>,
}

/// An event reported by a client.
#[derive(Debug, Clone)]
pub enum ClientEvent {
    TurnEnded(TurnWords),
    /// The turn ended; the client can only notify the person.
    TurnSeen(TurnWords),
    /// The turn ended; the client can compact now and notify the person.
    TurnEndedCompactOnly(TurnWords),
    /// A compact-only compaction ended: tokens left, or why it was not made.
    CompactOnlyEnded(Result<Option<u64>, String>),
    /// A model call ended and the turn continues.
    MidTurn(TurnWords),
    /// The same; the client can compact now and notify the person.
    MidTurnCompactOnly(TurnWords),
    /// The history was compacted: tokens left, and whether the turn's end is still to come.
    Compacted(Option<u64>, bool),
    /// A requested action failed, with the reason.
    CompactionFailed(String),
    Resume,
    Other(Event),
}

#[derive(Debug, Clone)]
pub struct StepOutcome {
    pub watcher: Watcher,
    /// The actions to take.
    pub effects: Vec<StepEffect>,
    pub named: Option<NamedDecision>,
}

pub(super) struct Stepping<'a> {
    pub(super) policies: &'a PolicyTable,
    pub(super) events: &'a EventHub,
    pub(super) config: &'a Config,
    pub(super) clock: &'a Clock,
    pub(super) state: &'a ThreadState,
    pub(super) texts: &'a Texts,
    pub(super) scratch_file: String,
}

impl Stepping<'_> {
    pub(super) fn event(&self, thread_id: &str, event: ClientEvent) -> Event {
        let now_ms = self.clock.now_ms();
        let ThreadState { fold, window, used } = self.state;
        let situation =
            |point| replay::situation(fold, (window, *used), thread_id, (now_ms, point));
        match event {
            ClientEvent::TurnEnded(turn) => Event::TurnEnded(turn.added(situation(Point::TurnEnd))),
            ClientEvent::TurnSeen(turn) => Event::TurnSeen(turn.added(situation(Point::TurnEnd))),
            ClientEvent::TurnEndedCompactOnly(turn) => {
                Event::TurnEndedCompactOnly(turn.added(situation(Point::TurnEnd)))
            }
            ClientEvent::CompactOnlyEnded(made) => {
                Event::CompactOnlyEnded { made: made.map(|tokens| tokens.unwrap_or(*used)) }
            }
            ClientEvent::MidTurn(turn) => Event::MidTurn(turn.added(situation(Point::MidTurn))),
            ClientEvent::MidTurnCompactOnly(turn) => {
                Event::MidTurnCompactOnly(turn.added(situation(Point::MidTurn)))
            }
            ClientEvent::Compacted(tokens_after, turn_end_follows) => {
                Event::Compacted { tokens_after: tokens_after.unwrap_or(*used), turn_end_follows }
            }
            ClientEvent::CompactionFailed(reason) => {
                Event::CompactionFailed { reason, compacted: replay::compacted(fold) }
            }
            ClientEvent::Resume => Event::Resume { compacted: replay::compacted(fold) },
            ClientEvent::Other(event) => event,
        }
    }

    /// Steps the stored watcher, and stores the result.
    pub(super) async fn take(
        &self,
        thread_id: &str,
        event: Event,
    ) -> Result<StepOutcome, ServiceError> {
        let now_ms = self.clock.now_ms();
        let policy = &self.config.policies.active;
        let scratch_file = self.scratch_file.as_str();
        let env = Env { policy, texts: self.texts, thread_id, scratch_file, now_ms };
        let change = |found: Option<String>| {
            let stepped = watcher::step(&env, watcher_of(found.as_deref()), event);
            let rows: Vec<_> = stepped
                .decided
                .iter()
                .filter(|(_, decision)| decision.tier.is_some() && stepped.should_log)
                .map(|(situation, decision)| row_of(policy, situation, decision, &policy.name))
                .collect();
            (serde_json::to_string(&stepped.state).ok(), rows, stepped)
        };
        let (stepped, logged) = self.policies.watcher_step((thread_id, now_ms), change).await?;
        if let (Some((situation, decision)), Some(logged)) = (&stepped.decided, logged.first()) {
            publish(self.events, situation, decision, *logged);
        }
        if let Some((trigger, why)) = &stepped.given_up {
            self.note_given_up(thread_id, trigger.turn, why).await;
        }
        let effects = stepped.effects.into_iter();
        let effects =
            effects.map(|effect| step_effect(effect, self.state, thread_id, self.texts)).collect();
        let named = stepped.decided.map(|(_, decision)| NamedDecision {
            policy: policy.name.clone(),
            decision_id: logged.first().map(|logged| logged.decision_id),
            decision,
        });
        Ok(StepOutcome { watcher: stepped.state, effects, named })
    }
}

impl Stepping<'_> {
    /// Records with the decision why no compaction followed; the step itself is stored already.
    async fn note_given_up(&self, thread_id: &str, turn: u64, why: &str) {
        let ended = async {
            if let Some(decision_id) = self.policies.decision_of_turn(thread_id, turn).await? {
                self.policies.set_decision_end(decision_id, DecisionEnd::NotMade(why)).await?;
            }
            Ok::<_, StoreError>(())
        };
        if let Err(error) = ended.await {
            tracing::warn!(%error, "cannot record why a decision led to no compaction");
        }
    }
}

impl TurnWords {
    fn added(self, mut situation: Situation) -> Situation {
        if let Some(words) = self.words {
            let words = longhaul_core::text::cut_middle(&words, watcher::PACKET_BYTES);
            situation.message = Some(longhaul_core::redact::redact(&words).text.into_owned());
        }
        situation.boundaries.extend(self.signs);
        situation
    }
}
