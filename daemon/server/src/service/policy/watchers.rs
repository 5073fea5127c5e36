//! Decides on threads, and steps their watchers.

use std::sync::Arc;

use longhaul_core::policy::forecast::{Course, Forecast, forecast};
use longhaul_core::policy::settings::{Judge, Mode};
use longhaul_core::policy::watcher::{Effect, Event, Watcher};
use longhaul_core::policy::{Point, Situation, decide, scratch};
use longhaul_core::signal::SignalEvent;
use longhaul_core::template::TemplateGroup;

use super::adviser::Adviser;
use super::judge::{StepEffect, judge};
use super::record::{NamedDecision, row_of};
use super::situations::{Situations, SteppedThread};
use super::step::{StepOutcome, Stepping};
use super::surroundings::{CLIENT_WAIT, HOOK_WAIT};
use super::thread_state::{Subject, ThreadState, is_live};
use super::watcher_store::WatcherStore;
use crate::config::Live;
use crate::service::error::ServiceError;
use crate::service::texts::TextStore;

#[derive(Debug, Clone)]
pub struct Evaluation {
    pub situation: Situation,
    /// The active policy's decision.
    pub named: NamedDecision,
    pub shadows: Vec<NamedDecision>,
    pub forecast: Forecast,
    pub watcher: Watcher,
}

pub struct Watchers {
    pub(in crate::service) situations: Situations,
    pub(in crate::service) store: WatcherStore,
    pub(in crate::service) adviser: Arc<Adviser>,
    pub(in crate::service) texts: Arc<TextStore>,
    pub(in crate::service) config: Live,
}

impl Watchers {
    /// How the active policy applies decisions, and whether it does so in the middle of a turn, too.
    pub fn mode(&self) -> (Mode, bool) {
        let policy = &self.config.now().policies.active;
        (policy.mode, policy.mid_turn)
    }

    /// Decides on a thread under every policy.
    pub async fn evaluate(
        &self,
        subject: Subject,
        point: Point,
        record: bool,
    ) -> Result<Evaluation, ServiceError> {
        let state = self.situations.state(&subject).await?;
        let watcher = self.store.get(&subject.thread_id).await?;
        let mut situation = watcher.complete(self.situations.of(&state, point));
        let updated_ms = state.fold.head().updated_at_ms;
        if subject.as_of.is_none() && is_live(updated_ms, self.situations.clock.now_ms()) {
            // A caller that does not record spends nothing.
            let wait = match record {
                true => self.config.now().repository.settings().timeout,
                false => CLIENT_WAIT,
            };
            self.situations.surroundings.add_to(&mut situation, &state, wait, record).await;
        }
        let config = self.config.now();
        let policies = &config.policies;
        let mut named: Vec<NamedDecision> = policies
            .all()
            .map(|policy| NamedDecision {
                policy: policy.name.clone(),
                decision_id: None,
                decision: decide(policy, &situation),
            })
            .collect();
        if record && subject.as_of.is_none() {
            self.record(&situation, &mut named).await?;
        }
        let (policy, ThreadState { fold, window, .. }) = (&policies.active, &state);
        let meter = fold.meter();
        let course = Course {
            points: meter.points(),
            compacted_at: meter.compactions().last().map(|point| point.seq),
            turn: meter.turns(),
            used: situation.used,
        };
        let log: Vec<SignalEvent> = fold.signals().happened().copied().collect();
        let forecast = forecast(policy, window, course, &log);
        let shadows = named.split_off(1);
        let Some(named) = named.pop() else {
            return Err(ServiceError::CheckpointNotFound(subject.thread_id));
        };
        Ok(Evaluation { situation, named, shadows, forecast, watcher })
    }

    /// Reports the event that `make` returns to a thread's watcher.
    pub async fn step(
        &self,
        subject: Subject,
        agent: Option<&str>,
        make: impl FnOnce(SteppedThread<'_>) -> Event,
    ) -> Result<StepOutcome, ServiceError> {
        let state = self.situations.state(&subject).await?;
        let texts = self.texts.current(TemplateGroup::Policy);
        let scratch_file = scratch::path(agent, &subject.thread_id);
        let config = self.config.now();
        let (store, config, texts) = (&self.store, config.as_ref(), &texts);
        let step = Stepping { store, config, state: &state, texts, scratch_file };
        let mut event = make(SteppedThread { state: &state, situations: &self.situations });
        let (wait, may_ask) = match &event {
            // The agent waits.
            Event::TurnSeen(_) | Event::MidTurnCompactOnly(_) => (HOOK_WAIT, false),
            event => {
                (CLIENT_WAIT, matches!(event, Event::TurnEnded(_) | Event::TurnEndedCompactOnly(_)))
            }
        };
        let is_ignored =
            matches!(event, Event::MidTurnCompactOnly(_)) && !config.policies.active.mid_turn;
        if let Event::TurnEnded(situation)
        | Event::TurnEndedCompactOnly(situation)
        | Event::TurnSeen(situation)
        | Event::MidTurn(situation)
        | Event::MidTurnCompactOnly(situation) = &mut event
            && !is_ignored
        {
            self.situations.surroundings.add_to(situation, &state, wait, may_ask).await;
        }
        let mut stepped = step.take(event).await?;
        let question = stepped.effects.iter().find_map(|step| match &step.effect {
            Effect::AskJudgment { request_id, .. } => Some((request_id.clone(), step.clone())),
            _ => None,
        });
        let is_own_judge = config.policies.active.judge == Judge::Model;
        let is_asked_here = |question: &StepEffect| {
            // A client that can only compact does not judge: without a model there is no judgment.
            is_own_judge
                || matches!(&question.effect, Effect::AskJudgment { trigger, .. } if trigger.compact_only)
        };
        let Some((request_id, question)) = question.filter(|(_, step)| is_asked_here(step)) else {
            return Ok(stepped);
        };
        let judgment = match is_own_judge {
            true => judge(&self.adviser, &question).await,
            false => None,
        };
        let answered = Event::Judged { request_id, judgment };
        let next = step.take(answered).await?;
        stepped.effects.retain(|step| !matches!(step.effect, Effect::AskJudgment { .. }));
        stepped.effects.extend(next.effects);
        stepped.watcher = next.watcher;
        Ok(stepped)
    }

    /// Logs the decisions, if any policy is at a tier.
    async fn record(
        &self,
        situation: &Situation,
        named: &mut [NamedDecision],
    ) -> Result<(), ServiceError> {
        if named.iter().all(|named| named.decision.tier.is_none()) {
            return Ok(());
        }
        let config = self.config.now();
        let policies = &config.policies;
        let rows: Vec<_> = policies
            .all()
            .zip(named.iter())
            .map(|(policy, named)| {
                row_of(policy, situation, &named.decision, &policies.active.name)
            })
            .collect();
        let logged = self.store.log(situation, rows).await?;
        if let (Some(in_force), Some(logged)) = (named.first(), logged.first()) {
            self.store.publish(situation, &in_force.decision, *logged);
        }
        for (named, logged) in named.iter_mut().zip(logged) {
            named.decision_id = Some(logged.decision_id);
        }
        Ok(())
    }
}
