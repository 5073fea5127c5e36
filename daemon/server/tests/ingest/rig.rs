//! A home with transcripts, a store, and an ingest over both.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use longhaul_core::fold::{Fold, Source};
use longhaul_core::item::ItemRow;
use longhaul_daemon::ingest::{
    Ingest, IngestDeps, IngestEvents, IngestWarning, Limits, Root, ThreadUpdated, WarningKind,
};
use longhaul_store::{Cursor, FileRow, Store};
use serde_json::json;

use crate::support::message;

pub const WAIT: Duration = Duration::from_secs(60);

pub struct Rig {
    pub folder: tempfile::TempDir,
    pub store: Store,
    pub ingest: Ingest,
    pub events: Arc<Recorder>,
}

#[derive(Default)]
pub struct Recorder {
    pub stored: Mutex<Vec<String>>,
    pub updates: Mutex<Vec<ThreadUpdated>>,
    pub warnings: Mutex<Vec<WarningKind>>,
    pub rebuilt: Mutex<Vec<PathBuf>>,
}

impl IngestEvents for Recorder {
    fn file_stored(&self, path: &str) {
        self.stored.lock().unwrap().push(path.to_owned());
    }

    fn thread_updated(&self, update: &ThreadUpdated) {
        self.updates.lock().unwrap().push(update.clone());
    }

    fn warning(&self, warning: &IngestWarning) {
        self.warnings.lock().unwrap().push(warning.kind);
    }

    fn files_gone(&self) {}

    fn store_rebuilt(&self, moved_to: &Path) {
        self.rebuilt.lock().unwrap().push(moved_to.to_owned());
    }
}

/// Small bounds, so that small files reach them; no period, so that only the test's calls scan.
pub fn limits() -> Limits {
    Limits {
        line_bytes_max: 64 << 10,
        batch_bytes: 8 << 10,
        batch_pages: 4,
        scan_period: Duration::from_secs(3_600),
        debounce: Duration::from_millis(1),
        rest: Duration::from_millis(1),
    }
}

impl Rig {
    pub async fn new() -> Self {
        Self::with(limits()).await
    }

    pub async fn with(limits: Limits) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("home/sessions")).unwrap();
        fs::create_dir_all(folder.path().join("home/archived_sessions")).unwrap();
        Self::over(folder, limits).await
    }

    pub async fn over(folder: tempfile::TempDir, limits: Limits) -> Self {
        let roots = Root::of(Source::Codex, &folder.path().join("home"));
        Self::of(folder, roots, limits).await
    }

    pub async fn of(folder: tempfile::TempDir, roots: Vec<Root>, limits: Limits) -> Self {
        let database = folder.path().join("longhaul.db");
        let (store, ingest, events) = start(&database, roots, limits).await;
        Self { folder, store, ingest, events }
    }

    pub fn sessions(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join("home/sessions")
    }

    pub fn archive(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join("home/archived_sessions")
    }

    pub fn write(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.sessions().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    pub async fn settle(&self) {
        self.ingest.settle(WAIT).await.unwrap();
    }

    pub async fn file(&self, path: &Path) -> FileRow {
        self.store.files.by_path(path.to_str().unwrap()).await.unwrap().unwrap()
    }

    /// The number of threads.
    pub async fn threads(&self) -> usize {
        self.store.threads.with_prefix("", "", u32::MAX).await.unwrap().len()
    }

    /// Ingests the same files into an empty store and requires the same state.
    pub async fn assert_same_from_scratch(&self) {
        let database = self.folder.path().join("scratch.db");
        for suffix in ["", "-wal", "-shm"] {
            fs::remove_file(self.folder.path().join(format!("scratch.db{suffix}"))).ok();
        }
        let roots = Root::of(Source::Codex, &self.folder.path().join("home"));
        let whole = Limits { line_bytes_max: limits().line_bytes_max, ..Limits::default() };
        let (store, ingest, _) = start(&database, roots, whole).await;
        ingest.settle(WAIT).await.unwrap();
        ingest.stop().await;
        let (ours, scratch) = (state(&self.store).await, state(&store).await);
        assert_eq!(ours.len(), scratch.len(), "files");
        for (ours, scratch) in ours.iter().zip(&scratch) {
            assert_eq!(ours, scratch);
        }
    }
}

async fn start(
    database: &Path,
    roots: Vec<Root>,
    limits: Limits,
) -> (Store, Ingest, Arc<Recorder>) {
    let (store, _) = Store::open(database, 1).await.unwrap();
    let events = Arc::new(Recorder::default());
    let ingest = ingest_with(store.clone(), roots, limits, Arc::clone(&events));
    (store, ingest, events)
}

