use std::path::{Path, PathBuf};

use longhaul_core::thread::Source;
use longhaul_store::StoreError;

use super::*;

/// A worker besides the one of an idle ingest.
async fn worker(home: &Path) -> (Worker, CancellationToken) {
    let ingest = crate::ingest::tests::start_at(home).await.1;
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
    let (mut worker, cancel) = worker(&home).await;
    worker.requeue(restart("/a"));
    worker.scan().await.unwrap();
    let queued = worker.next_slice();
    assert_eq!(queued.iter().map(|job| job.path.as_str()).collect::<Vec<_>>(), ["/a"]);

    worker.hinted.extend(queued);
    assert_eq!(worker.rechecks.next_due(), None);
    cancel.cancel();
    worker.on_refusal(&StoreError::Busy { path: home }).await;
    assert!(worker.next_slice().is_empty());
    assert!(worker.rechecks.next_due().is_some(), "after a refusal");
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
