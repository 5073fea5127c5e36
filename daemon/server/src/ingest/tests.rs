//! Memory used for files that come and go.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use longhaul_core::fold::Source;
use longhaul_store::{FileTable, PageTable, Store};

use super::{Ingest, IngestDeps, IngestEvents, IngestWarning, Limits, NowMs, Root, ThreadUpdated};

const FILES: usize = 600;
const LEFT: usize = 20;
const PATIENCE: Duration = Duration::from_secs(60);

/// What a simulation does in place of the file system, and inspects.
impl Ingest {
    pub(crate) fn notice(&self, event: notify::Event) {
        self.shared.hints.on_event(Ok(event));
    }

    pub(crate) fn tables(&self) -> (&FileTable, &PageTable) {
        (&self.shared.files, &self.shared.pages)
    }

    /// Files that are held in memory, and for how many there is room.
    pub(crate) fn held_files(&self) -> (usize, usize) {
        let entries = self.shared.catalogue.lock();
        (entries.len(), entries.capacity())
    }

    pub(crate) fn roots(&self) -> &[Root] {
        &self.shared.roots
    }
}

struct NoEvents;

impl IngestEvents for NoEvents {
    fn file_stored(&self, _: &str) {}
    fn thread_updated(&self, _: &ThreadUpdated) {}
    fn warning(&self, _: &IngestWarning) {}
    fn files_gone(&self) {}
    fn store_rebuilt(&self, _: &Path) {}
}

pub(super) async fn start_at(home: &Path) -> (Store, Ingest) {
    start_with_clock(home, Arc::new(|| 1_764_000_000_000)).await
}

async fn start_with_clock(home: &Path, now_ms: NowMs) -> (Store, Ingest) {
    let (store, _) = Store::open(&home.join("longhaul.db"), 1).await.unwrap();
    let deps = IngestDeps {
        store: store.clone(),
        roots: Root::of(Source::Codex, home),
        events: Arc::new(NoEvents),
        archive: None,
        now_ms,
        limits: Limits { scan_period: Duration::from_secs(3_600), ..Limits::default() },
    };
    (store, Ingest::start(deps))
}

async fn settle(ingest: &Ingest) {
    ingest.settle(PATIENCE).await.unwrap();
}

pub(super) fn path(home: &Path, number: usize) -> PathBuf {
    let id = format!("01a1fb8b-e82f-7561-87b0-{number:012x}");
    home.join(format!("sessions/rollout-2025-11-21T09-00-00-{id}.jsonl"))
}

pub(super) fn text(number: usize, words: &str) -> String {
    let meta = format!(r#"{{"id":"01a1fb8b-e82f-7561-87b0-{number:012x}","cwd":"/w"}}"#);
    let message = format!(
        r#"{{"type":"message","role":"user","content":[{{"type":"input_text","text":"{words}"}}]}}"#
    );
    let line = |kind: &str, payload: &str| {
        format!(
            "{{\"timestamp\":\"2025-11-21T09:00:00.000Z\",\"type\":\"{kind}\",\"payload\":{payload}}}\n"
        )
    };
    line("session_meta", &meta) + &line("response_item", &message)
}

async fn generation(store: &Store, path: &Path) -> (u64, bool) {
    let row = store.files.by_path(path.to_str().unwrap()).await.unwrap().unwrap();
    (row.cursor.generation, row.gone_at_ms.is_some())
}

#[tokio::test(flavor = "multi_thread")]
async fn deleted_files_take_no_memory_and_may_reappear() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().canonicalize().unwrap();
    fs::create_dir(home.join("sessions")).unwrap();
    for number in 0..FILES {
        fs::write(path(&home, number), text(number, "Do it.")).unwrap();
    }
    let (store, ingest) = start_at(&home).await;
    settle(&ingest).await;
    assert_eq!(ingest.held_files().0, FILES);
    let lines = ingest.progress().counts.lines;
    assert_eq!(lines, 2 * FILES as u64);

    let away = home.join("away.jsonl");
    fs::rename(path(&home, FILES - 1), &away).unwrap();
    for number in LEFT..FILES - 1 {
        fs::remove_file(path(&home, number)).unwrap();
    }
    // The first listing marks them gone, the second drops them.
    settle(&ingest).await;
    settle(&ingest).await;
    let (held, room) = ingest.held_files();
    assert!(held == LEFT && room <= 4 * LEFT.next_power_of_two(), "{held} files, room for {room}");
    assert_eq!(ingest.progress().counts.lines, lines, "still counted");
    ingest.stop().await;

    // A later daemon does not load them until they exist again.
    let (store, ingest) = {
        drop(store);
        start_at(&home).await
    };
    settle(&ingest).await;
    assert_eq!(ingest.held_files().0, LEFT);
    assert_eq!(ingest.progress().counts.lines, lines);
    let (same, other) = (path(&home, FILES - 1), path(&home, LEFT));
    assert_eq!(generation(&store, &same).await, (1, true));
    fs::rename(&away, &same).unwrap();
    fs::write(&other, text(LEFT, "Do something else.")).unwrap();
    settle(&ingest).await;
    assert_eq!(generation(&store, &same).await, (1, false), "as it was");
    assert_eq!(generation(&store, &other).await, (2, false), "another one in its place");
    assert_eq!(ingest.held_files().0, LEFT + 2);
    assert_eq!(ingest.progress().counts.lines, lines);
    let read = text(LEFT, "Do something else.").len() as u64;
    assert_eq!(ingest.progress().bytes_done, read, "what came back unchanged was not read");
    ingest.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thread_request_at_start_does_not_wait_for_the_first_listing() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().canonicalize().unwrap();
    fs::create_dir(home.join("sessions")).unwrap();
    let (rests, grown) = (path(&home, 0), path(&home, 1));
    fs::write(&rests, text(0, "first")).unwrap();
    fs::write(&grown, text(1, "first")).unwrap();
    let (_, ingest) = start_at(&home).await;
    settle(&ingest).await;
    ingest.stop().await;
    let more = text(1, "second");
    fs::write(&grown, text(1, "first") + more.lines().last().unwrap() + "\n").unwrap();

    // A listing reads the clock first, so it blocks here.
    let (open, gate) = mpsc::channel::<()>();
    let gate = Mutex::new(gate);
    let now_ms = move || {
        gate.lock().unwrap().recv().ok();
        1_764_000_000_000
    };
    let (store, ingest) = start_with_clock(&home, Arc::new(now_ms)).await;
    let id = |number: usize| format!("01a1fb8b-e82f-7561-87b0-{number:012x}");
    ingest.read_thread(&id(0), PATIENCE).await.unwrap();
    assert_eq!(ingest.progress().last_scan_at_ms, 0, "listed");

    drop(open);
    ingest.read_thread(&id(1), PATIENCE).await.unwrap();
    let row = store.files.by_path(grown.to_str().unwrap()).await.unwrap().unwrap();
    assert_eq!(row.cursor.offset, fs::metadata(&grown).unwrap().len());
    ingest.stop().await;
}
