//! Decides on threads, and steps their watchers.

use std::sync::Arc;

use longhaul_core::policy::forecast::{Course, Forecast, forecast};
use longhaul_core::policy::settings::Mode;
use longhaul_core::policy::watcher::{Effect, Event, Watcher};
use longhaul_core::policy::{Point, Situation, decide, replay, scratch};
use longhaul_core::signal::SignalEvent;
use longhaul_core::template::TemplateGroup;
use longhaul_store::PolicyTable;

use super::adviser::Adviser;
use super::judge::{StepEffect, judge, judges};
use super::record::{NamedDecision, publish, row_of, watcher_of};
use super::step::{ClientEvent, StepOutcome, Stepping};
use super::surroundings::{CLIENT_WAIT, HOOK_WAIT, Surroundings};
use super::thread_state::{Subject, ThreadState, is_live};
use crate::clock::Clock;
use crate::config::Live;
use crate::events::EventHub;
use crate::service::context::{Contexts, UsageQuery};
use crate::service::error::ServiceError;
use crate::service::texts::TextStore;

#[derive(Debug, Clone)]
pub struct Evaluation {
    /// The inputs of the decision.
    pub situation: Situation,
    /// The active policy's decision.
    pub named: NamedDecision,
    pub shadows: Vec<NamedDecision>,
    pub forecast: Forecast,
    pub watcher: Watcher,
}

pub struct Watchers {
    policies: PolicyTable,
    events: EventHub,
    contexts: Arc<Contexts>,
    surroundings: Surroundings,
    adviser: Arc<Adviser>,
    texts: Arc<TextStore>,
    config: Live,
    clock: Clock,
}

impl Watchers {
    pub fn new(
        (policies, events, contexts): (PolicyTable, EventHub, Arc<Contexts>),
        (surroundings, adviser): (Surroundings, Arc<Adviser>),
        texts: Arc<TextStore>,
        config: Live,
        clock: Clock,
    ) -> Self {
        Self { policies, events, contexts, surroundings, adviser, texts, config, clock }
    }

    /// How the active policy applies decisions.
    pub fn mode(&self) -> Mode {
        self.config.now().policies.active.mode
    }

    /// Whether it does so in the middle of a turn, too.
    pub fn is_mid_turn(&self) -> bool {
        self.config.now().policies.active.mid_turn
    }

    /// Decides on a thread under every policy.
    pub async fn evaluate(
        &self,
        subject: Subject,
        point: Point,
        record: bool,
    ) -> Result<Evaluation, ServiceError> {
        let state = self.state(&subject).await?;
        let thread_id = subject.thread_id.as_str();
        let now_ms = self.clock.now_ms();
        let watcher = watcher_of(self.policies.watcher_get(thread_id).await?.as_deref());
        let ThreadState { fold, window, used } = &state;
        let situation = replay::situation(fold, (window, *used), thread_id, (now_ms, point));
        let mut situation = watcher.complete(situation);
        if subject.as_of.is_none() && is_live(state.fold.head().updated_at_ms, now_ms) {
            // A caller that does not record spends nothing.
            let wait = match record {
                true => self.config.now().repository.settings().timeout,
                false => CLIENT_WAIT,
            };
            self.surroundings.add_to(&mut situation, &state, wait, record).await;
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
        let policy = &policies.active;
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

    /// Reports an event to a thread's watcher.
    pub async fn step(
        &self,
        subject: Subject,
        agent: Option<&str>,
        client_event: ClientEvent,
    ) -> Result<StepOutcome, ServiceError> {
        let state = self.state(&subject).await?;
        let texts = self.texts.current(TemplateGroup::Policy);
        let scratch_file = scratch::path(agent, &subject.thread_id);
        let config = self.config.now();
        let step = Stepping {
            policies: &self.policies,
            events: &self.events,
            config: &config,
            clock: &self.clock,
            state: &state,
            texts: &texts,
            scratch_file,
        };
        let mut event = step.event(&subject.thread_id, client_event);
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
            self.surroundings.add_to(situation, &state, wait, may_ask).await;
        }
        let mut stepped = step.take(&subject.thread_id, event).await?;
        let asked = stepped.effects.iter().find_map(|asked| match &asked.effect {
            Effect::AskJudgment { request_id, .. } => Some((request_id.clone(), asked.clone())),
            _ => None,
        });
        let is_asked_here = |asked: &StepEffect| {
            // A client that can only compact does not judge: without a model there is no judgment.
            judges(&config)
                || matches!(&asked.effect, Effect::AskJudgment { trigger, .. } if trigger.compact_only)
        };
        let Some((request_id, asked)) = asked.filter(|(_, asked)| is_asked_here(asked)) else {
            return Ok(stepped);
        };
        let judgment = match judges(&config) {
            true => judge(&self.adviser, &asked).await,
            false => None,
        };
        let answered = Event::Judged { request_id, judgment };
        let next = step.take(&subject.thread_id, answered).await?;
        stepped.effects.retain(|asked| !matches!(asked.effect, Effect::AskJudgment { .. }));
        stepped.effects.extend(next.effects);
        stepped.watcher = next.watcher;
        Ok(stepped)
    }

    /// The current state of a thread and its window.
    pub(super) async fn state(&self, subject: &Subject) -> Result<ThreadState, ServiceError> {
        let usage = self
            .contexts
            .usage(UsageQuery {
                thread_id: Some(subject.thread_id.clone()),
                as_of: subject.as_of,
                items: None,
                model: subject.model.clone(),
                context_window: subject.context_window,
                auto_compact_limit: None,
                resume: false,
            })
            .await?;
        let not_found = || ServiceError::CheckpointNotFound(subject.thread_id.clone());
        let fold = usage.fold.ok_or_else(not_found)?;
        Ok(ThreadState { fold, window: usage.window, used: usage.used })
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
        let change = move |found: Option<String>| (found, rows, ());
        let at = (situation.thread_id.as_str(), situation.at_ms);
        let ((), logged) = self.policies.watcher_step(at, change).await?;
        if let (Some(in_force), Some(logged)) = (named.first(), logged.first()) {
            publish(&self.events, situation, &in_force.decision, *logged);
        }
        for (named, logged) in named.iter_mut().zip(logged) {
            named.decision_id = Some(logged.decision_id);
        }
        Ok(())
    }
}
