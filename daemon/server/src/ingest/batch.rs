//! Groups folded data, several files to a batch, and sends it from the reading thread to the store.
//!
//! One batch is one message to the storing task and one transaction. A first ingestion reads hundreds of small
//! files a second; waking the other side for each would cost more than storing it. The pending data is bounded,
//! and is sent at the latest when a slice ends.

use longhaul_core::fold::Fold;
use longhaul_core::item::{ItemRow, PAGE_ITEMS};
use longhaul_store::{FileCommit, ItemPage};
use tokio::sync::mpsc;

use crate::discovery::plan::Job;

/// Maximum bytes of saved state in a batch, before its last file.
const SAVED_BYTES: usize = 1 << 20;

const FILES: usize = 128;

/// Commits and finished passes that are stored together.
#[derive(Default)]
pub(crate) struct Batch {
    /// Each file at most once.
    pub(crate) commits: Vec<FileCommit>,
    /// One per commit, in the same order.
    pub(crate) effects: Vec<Effect>,
    /// Finished passes; all of their commits are in this batch or an earlier one.
    pub(crate) ended: Vec<PassEnd>,
    /// Bytes of folded text, and of state to save.
    folded_bytes: u64,
    saved_bytes: usize,
}

/// Takes effect once its commit is stored.
pub(crate) struct Effect {
    pub(crate) bytes: u64,
    /// The fold after the commit; set on a pass's last batch if the cache holds the thread.
    pub(crate) fold: Option<Fold>,
    /// Whether the agent compacted its thread in this commit.
    pub(crate) compacted: bool,
}

#[derive(Debug)]
pub(crate) struct PassEnd {
    pub(crate) job: Job,
    pub(crate) result: Result<Outcome, String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Nothing changed since the last pass.
    Unchanged,
    /// The file is folded to its end.
    CaughtUp,
    /// Stopped after a batch; there may be more.
    Stopped,
    /// The file does not exist.
    Gone,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct StoreStopped;

/// Collects a batch. Anything not sent before it is dropped is not stored, and is read again.
pub(crate) struct Outbox<'a> {
    batches: &'a mpsc::Sender<Batch>,
    waiting: Batch,
    /// Maximum bytes of text in one batch, unless a single file has more.
    folded_bytes_max: u64,
}

impl<'a> Outbox<'a> {
    pub(crate) fn new(batches: &'a mpsc::Sender<Batch>, folded_bytes_max: u64) -> Self {
        Self { batches, waiting: Batch::default(), folded_bytes_max }
    }

    /// Adds a file's commit; blocks while the store is behind.
    pub(crate) fn add(&mut self, commit: FileCommit, effect: Effect) -> Result<(), StoreStopped> {
        if !self.waiting.has_room_for(&commit, effect.bytes, self.folded_bytes_max) {
            self.flush()?;
        }
        let waiting = &mut self.waiting;
        waiting.folded_bytes += effect.bytes;
        waiting.saved_bytes += commit.saved_bytes();
        waiting.commits.push(commit);
        waiting.effects.push(effect);
        self.flush_if_full()
    }

    pub(crate) fn end(&mut self, ended: PassEnd) -> Result<(), StoreStopped> {
        self.waiting.ended.push(ended);
        self.flush_if_full()
    }

    fn flush_if_full(&mut self) -> Result<(), StoreStopped> {
        match self.waiting.is_full(self.folded_bytes_max) {
            true => self.flush(),
            false => Ok(()),
        }
    }

    pub(crate) fn flush(&mut self) -> Result<(), StoreStopped> {
        let batch = std::mem::take(&mut self.waiting);
        if batch.effects.is_empty() && batch.ended.is_empty() {
            return Ok(());
        }
        self.batches.blocking_send(batch).map_err(|_| StoreStopped)
    }
}

impl Batch {
    /// A transaction holds each file at most once.
    fn has_room_for(&self, commit: &FileCommit, bytes: u64, bytes_max: u64) -> bool {
        let files = &self.commits;
        files.is_empty()
            || (self.folded_bytes + bytes <= bytes_max
                && files.iter().all(|file| file.path != commit.path))
    }

    fn is_full(&self, folded_bytes_max: u64) -> bool {
        self.folded_bytes >= folded_bytes_max
            || self.saved_bytes >= SAVED_BYTES
            || self.effects.len().max(self.ended.len()) >= FILES
    }
}

/// Pages of a file, starting with the last stored one.
#[derive(Debug, Default)]
pub(crate) struct Pages {
    full: Vec<ItemPage>,
    growing: Vec<ItemRow>,
    /// `growing` has rows that are not stored yet.
    has_news: bool,
}

impl Pages {
    /// Continues after the last stored page.
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

    /// Returns the pages that are new or have grown since the last call.
    pub(crate) fn take(&mut self) -> Vec<ItemPage> {
        let mut pages = std::mem::take(&mut self.full);
        if std::mem::take(&mut self.has_news) {
            pages.extend(ItemPage::of(&self.growing));
        }
        pages
    }

    /// Number of full pages not yet taken.
    pub(crate) fn waiting(&self) -> usize {
        self.full.len()
    }
}

#[cfg(test)]
mod tests {
    use longhaul_core::digest::Digest128;
    use longhaul_core::item::ItemKind;

    use super::*;

    fn ended() -> PassEnd {
        let job = Job {
            path: "/w/a.jsonl".into(),
            source: longhaul_core::thread::Source::Codex,
            archived: false,
            restart: false,
            moved_from: None,
            archived_text: None,
        };
        PassEnd { job, result: Ok(Outcome::CaughtUp) }
    }

    #[test]
    fn files_wait_for_each_other_but_not_for_long() {
        let (batches, mut received) = mpsc::channel(4);
        let mut outbox = Outbox::new(&batches, 1 << 20);
        for _ in 0..FILES + 3 {
            outbox.end(ended()).unwrap();
        }
        assert_eq!(received.try_recv().unwrap().ended.len(), FILES);
        assert!(received.try_recv().is_err());
        outbox.flush().unwrap();
        assert_eq!(received.try_recv().unwrap().ended.len(), 3);
        outbox.flush().unwrap();
        assert!(received.try_recv().is_err(), "nothing waits");
        drop(received);
        outbox.end(ended()).unwrap();
        assert_eq!(outbox.flush(), Err(StoreStopped));
    }

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
