//! Puts a compaction in force in a thread that the daemon itself keeps, and takes it out again.
//!
//! # Theory of operation
//! The thread's transcript says what its history is, so one line of it is the whole step: written and synced before
//! the answer, and known by the compaction's id. The compaction's record is stored first.
//!
//! *A crash* before the line: the history is as it was, and a new compaction may be asked for. After it: the history
//! is replaced, the record is there, and installing once more finds the line. There is nothing between.
//!
//! What clients appended while the compaction was made stands behind the replacement. Taking back is a line
//! too: what was replaced is visible again, and all that was appended since stays behind it.
//!
//! Transcripts of other programs are never written.

use std::collections::HashSet;
use std::sync::Arc;

use longhaul_core::redact::redact_value;
use longhaul_core::rollout::compose::{self, Marker};
use longhaul_protocol::limit::APPEND_ITEM_BYTES_MAX;
use serde_json::Value;

use super::record::Compaction;
use crate::recorder::{Line, Recorder, RecorderError};
use crate::service::error::ServiceError;
use crate::service::snapshot::Snapshots;

/// Replaces histories of threads that the daemon keeps.
pub struct Installer {
    recorder: Arc<Recorder>,
    snapshots: Arc<Snapshots>,
}

impl Installer {
    #[must_use]
    pub fn new(recorder: Arc<Recorder>, snapshots: Arc<Snapshots>) -> Self {
        Self { recorder, snapshots }
    }

    /// Sees that the daemon keeps the thread, before anything is paid for.
    ///
    /// # Errors
    /// [`ServiceError::ThreadReadOnly`] for a thread of another program.
    pub(super) async fn check(&self, thread_id: &str) -> Result<(), ServiceError> {
        self.seq_of(thread_id, "").await.map(drop)
    }

    /// The line that put a compaction in force; `None` where none did.
    ///
    /// # Errors
    /// [`ServiceError::ThreadReadOnly`], or the disk.
    pub async fn installed_seq(
        &self,
        compaction: &Compaction,
    ) -> Result<Option<u64>, ServiceError> {
        match compaction.thread_id.as_deref().filter(|_| compaction.install) {
            Some(thread_id) => self.seq_of(thread_id, &compaction.id).await,
            None => Ok(None),
        }
    }

    /// Replaces the thread's history by the compaction's; returns the line that does. Twice is the same as once.
    ///
    /// # Errors
    /// [`ServiceError::StaleBase`] where the thread went on in a way that no replacement holds for; the disk.
    pub(super) async fn install(
        &self,
        thread_id: &str,
        compaction: &Compaction,
    ) -> Result<u64, ServiceError> {
        let (id, covered_seq) = (compaction.id.clone(), compaction.seq);
        let (message, history) = (compaction.view.clone(), compaction.history.clone());
        let line_id = id.clone();
        let make = move |at_ms, later: Vec<String>| {
            let present = covered_seq + later.len() as u64;
            let later = later_items(&later)
                .ok_or(ServiceError::StaleBase { expected: covered_seq, present })?;
            let replacement_history = history.into_iter().chain(later).collect();
            let line = line(at_ms, &id, &Marker::Compacted { message, replacement_history });
            match line.text.len() <= APPEND_ITEM_BYTES_MAX {
                true => Ok(line),
                false => Err(ServiceError::Limit {
                    limit: "replacement_bytes",
                    max: APPEND_ITEM_BYTES_MAX as u64,
                    given: line.text.len() as u64,
                }),
            }
        };
        self.recorder.append_after(thread_id, &line_id, covered_seq, make).await
    }

    /// Puts back what an installed compaction replaced; returns the line that does, `None` where the compaction is
    /// not in force: never installed, or taken back with its turn. Twice is the same as once.
    ///
    /// # Errors
    /// [`ServiceError::Superseded`] where a later compaction is in force; the disk.
    pub(super) async fn put_back(
        &self,
        compaction: &Compaction,
    ) -> Result<Option<u64>, ServiceError> {
        let Some(thread_id) = compaction.thread_id.as_deref() else { return Ok(None) };
        let Some(installed) = self.installed_seq(compaction).await? else { return Ok(None) };
        let id = format!("{}.undo", compaction.id);
        if let Some(done) = self.seq_of(thread_id, &id).await? {
            return Ok(Some(done));
        }
        let snapshot = self.snapshots.of(thread_id, None).await?;
        let visible = snapshot.fold.visible();
        if !visible.can_put_back(installed) {
            return match visible.base() >= Some(installed) {
                true => Err(ServiceError::Superseded(compaction.id.clone())),
                false => Ok(None),
            };
        }
        let (line_id, seq) = (id.clone(), snapshot.seq());
        let make =
            move |at_ms, _| Ok(line(at_ms, &id, &Marker::CompactionUndone { line: installed }));
        self.recorder.append_after(thread_id, &line_id, seq, make).await.map(Some)
    }

    async fn seq_of(&self, thread_id: &str, id: &str) -> Result<Option<u64>, ServiceError> {
        match self.recorder.seq_of(thread_id, id).await {
            Err(RecorderError::NotFound(id)) => Err(ServiceError::ThreadReadOnly(id)),
            seq => Ok(seq?),
        }
    }
}

fn line(at_ms: i64, id: &str, marker: &Marker) -> Line {
    let (kind, mut payload) = marker.payload();
    let redacted = u64::from(redact_value(&mut payload));
    let text = compose::line(at_ms, kind, &payload, Some(id));
    Line { client_item_id: id.to_owned(), text, redacted }
}

/// The items among lines that were appended while a compaction was made. `None` where they cannot stand behind it: the
/// history was replaced or taken back meanwhile, or the answer to a call came whose call was compacted.
fn later_items(lines: &[String]) -> Option<Vec<Value>> {
    let (mut items, mut calls) = (Vec::new(), HashSet::new());
    for line in lines {
        let Ok(mut line) = serde_json::from_str::<Value>(line) else { continue };
        let payload = line["payload"].take();
        let kind = payload["type"].as_str().unwrap_or_default();
        match line["type"].as_str() {
            Some("response_item") => {
                if let Some(call_id) = payload["call_id"].as_str() {
                    match kind.ends_with("_output") {
                        true if !calls.contains(call_id) => return None,
                        true => {}
                        false => drop(calls.insert(call_id.to_owned())),
                    }
                }
                items.push(payload);
            }
            Some("compacted") => return None,
            Some("event_msg") if matches!(kind, "thread_rolled_back" | "compaction_undone") => {
                return None;
            }
            _ => {}
        }
    }
    Some(items)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn lines(parts: &[(&str, Value)]) -> Vec<String> {
        let line = |(kind, payload): &(&str, Value)| compose::line(0, kind, payload, Some("x"));
        parts.iter().map(line).collect()
    }

    #[test]
    fn what_is_appended_meanwhile_is_carried_over_or_makes_the_compaction_stale() {
        let call = ("response_item", json!({ "type": "function_call", "call_id": "c" }));
        let output = ("response_item", json!({ "type": "function_call_output", "call_id": "c" }));
        let started = ("event_msg", json!({ "type": "task_started" }));
        let back = ("event_msg", json!({ "type": "thread_rolled_back", "num_turns": 1 }));
        let compacted = ("compacted", json!({ "message": "" }));
        let whole = lines(&[started, call, output.clone()]);
        assert_eq!(later_items(&whole).map(|items| items.len()), Some(2));
        for torn in [output, back, compacted] {
            assert_eq!(later_items(&lines(&[torn])), None);
        }
    }
}
