//! Hand-made rows for the tests.

use longhaul_core::digest::Digest128;
use longhaul_core::fold::{Fold, Source};
use longhaul_core::item::{ItemKind, ItemRow};
use longhaul_store::{
    BaseState, Cursor, FileCommit, FileId, FileStat, ItemPage, OpenReport, Store,
};

pub struct Temp {
    pub folder: tempfile::TempDir,
}

impl Temp {
    pub fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub fn path(&self) -> std::path::PathBuf {
        self.folder.path().join("longhaul.db")
    }

    pub async fn open(&self) -> (Store, OpenReport) {
        Store::open(&self.path(), 1_000).await.unwrap()
    }
}

pub fn item(seq: u64) -> ItemRow {
    ItemRow {
        seq,
        offset: seq * 100,
        bytes: 99,
        kind: ItemKind::ToolCall,
        tokens: 25,
        digest: Digest128::of(&seq.to_be_bytes()),
        excerpt: format!("step {seq}"),
        call_id: None,
    }
}

pub async fn thread_count(store: &Store) -> usize {
    store.threads.with_prefix("", "", u32::MAX).await.unwrap().len()
}

pub async fn file_count(store: &Store) -> usize {
    store.files.after(FileId(0)).await.unwrap().len()
}

/// A file of `thread` folded up to line `items`, with all its pages.
pub fn file(path: &str, thread: &str, updated_at_ms: i64, items: u64) -> FileCommit {
    let fold = Fold::new(Source::Codex);
    let mut head = fold.head().clone();
    head.thread_id = Some(thread.into());
    head.cwd = Some(format!("/home/dev/{thread}"));
    head.updated_at_ms = updated_at_ms;
    head.items = items;
    let rows: Vec<ItemRow> = (0..items).map(item).collect();
    FileCommit {
        source: Source::Codex,
        path: path.into(),
        moved_from: None,
        archived: false,
        gone_at_ms: None,
        stat: FileStat { dev: u64::MAX, ino: 7, size: items * 100, mtime_ns: -5 },
        cursor: Cursor { generation: 1, offset: items * 100, ..Cursor::default() },
        base: BaseState::None,
        thread_id: Some(thread.into()),
        head,
        fold: fold.save().unwrap(),
        pages: rows.chunks(64).filter_map(ItemPage::of).collect(),
        observations: Vec::new(),
    }
}
