//! What a compaction is made of: for a thread from the index and one line of its transcript, for
//! given items by folding them here and now.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use longhaul_core::checkpoint::semantic::Semantics;
use longhaul_core::checkpoint::staleness::Disk;
use longhaul_core::compaction::assemble::{self, KeptRequest};
use longhaul_core::fold::{Fold, Place, Source};
use longhaul_core::item::ItemRow;
use longhaul_core::redact::redact_value;
use longhaul_store::PageHead;
use serde_json::Value;

use super::original::Original;
use super::{Notice, Span, Subject};
use crate::service::history::lineage::Stretch;
use crate::service::snapshot::Snapshot;
use crate::service::transcript::Lines;
use crate::service::{ServiceError, Services, preimage};

/// Newest pages whose items stand alone in a receipt.
const FINE_PAGES: usize = 2;

/// All a compaction is made of.
pub(super) struct Gathered {
    pub of: String,
    pub thread_id: Option<String>,
    pub fold: Arc<Fold>,
    pub semantics: Semantics,
    pub disk: Disk,
    /// Where the items are.
    pub original: Original,
    /// Line and end of the request, for the account.
    pub request_seq: Option<u64>,
    pub kept: Option<KeptRequest>,
    pub warnings: Vec<Notice>,
    pub redacted: u64,
    pub seq: u64,
}

impl Services {
    pub(super) async fn gather(
        &self,
        id: &str,
        subject: &Subject,
    ) -> Result<Gathered, ServiceError> {
        match subject {
            Subject::Thread { thread_id, as_of } => self.gather_thread(thread_id, *as_of).await,
            Subject::Items(items) => {
                let redacted = self.store_items(id, items.clone()).await?;
                self.gather_stored(id, redacted).await
            }
            Subject::Stored(redacted) => self.gather_stored(id, *redacted).await,
        }
    }

    async fn gather_thread(
        &self,
        thread_id: &str,
        as_of: Option<u64>,
    ) -> Result<Gathered, ServiceError> {
        let snapshot = self.snapshot(thread_id, as_of).await?;
        let request_seq = snapshot.fold.checkpoint().requests.active().map(|active| active.seq);
        let mut warnings = Vec::new();
        let pieces = match request_seq {
            Some(seq) => self.lineage_rows(&snapshot.file, seq, seq).await?,
            None => Vec::new(),
        };
        let line =
            pieces.into_iter().find_map(|(path, rows)| Some((path, rows.into_iter().next()?)));
        let kept = match line {
            Some((path, row)) => read_request((path, snapshot.file.source), row).await?,
            None => None,
        };
        let kept = kept.or_else(|| {
            let active = snapshot.fold.checkpoint().requests.active()?;
            warnings.push(Notice::new(
                "request_from_checkpoint",
                "the request's own line cannot be read; its text is the checkpoint's",
            ));
            Some(assemble::keep_request(assemble::message("user", &active.text)))
        });
        let seq = snapshot.seq();
        let Snapshot { thread_id, fold, semantics, disk, file, .. } = snapshot;
        Ok(Gathered {
            of: thread_id.clone(),
            thread_id: Some(thread_id),
            fold,
            semantics,
            disk,
            original: Original::Transcript(Box::new(file)),
            request_seq,
            kept,
            warnings,
            redacted: 0,
            seq,
        })
    }

    /// Every item of the history up to what was gathered, also those in transcripts it continues by
    /// reference, in order: the newest alone, and those of the pages that hold a line of `alone` or a
    /// cut; the others by the page.
    pub(super) async fn all_spans(
        &self,
        gathered: Gathered,
        alone: impl Iterator<Item = u64>,
    ) -> Result<(Vec<Span>, Gathered), ServiceError> {
        let file = match &gathered.original {
            Original::Given(items) => {
                let spans = given_spans(items);
                return Ok((spans, gathered));
            }
            Original::Transcript(file) => file,
        };
        let alone: BTreeSet<u64> = alone.chain(gathered.request_seq).collect();
        let mut pages = Vec::new();
        for Stretch { file, end } in self.stretches(file, gathered.fold.next_seq()).await? {
            let place = (file.file_id, file.cursor.generation);
            let heads = self.store.page_heads(place.0, place.1).await?;
            let below = heads.into_iter().filter(|head| head.first_seq < end);
            pages.extend(below.map(|head| (place, end, head)));
        }
        let fine_from = pages.len().saturating_sub(FINE_PAGES);
        let mut spans = Vec::with_capacity(pages.len() + 2 * longhaul_core::item::PAGE_ITEMS);
        for (index, ((file_id, generation), end, head)) in pages.iter().enumerate() {
            let is_named = alone.range(head.first_seq..=head.last_seq).next().is_some();
            let is_cut = head.last_seq >= *end;
            if index < fine_from && !is_named && !is_cut {
                spans.push(span_of(head));
                continue;
            }
            let rows = self.store.page(*file_id, *generation, head.first_seq).await?;
            let rows = rows.unwrap_or_default();
            spans.extend(rows.iter().filter(|row| row.seq < *end).map(Span::from));
        }
        Ok((spans, gathered))
    }

