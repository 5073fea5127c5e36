use std::path::{Path, PathBuf};

use longhaul_core::thread::Source;
use longhaul_store::StoreError;

use super::*;
use crate::ingest::tests::{path, start_at, text};

/// A worker besides the one of an idle ingest.
async fn worker(home: &Path) -> (Worker, CancellationToken) {
    let ingest = start_at(home).await.1;
    ingest.settle(Duration::from_secs(60)).await.unwrap();
    let (_, requests) = mpsc::channel(1);
    let cancel = CancellationToken::new();
    (Worker::new(Arc::clone(&ingest.shared), requests, cancel.clone()), cancel)
}

fn restart(path: &str) -> Job {
    let (source, archived, moved_from) = (Source::Codex, false, None);
    Job { path: path.into(), source, archived, restart: true, moved_from, archived_text: None }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_to_read_again_is_not_forgotten() {
    let folder = tempfile::tempdir().unwrap();
    let home: PathBuf = folder.path().canonicalize().unwrap();
    std::fs::create_dir(home.join("sessions")).unwrap();
    std::fs::write(path(&home, 0), text(0, "Do it.")).unwrap();
    let (mut worker, cancel) = worker(&home).await;
    let file = path(&home, 0).to_str().unwrap().to_owned();
    let queued = |worker: &mut Worker| {
        worker.next_slice().into_iter().map(|job| job.path).collect::<Vec<_>>()
    };
    worker.requeue(restart(&file));
    worker.scan().await.unwrap();
    assert_eq!(queued(&mut worker), [file.as_str()]);

    worker.hinted.push_back(restart(&file));
    cancel.cancel();
    worker.on_refusal(&StoreError::Busy { path: home }).await;
    worker.scan().await.unwrap();
    assert_eq!(queued(&mut worker), [file.as_str()], "after a refusal");
}

#[tokio::test(flavor = "multi_thread")]
async fn many_unreadable_files_do_not_silence_a_refusal_of_the_store() {
    let folder = tempfile::tempdir().unwrap();
    let (mut worker, _cancel) = worker(&folder.path().canonicalize().unwrap()).await;
    for number in 0..2_000 {
        worker.warn(WarningKind::Unreadable, Some(format!("/{number}")), "permission denied");
    }
    assert_eq!(worker.warned.len(), 1_024);
    worker.warn(WarningKind::StoreRefused, None, "the disk is full");
    assert!(worker.warned.contains(&(WarningKind::StoreRefused, None)));
}

/// The texts of two transcripts, the second one a fork of the first.
fn base_and_fork() -> (String, String) {
    let base = text(0, "Do it.");
    let cut = format!(
        r#""cwd":"/w","history_base":{{"thread_id":"01a1fb8b-e82f-7561-87b0-000000000000","end_ordinal_exclusive":2,"end_byte_offset":{}}}"#,
        base.len()
    );
    let fork = text(1, "Do it otherwise.").replacen(r#""cwd":"/w""#, &cut, 1);
    (base, fork)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fork_whose_base_has_appeared_is_not_forgotten() {
    let folder = tempfile::tempdir().unwrap();
    let home: PathBuf = folder.path().canonicalize().unwrap();
    std::fs::create_dir(home.join("sessions")).unwrap();
    let (base, fork) = base_and_fork();
    std::fs::write(path(&home, 1), fork).unwrap();
    let (_, ingest) = start_at(&home).await;
    ingest.settle(Duration::from_secs(60)).await.unwrap();
    ingest.stop().await;
    let (_, requests) = mpsc::channel(1);
    let cancel = CancellationToken::new();
    let mut worker = Worker::new(Arc::clone(&ingest.shared), requests, cancel.clone());
    let file = path(&home, 1).to_str().unwrap().to_owned();
    let is_queued =
        |worker: &Worker| worker.hinted.iter().chain(&worker.scanned).any(|job| job.path == file);
    worker.scan().await.unwrap();
    assert!(!is_queued(&worker), "without its base");
    std::fs::write(path(&home, 0), base).unwrap();
    worker.scan().await.unwrap();
    assert!(is_queued(&worker));
    worker.scan().await.unwrap();
    assert!(is_queued(&worker), "after another listing");
    cancel.cancel();
    worker.on_refusal(&StoreError::Busy { path: home }).await;
    worker.scan().await.unwrap();
    assert!(is_queued(&worker), "after a refusal");
}

/// The newest file is read first, and what it continues is found in no name.
#[tokio::test(flavor = "multi_thread")]
async fn a_fork_is_joined_to_a_base_that_is_read_after_it() {
    let folder = tempfile::tempdir().unwrap();
    let home: PathBuf = folder.path().canonicalize().unwrap();
    std::fs::create_dir(home.join("sessions")).unwrap();
    let (base, fork) = base_and_fork();
    std::fs::write(home.join("sessions/rollout-2025-11-21T00-00-00-copy.jsonl"), base).unwrap();
    std::fs::write(path(&home, 1), fork).unwrap();
    let (_, ingest) = start_at(&home).await;
    ingest.wait_for_first_read(Duration::from_secs(60)).await;
    ingest.idle().await;
    let progress = ingest.progress();
    assert_eq!((progress.counts.lines, progress.bases_missing), (4, 0), "{progress:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_files_that_seem_to_be_a_missing_one_each_has_its_items() {
    let folder = tempfile::tempdir().unwrap();
    let home: PathBuf = folder.path().canonicalize().unwrap();
    let first = path(&home, 0);
    let copies = ["sessions/2025/11/21", "archived_sessions"].map(|at| {
        std::fs::create_dir_all(home.join(at)).unwrap();
        home.join(at).join(first.file_name().unwrap())
    });
    std::fs::write(&first, text(0, "Do it.")).unwrap();
    let (store, ingest) = start_at(&home).await;
    ingest.settle(Duration::from_secs(60)).await.unwrap();
    ingest.stop().await;
    let (_, requests) = mpsc::channel(1);
    let mut worker = Worker::new(Arc::clone(&ingest.shared), requests, CancellationToken::new());
    for copy in &copies {
        std::fs::copy(&first, copy).unwrap();
    }
    std::fs::remove_file(&first).unwrap();
    worker.scan().await.unwrap();
    worker.shared.stop.store(false, Ordering::Relaxed);
    let slice = worker.next_slice();
    assert_eq!(slice.len(), 2);
    worker.work(slice).await;
    for copy in &copies {
        let row = store.files.by_path(copy.to_str().unwrap()).await.unwrap().unwrap();
        let rows = store.pages.rows_from(row.file_id, row.cursor.generation, 0, 8).await.unwrap();
        assert_eq!(rows.len() as u64, row.head.unwrap().items, "{}", copy.display());
    }
}
