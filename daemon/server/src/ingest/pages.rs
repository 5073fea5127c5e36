//! Rows into pages: full ones are done, the last one grows with the next batch.

use longhaul_core::item::{ItemRow, PAGE_ITEMS};
use longhaul_store::ItemPage;

/// The pages of a file from the last stored one on.
#[derive(Debug, Default)]
pub(crate) struct Pages {
    full: Vec<ItemPage>,
    growing: Vec<ItemRow>,
    /// `growing` has rows that are not stored.
    has_news: bool,
}

impl Pages {
    /// Goes on after the last stored page.
    pub(crate) fn after(last: Vec<ItemRow>) -> Self {
        let growing = if last.len() < PAGE_ITEMS { last } else { Vec::new() };
        Self { growing, ..Self::default() }
    }

    pub(crate) fn push(&mut self, row: ItemRow) {
        self.growing.push(row);
        self.has_news = true;
        if self.growing.len() == PAGE_ITEMS {
            self.full.extend(ItemPage::of(&self.growing));
            self.growing.clear();
            self.has_news = false;
        }
    }

    /// The pages that are new or have grown since the last call.
    pub(crate) fn take(&mut self) -> Vec<ItemPage> {
        let mut pages = std::mem::take(&mut self.full);
        if std::mem::take(&mut self.has_news) {
            pages.extend(ItemPage::of(&self.growing));
        }
        pages
    }

    /// Full pages waiting to be taken.
    pub(crate) fn waiting(&self) -> usize {
        self.full.len()
    }
}

#[cfg(test)]
mod tests {
    use longhaul_core::digest::Digest128;
    use longhaul_core::item::ItemKind;

    use super::*;

    fn row(seq: u64) -> ItemRow {
        ItemRow {
            seq,
            offset: seq,
            bytes: 1,
            kind: ItemKind::Other,
            tokens: 1,
            digest: Digest128::default(),
            excerpt: String::new(),
            call_id: None,
        }
    }

    fn spans(pages: &[ItemPage]) -> Vec<(u64, u64)> {
        pages.iter().map(|page| (page.head.first_seq, page.head.last_seq)).collect()
    }

    #[test]
    fn a_page_is_given_when_full_and_while_it_grows() {
        let mut pages = Pages::default();
        (0..70).for_each(|seq| pages.push(row(seq)));
        assert_eq!(spans(&pages.take()), [(0, 63), (64, 69)]);
        assert_eq!(spans(&pages.take()), []);
        pages.push(row(70));
        assert_eq!(spans(&pages.take()), [(64, 70)]);
        let mut later = Pages::after((64..71).map(row).collect());
        (71..130).for_each(|seq| later.push(row(seq)));
        assert_eq!(spans(&later.take()), [(64, 127), (128, 129)]);
        let mut full = Pages::after((0..64).map(row).collect());
        full.push(row(64));
        assert_eq!(spans(&full.take()), [(64, 64)]);
    }
}
