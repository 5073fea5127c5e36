use std::fs;
use std::path::{Path, PathBuf};

use longhaul_core::thread::Source;
use longhaul_protocol::thread::IndexState;
use longhaul_store::Store;

use super::*;
use crate::clock::Clock;
use crate::discovery::scan::Root;
use crate::events::EventHub;
use crate::ingest::{IngestDeps, Limits};
use crate::service::ingest_reports::IngestReports;
use crate::service::search::FullText;

/// The items of the index, and the generation and lines of the file that it and this database have, once it is at rest.
async fn indexed(
    (home, database): (&Path, &str),
    transcript: &Path,
) -> (u64, Option<(u64, u64)>, Option<(u64, u64)>) {
    let (store, _) = Store::open(&home.join(database), 1).await.unwrap();
    let (files, pages) = (store.files.clone(), store.pages.clone());
    let progress = Arc::<IndexProgress>::default();
    let events = EventHub::new(Clock::manual(1_000_000));
    let ingest = Arc::new(Ingest::start(IngestDeps {
        store,
        roots: Root::of(Source::Codex, &home.join(".codex")),
        events: Arc::new(IngestReports {
            events,
            index: Arc::clone(&progress),
            archive: Arc::default(),
        }),
        archive: None,
        now_ms: Arc::new(|| 1_000_000),
        limits: Limits::default(),
    }));
    ingest.scan().await.unwrap();
    ingest.idle().await;
    let readers = (Arc::clone(&ingest), Arc::new(Archive::new(home)));
    let full_text = FullText::start(home, files.clone(), pages, readers, Arc::clone(&progress));
    let rest = async {
        while full_text.index().is_none() || progress.state().state != IndexState::Idle {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), rest).await.unwrap();
    let (index, path) = (full_text.index().unwrap(), transcript.to_str().unwrap());
    let items = index.items().await.unwrap();
    let known =
        index.file_by_path(path).await.unwrap().map(|file| (file.generation, file.next_seq));
    let stored = files.by_path(path).await.unwrap().map(|file| file.cursor);
    let stored = stored.map(|cursor| (cursor.generation, cursor.next_seq));
    full_text.stop().await;
    ingest.stop().await;
    (items, known, stored)
}

fn place() -> (tempfile::TempDir, PathBuf, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().canonicalize().unwrap();
    let name = "rollout-2026-03-02T09-14-07-019cadd3-0000-7000-8000-000000000001.jsonl";
    let transcript = home.join(".codex/sessions/2026/03/02").join(name);
    fs::create_dir_all(transcript.parent().unwrap()).unwrap();
    (folder, home, transcript)
}

fn write(transcript: &Path, messages: usize, text: &str) {
    let meta = r#"{"timestamp":"2026-03-02T09:14:07.000Z","type":"session_meta","payload":{"id":"019cadd3-0000-7000-8000-000000000001","cwd":"/w"}}"#;
    let payload = crate::service::tests::fixture::message("user", text);
    let line = serde_json::json!({
        "timestamp": "2026-03-02T09:15:00.000Z", "type": "response_item", "payload": payload,
    });
    fs::write(transcript, format!("{meta}\n{}", format!("{line}\n").repeat(messages))).unwrap();
}

#[tokio::test]
async fn another_shorter_text_of_a_new_database_is_indexed_though_its_generation_is_the_same() {
    let (_folder, home, transcript) = place();
    write(&transcript, 9, "Repair the turbine.");
    let before = indexed((&home, "lost.db"), &transcript).await;
    assert_eq!(before, (9, Some((1, 10)), Some((1, 10))));
    write(&transcript, 3, "Repair the nozzle.");
    let after = indexed((&home, "new.db"), &transcript).await;
    assert_eq!(after, (3, Some((1, 4)), Some((1, 4))));
}

#[tokio::test]
async fn the_same_text_under_another_generation_counts_as_indexed() {
    let (_folder, home, transcript) = place();
    write(&transcript, 9, "Repair the turbine.");
    indexed((&home, "a.db"), &transcript).await;
    write(&transcript, 3, "Repair the nozzle.");
    indexed((&home, "b.db"), &transcript).await;
    write(&transcript, 9, "Repair the turbine.");
    let read_twice = indexed((&home, "b.db"), &transcript).await;
    assert_eq!(read_twice, (9, Some((2, 10)), Some((2, 10))));
    let read_once = indexed((&home, "a.db"), &transcript).await;
    assert_eq!(read_once, (9, Some((1, 10)), Some((1, 10))));
}

#[tokio::test]
async fn a_moved_text_counts_as_indexed_under_another_generation() {
    let (_folder, home, transcript) = place();
    let moved = home.join(".codex/archived_sessions").join(transcript.file_name().unwrap());
    fs::create_dir_all(moved.parent().unwrap()).unwrap();
    write(&moved, 3, "Repair the nozzle.");
    indexed((&home, "b.db"), &moved).await;
    fs::remove_file(&moved).unwrap();
    write(&transcript, 9, "Repair the turbine.");
    indexed((&home, "a.db"), &transcript).await;
    fs::rename(&transcript, &moved).unwrap();
    let after = indexed((&home, "b.db"), &moved).await;
    assert_eq!(after, (9, Some((2, 10)), Some((2, 10))));
}
