//! Checks after every step, after every start, and at the end.

use std::collections::BTreeSet;
use std::fs;

use longhaul_core::fold::Fold;
use longhaul_core::item::ItemRow;
use longhaul_store::{Cursor, FileRow, FileTable, PageTable, Store};

use super::life::Life;
use super::world::digest;
use crate::ingest::{Ingest, IngestDeps, IngestEvents, IngestWarning, Limits, ThreadUpdated};

impl Life {
    /// The cursor of a file, its fold and its items are consistent.
    pub(super) fn check_rows(&self) {
        let (files, pages) = self.services.ingest.tables();
        self.front.run(async {
            for row in files.after(longhaul_store::FileId(0)).await.unwrap() {
                let (cursor, blob) = files.fold(row.file_id).await.unwrap().unwrap();
                assert_eq!(cursor, row.cursor, "{}", row.path);
                if cursor.offset == 0 {
                    continue;
                }
                let fold = Fold::load(&blob).unwrap();
                let items = items(pages, &row).await;
                assert_eq!(fold.head().items, items.len() as u64, "items of {}", row.path);
                let last = items.last().map_or(0, |item| item.seq);
                assert!(last < cursor.next_seq.max(1), "{} has items after its cursor", row.path);
            }
        });
    }

    /// Everything acknowledged exists.
    pub(super) fn check_promises(&mut self) {
        if let Some(own) = &self.world.own {
            let text = fs::read_to_string(&own.path).unwrap();
            let whole = text.rfind('\n').map_or("", |end| &text[..end]);
            let ids: Vec<String> = whole.lines().filter_map(client_id).collect();
            let once: BTreeSet<&String> = ids.iter().collect();
            assert_eq!(once.len(), ids.len(), "an item of our thread occurs twice");
            assert!(ids.is_sorted(), "items of our thread are out of order");
            let lost: Vec<_> = own.answered.iter().filter(|id| !once.contains(id)).collect();
            assert!(lost.is_empty(), "answered items are lost: {lost:?}");
        }
        for made in &self.world.compactions {
            let found = self.front.run(self.services.compaction.log.get(&made.id));
            let found = found.unwrap_or_else(|error| panic!("a compaction is lost: {error}"));
            assert_eq!(digest(found.view.as_bytes()), made.view, "a compaction has another view");
            let is_undone = found.undone_at_ms.is_some();
            assert!(is_undone || !made.is_undone, "an answered undo is lost");
        }
        for (thread_id, text) in &self.world.pins {
            let pins = self.front.run(async {
                self.services.checkpoint.choices.updates.of_thread(thread_id).await.unwrap()
            });
            assert!(pins.iter().any(|row| row.body.contains(text)), "a pin is lost: {text}");
        }
        self.check_jobs();
        self.check_archived();
        self.check_packs();
    }

    /// Everything is noticed, read, archived and run.
    pub(super) fn settle(&mut self) {
        self.finish_jobs();
        self.scan();
        self.scan();
        self.finish_forgetting();
        for _ in 0..4 {
            self.archive();
        }
        self.lift_bounds();
    }

    pub(super) fn check_all(&mut self) {
        self.check_rows();
        self.check_promises();
        self.same_as_from_scratch();
        self.check_all_archived("in the end");
        self.check_index();
    }

    /// A new store, filled from the same files at once, has the same content.
    fn same_as_from_scratch(&self) {
        let path = self.place.file("scratch.db");
        let roots = self.services.ingest.roots().to_vec();
        let (ours, scratch) = self.front.run(async {
            let (store, _) = Store::open(&path, 1).await.unwrap();
            let ingest = Ingest::start(IngestDeps {
                store,
                roots,
                events: std::sync::Arc::new(Nobody),
                archive: None,
                now_ms: std::sync::Arc::new(|| 1_763_700_000_000),
                limits: Limits::default(),
            });
            ingest.scan().await.unwrap();
            ingest.idle().await;
            let states =
                (states(self.services.ingest.tables()).await, states(ingest.tables()).await);
            ingest.stop().await;
            states
        });
        let paths = |states: &[State]| states.iter().map(|s| s.path.clone()).collect::<Vec<_>>();
        assert_eq!(paths(&ours), paths(&scratch), "files");
        for (ours, scratch) in ours.iter().zip(&scratch) {
            let wrong = ours.difference(scratch);
            assert_eq!(wrong, None, "{}: differs from reading it at once", ours.path);
        }
    }
}

fn client_id(line: &str) -> Option<String> {
    let line: serde_json::Value = serde_json::from_str(line).expect("a line of ours is torn");
    let id = line.pointer("/metadata/client_item_id")?.as_str()?;
    id.starts_with('i').then(|| id.to_owned())
}

struct Nobody;

impl IngestEvents for Nobody {
    fn file_stored(&self, _: &str) {}
    fn thread_updated(&self, _: &ThreadUpdated) {}
    fn warning(&self, _: &IngestWarning) {}
    fn files_gone(&self) {}
    fn store_rebuilt(&self, _: &std::path::Path) {}
}

/// Everything stored about a file, except numbers that may differ between two stores.
struct State {
    path: String,
    cursor: Cursor,
    thread_id: Option<String>,
    fold: Vec<u8>,
    items: Vec<ItemRow>,
}

impl State {
    /// The differences from the other store.
    fn difference(&self, other: &Self) -> Option<String> {
        let at = self.fold.iter().zip(&other.fold).position(|(ours, theirs)| ours != theirs);
        let around = |fold: &[u8]| {
            let start = at.unwrap_or(fold.len()).saturating_sub(60);
            String::from_utf8_lossy(&fold[start..fold.len().min(start + 160)]).into_owned()
        };
        if self.cursor != other.cursor {
            return Some(format!("cursor: {:?}, not {:?}", self.cursor, other.cursor));
        }
        if self.fold != other.fold {
            return Some(format!("fold: {}, not {}", around(&self.fold), around(&other.fold)));
        }
        let is_same = self.items == other.items && self.thread_id == other.thread_id;
        (!is_same).then(|| format!("{} items, not {}", self.items.len(), other.items.len()))
    }
}

async fn states((files, pages): (&FileTable, &PageTable)) -> Vec<State> {
    let mut states = Vec::new();
    for row in files.after(longhaul_store::FileId(0)).await.unwrap() {
        if row.gone_at_ms.is_some() {
            continue;
        }
        let (cursor, fold) = files.fold(row.file_id).await.unwrap().unwrap();
        let items = items(pages, &row).await;
        let cursor = Cursor { generation: 0, ..cursor };
        states.push(State { path: row.path, cursor, thread_id: row.thread_id, fold, items });
    }
    states.sort_by(|a, b| a.path.cmp(&b.path));
    states
}

async fn items(pages: &PageTable, row: &FileRow) -> Vec<ItemRow> {
    let (mut items, generation) = (Vec::new(), row.cursor.generation);
    for head in pages.heads(row.file_id, generation).await.unwrap() {
        let page = pages.get(row.file_id, generation, head.first_seq).await.unwrap();
        items.extend(page.unwrap_or_default());
    }
    items
}
