//! `checkpoint/*`: the state, its view, and updates by the model.

use std::collections::BTreeMap;
use std::sync::Arc;

use longhaul_core::checkpoint::document::document;
use longhaul_core::checkpoint::semantic::{
    EvidenceSource, ReferenceIndex, Rejection, Update, bound, validate,
};
use longhaul_core::checkpoint::view::{self, ViewCaps, ViewInputs};
use longhaul_core::compaction::handle::Handle;
use longhaul_core::digest::Digest128;
use longhaul_core::item::ItemKind;
use longhaul_core::{paths, tokens};
use longhaul_protocol::checkpoint::ViewResult;
use longhaul_store::{UpdateRow, UpdateTable};
use serde_json::Value;

use super::error::ServiceError;
use super::item_index::ItemIndex;
use super::snapshot::{Snapshot, Snapshots};
use crate::clock::Clock;

#[derive(Debug)]
pub struct ViewQuery<'a> {
    pub thread_id: &'a str,
    /// The thread as it was after this line.
    pub as_of: Option<u64>,
    pub caps: ViewCaps,
    pub max_tokens: Option<u64>,
    /// Lines that speak of it come first.
    pub focus: &'a str,
}

#[derive(Debug)]
pub struct UpdateOutcome {
    /// Why it was rejected; `None` if it was accepted.
    pub rejection: Option<Rejection>,
    /// Last line of the thread when it was judged.
    pub seq: u64,
}

/// Attempts to judge an update while other updates interfere.
const APPLY_ATTEMPTS: usize = 4;

pub struct Checkpoints {
    pub(super) updates: UpdateTable,
    pub(super) snapshots: Arc<Snapshots>,
    pub(super) index: ItemIndex,
    pub(super) clock: Clock,
}

impl Checkpoints {
    /// The checkpoint of a thread, its digest and the last line it covers.
    pub async fn get(
        &self,
        thread_id: &str,
        as_of: Option<u64>,
    ) -> Result<(Value, Digest128, u64), ServiceError> {
        let snapshot = self.snapshots.of(thread_id, as_of).await?;
        let document = serde_json::to_value(document(&snapshot.view_inputs()))
            .map_err(ServiceError::undecodable("checkpoint"))?;
        let digest = Digest128::of(document.to_string().as_bytes());
        Ok((document, digest, snapshot.seq()))
    }

    pub async fn view(&self, query: ViewQuery<'_>) -> Result<ViewResult, ServiceError> {
        let ViewQuery { thread_id, as_of, caps, max_tokens, focus } = query;
        let snapshot = self.snapshots.of(thread_id, as_of).await?;
        let max_tokens = max_tokens.unwrap_or(view::DEFAULT_TOKENS);
        let text = view::render(&ViewInputs { focus, ..snapshot.view_inputs() }, &caps, max_tokens);
        Ok(ViewResult {
            tokens: tokens::of_text(&text),
            digest: Digest128::of(text.as_bytes()).to_string(),
            seq: snapshot.seq(),
            text: text.into(),
        })
    }

    /// Judges an update against the current thread, and stores it if it passes. Hashes are those the host
    /// observed; a different hash in `stated` (by path) rejects the update.
    ///
    /// # Errors
    /// Those of [`Snapshots::of`]; [`ServiceError::StaleBase`] if the thread is not at `expected_seq`.
    pub async fn apply(
        &self,
        thread_id: &str,
        update: Update,
        stated: &BTreeMap<String, String>,
        expected_seq: Option<u64>,
    ) -> Result<UpdateOutcome, ServiceError> {
        for _ in 0..APPLY_ATTEMPTS {
            let snapshot = self.snapshots.of(thread_id, None).await?;
            let seq = snapshot.seq();
            if let Some(expected) = expected_seq.filter(|expected| *expected != seq) {
                return Err(ServiceError::StaleBase { expected, present: seq });
            }
            let known = self.known(&snapshot, &update).await?;
            let update = match validate(update.clone(), &known) {
                Ok(update) => self.witnessed(&snapshot, update, stated).await?,
                Err(rejection) => Err(rejection),
            };
            let update = match update {
                Ok(update) => update,
                Err(rejection) => return Ok(UpdateOutcome { rejection: Some(rejection), seq }),
            };
            let body =
                serde_json::to_string(&update).map_err(ServiceError::undecodable("update"))?;
            let row = UpdateRow { update_id: 0, seq, created_at_ms: self.clock.now_ms(), body };
            if self.updates.insert(thread_id, snapshot.last_update, &row).await?.is_some() {
                return Ok(UpdateOutcome { rejection: None, seq });
            }
        }
        Err(ServiceError::Busy)
    }

