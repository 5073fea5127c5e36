//! Events of a compaction in progress.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use longhaul_core::compaction::ladder::Strategy;
use longhaul_protocol::event::EventKind;
use serde_json::{Value, json};

use super::agent_steps::RunningStep;
use super::record::Compaction;
use super::request::Request;
use crate::events::EventHub;

/// Tokens of an answer between two progress events.
const STEP_TOKENS: u64 = 64;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[derive(strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub(super) enum Stage {
    /// Reading the history for a model.
    Reading,
    /// A model was asked and has not started to answer.
    Asking,
    Writing,
    /// Checking its text against the history.
    Checking,
}

impl Stage {
    /// Percent of the room for the answer; below 100 until done.
    fn percent(self, tokens: u64, room: u64) -> u64 {
        match self {
            Self::Reading | Self::Asking => 0,
            Self::Writing => (tokens * 100 / room.max(1)).min(98),
            Self::Checking => 99,
        }
    }
}

const CANCELLED: &str = "cancelled";

/// Publishes the events of one compaction: its start, a model's progress, and its end. Dropped before its end, it
/// publishes a cancellation: the client disconnected, or the job was cancelled.
///
/// If a newer step took over the id, the end is that step's, and this one publishes none.
pub struct ProgressEvents {
    events: EventHub,
    id: String,
    /// The step of an agent's compaction that it is.
    pub(super) step: Option<RunningStep>,
    /// Fields of every event; set when it starts.
    facts: OnceLock<Value>,
    has_ended: AtomicBool,
    last: AtomicU64,
}

impl ProgressEvents {
    pub(super) fn new(events: EventHub, id: String, step: Option<RunningStep>) -> Self {
        Self {
            events,
            id,
            step,
            facts: OnceLock::new(),
            has_ended: AtomicBool::new(false),
            last: AtomicU64::new(0),
        }
    }

    pub(super) fn id(&self) -> &str {
        &self.id
    }

    pub(super) fn has_started(&self) -> bool {
        self.facts.get().is_some()
    }

    pub(super) fn started(&self, request: &Request, thread_id: Option<&str>, before: u64) {
        let facts = json!({ "compaction_id": self.id, "thread_id": thread_id });
        let mut data = self.facts.get_or_init(|| facts).clone();
        data["strategy"] = json!(request.strategy.into_str());
        data["phase"] = json!(request.phase.into_str());
        data["trigger"] = json!(request.trigger);
        data["tokens"] = json!({ "before": before });
        self.events.publish(EventKind::CompactionStarted, data);
    }

    pub(super) fn step(&self, strategy: Strategy, stage: Stage, tokens: u64, room: u64) {
        let percent = stage.percent(tokens, room);
        let last = self.last.load(Ordering::Relaxed);
        if tokens > 0 && tokens < last.saturating_add(STEP_TOKENS) {
            return;
        }
        self.last.store(tokens, Ordering::Relaxed);
        let mut data = self.facts();
        data["strategy"] = json!(strategy.into_str());
        data["stage"] = json!(stage.into_str());
        data["tokens"] = json!(tokens);
        data["percent"] = json!(percent);
        self.events.publish(EventKind::CompactionProgress, data);
    }

    pub(super) fn done(&self, compaction: &Compaction) {
        self.has_ended.store(true, Ordering::Relaxed);
        for warning in &compaction.warnings {
            let mut data = self.facts();
            data["warning"] = json!(warning.kind);
            data["message"] = json!(warning.message);
            self.events.publish(EventKind::CompactionWarning, data);
        }
        let mut data = self.facts();
        data["tokens"] = json!({ "before": compaction.tokens.0, "after": compaction.tokens.1 });
        data["strategy_used"] = json!(compaction.strategy_used.into_str());
        self.events.publish(EventKind::CompactionCompleted, data.clone());
        // An installed one is published when its transcript line is read, like any other of that thread.
        if !compaction.install {
            self.events.publish(EventKind::ContextCompacted, data);
        }
    }

    /// Publishes a failure; `retries` says whether the job will retry.
    pub(super) fn failed(&self, reason: &str, retries: bool) {
        let is_taken_over = self.step.as_ref().is_some_and(RunningStep::is_taken_over);
        if self.has_ended.swap(true, Ordering::Relaxed) || is_taken_over {
            return;
        }
        let mut data = json!({ "compaction_id": self.id, "reason": reason });
        if retries {
            data["retries"] = json!(true);
        }
        self.events.publish(EventKind::CompactionFailed, data);
    }

    fn facts(&self) -> Value {
        self.facts.get().cloned().unwrap_or_else(|| json!({ "compaction_id": self.id }))
    }
}

impl Drop for ProgressEvents {
    fn drop(&mut self) {
        if self.has_started() {
            self.failed(CANCELLED, false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percent_stays_below_100_until_it_is_done() {
        for (stage, tokens, percent) in [
            (Stage::Reading, 0, 0),
            (Stage::Asking, 50, 0),
            (Stage::Writing, 50, 50),
            (Stage::Writing, 5_000, 98),
            (Stage::Checking, 0, 99),
        ] {
            assert_eq!(stage.percent(tokens, 100), percent, "{stage:?}");
        }
        assert_eq!(Stage::Writing.percent(1, 0), 98, "no division by zero");
    }
}
