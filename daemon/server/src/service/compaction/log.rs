//! Compactions that were made: list, one, taking one back.

use std::path::{Path, PathBuf};

use longhaul_core::compaction::assemble;
use longhaul_core::compaction::handle::Handle;
use longhaul_core::compaction::receipt::{self, Span};
use longhaul_core::item::ItemRow;
use longhaul_store::{CompactionBody, CompactionCursor, CompactionRow};
use serde_json::Value;
use serde_json::value::RawValue;

use super::Compaction;
use crate::service::history::EXPAND_BYTES_MAX;
use crate::service::transcript::{LineError, Lines};
use crate::service::{ServiceError, Services, preimage};

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
    pub(super) async fn record(&self, compaction: &Compaction) -> Result<(), ServiceError> {
        let row = CompactionRow {
            compaction_id: compaction.id.clone(),
            thread_id: compaction.thread_id.clone(),
            created_at_ms: compaction.created_at_ms,
            strategy_used: compaction.strategy_used.name().to_owned(),
            phase: compaction.phase.name().to_owned(),
            trigger: compaction.trigger.clone(),
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
        self.store.compaction_insert(&row, &body).await?;
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
        let (path, rows) = self.visible_rows(&compaction).await?;
        let shown = compaction.id.clone();
        let read =
            tokio::task::spawn_blocking(move || read_history(&shown, &path, &rows)).await??;
        let (history, complete) = read.map_or((Vec::new(), false), |history| (history, true));
        let now_ms = self.deps.clock.now_ms();
        let marked = self.store.compaction_mark_undone(id, now_ms).await?;
        Ok(Undone { undone_at_ms: marked.unwrap_or(now_ms), history, handles, complete })
    }

    /// The transcript and the rows of the history that a compaction replaced: what was visible then.
    async fn visible_rows(
        &self,
        compaction: &Compaction,
    ) -> Result<(PathBuf, Vec<ItemRow>), ServiceError> {
        let Some(thread_id) = &compaction.thread_id else {
            let all = Handle {
                of: compaction.of.clone(),
                first: 0,
                last: u64::MAX,
                digest: String::new(),
            };
            return preimage::locate(&self.preimages, &all).await;
        };
        let snapshot = self.snapshot(thread_id, Some(compaction.seq)).await?;
        let visible = snapshot.fold.visible();
        let mut rows = self.rows(&snapshot.file, visible.from(), compaction.seq).await?;
        rows.retain(|row| visible.holds(row.seq));
        Ok((PathBuf::from(&snapshot.file.path), rows))
    }
}

/// Reads the items of a history; `None` when they are more than fit into one answer. Blocking.
fn read_history(
    id: &str,
    path: &Path,
    rows: &[ItemRow],
) -> Result<Option<Vec<Value>>, ServiceError> {
    if rows.iter().map(|row| row.bytes).sum::<u64>() > EXPAND_BYTES_MAX {
        return Ok(None);
    }
    let mut lines = Lines::open(path).map_err(|error| ServiceError::file(path, error))?;
    let mut history = Vec::new();
    for row in rows {
        let items = lines.items(row).map_err(|error| match error {
            LineError::Changed => ServiceError::SourceChanged {
                handle: id.to_owned(),
                path: path.display().to_string(),
            },
            LineError::Io(error) => ServiceError::file(path, error),
        })?;
        history.extend(items.iter().flat_map(|item| visible_items(item)));
    }
    Ok(Some(history))
}

/// What a model sees of a line: the item, or for a compaction of the agent's own the history it put
/// in place, or the summary alone where it kept no history.
fn visible_items(item: &RawValue) -> Vec<Value> {
    let Ok(item) = serde_json::from_str::<Value>(item.get()) else { return Vec::new() };
    if item.get("type").is_some() {
        return vec![item];
    }
    match (item.get("replacement_history"), item.get("message").and_then(Value::as_str)) {
        (Some(Value::Array(items)), _) => items.clone(),
        (_, Some(summary)) if !summary.is_empty() => vec![assemble::message("user", summary)],
        _ => Vec::new(),
    }
}