    /// Looks up the references in the update's evidence.
    async fn known<'a>(
        &self,
        snapshot: &'a Snapshot,
        update: &Update,
    ) -> Result<References<'a>, ServiceError> {
        let evidence = match update {
            Update::Plan { evidence, .. } => evidence.as_ref(),
            Update::Decision { evidence, .. } | Update::Fact { evidence, .. } => Some(evidence),
        };
        let mut host = References { snapshot, user_message: false, tool_output: false };
        let Some(evidence) = evidence.filter(|evidence| evidence.source != EvidenceSource::File)
        else {
            return Ok(host);
        };
        let reference = evidence.reference.trim();
        let named_seq = reference.parse::<u64>().ok().or_else(|| {
            let handle = reference.parse::<Handle>().ok()?;
            (handle.of == snapshot.thread_id).then_some(handle.first)
        });
        let file = &snapshot.file;
        for row in
            self.index.rows(file, named_seq.unwrap_or(0), named_seq.unwrap_or(u64::MAX)).await?
        {
            let is_named = named_seq.is_some() || row.call_id.as_deref() == Some(reference);
            host.user_message |= is_named && row.kind == ItemKind::UserMessage;
            host.tool_output |=
                is_named && matches!(row.kind, ItemKind::ToolCall | ItemKind::ToolOutput);
        }
        Ok(host)
    }

    /// Binds a fact's dependencies to the content that the thread saw; see [`bound`].
    async fn witnessed(
        &self,
        snapshot: &Snapshot,
        update: Update,
        stated: &BTreeMap<String, String>,
    ) -> Result<Result<Update, Rejection>, ServiceError> {
        let Update::Fact { key, value, mut evidence, mut depends_on } = update else {
            return Ok(Ok(update));
        };
        let state = snapshot.fold.checkpoint();
        let cwd = state.cwd.clone().unwrap_or_default();
        let keys: Vec<String> =
            depends_on.iter().map(|dep| paths::absolute(&dep.uri, Some(&cwd))).collect();
        let now = self.snapshots.files_now(cwd, keys.clone(), Vec::new()).await?;
        for (dependency, key) in depends_on.iter_mut().zip(&keys) {
            let Some(file) = state.files.find(&dependency.uri, state.cwd.as_deref()) else {
                continue;
            };
            let mut on_disk = snapshot.disk.get(key).cloned().unwrap_or_default();
            on_disk.now = now.get(key).map(|disk| disk.now.clone()).unwrap_or_default();
            let stated = stated.get(&dependency.uri).map(String::as_str);
            dependency.hash = match bound(file, Some(&on_disk), stated) {
                Ok(hash) => hash,
                Err(rejection) => return Ok(Err(rejection)),
            };
        }
        let read_from = paths::absolute(&evidence.reference, state.cwd.as_deref());
        let read_from = keys.iter().position(|key| *key == read_from);
        let read_from = read_from.filter(|_| evidence.source == EvidenceSource::File);
        evidence.hash = read_from.and_then(|at| Some(depends_on[at].hash.as_ref()?.to_string()));
        Ok(Ok(Update::Fact { key, value, evidence, depends_on }))
    }
}

/// The host's knowledge of one update's references.
struct References<'a> {
    snapshot: &'a Snapshot,
    user_message: bool,
    tool_output: bool,
}

impl ReferenceIndex for References<'_> {
    fn user_message(&self, _: &str) -> bool {
        self.user_message
    }

    fn tool_output(&self, _: &str) -> bool {
        self.tool_output
    }

    fn file(&self, path: &str) -> bool {
        let state = self.snapshot.fold.checkpoint();
        state.files.find(path, state.cwd.as_deref()).is_some()
    }

    fn is_same_file(&self, path: &str, other: &str) -> bool {
        let cwd = self.snapshot.fold.checkpoint().cwd.as_deref();
        paths::absolute(path, cwd) == paths::absolute(other, cwd)
    }

    fn decision(&self, decision_id: &str) -> bool {
        self.snapshot.semantics.decisions.iter().any(|(_, decision)| {
            matches!(decision, Update::Decision { decision_id: id, .. } if id == decision_id)
        })
    }
}

#[cfg(test)]
mod tests;
