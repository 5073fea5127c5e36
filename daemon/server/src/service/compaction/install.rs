//! Installs a compaction in a thread that the daemon itself keeps, and removes it again.
//!
//! # Theory of operation
//! The thread's transcript defines its history, so the whole step is one line in it: written and synced before the
//! answer, and found by the compaction's id. The compaction's record is stored first.
//!
//! *A crash* before the line: the history is unchanged, and a new compaction may be requested. After it: the
//! history is replaced, the record exists, and installing again finds the line. There is no state in between.
//!
//! Items that clients appended during the compaction follow the replacement. Undo is a line too: the replaced
//! items become visible again, followed by everything appended since.
//!
//! Transcripts of other programs are never written.

use std::collections::HashSet;
use std::sync::Arc;

use longhaul_core::redact::redact_value;
use longhaul_core::rollout::compose::{self, Marker};
use longhaul_protocol::limit::APPEND_ITEM_BYTES_MAX;
use serde_json::Value;

use super::record::Compaction;
use super::request::Request;
use crate::ingest::SyncError;
use crate::recorder::{Line, Recorder, RecorderError};
use crate::service::error::ServiceError;
use crate::service::snapshot::{Snapshot, Snapshots};

pub struct Installer {
    pub(in crate::service) recorder: Arc<Recorder>,
    pub(in crate::service) snapshots: Arc<Snapshots>,
}

impl Installer {
    /// Checks that the daemon keeps the thread that a request replaces the history of, before anything is paid for.
    ///
    /// # Errors
    /// [`ServiceError::ThreadReadOnly`] for a thread of another program; an I/O error.
    pub(super) async fn check(&self, request: &Request) -> Result<(), ServiceError> {
        match request.installs_in() {
            Some(thread_id) => self.seq_of(thread_id, "").await.map(drop),
            None => Ok(()),
        }
    }

    /// The line that installed a compaction; `None` if it is not installed.
    ///
    /// # Errors
    /// [`ServiceError::ThreadReadOnly`], or an I/O error.
    pub async fn installed_seq(
        &self,
        compaction: &Compaction,
    ) -> Result<Option<u64>, ServiceError> {
        match compaction.thread_id.as_deref().filter(|_| compaction.install) {
            Some(thread_id) => self.seq_of(thread_id, &compaction.id).await,
            None => Ok(None),
        }
    }

    /// Replaces the thread's history by that of a stored compaction, if its request said so. Idempotent.
    ///
    /// # Errors
    /// [`ServiceError::StaleBase`] if the thread continued in a way that conflicts with the replacement; an I/O
    /// error.
    pub(super) async fn install(&self, compaction: &mut Compaction) -> Result<(), ServiceError> {
        let thread_id = compaction.thread_id.as_deref().filter(|_| compaction.install);
        let Some(thread_id) = thread_id else { return Ok(()) };
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
        let installed = self.recorder.append_after(thread_id, &line_id, covered_seq, make).await?;
        compaction.installed_seq = Some(installed);
        Ok(())
    }

    /// Restores the items that an installed compaction replaced; returns the line that does so, or `None` if the
    /// compaction is not active: never installed, or rolled back with its turn. Idempotent.
    ///
    /// # Errors
    /// Those of [`Self::put_back_in`].
    pub(super) async fn put_back(
        &self,
        compaction: &Compaction,
    ) -> Result<Option<u64>, ServiceError> {
        let Some(thread_id) = compaction.thread_id.as_deref() else { return Ok(None) };
        let Some(installed) = self.installed_seq(compaction).await? else { return Ok(None) };
        if let Some(done) = self.seq_of(thread_id, &undo_id(compaction)).await? {
            return Ok(Some(done));
        }
        let snapshot = self.snapshots.of(thread_id, None).await?;
        self.put_back_in(&snapshot, compaction, installed).await
    }

    /// Restores what the compaction of line `installed` replaced, judging by a snapshot of the thread.
    ///
    /// # Errors
    /// [`ServiceError::Superseded`] if a later compaction is active; [`ServiceError::Sync`] if the snapshot ends before
    /// `installed`; [`ServiceError::StaleBase`] if the history was replaced since the snapshot: the line would undo
    /// nothing, and be taken for a finished undo ever after. An I/O error.
    async fn put_back_in(
        &self,
        snapshot: &Snapshot,
        compaction: &Compaction,
        installed: u64,
    ) -> Result<Option<u64>, ServiceError> {
        let expected = snapshot.seq();
        if expected < installed {
            return Err(SyncError::Deadline.into());
        }
        let visible = snapshot.fold.visible();
        if !visible.can_put_back(installed) {
            return match visible.base() >= Some(installed) {
                true => Err(ServiceError::Superseded(compaction.id.clone())),
                false => Ok(None),
            };
        }
        let id = undo_id(compaction);
        let line_id = id.clone();
        let make = move |at_ms, later: Vec<String>| {
            let present = expected + later.len() as u64;
            let mut later = later.iter().filter_map(|line| serde_json::from_str(line).ok());
            match later.any(|line| replaces_history(&line)) {
                true => Err(ServiceError::StaleBase { expected, present }),
                false => Ok(line(at_ms, &id, &Marker::CompactionUndone { line: installed })),
            }
        };
        self.recorder.append_after(&snapshot.thread_id, &line_id, expected, make).await.map(Some)
    }

