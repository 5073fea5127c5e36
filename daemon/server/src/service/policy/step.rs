//! One step of a watcher: advances the stored state.

use longhaul_core::policy::watcher::{self, Env, Event, Watcher};
use longhaul_core::template::Texts;

use super::judge::{StepEffect, step_effect};
use super::record::{NamedDecision, row_of};
use super::thread_state::ThreadState;
use super::watcher_store::WatcherStore;
use crate::config::Config;
use crate::service::error::ServiceError;

#[derive(Debug, Clone)]
pub struct StepOutcome {
    pub watcher: Watcher,
    pub effects: Vec<StepEffect>,
    pub named: Option<NamedDecision>,
}

pub(super) struct Stepping<'a> {
    pub(super) store: &'a WatcherStore,
    pub(super) config: &'a Config,
    pub(super) state: &'a ThreadState,
    pub(super) texts: &'a Texts,
    pub(super) scratch_file: String,
}

impl Stepping<'_> {
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
