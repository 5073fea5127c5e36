//! Stores watchers and the decisions of policies, and publishes the decisions.

use longhaul_core::policy::watcher::Watcher;
use longhaul_core::policy::{Decision, Situation};
use longhaul_protocol::event::EventKind;
use longhaul_store::{DecisionEnd, DecisionRow, LogEntry, PolicyTable, StoreError};
use serde_json::json;

use super::record::watcher_of;
use crate::clock::Clock;
use crate::events::EventHub;
use crate::service::error::ServiceError;

pub struct WatcherStore {
    pub(in crate::service) policies: PolicyTable,
    pub(in crate::service) events: EventHub,
    pub(in crate::service) clock: Clock,
}

impl WatcherStore {
    pub(super) async fn get(&self, thread_id: &str) -> Result<Watcher, ServiceError> {
        Ok(watcher_of(self.policies.watcher_get(thread_id).await?.as_deref()))
    }

    /// Changes a thread's watcher. `change` gets the watcher and the time, and returns the JSON of the new one, the
    /// decisions to log, each with the JSON of its policy, and a result.
    pub(super) async fn step<T: Send>(
        &self,
        thread_id: &str,
        change: impl FnOnce(Watcher, i64) -> (Option<String>, Vec<(DecisionRow, String)>, T) + Send,
    ) -> Result<(T, Vec<LogEntry>), ServiceError> {
        let now_ms = self.clock.now_ms();
        let change = |found: Option<String>| change(watcher_of(found.as_deref()), now_ms);
        Ok(self.policies.watcher_step((thread_id, now_ms), change).await?)
    }

    /// Logs decisions, and leaves the watcher as it is.
    pub(super) async fn log(
        &self,
        situation: &Situation,
        rows: Vec<(DecisionRow, String)>,
    ) -> Result<Vec<LogEntry>, ServiceError> {
        let change = move |found: Option<String>| (found, rows, ());
        let at = (situation.thread_id.as_str(), situation.at_ms);
        Ok(self.policies.watcher_step(at, change).await?.1)
    }

    /// Publishes a logged decision of the active policy.
    pub(super) fn publish(&self, situation: &Situation, decision: &Decision, logged: LogEntry) {
        if !logged.is_new {
            return;
        }
        let data = json!({
            "thread_id": situation.thread_id,
            "decision_id": logged.decision_id.to_string(),
            "turn": situation.turn,
            "seq": situation.seq,
            "point": situation.point.into_str(),
            "action": decision.action.into_str(),
            "tier": decision.tier.map(|tier| tier.into_str()),
            "percent_remaining": decision.percent_remaining,
        });
        self.events.publish(EventKind::PolicyDecided, data);
    }

    /// Records with the decision why no compaction followed; the step itself is stored already.
    pub(super) async fn note_given_up(&self, thread_id: &str, turn: u64, why: &str) {
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