    async fn seq_of(&self, thread_id: &str, id: &str) -> Result<Option<u64>, ServiceError> {
        match self.recorder.seq_of(thread_id, id).await {
            Err(RecorderError::NotFound(id)) => Err(ServiceError::ThreadReadOnly(id)),
            seq => Ok(seq?),
        }
    }
}

/// Client id of the line that undoes a compaction.
fn undo_id(compaction: &Compaction) -> String {
    format!("{}.undo", compaction.id)
}

fn line(at_ms: i64, id: &str, marker: &Marker) -> Line {
    let (kind, mut payload) = marker.payload();
    let redacted = u64::from(redact_value(&mut payload));
    let text = compose::line(at_ms, kind, &payload, Some(id));
    Line { client_item_id: id.to_owned(), text, redacted }
}

/// The items among lines appended during the compaction. `None` if they cannot follow it: the history was replaced
/// or rolled back, or the answer to a compacted call arrived.
fn later_items(lines: &[String]) -> Option<Vec<Value>> {
    let (mut items, mut calls) = (Vec::new(), HashSet::new());
    for line in lines {
        let Ok(mut line) = serde_json::from_str::<Value>(line) else { continue };
        if replaces_history(&line) {
            return None;
        }
        if line["type"] != "response_item" {
            continue;
        }
        let payload = line["payload"].take();
        let kind = payload["type"].as_str().unwrap_or_default();
        if let Some(call_id) = payload["call_id"].as_str() {
            match kind.ends_with("_output") {
                true if !calls.contains(call_id) => return None,
                true => {}
                false => drop(calls.insert(call_id.to_owned())),
            }
        }
        items.push(payload);
    }
    Some(items)
}

/// Whether a line changes what the history begins with, or takes a part of it away.
fn replaces_history(line: &Value) -> bool {
    match line["type"].as_str() {
        Some("compacted") => true,
        Some("event_msg") => {
            let kind = line["payload"]["type"].as_str();
            matches!(kind, Some("thread_rolled_back" | "compaction_undone"))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use longhaul_core::compaction::ladder::Strategy;
    use serde_json::json;

    use super::*;
    use crate::service::compaction::Subject;
    use crate::service::tests::fixture::{Fixture, conversation, request};

    fn lines(parts: &[(&str, Value)]) -> Vec<String> {
        let line = |(kind, payload): &(&str, Value)| compose::line(0, kind, payload, Some("x"));
        parts.iter().map(line).collect()
    }

    #[test]
    fn concurrent_appends_are_carried_over_or_make_the_compaction_stale() {
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

    #[tokio::test]
    async fn an_undo_judged_by_earlier_lines_is_an_error_and_can_be_repeated() {
        let fixture = Fixture::new().await;
        let thread_id = fixture.thread(&conversation(12)).await;
        let services = &fixture.services.compaction;
        let installer = &services.installer;
        let compact = async || {
            let subject = Subject::Thread { thread_id: thread_id.clone(), as_of: None };
            let asked = Request { install: true, ..request(subject, Strategy::Checkpoint) };
            let compaction = services.compactor.run(asked).await.unwrap();
            let seq = compaction.installed_seq.unwrap();
            (compaction, seq, installer.snapshots.of(&thread_id, None).await.unwrap())
        };
        let before = installer.snapshots.of(&thread_id, None).await.unwrap();
        let (first, first_seq, after_first) = compact().await;
        let behind = installer.put_back_in(&before, &first, first_seq).await;
        assert!(matches!(behind, Err(ServiceError::Sync(SyncError::Deadline))), "{behind:?}");
        let (second, _, _) = compact().await;
        let stale = installer.put_back_in(&after_first, &first, first_seq).await;
        assert!(matches!(stale, Err(ServiceError::StaleBase { .. })), "{stale:?}");
        services.undo.run(&second.id).await.unwrap();
        assert!(services.undo.run(&first.id).await.unwrap().restored_seq > Some(first_seq));
        let restored = installer.snapshots.of(&thread_id, None).await.unwrap();
        assert_eq!(restored.fold.visible().base(), None);
    }
}