    /// Given items are nowhere else: stored first, secrets replaced, under the compaction's id. Returns
    /// how many were replaced.
    pub(super) async fn store_items(
        &self,
        id: &str,
        mut items: Vec<Value>,
    ) -> Result<u64, ServiceError> {
        if items.is_empty() {
            let reason = "there is nothing to compact".to_owned();
            return Err(ServiceError::Invalid { field: "items", reason });
        }
        let folder = self.preimages.clone();
        let id = id.to_owned();
        tokio::task::spawn_blocking(move || {
            let redacted = items.iter_mut().map(|item| u64::from(redact_value(item))).sum();
            let lines: Vec<String> = items.iter().map(Value::to_string).collect();
            preimage::write(&folder, &id, &lines)?;
            Ok(redacted)
        })
        .await?
    }

    /// What was stored under the compaction's id.
    async fn gather_stored(&self, id: &str, redacted: u64) -> Result<Gathered, ServiceError> {
        let (folder, id) = (self.preimages.clone(), id.to_owned());
        tokio::task::spawn_blocking(move || {
            let lines = preimage::read(&folder, &id)?;
            let items: Vec<Value> =
                lines.iter().map(|line| serde_json::from_str(line).unwrap_or_default()).collect();
            let fold = fold_of(&lines, |_| {});
            let active = fold.checkpoint().requests.active().map(|active| active.seq);
            let request = active.and_then(|seq| items.get(usize::try_from(seq).ok()?).cloned());
            let seq = fold.next_seq().saturating_sub(1);
            Ok(Gathered {
                of: id,
                thread_id: None,
                fold: Arc::new(fold),
                semantics: Semantics::default(),
                disk: Disk::new(),
                kept: request.map(assemble::keep_request),
                original: Original::Given(items),
                request_seq: active,
                warnings: Vec::new(),
                redacted,
                seq,
            })
        })
        .await?
    }
}

/// Folds given items as the lines they are stored as, and shows each item's row.
fn fold_of(lines: &[String], mut row: impl FnMut(ItemRow)) -> Fold {
    let mut fold = Fold::new(Source::Longhaul);
    let mut offset = 0;
    for (line, seq) in lines.iter().zip(0..) {
        let bytes = line.len() as u64;
        let place = Place { line: seq, offset, bytes };
        fold.line(place, line.as_bytes()).into_iter().for_each(&mut row);
        offset += bytes + 1;
    }
    fold
}

fn given_spans(items: &[Value]) -> Vec<Span> {
    let lines: Vec<String> = items.iter().map(Value::to_string).collect();
    let mut spans = Vec::new();
    fold_of(&lines, |row| spans.push(Span::from(&row)));
    spans
}

fn span_of(head: &PageHead) -> Span {
    Span {
        first: head.first_seq,
        last: head.last_seq,
        items: head.items,
        tokens: head.tokens,
        digest: head.first_digest,
        kind: None,
    }
}

/// The request's item out of the transcript; `None` when its line is no longer there.
async fn read_request(
    (path, source): (PathBuf, Source),
    row: ItemRow,
) -> Result<Option<KeptRequest>, ServiceError> {
    let read = move || {
        let items = Lines::open(&path).ok()?.history_items(&row, source).ok()?;
        let item = items.first()?;
        serde_json::from_str::<Value>(item.get()).ok().map(assemble::keep_request)
    };
    Ok(tokio::task::spawn_blocking(read).await?)
}
