//! Compactions that were made: list, one, taking one back.

use std::path::Path;

use longhaul_core::compaction::handle::Handle;
use longhaul_core::compaction::receipt::{self, Span};
use longhaul_core::item::ItemRow;
use longhaul_core::thread::Source;
use longhaul_store::{CompactionBody, CompactionCursor, CompactionRow, StoreError};
use serde_json::Value;

use super::{Compaction, Notice};
use crate::jobs::Owner;
use crate::service::history::{EXPAND_BYTES_MAX, Opaque, Position, Query};
use crate::service::{ServiceError, Services, preimage};
use crate::transcript::{LineError, LineReader};

/// A history put back.
#[derive(Debug)]
pub struct Undone {
    /// When.
    pub undone_at_ms: i64,
    /// The items, oldest first; empty when they are more than fit into one answer.
    pub history: Vec<Value>,
    /// Handles of all of them.
    pub handles: Vec<(Handle, Span)>,
    /// Whether `history` holds all.
    pub complete: bool,
}

impl Services {
    /// Stores a compaction, or says in its warnings why it cannot be stored.
    ///
    /// A full window cannot wait for room on a disk, and a thread's items stand in its transcript whatever
    /// becomes of the record. What a job makes has no other way to whoever asked, and given items are
    /// nowhere else: these two fail.
    pub(super) async fn keep(
        &self,
        compaction: &mut Compaction,
        owner: Option<&Owner>,
    ) -> Result<(), ServiceError> {
        let Err(error) = self.record(compaction, owner).await else { return Ok(()) };
        let is_answered = owner.is_none() && compaction.thread_id.is_some();
        let why = match error {
            ServiceError::Store(
                why @ (StoreError::DiskFull { .. }
                | StoreError::Io { .. }
                | StoreError::Busy { .. }
                | StoreError::Access { .. }),
            ) if is_answered => why,
            error => return Err(error),
        };
        tracing::warn!(error = %why, "a compaction is answered and not kept");
        let message =
            format!("{why}: this compaction is in no list and cannot be undone by its id");
        compaction.warnings.push(Notice::new("not_kept", message));
        Ok(())
    }

    /// Stores a compaction; one that a job made only while it owns its job.
    async fn record(
        &self,
        compaction: &Compaction,
        owner: Option<&Owner>,
    ) -> Result<(), ServiceError> {
        let row = CompactionRow {
            compaction_id: compaction.id.clone(),
            thread_id: compaction.thread_id.clone(),
            created_at_ms: compaction.created_at_ms,
            strategy_used: compaction.strategy_used.name().to_owned(),
            phase: compaction.phase.name().to_owned(),
            trigger: compaction.trigger.clone(),
            reason: compaction.reason().name().to_owned(),
            requests: compaction.spent.requests,
            tokens_spent: compaction.spent.tokens,
            tokens_before: compaction.tokens.0,
            tokens_after: compaction.tokens.1,
            seq: compaction.seq,
            duration_ms: compaction.duration_ms,
            undone_at_ms: None,
        };
        let result = serde_json::to_vec(compaction)
            .map_err(|source| ServiceError::Undecodable { what: "compaction", source })?;
        // What was before stands in the transcript or in the stored items: nothing to copy.
        let body = CompactionBody { result, preimage: Vec::new() };
        let fence = owner.map(|owner| self.jobs.fence(owner));
        self.store.compaction_insert(&row, &body, fence.as_ref()).await?;
        self.note_compaction();
        Ok(())
    }

    /// Compactions, newest first.
    ///
    /// # Errors
    /// The store cannot be read.
    pub async fn compactions(
        &self,
        thread_id: Option<&str>,
        limit: u32,
        after: Option<&CompactionCursor>,
    ) -> Result<(Vec<CompactionRow>, Option<CompactionCursor>), ServiceError> {
        Ok(self.store.compaction_list(thread_id, limit, after).await?)
    }

