//! From the reading thread to the store: what was folded of each file, several files to a batch.
//!
//! One batch is one message to the task that stores and one transaction there. A first ingestion reads
//! hundreds of small files in a second, and to wake the other side for each costs more than to store it.
//! What waits here is bounded, and is sent at the latest when a slice ends.

use longhaul_core::fold::Fold;
use longhaul_core::item::{ItemRow, PAGE_ITEMS};
use longhaul_store::{FileCommit, ItemPage};
use tokio::sync::mpsc;

use crate::discovery::plan::Job;

/// Bytes of saved state that wait at most, before the last file.
const SAVED_BYTES: usize = 1 << 20;

const FILES: usize = 128;

/// What is stored together.
#[derive(Default)]
pub(crate) struct Batch {
    pub(crate) commits: longhaul_store::Batch,
    /// For each commit, in its order.
    pub(crate) effects: Vec<Effect>,
    /// Passes that ended; what they had to store is in this batch or came before.
    pub(crate) ended: Vec<Ended>,
    /// Text folded, and state to be saved.
    folded_bytes: u64,
    saved_bytes: usize,
}

/// What holds once a commit is stored.
pub(crate) struct Effect {
    pub(crate) bytes: u64,
    /// The state after it, with the last batch of a pass, if somebody waits for it.
    pub(crate) fold: Option<Fold>,
    /// Whether the agent compacted its thread in it.
    pub(crate) compacted: bool,
}

#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) job: Job,
    pub(crate) result: Result<Outcome, String>,
}

/// How a pass over a file ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Nothing happened since the last one.
    Unchanged,
    /// Everything that is there is folded.
    CaughtUp,
    /// Stopped after a batch; there may be more.
    Stopped,
    /// The file is not there.
    Gone,
}

/// The store does not take any more.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Closed;

/// Collects a batch. What was not sent when it is dropped was not stored, and is read again.
pub(crate) struct Outbox<'a> {
    batches: &'a mpsc::Sender<Batch>,
    waiting: Batch,
    /// Bound on the text of one batch, unless one file has more.
    folded_bytes_max: u64,
}

impl<'a> Outbox<'a> {
    pub(crate) fn new(batches: &'a mpsc::Sender<Batch>, folded_bytes_max: u64) -> Self {
        Self { batches, waiting: Batch::default(), folded_bytes_max }
    }

    /// Takes what was folded of a file; waits while the store is behind.
    pub(crate) fn add(&mut self, commit: FileCommit, effect: Effect) -> Result<(), Closed> {
        if !self.waiting.has_room_for(&commit, effect.bytes, self.folded_bytes_max) {
            self.flush()?;
        }
        let waiting = &mut self.waiting;
        waiting.folded_bytes += effect.bytes;
        waiting.saved_bytes += commit.saved_bytes();
        waiting.commits.files.push(commit);
        waiting.effects.push(effect);
        self.flush_if_full()
    }

    pub(crate) fn end(&mut self, ended: Ended) -> Result<(), Closed> {
        self.waiting.ended.push(ended);
        self.flush_if_full()
    }

    fn flush_if_full(&mut self) -> Result<(), Closed> {
        match self.waiting.is_full(self.folded_bytes_max) {
            true => self.flush(),
            false => Ok(()),
        }
    }

    pub(crate) fn flush(&mut self) -> Result<(), Closed> {
        let batch = std::mem::take(&mut self.waiting);
        if batch.effects.is_empty() && batch.ended.is_empty() {
            return Ok(());
        }
        self.batches.blocking_send(batch).map_err(|_| Closed)
    }
}

impl Batch {
    /// A transaction holds each file once.
    fn has_room_for(&self, commit: &FileCommit, bytes: u64, bytes_max: u64) -> bool {
        let files = &self.commits.files;
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

    fn ended() -> Ended {
        let job = Job {
            path: "/w/a.jsonl".into(),
            source: longhaul_core::thread::Source::Codex,
            archived: false,
            restart: false,
            moved_from: None,
        };
        Ended { job, result: Ok(Outcome::CaughtUp) }
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
        assert_eq!(outbox.flush(), Err(Closed));
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
