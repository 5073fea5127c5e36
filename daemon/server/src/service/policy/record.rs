//! The stored form of decisions and watchers.

use longhaul_core::digest::Digest128;
use longhaul_core::policy::watcher::Watcher;
use longhaul_core::policy::{Decision, Policy, Situation};
use longhaul_store::DecisionRow;
use serde::{Deserialize, Serialize};

/// A policy's decision, and its id in the log.
#[derive(Debug, Clone)]
pub struct NamedDecision {
    pub policy: String,
    pub decision_id: Option<i64>,
    pub decision: Decision,
}

/// Stored inputs of a decision.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct DecisionRecord {
    pub(super) situation: Situation,
    pub(super) decision: Decision,
}

/// A stored watcher. One written by another version starts again; only its position in a sequence is lost.
pub(in crate::service) fn watcher_of(stored: Option<&str>) -> Watcher {
    let Some(stored) = stored else { return Watcher::default() };
    serde_json::from_str(stored).unwrap_or_else(|error| {
        tracing::warn!(%error, "cannot read a stored watcher: starting a new one");
        Watcher::default()
    })
}

/// The stored form of a decision, with its policy as JSON.
pub(super) fn row_of(
    policy: &Policy,
    situation: &Situation,
    decision: &Decision,
    in_force: &str,
) -> (DecisionRow, String) {
    // Names, numbers and lists: serializing them to memory cannot fail.
    let settings = serde_json::to_string(policy).unwrap_or_default();
    let record = DecisionRecord { situation: situation.clone(), decision: decision.clone() };
    let row = DecisionRow {
        decision_id: 0,
        thread_id: situation.thread_id.clone(),
        policy: policy.name.clone(),
        settings: Digest128::of(settings.as_bytes()).to_string(),
        shadow: policy.name != in_force,
        at_ms: situation.at_ms,
        seq: situation.seq,
        turn: situation.turn,
        action: decision.action.into_str().to_owned(),
        tier: decision.tier.map(|tier| tier.into_str().to_owned()),
        body: serde_json::to_string(&record).unwrap_or_default(),
        compaction_id: None,
        not_made: None,
    };
    (row, settings)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Defect 7.11: an unreadable state made everything after it fail.
    #[test]
    fn defect_7_11_a_watcher_that_cannot_be_read_begins_anew() {
        for stored in ["", "{ torn", "[]", r#"{"phase":{"phase":"of a later version"}}"#] {
            assert_eq!(watcher_of(Some(stored)), Watcher::default(), "{stored}");
        }
        let known = serde_json::to_string(&Watcher { asked: 3, ..Watcher::default() }).unwrap();
        assert_eq!(watcher_of(Some(&known)).asked, 3);
    }
}
