//! The account of a compaction: which items were kept, shortened and dropped.
//!
//! Its size is bounded regardless of the history's length: recent items are listed singly, older ones as
//! spans. Together the entries cover every item once.

use serde::{Deserialize, Serialize};

use super::handle::Handle;
use crate::digest::Digest128;
use crate::item::{ItemKind, ItemRow};

/// Maximum entries of one list.
pub const ENTRIES_MAX: usize = 1_024;

/// Entries of one list above which neighbors are merged.
const ENTRIES_MERGED: usize = 256;

/// Consecutive items of a history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    pub first: u64,
    pub last: u64,
    pub items: u64,
    pub tokens: u64,
    pub digest: Digest128,
    pub kind: Option<ItemKind>,
}

impl From<&ItemRow> for Span {
    fn from(row: &ItemRow) -> Self {
        Self {
            first: row.seq,
            last: row.seq,
            items: 1,
            tokens: row.tokens,
            digest: row.digest,
            kind: Some(row.kind),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Disposition {
    Kept,
    Shortened,
}

/// Items that the model behind a replacement did not see because the history exceeded its window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnseenItems {
    pub left_out: u64,
    pub tokens: u64,
    /// Items whose middle was cut.
    pub cut: u64,
    /// Line of the first omitted item, or of the first cut one if none was omitted.
    pub first: u64,
    pub last: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Receipt {
    /// Items that are in the replacement, or stand in its view, word for word.
    pub kept: Vec<Span>,
    /// Items that are in it in part, or redacted.
    pub shortened: Vec<Span>,
    pub dropped: Vec<Span>,
    /// Spans all items that the model did not see; `items` counts only those.
    #[serde(default)]
    pub unseen: Option<Span>,
}

impl Receipt {
    /// Sorts `spans` (in order, each item once) into the lists by what happened to them; `None` for dropped.
    pub fn of(
        spans: impl IntoIterator<Item = (Span, Option<Disposition>)>,
        unseen: Option<UnseenItems>,
    ) -> Self {
        let mut unseen_span = None;
        let (mut kept, mut shortened, mut dropped) = (Vec::new(), Vec::new(), Vec::new());
        for (at, (span, disposition)) in spans.into_iter().enumerate() {
            if let Some(unseen) = unseen.filter(|unseen| unseen.first == span.first) {
                let UnseenItems { left_out, tokens, cut, last, .. } = unseen;
                let items = if left_out > 0 { left_out } else { cut };
                let kind = span.kind.filter(|_| last == span.last);
                unseen_span = Some(Span { last, items, tokens, kind, ..span.clone() });
            }
            let list = match disposition {
                Some(Disposition::Kept) => &mut kept,
                Some(Disposition::Shortened) => &mut shortened,
                None => &mut dropped,
            };
            list.push(ReceiptEntry { first: at, last: at, span });
        }
        Self {
            kept: joined(kept),
            shortened: joined(shortened),
            dropped: joined(dropped),
            unseen: unseen_span,
        }
    }
}

/// A span, and its place in the order of all.
struct ReceiptEntry {
    first: usize,
    last: usize,
    span: Span,
}

pub fn totals(spans: &[Span]) -> (u64, u64) {
    spans.iter().fold((0, 0), |(items, tokens), span| (items + span.items, tokens + span.tokens))
}

pub fn handle(of: &str, span: &Span) -> Handle {
    Handle::new(of, (span.first, span.last), span.digest)
}

/// The spans of a list, of which neighbors are merged: those without another list's item between them until
/// [`ENTRIES_MERGED`] are left, and if that is not enough, any until [`ENTRIES_MAX`] are.
fn joined(mut entries: Vec<ReceiptEntry>) -> Vec<Span> {
    join(&mut entries, ENTRIES_MERGED, |one, next| one.last + 1 == next.first);
    join(&mut entries, ENTRIES_MAX, |_, _| true);
    entries.into_iter().map(|entry| entry.span).collect()
}

/// Merges neighbors, oldest first, until at most `most` are left. The newest half of them stays fine-grained because that
/// is what people ask for.
fn join(
    entries: &mut Vec<ReceiptEntry>,
    most: usize,
    may_merge: fn(&ReceiptEntry, &ReceiptEntry) -> bool,
) {
    while entries.len() > most {
        let (before, coarse) = (entries.len(), entries.len() - most / 2);
        let mut is_merged = false;
        for (index, next) in std::mem::take(entries).into_iter().enumerate() {
            let last = entries.last_mut().filter(|_| index < coarse && !is_merged);
            match last.filter(|last| may_merge(last, &next)) {
                Some(ReceiptEntry { last, span, .. }) => {
                    *last = next.last;
                    span.last = next.span.last;
                    span.items += next.span.items;
                    span.tokens += next.span.tokens;
                    span.kind = None;
                    is_merged = true;
                }
                None => {
                    entries.push(next);
                    is_merged = false;
                }
            }
        }
        if entries.len() == before {
            break;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(seq: u64) -> Span {
        Span {
            first: seq,
            last: seq,
            items: 1,
            tokens: 10,
            digest: Digest128(u128::from(seq)),
            kind: None,
        }
    }

    #[test]
    fn every_item_is_accounted_for_once_at_any_length() {
        for length in [0, 1, 255, 256, 257, 10_000] {
            let spans = (0..length)
                .map(|seq| (span(seq), (seq + 1 == length).then_some(Disposition::Kept)));
            let receipt = Receipt::of(spans, None);
            let (dropped, tokens) = totals(&receipt.dropped);
            assert_eq!(dropped + totals(&receipt.kept).0, length);
            assert_eq!(tokens, dropped * 10);
            assert!(receipt.dropped.len() <= ENTRIES_MERGED, "{length}");
            let is_bounded = dropped > ENTRIES_MERGED as u64;
            assert!(
                is_bounded || receipt.dropped.len() as u64 == dropped,
                "none is merged: {length}"
            );
            let most = (length / 32).max(2);
            assert!(receipt.dropped.iter().all(|entry| entry.items <= most), "similar: {length}");
            let mut newest = receipt.dropped.iter().rev().take(ENTRIES_MERGED / 2);
            assert!(
                newest.all(|entry| entry.items == 1),
                "the newest half is not merged: {length}"
            );
            let mut next = 0;
            for entry in &receipt.dropped {
                assert_eq!(entry.first, next, "no gap, no overlap");
                assert_eq!(entry.digest, Digest128(u128::from(entry.first)));
                next = entry.last + 1;
            }
        }
    }

    #[test]
    fn no_entry_spans_an_item_of_another_list() {
        for (length, every) in [(10_000, 20), (3_000, 6), (40_000, 2)] {
            let shortened = |seq| (seq % every == 0).then_some(Disposition::Shortened);
            let spans = (0..length).map(|seq| (span(seq), shortened(seq)));
            let receipt = Receipt::of(spans, None);
            let lists = [&receipt.shortened, &receipt.dropped];
            assert_eq!(lists.map(|list| totals(list).0).iter().sum::<u64>(), length);
            assert!(lists.iter().all(|list| list.len() <= ENTRIES_MAX), "{length} {every}");
            let is_exact = |entry: &&Span| entry.last - entry.first + 1 == entry.items;
            let is_listed = length / every <= 512;
            assert_eq!(
                receipt.dropped.iter().all(|entry| is_exact(&entry)),
                is_listed,
                "{length} {every}"
            );
        }
    }

    #[test]
    fn a_receipt_reports_what_the_model_did_not_see() {
        let spans = |kind| (0..10).map(move |seq| (Span { kind: Some(kind), ..span(seq) }, None));
        let kind = ItemKind::ToolOutput;
        for (left_out, cut, last, expected) in
            [(3, 2, 6, (3, None)), (0, 2, 6, (2, None)), (1, 0, 4, (1, Some(kind)))]
        {
            let unseen = UnseenItems { left_out, tokens: 70, cut, first: 4, last };
            let receipt = Receipt::of(spans(kind), Some(unseen));
            let (items, kind) = expected;
            let expected = Span { first: 4, last, items, tokens: 70, kind, ..span(4) };
            assert_eq!(receipt.unseen, Some(expected), "{unseen:?}");
        }
        assert_eq!(Receipt::of(spans(kind), None).unseen, None);
    }
}
