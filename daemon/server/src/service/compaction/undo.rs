//! Undoes a compaction: restores the replaced items from the transcript or the stored history.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use longhaul_core::compaction::handle::Handle;
use longhaul_core::compaction::receipt::{self, Span};
use longhaul_core::history::Base;
use longhaul_core::item::ItemRow;
use longhaul_core::thread::Source;
use longhaul_protocol::limit::EXPAND_BYTES_MAX;
use longhaul_store::ThreadTable;
use serde_json::Value;

use super::install::Installer;
use super::log::CompactionLog;
use super::record::Compaction;
use crate::clock::Clock;
use crate::service::archive::{ArchiveLookup, ArchivedLines};
use crate::service::error::ServiceError;
use crate::service::history::{Histories, HistoryQuery};
use crate::service::preimage;
use crate::transcript::{LineError, LineReader};

#[derive(Debug)]
pub struct UndoOutcome {
    pub undone_at_ms: i64,
    /// The items, oldest first; empty if they exceed one answer, or some are lost.
    pub history: Vec<Value>,
    /// Handles of all of them.
    pub handles: Vec<(Handle, Span)>,
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
        let replaced = self.replaced.of(&compaction, &handles).await?;
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
        let marked = self.log.compactions.mark_undone(id, now_ms).await?;
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
    pub(in crate::service) lookup: ArchiveLookup,
}

impl ReplacedHistories {
    /// The history that a compaction replaced: the items visible then, or those it was given. `None` if it exceeds
    /// one answer, or if the transcript was rewritten and the archive does not have it.
    async fn of(
        &self,
        compaction: &Compaction,
        handles: &[(Handle, Span)],
    ) -> Result<Option<Vec<Value>>, ServiceError> {
        let Some(thread_id) = &compaction.thread_id else { return self.given(compaction).await };
        let lines = handles.iter().map(|(_, span)| (span.first, span.digest));
        if !self.histories.has_lines(thread_id, lines).await? {
            return self.archived(compaction, handles).await;
        }
        let query = HistoryQuery::as_is(thread_id, Some(compaction.seq), EXPAND_BYTES_MAX);
        let history = self.histories.visible(query).await?;
        let items = history.items.iter().filter_map(|item| serde_json::from_str(item.get()).ok());
        Ok(history.next.is_none().then(|| items.collect()))
    }

    /// The same from the archived text that has the compacted lines.
    async fn archived(
        &self,
        compaction: &Compaction,
        handles: &[(Handle, Span)],
    ) -> Result<Option<Vec<Value>>, ServiceError> {
        let Some((newest, span)) = handles.last() else { return Ok(None) };
        let newest = Handle::new(&newest.of, (span.first, compaction.seq), span.digest);
        let lines = match self.lookup.find(&newest, 0).await {
            Ok(Some(lines)) => lines,
            // The compaction can be undone without them.
            Ok(None) | Err(ServiceError::ArchiveDamaged(_)) => return Ok(None),
            Err(error) => return Err(error),
        };
        let spans: Vec<Span> = handles.iter().map(|(_, span)| span.clone()).collect();
        Ok(tokio::task::spawn_blocking(move || read_archived(lines, &spans)).await?)
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

/// The items that a model saw of these lines; `None` if they are not all those of `spans`, cannot be read, or exceed one
/// answer. Blocking.
fn read_archived(lines: ArchivedLines, spans: &[Span]) -> Option<Vec<Value>> {
    let ArchivedLines { fold, rows, mut lines, .. } = lines;
    let row_of = |seq| rows.binary_search_by_key(&seq, |row| row.seq).ok().map(|at| &rows[at]);
    let is_same = |span: &Span| row_of(span.first).is_some_and(|row| row.digest == span.digest);
    if !spans.iter().all(is_same) {
        return None;
    }
    let (visible, mut texts, mut bytes) = (fold.visible(), Vec::new(), 0);
    if let Some(base) = visible.base() {
        let payload = lines.history_items(row_of(base)?).ok()?;
        let base = Base::read(payload.first()?.get())?;
        texts.extend(base.replacement()?.into_iter().map(str::to_owned));
    }
    let after = visible.base().map_or(0, |base| base + 1);
    for row in rows.iter().filter(|row| row.seq >= after && visible.holds(row.seq)) {
        let items = lines.history_items(row).ok()?;
        bytes += items.iter().map(|item| item.get().len() as u64).sum::<u64>();
        if bytes > EXPAND_BYTES_MAX {
            return None;
        }
        texts.extend(items.iter().map(|item| item.get().to_owned()));
    }
    Some(texts.iter().filter_map(|text| serde_json::from_str(text).ok()).collect())
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
