//! What is said of a compaction while it is made.

use std::sync::atomic::{AtomicU64, Ordering};

use longhaul_core::compaction::ladder::Strategy;
use longhaul_protocol::event::EventKind;
use serde_json::{Value, json};

use super::record::Compaction;
use super::request::Request;
use crate::events::EventHub;

/// Tokens of an answer between two events of its progress.
const STEP_TOKENS: u64 = 64;

/// What is done on a rung.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[derive(strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub(super) enum Stage {
    /// The history is read for a model.
    Reading,
    /// A model was asked and has not begun to answer.
    Asking,
    Writing,
    /// What it wrote is held against the history.
    Checking,
}

impl Stage {
    /// Percent of the room for the answer, below 100 until it is done.
    fn percent(self, tokens: u64, room: u64) -> u64 {
        match self {
            Self::Reading | Self::Asking => 0,
            Self::Writing => (tokens * 100 / room.max(1)).min(98),
            Self::Checking => 99,
        }
    }
}

/// Publishes the events of one compaction: that it begins, by steps how far a model is, and its end.
pub(super) struct ProgressEvents {
    events: EventHub,
    facts: Value,
    last: AtomicU64,
}

impl ProgressEvents {
    pub(super) fn new(events: EventHub, id: &str, thread_id: Option<&str>) -> Self {
        let facts = json!({ "compaction_id": id, "thread_id": thread_id });
        Self { events, facts, last: AtomicU64::new(0) }
    }

    pub(super) fn begun(&self, request: &Request, before: u64) {
        let mut data = self.facts.clone();
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
        let mut data = self.facts.clone();
        data["strategy"] = json!(strategy.into_str());
        data["stage"] = json!(stage.into_str());
        data["tokens"] = json!(tokens);
        data["percent"] = json!(percent);
        self.events.publish(EventKind::CompactionProgress, data);
    }

    pub(super) fn done(&self, compaction: &Compaction) {
        for warning in &compaction.warnings {
            let mut data = self.facts.clone();
            data["warning"] = json!(warning.kind);
            data["message"] = json!(warning.message);
            self.events.publish(EventKind::CompactionWarning, data);
        }
        let mut data = self.facts.clone();
        data["tokens"] = json!({ "before": compaction.tokens.0, "after": compaction.tokens.1 });
        data["strategy_used"] = json!(compaction.strategy_used.into_str());
        self.events.publish(EventKind::CompactionCompleted, data.clone());
        self.events.publish(EventKind::ContextCompacted, data);
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
        assert_eq!(Stage::Writing.percent(1, 0), 98, "no room is no division by nothing");
    }
}
