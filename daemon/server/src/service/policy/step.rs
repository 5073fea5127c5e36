//! One step of a watcher: converts a client's report to an event, and advances the stored state.

use std::collections::BTreeSet;

use longhaul_core::policy::watcher::{self, Env, Event, Watcher};
use longhaul_core::policy::{Point, Situation, replay};
use longhaul_core::signal::Boundary;
use longhaul_core::template::Texts;

use super::judge::{StepEffect, step_effect};
use super::record::{NamedDecision, row_of};
use super::thread_state::ThreadState;
use super::watcher_store::WatcherStore;
use crate::config::Config;
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

/// The event for a watcher. `situation` gives the thread's situation at a point.
pub(super) fn event_of(
    event: ClientEvent,
    state: &ThreadState,
    situation: impl Fn(Point) -> Situation,
) -> Event {
    let ThreadState { fold, used, .. } = state;
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

pub(super) struct Stepping<'a> {
    pub(super) store: &'a WatcherStore,
    pub(super) config: &'a Config,
    pub(super) state: &'a ThreadState,
    pub(super) texts: &'a Texts,
    pub(super) scratch_file: String,
}

impl Stepping<'_> {
    /// Steps the stored watcher, and stores the result.
    pub(super) async fn take(&self, event: Event) -> Result<StepOutcome, ServiceError> {
        let (thread_id, policy) = (self.state.thread_id.as_str(), &self.config.policies.active);
        let scratch_file = self.scratch_file.as_str();
        let change = |watcher: Watcher, now_ms: i64| {
            let env = Env { policy, texts: self.texts, thread_id, scratch_file, now_ms };
            let stepped = watcher::step(&env, watcher, event);
            let rows: Vec<_> = stepped
                .decided
                .iter()
                .filter(|(_, decision)| decision.tier.is_some() && stepped.should_log)
                .map(|(situation, decision)| row_of(policy, situation, decision, &policy.name))
                .collect();
            (serde_json::to_string(&stepped.state).ok(), rows, stepped)
        };
        let (stepped, logged) = self.store.step(thread_id, change).await?;
        if let (Some((situation, decision)), Some(logged)) = (&stepped.decided, logged.first()) {
            self.store.publish(situation, decision, *logged);
        }
        if let Some((trigger, why)) = &stepped.given_up {
            self.store.note_given_up(thread_id, trigger.turn, why).await;
        }
        let effects = stepped.effects.into_iter();
        let effects = effects.map(|effect| step_effect(effect, self.state, self.texts)).collect();
        let named = stepped.decided.map(|(_, decision)| NamedDecision {
            policy: policy.name.clone(),
            decision_id: logged.first().map(|logged| logged.decision_id),
            decision,
        });
        Ok(StepOutcome { watcher: stepped.state, effects, named })
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
