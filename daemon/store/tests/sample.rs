//! Hand-made rows for the tests.

use longhaul_core::digest::Digest128;
use longhaul_core::fold::{Fold, Source};
use longhaul_core::item::{ItemKind, ItemRow};
use longhaul_core::job::{self, JobKey, JobRequest, Moment};
use longhaul_core::memory::edits::Edits;
use longhaul_store::{
    BaseState, CompactionRow, Cursor, FileCommit, FileId, FileStat, Generation, ItemPage,
    OpenReport, Store, StoreError, UpdateRow,
};

pub struct Temp {
    pub folder: tempfile::TempDir,
}

impl Temp {
    pub fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    /// A new database, and its folder.
    pub async fn opened() -> (Self, Store) {
        let temp = Self::new();
        let (store, _) = temp.open().await;
        (temp, store)
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

pub fn at(ms: u64) -> Moment {
    Moment { wall_ms: ms.cast_signed(), boot: "b".to_owned(), boot_ms: ms }
}

pub fn request(key: &JobKey, input: &str) -> JobRequest {
    let (input, payload) = (input.to_owned(), String::new());
    JobRequest { key: key.clone(), input, payload, priority: 0, urgent: false }
}

/// Adds a job, or asks for it again.
pub async fn ask(store: &Store, request: JobRequest) -> Result<(), StoreError> {
    let key = request.key.clone();
    let asked = move |found| (Some(job::request(found, request, &at(1))), ());
    store.jobs.decide(&key, asked).await
}

pub fn update(body: &str) -> UpdateRow {
    UpdateRow { update_id: 0, seq: 1, created_at_ms: 1, body: body.to_owned() }
}

pub fn compaction(compaction_id: &str, thread_id: Option<&str>) -> CompactionRow {
    CompactionRow {
        compaction_id: compaction_id.to_owned(),
        thread_id: thread_id.map(str::to_owned),
        created_at_ms: 1,
        strategy_used: "checkpoint".to_owned(),
        phase: "standalone".to_owned(),
        trigger: "manual".to_owned(),
        reason: "context_limit".to_owned(),
        requests: 2,
        tokens_spent: 1_234,
        tokens_before: 900,
        tokens_after: 90,
        seq: 5,
        duration_ms: 1,
        undone_at_ms: None,
    }
}

/// A generation of memory with this text in its one file.
pub fn generation(number: u64, text: &str) -> Generation {
    Generation {
        generation: number,
        at_ms: 9,
        input: number.to_string(),
        threads: 1,
        handbook: "{}".to_owned(),
        edits: Edits::default(),
        files: [("MEMORY.md".to_owned(), text.to_owned())].into(),
        found: None,
    }
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
