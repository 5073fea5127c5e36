//! The account of a compaction: which items were kept, shortened and dropped.
//!
//! Its size is bounded regardless of the history's length: recent items are listed singly, older ones as
//! spans. Together the entries cover every item once.

use serde::{Deserialize, Serialize};

use super::handle::Handle;
use crate::digest::Digest128;
use crate::item::{ItemKind, ItemRow};

/// Maximum entries of one list; older spans are merged to stay within it.
pub const ENTRIES_MAX: usize = 256;

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
    pub kept: Vec<Span>,
    /// Items that are cut or redacted.
    pub shortened: Vec<Span>,
    pub dropped: Vec<Span>,
    /// Spans all items that the model did not see; `items` counts only those.
    #[serde(default)]
    pub unseen: Option<Span>,
}

impl Receipt {
    /// Sorts `spans` (in order, each item once) into the lists.
    pub fn of(
        spans: impl IntoIterator<Item = Span>,
        unseen: Option<UnseenItems>,
        disposition: impl Fn(&Span) -> Option<Disposition>,
    ) -> Self {
        let mut receipt = Self::default();
        for span in spans {
            if let Some(unseen) = unseen.filter(|unseen| unseen.first == span.first) {
                let UnseenItems { left_out, tokens, cut, last, .. } = unseen;
                let items = if left_out > 0 { left_out } else { cut };
                let kind = span.kind.filter(|_| last == span.last);
                receipt.unseen = Some(Span { last, items, tokens, kind, ..span.clone() });
            }
            match disposition(&span) {
                Some(Disposition::Kept) => receipt.kept.push(span),
                Some(Disposition::Shortened) => receipt.shortened.push(span),
                None => receipt.dropped.push(span),
            }
        }
        join(&mut receipt.dropped);
        receipt
    }
}

pub fn totals(spans: &[Span]) -> (u64, u64) {
    spans.iter().fold((0, 0), |(items, tokens), span| (items + span.items, tokens + span.tokens))
}

pub fn handle(of: &str, span: &Span) -> Handle {
    Handle::new(of, (span.first, span.last), span.digest)
}

/// Merges neighbors, oldest first, until at most [`ENTRIES_MAX`] are left. The newest half stays
/// fine-grained because that is what people ask for.
fn join(spans: &mut Vec<Span>) {
    while spans.len() > ENTRIES_MAX {
        let coarse = spans.len() - ENTRIES_MAX / 2;
        let old = std::mem::take(spans);
        for (index, span) in old.into_iter().enumerate() {
            match spans.last_mut() {
                Some(last) if index < coarse && index % 2 == 1 => {
                    last.last = span.last;
                    last.items += span.items;
                    last.tokens += span.tokens;
                    last.kind = None;
                }
                _ => spans.push(span),
            }
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
            let disposition = |span: &Span| (span.first + 1 == length).then_some(Disposition::Kept);
            let receipt = Receipt::of((0..length).map(span), None, disposition);
            let (dropped, tokens) = totals(&receipt.dropped);
            assert_eq!(dropped + totals(&receipt.kept).0, length);
            assert_eq!(tokens, dropped * 10);
            assert!(receipt.dropped.len() <= ENTRIES_MAX, "{length}");
            let is_bounded = dropped > ENTRIES_MAX as u64;
            assert!(
                is_bounded || receipt.dropped.len() as u64 == dropped,
                "none is merged: {length}"
            );
            let most = (length / 32).max(2);
            assert!(receipt.dropped.iter().all(|entry| entry.items <= most), "similar: {length}");
            let mut newest = receipt.dropped.iter().rev().take(ENTRIES_MAX / 2);
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
    fn a_receipt_reports_what_the_model_did_not_see() {
        let spans = |kind| (0..10).map(move |seq| Span { kind: Some(kind), ..span(seq) });
        let kind = ItemKind::ToolOutput;
        for (left_out, cut, last, expected) in
            [(3, 2, 6, (3, None)), (0, 2, 6, (2, None)), (1, 0, 4, (1, Some(kind)))]
        {
            let unseen = UnseenItems { left_out, tokens: 70, cut, first: 4, last };
            let receipt = Receipt::of(spans(kind), Some(unseen), |_| None);
            let (items, kind) = expected;
            let expected = Span { first: 4, last, items, tokens: 70, kind, ..span(4) };
            assert_eq!(receipt.unseen, Some(expected), "{unseen:?}");
        }
        assert_eq!(Receipt::of(spans(kind), None, |_| None).unseen, None);
    }
}
