//! Groups the items of a history for its receipt: individually if new or named, else by page.

use std::collections::BTreeSet;

use longhaul_core::compaction::receipt::{Disposition, Span};
use longhaul_core::fold::{Fold, Place, Source};
use longhaul_core::item::ItemRow;
use longhaul_store::{FileId, PageHead, PageTable};
use serde_json::Value;

use super::input::{Input, ItemSource};
use super::replacement::Replacement;
use crate::service::error::ServiceError;
use crate::service::item_index::{ItemIndex, Stretch};

/// Newest pages whose items are listed individually in a receipt.
const FINE_PAGES: usize = 2;

pub struct Spans {
    pub(in crate::service) pages: PageTable,
    pub(in crate::service) index: ItemIndex,
}

impl Spans {
    /// Every item of the history up to the input's end, including those in transcripts it continues by reference,
    /// in order, and what happened to it: individually in the newest pages and in pages of which `replacement` has an item, or
    /// that hold a cut; the others by page.
    pub(super) async fn of(
        &self,
        input: &Input,
        replacement: &Replacement,
    ) -> Result<Vec<SpanFate>, ServiceError> {
        let file = match &input.items {
            ItemSource::Given { items, first_seq, .. } => {
                return Ok(given_spans(items, *first_seq, replacement));
            }
            ItemSource::Transcript(file) => file,
        };
        let alone: BTreeSet<u64> = replacement.lines_alone().chain(input.request_seq).collect();
        let mut pages = Vec::new();
        for Stretch { file, end } in self.index.stretches(file, input.fold.next_seq()).await? {
            let place = (file.file_id, file.cursor.generation);
            let heads = self.pages.heads(place.0, place.1).await?;
            pages.extend(heads.into_iter().filter(|head| head.first_seq < end).map(|head| {
                let is_named = alone.range(head.first_seq..=head.last_seq).next().is_some();
                Page { place, end, is_fine: is_named || head.last_seq >= end, head }
            }));
        }
        pages.iter_mut().rev().take(FINE_PAGES).for_each(|page| page.is_fine = true);
        let mut spans = Vec::with_capacity(pages.len() + 2 * longhaul_core::item::PAGE_ITEMS);
        for pages in pages.chunk_by(|one, next| one.place == next.place) {
            self.push_spans(pages, replacement, &mut spans).await?;
        }
        Ok(spans)
    }

    /// Adds the items of the pages of one file; their rows are read in one query.
    async fn push_spans(
        &self,
        pages: &[Page],
        replacement: &Replacement,
        spans: &mut Vec<SpanFate>,
    ) -> Result<(), ServiceError> {
        let Some(Page { place: (file_id, generation), .. }) = pages.first() else { return Ok(()) };
        let fine = pages.iter().filter(|page| page.is_fine);
        let fine: Vec<u64> = fine.map(|page| page.head.first_seq).collect();
        let rows = self.pages.rows_of_pages(*file_id, *generation, &fine).await?;
        let mut rows = rows.into_iter().peekable();
        for Page { end, head, is_fine, .. } in pages {
            if !is_fine {
                spans.push((span_of(head), None));
                continue;
            }
            while let Some(row) = rows.next_if(|row| row.seq <= head.last_seq) {
                if row.seq < *end {
                    spans.push((Span::from(&row), replacement.disposition(&row)));
                }
            }
        }
        Ok(())
    }

    /// The rows of all items of a thread's history, in order.
    pub(super) async fn rows(&self, input: &Input) -> Result<Vec<ItemRow>, ServiceError> {
        let ItemSource::Transcript(file) = &input.items else { return Ok(Vec::new()) };
        let last = input.fold.next_seq().saturating_sub(1);
        let pieces = self.index.lineage_rows(file, 0, last).await?;
        Ok(pieces.into_iter().flat_map(|piece| piece.rows).collect())
    }
}

/// Items, and what happened to them; `None` if they were dropped.
pub(super) type SpanFate = (Span, Option<Disposition>);

struct Page {
    /// Its file and generation.
    place: (FileId, u64),
    /// The line before which the history ends in this file.
    end: u64,
    /// Whether its items are listed individually.
    is_fine: bool,
    head: PageHead,
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

/// Lines of a history with their places.
pub(super) fn placed(
    lines: &[String],
    first_seq: u64,
) -> impl Iterator<Item = (Place, &String, usize)> {
    let mut offset = 0;
    lines.iter().enumerate().map(move |(at, line)| {
        let bytes = line.len() as u64;
        let place = Place { line: first_seq + at as u64, offset, bytes };
        offset += bytes + 1;
        (place, line, at)
    })
}

fn given_spans(items: &[Value], first_seq: u64, replacement: &Replacement) -> Vec<SpanFate> {
    let lines: Vec<String> = items.iter().map(Value::to_string).collect();
    let mut fold = Fold::new(Source::Longhaul);
    let rows = placed(&lines, first_seq);
    let rows = rows.filter_map(|(place, line, _)| fold.line(place, line.as_bytes()));
    rows.map(|row: ItemRow| (Span::from(&row), replacement.disposition(&row))).collect()
}
