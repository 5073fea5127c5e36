//! Which items of a history a view quotes.

use std::collections::BTreeMap;

use super::receipt::Disposition;
use crate::briefing::Rendered;
use crate::item::{ItemKind, ItemRow};
use crate::redact::MARKER;
use crate::{quote, text};

/// Maximum items that count as quoted, newest first: each is an entry of the receipt.
const ITEMS_MAX: usize = 512;

/// The items that a view quotes, by their lines.
#[derive(Debug, Clone, Default)]
pub struct QuotedItems(BTreeMap<u64, Quotation>);

#[derive(Debug, Clone, Default)]
struct Quotation {
    /// The quoted lines, on one line.
    words: String,
    /// Whether it is pinned, and the pin shown whole.
    is_pinned_whole: bool,
}

impl QuotedItems {
    pub fn of(view: &Rendered) -> Self {
        let mut items: BTreeMap<u64, Quotation> = BTreeMap::new();
        for line in &view.lines {
            let Some(seq) = line.seq else { continue };
            let words = &mut items.entry(seq).or_default().words;
            words.push_str(&text::one_line(&line.text));
            words.push(' ');
        }
        for pin in &view.pins {
            // Of several items that are shown in part, it is the first for sure.
            let last = if pin.is_whole { pin.last } else { pin.first };
            for seq in pin.first..=last {
                items.entry(seq).or_default().is_pinned_whole |= pin.is_whole;
            }
        }
        while items.len() > ITEMS_MAX {
            items.pop_first();
        }
        Self(items)
    }

    /// The lines of the transcript that are quoted, in order.
    pub fn seqs(&self) -> impl Iterator<Item = u64> {
        self.0.keys().copied()
    }

    /// What the view has of an item: [`Disposition::Kept`] only if all of it is known to stand there.
    pub fn disposition(&self, row: &ItemRow) -> Option<Disposition> {
        let quotation = self.0.get(&row.seq)?;
        let is_message = matches!(row.kind, ItemKind::UserMessage | ItemKind::AssistantMessage);
        let excerpt = &row.excerpt;
        let is_short = is_message && !excerpt.is_empty() && !excerpt.ends_with(text::ELLIPSIS);
        let is_whole = || is_short && quotation.words.contains(&*quote::line(excerpt));
        match (quotation.is_pinned_whole || is_whole()) && !excerpt.contains(MARKER) {
            true => Some(Disposition::Kept),
            false => Some(Disposition::Shortened),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::briefing::ViewLine;
    use crate::choice::ShownPin;
    use crate::digest::Digest128;

    fn row(seq: u64, kind: ItemKind, excerpt: &str) -> ItemRow {
        ItemRow {
            seq,
            offset: 0,
            bytes: 0,
            kind,
            tokens: 1,
            digest: Digest128::default(),
            excerpt: excerpt.to_owned(),
            call_id: None,
        }
    }

    #[test]
    fn whole_messages_and_pins_are_kept_and_parts_shortened() {
        let line =
            |seq, text: &str| ViewLine { section: "PERSON", text: text.into(), seq: Some(seq) };
        let pin = |first, last, is_whole| ShownPin { first, last, is_whole };
        let view = Rendered {
            lines: vec![
                line(1, "Rename parse()."),
                line(2, "Rename parse()."),
                line(3, "Then run"),
                line(3, "the tests."),
                line(4, "cargo test"),
                line(5, "token [REDACTED_SECRET]"),
            ],
            pins: vec![pin(6, 7, true), pin(8, 8, false)],
            ..Rendered::default()
        };
        let quoted = QuotedItems::of(&view);
        let (kept, shortened) = (Some(Disposition::Kept), Some(Disposition::Shortened));
        use ItemKind::{AssistantMessage, ToolOutput, UserMessage};
        for (seq, kind, excerpt, expected) in [
            (1, UserMessage, "Rename parse().", kept),
            (2, UserMessage, "Rename parse(). And push.", shortened),
            (3, AssistantMessage, "Then run the tests.", kept),
            (4, ToolOutput, "cargo test", shortened),
            (5, UserMessage, "token [REDACTED_SECRET]", shortened),
            (6, ToolOutput, "a long ou…", kept),
            (7, AssistantMessage, "Done.", kept),
            (8, UserMessage, "Long.", shortened),
            (9, UserMessage, "Not there.", None),
        ] {
            assert_eq!(quoted.disposition(&row(seq, kind, excerpt)), expected, "#{seq}");
        }
        assert_eq!(quoted.seqs().collect::<Vec<_>>(), [1, 2, 3, 4, 5, 6, 7, 8]);
    }

    #[test]
    fn of_very_many_the_newest_count() {
        let line = |seq| ViewLine { section: "RAN", text: "x".into(), seq: Some(seq) };
        let view = Rendered { lines: (0..2_000).map(line).collect(), ..Rendered::default() };
        let seqs: Vec<u64> = QuotedItems::of(&view).seqs().collect();
        assert_eq!(seqs, (2_000 - ITEMS_MAX as u64..2_000).collect::<Vec<_>>());
    }
}