    /// One compaction as it was answered.
    ///
    /// # Errors
    /// There is none of that id, or it cannot be read.
    pub async fn compaction(&self, id: &str) -> Result<Compaction, ServiceError> {
        let found = self.store.compaction_get(id).await?;
        let (row, body) = found.ok_or_else(|| ServiceError::CompactionNotFound(id.to_owned()))?;
        let mut compaction: Compaction = serde_json::from_slice(&body.result)
            .map_err(|source| ServiceError::Undecodable { what: "compaction", source })?;
        compaction.undone_at_ms = row.undone_at_ms;
        Ok(compaction)
    }

    /// Takes a compaction back: gives the items it stood for, as the transcript holds them, and marks
    /// it. Twice is the same as once.
    ///
    /// # Errors
    /// There is none of that id, or the transcript has changed since.
    pub async fn undo(&self, id: &str) -> Result<Undone, ServiceError> {
        let compaction = self.compaction(id).await?;
        let mut spans: Vec<Span> = compaction.receipt.dropped.clone();
        spans.extend(compaction.receipt.kept.iter().chain(&compaction.receipt.shortened).cloned());
        spans.sort_by_key(|span| span.first);
        let handles: Vec<(Handle, Span)> =
            spans.into_iter().map(|span| (receipt::handle(&compaction.of, &span), span)).collect();
        let replaced = self.replaced(&compaction).await?;
        let (history, complete) = replaced.map_or((Vec::new(), false), |history| (history, true));
        let now_ms = self.deps.clock.now_ms();
        let marked = self.store.compaction_mark_undone(id, now_ms).await?;
        Ok(Undone { undone_at_ms: marked.unwrap_or(now_ms), history, handles, complete })
    }

    /// The history that a compaction replaced: what was visible then, or the items it was given.
    /// `None` when it is more than fits into one answer.
    async fn replaced(&self, compaction: &Compaction) -> Result<Option<Vec<Value>>, ServiceError> {
        let Some(thread_id) = &compaction.thread_id else { return self.given(compaction).await };
        let query = Query {
            thread_id: thread_id.clone(),
            as_of: Some(compaction.seq),
            from: Position::default(),
            max_bytes: EXPAND_BYTES_MAX,
            opaque: Opaque::AsIs,
        };
        let history = self.visible_history(query).await?;
        let items = history.items.iter().filter_map(|item| serde_json::from_str(item.get()).ok());
        Ok(history.next.is_none().then(|| items.collect()))
    }

    async fn given(&self, compaction: &Compaction) -> Result<Option<Vec<Value>>, ServiceError> {
        let (folder, id) = (self.preimages.clone(), compaction.id.clone());
        tokio::task::spawn_blocking(move || {
            let (path, rows, _) = preimage::own(&folder, &id)?
                .ok_or_else(|| ServiceError::HandleNotFound(id.clone()))?;
            read_given(&id, &path, &rows)
        })
        .await?
    }
}

/// Reads given items; `None` when they are more than fit into one answer. Blocking.
fn read_given(id: &str, path: &Path, rows: &[ItemRow]) -> Result<Option<Vec<Value>>, ServiceError> {
    if rows.iter().map(|row| row.bytes).sum::<u64>() > EXPAND_BYTES_MAX {
        return Ok(None);
    }
    let mut lines = LineReader::open(Source::Longhaul, path)
        .map_err(|error| ServiceError::file(path, error))?;
    let mut history = Vec::new();
    for row in rows {
        let items = lines.items(row).map_err(|error| match error {
            LineError::Changed => ServiceError::SourceChanged {
                handle: id.to_owned(),
                path: path.display().to_string(),
            },
            LineError::Io(error) => ServiceError::file(path, error),
        })?;
        history.extend(items.iter().filter_map(|item| serde_json::from_str(item.get()).ok()));
    }
    Ok(Some(history))
}
