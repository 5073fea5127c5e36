//! Undoes a compaction: restores the replaced items from the transcript or the stored history.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use longhaul_core::compaction::handle::Handle;
use longhaul_core::compaction::receipt::{self, Span};
use longhaul_core::item::ItemRow;
use longhaul_core::thread::Source;
use longhaul_protocol::limit::EXPAND_BYTES_MAX;
use longhaul_store::ThreadTable;
use serde_json::Value;

use super::install::Installer;
use super::log::CompactionLog;
use super::record::Compaction;
use crate::clock::Clock;
use crate::service::error::ServiceError;
use crate::service::history::{Histories, HistoryQuery, Opaque, Position};
use crate::service::preimage;
use crate::transcript::{LineError, LineReader};

#[derive(Debug)]
pub struct UndoOutcome {
    pub undone_at_ms: i64,
    /// The items, oldest first; empty if they exceed one answer.
    pub history: Vec<Value>,
    /// Handles of all of them.
    pub handles: Vec<(Handle, Span)>,
    /// Whether `history` holds all items.
    pub complete: bool,
    /// The line that restored the thread's history, if the compaction was installed.
    pub restored_seq: Option<u64>,
    /// The thread, up to the compacted line, and its program; `None` for given items.
    pub thread: Option<(String, u64, Option<Source>)>,
}

pub struct Undo {
    pub(in crate::service) threads: ThreadTable,
    pub(in crate::service) log: Arc<CompactionLog>,
    pub(in crate::service) installer: Arc<Installer>,
    pub(in crate::service) replaced: ReplacedHistories,
    pub(in crate::service) clock: Clock,
}

impl Undo {
    /// Undoes a compaction: returns the replaced items as the transcript has them, restores them in the thread if
    /// the compaction was installed, and marks it as undone. Idempotent.
    pub async fn run(&self, id: &str) -> Result<UndoOutcome, ServiceError> {
        let compaction = self.log.get(id).await?;
        let mut spans: Vec<Span> = compaction.receipt.dropped.clone();
        spans.extend(compaction.receipt.kept.iter().chain(&compaction.receipt.shortened).cloned());
        spans.sort_by_key(|span| span.first);
        let handles: Vec<(Handle, Span)> =
            spans.into_iter().map(|span| (receipt::handle(&compaction.of, &span), span)).collect();
        let replaced = self.replaced.of(&compaction).await?;
        let (history, complete) = replaced.map_or((Vec::new(), false), |history| (history, true));
        let restored_seq = self.installer.put_back(&compaction).await?;
        let thread = match compaction.thread_id {
            Some(id) => {
                let source = self.threads.get(&id).await?.map(|row| row.file.source);
                Some((id, compaction.seq, source))
            }
            None => None,
        };
        let now_ms = self.clock.now_ms();
        let marked = self.log.mark_undone(id, now_ms).await?;
        Ok(UndoOutcome {
            undone_at_ms: marked.unwrap_or(now_ms),
            history,
            handles,
            complete,
            restored_seq,
            thread,
        })
    }
}

/// Reads the histories that compactions replaced.
pub struct ReplacedHistories {
    pub(in crate::service) histories: Arc<Histories>,
    /// Folder of stored histories.
    pub(in crate::service) preimages: PathBuf,
}

impl ReplacedHistories {
    /// The history that a compaction replaced: the items visible then, or those it was given. `None` if it exceeds
    /// one answer.
    async fn of(&self, compaction: &Compaction) -> Result<Option<Vec<Value>>, ServiceError> {
        let Some(thread_id) = &compaction.thread_id else { return self.given(compaction).await };
        let query = HistoryQuery {
            thread_id: thread_id.clone(),
            as_of: Some(compaction.seq),
            from: Position::default(),
            max_bytes: EXPAND_BYTES_MAX,
            opaque: Opaque::AsIs,
        };
        let history = self.histories.visible(query).await?;
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

/// Reads given items; `None` if they exceed one answer. Blocking.
fn read_given(id: &str, path: &Path, rows: &[ItemRow]) -> Result<Option<Vec<Value>>, ServiceError> {
    if rows.iter().map(|row| row.bytes).sum::<u64>() > EXPAND_BYTES_MAX {
        return Ok(None);
    }
    let mut lines = LineReader::open(Source::Longhaul, path, None)
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
