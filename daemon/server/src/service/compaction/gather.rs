//! What a compaction is made of: for a thread from the index and one line of its transcript, for
//! given items (`given`) by folding them here and now.

use std::collections::BTreeSet;
use std::sync::Arc;

use longhaul_core::checkpoint::semantic::Semantics;
use longhaul_core::checkpoint::staleness::Disk;
use longhaul_core::compaction::assemble::{self, KeptRequest};
use longhaul_core::compaction::default_view_tokens;
use longhaul_core::compaction::told::{Class, model_switch_alone, tell};
use longhaul_core::compaction::worth::{self, Sizes};
use longhaul_core::context::window::{self, Known};
use longhaul_core::fold::Fold;
use longhaul_store::{FileId, FileRow, PageHead};
use serde_json::Value;
use serde_json::value::RawValue;

use super::given;
use super::original::Original;
use super::{Notice, Request, Span, Subject};
use crate::service::history::Located;
use crate::service::history::lineage::Stretch;
use crate::service::snapshot::Snapshot;
use crate::service::{ServiceError, Services};
use crate::transcript::LineReader;

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
    /// Line and item of the newest instructions of a model that was switched to.
    pub model_switch: Option<(u64, KeptRequest)>,
    pub warnings: Vec<Notice>,
    pub redacted: u64,
    pub seq: u64,
    /// Tokens of the window of the model that will read the replacement.
    pub window: u64,
}

/// Tokens of what stands around a view: the guide, prefixes, the frames of items.
const AROUND_TOKENS: u64 = 600;

/// Tokens of a view however small the window is.
const VIEW_TOKENS_MIN: u64 = 256;

impl Gathered {
    /// Bound of the view: the caller's or the default, and what the ceiling leaves beside the request and
    /// the initial context.
    pub(super) fn view_tokens(&self, request: &Request) -> u64 {
        let is_compacted = self.fold.checkpoint().compactions > 0;
        let default = || default_view_tokens(self.fold.visible().tokens(), is_compacted);
        let wanted = request.max_tokens.unwrap_or_else(default);
        let kept = self.kept.iter().chain(self.model_switch.iter().map(|(_, switch)| switch));
        let kept: u64 = kept.map(|kept| assemble::estimate([&kept.item])).sum();
        let beside = kept + assemble::estimate(&request.initial_context) + AROUND_TOKENS;
        wanted.min(worth::ceiling(self.window).saturating_sub(beside).max(VIEW_TOKENS_MIN))
    }

    /// The sizes of a replacement.
    pub(super) fn sizes(&self, history: &[Value]) -> Sizes {
        let before = self.fold.visible().tokens();
        Sizes { before, after: assemble::estimate(history), window: self.window }
    }
}

impl Services {
    pub(super) async fn gather(
        &self,
        id: &str,
        request: &Request,
    ) -> Result<Gathered, ServiceError> {
        let mut gathered = match &request.subject {
            Subject::Thread { thread_id, as_of } => {
                self.gather_thread(self.snapshot(thread_id, *as_of).await?).await?
            }
            Subject::Begun { thread_id, seq } => {
                self.gather_thread(self.snapshot_begun(thread_id, *seq).await?).await?
            }
            Subject::Items(items) => {
                let redacted = self.store_items(id, items.clone()).await?;
                self.gather_stored(id, redacted).await?
            }
            Subject::Stored(redacted) => self.gather_stored(id, *redacted).await?,
        };
        let reader = request.reader.as_ref();
        let fold = &gathered.fold;
        let agent = self.agent_settings(fold.head().source).await?;
        let model = reader.map(|reader| reader.name.as_str()).or(fold.head().model.as_deref());
        let known = Known {
            model,
            asked: reader.and_then(|reader| reader.context_window),
            configured: Some(*self.deps.config.now().window_tokens),
            stated: fold.meter().window(),
            filled: fold.meter().filled(),
            agent_window: agent.window,
            ..Known::default()
        };
        gathered.window = window::decide(&known).tokens;
        Ok(gathered)
    }

    async fn gather_thread(&self, snapshot: Snapshot) -> Result<Gathered, ServiceError> {
        let request_seq = snapshot.fold.checkpoint().requests.active().map(|active| active.seq);
        let mut warnings = Vec::new();
        let kept = match request_seq {
            Some(seq) => self.read_kept(&snapshot.file, seq, first_item).await?,
            None => None,
        };
        let model_switch = match snapshot.fold.visible().model_switch() {
            Some(seq) => {
                self.read_kept(&snapshot.file, seq, newest_switch).await?.map(|kept| (seq, kept))
            }
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
            model_switch,
            warnings,
            redacted: 0,
            seq,
            window: window::FALLBACK_TOKENS,
        })
    }

    /// The item of line `seq` that `pick` chooses, readied for a replacement; `None` when the line is no longer
    /// there.
    async fn read_kept(
        &self,
        file: &FileRow,
        seq: u64,
        pick: fn(&[Box<RawValue>]) -> Option<KeptRequest>,
    ) -> Result<Option<KeptRequest>, ServiceError> {
        let pieces = self.lineage_rows(file, seq, seq).await?;
        let Some(Located { source, path, rows }) = pieces.into_iter().next() else {
            return Ok(None);
        };
        let read = move || {
            let items = LineReader::open(source, &path).ok()?.history_items(rows.first()?).ok()?;
            pick(&items)
        };
        Ok(tokio::task::spawn_blocking(read).await?)
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
            Original::Given { items, first_seq, .. } => {
                let spans = given::spans(items, *first_seq);
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
        let (coarse, fine) = pages.split_at(fine_from);
        for page @ (_, end, head) in coarse {
            let is_named = alone.range(head.first_seq..=head.last_seq).next().is_some();
            match is_named || head.last_seq >= *end {
                true => spans.extend(self.fine_spans(std::slice::from_ref(page)).await?),
                false => spans.push(span_of(head)),
            }
        }
        for pages in fine.chunk_by(|one, next| one.0 == next.0) {
            spans.extend(self.fine_spans(pages).await?);
        }
        Ok((spans, gathered))
    }

    /// The items of some pages that follow each other in one file, in one look at the store.
    async fn fine_spans(&self, pages: &[Page]) -> Result<Vec<Span>, ServiceError> {
        let [((file_id, generation), end, first), ..] = pages else { return Ok(Vec::new()) };
        let count = u32::try_from(pages.len()).unwrap_or(u32::MAX);
        let rows = self.store.rows_from(*file_id, *generation, first.first_seq, count).await?;
        Ok(rows.iter().filter(|row| row.seq < *end).map(Span::from).collect())
    }
}

/// A page: its file and generation, the line its history ends before, and its head.
type Page = ((FileId, u64), u64, PageHead);

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

fn first_item(items: &[Box<RawValue>]) -> Option<KeptRequest> {
    serde_json::from_str::<Value>(items.first()?.get()).ok().map(assemble::keep_request)
}

/// The newest instructions of a model that was switched to among `items`.
pub(super) fn newest_switch(items: &[Box<RawValue>]) -> Option<KeptRequest> {
    let told = tell(items);
    let switch = told.iter().rfind(|told| told.class == Class::ModelSwitch)?;
    let alone = model_switch_alone(switch.raw)?;
    let is_part = serde_json::from_str::<Value>(switch.raw.get()).is_ok_and(|all| all != alone);
    let kept = assemble::keep_request(alone);
    Some(KeptRequest { cut: kept.cut || is_part, ..kept })
}