/// An ingest whose events are ignored.
pub fn ingest(store: Store, roots: Vec<Root>, limits: Limits) -> Ingest {
    ingest_with(store, roots, limits, Arc::default())
}

fn ingest_with(store: Store, roots: Vec<Root>, limits: Limits, events: Arc<Recorder>) -> Ingest {
    let clock = AtomicI64::new(1_764_000_000_000);
    Ingest::start(IngestDeps {
        archive: None,
        store,
        roots,
        events,
        now_ms: Arc::new(move || clock.fetch_add(1, Ordering::Relaxed)),
        limits,
    })
}

/// Everything stored about a file, except numbers that may differ between two stores.
#[derive(Debug, PartialEq)]
pub struct State {
    path: String,
    cursor: Cursor,
    thread_id: Option<String>,
    fold: Fold,
    items: Vec<ItemRow>,
    is_current: bool,
}

pub async fn state(store: &Store) -> Vec<State> {
    let mut states = Vec::new();
    for row in store.files.after(longhaul_store::FileId(0)).await.unwrap() {
        if row.gone_at_ms.is_some() {
            continue;
        }
        let (cursor, fold) = store.files.fold(row.file_id).await.unwrap().unwrap();
        let is_current = match &row.thread_id {
            Some(thread) => {
                store.threads.get(thread).await.unwrap().unwrap().file.file_id == row.file_id
            }
            None => false,
        };
        states.push(State {
            items: items(store, &row).await,
            path: row.path,
            cursor: Cursor { generation: 0, ..cursor },
            thread_id: row.thread_id,
            fold: Fold::load(&fold).unwrap(),
            is_current,
        });
    }
    states.sort_by(|a, b| a.path.cmp(&b.path));
    states
}

/// All item rows of a file; all pages except the last must be full.
pub async fn items(store: &Store, row: &FileRow) -> Vec<ItemRow> {
    let mut items = Vec::new();
    let heads = store.pages.heads(row.file_id, row.cursor.generation).await.unwrap();
    for (at, head) in heads.iter().enumerate() {
        assert!(head.items == 64 || at + 1 == heads.len(), "a page in the middle is not full");
        let page =
            store.pages.get(row.file_id, row.cursor.generation, head.first_seq).await.unwrap();
        let page = page.unwrap();
        assert_eq!(page.len() as u64, head.items);
        items.extend(page);
    }
    items
}

/// A hand-made session: the meta line, then `turns` turns of three lines.
pub fn session(thread: &str, turns: usize) -> String {
    let mut text = meta(thread, "");
    for turn in 0..turns {
        text.push_str(&turn_of(thread, turn));
    }
    text
}

pub fn meta(thread: &str, more: &str) -> String {
    format!(
        "{{\"timestamp\":\"2025-11-21T09:00:00.000Z\",\"type\":\"session_meta\",\"payload\":\
         {{\"id\":\"{thread}\",\"timestamp\":\"2025-11-21T09:00:00.000Z\",\"cwd\":\"/home/dev/app\",\
         \"originator\":\"codex_cli_rs\",\"cli_version\":\"0.98.0\"{more}}}}}\n"
    )
}

pub fn turn_of(thread: &str, turn: usize) -> String {
    let (minute, second) = (turn / 60 % 60, turn % 60);
    let output = json!({"output": format!("ok {turn}"), "metadata": {"exit_code": 0}}).to_string();
    let call = json!({"command": ["cargo", "test"]}).to_string();
    let call_id = format!("call_{turn}");
    let payloads = [
        message("user", &format!("Please do step {turn} of {thread}.")),
        json!({"type": "function_call", "name": "shell", "call_id": call_id, "arguments": call}),
        json!({"type": "function_call_output", "call_id": call_id, "output": output}),
    ];
    let line = |payload| {
        let timestamp = format!("2025-11-21T09:{minute:02}:{second:02}.000Z");
        format!(
            "{}\n",
            json!({"timestamp": timestamp, "type": "response_item", "payload": payload})
        )
    };
    payloads.map(line).concat()
}

pub fn thread(n: u32) -> String {
    format!("01a1fb8b-e82f-7561-87b0-{n:012x}")
}

pub fn name(n: u32) -> String {
    format!("2025/11/21/rollout-2025-11-21T09-00-00-{}.jsonl", thread(n))
}

pub fn append(path: &Path, text: impl AsRef<[u8]>) {
    let mut file = fs::OpenOptions::new().append(true).open(path).unwrap();
    file.write_all(text.as_ref()).unwrap();
}
