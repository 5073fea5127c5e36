//! Many files.

use super::rig::{Rig, WAIT, append, name, session, thread, turn_of};
use longhaul_daemon::ingest::Limits;

#[tokio::test(flavor = "multi_thread")]
async fn of_five_thousand_files_only_changed_ones_are_read_again() {
    let rig = Rig::with(Limits::default()).await;
    let paths: Vec<_> = (0..5_000).map(|n| rig.write(&name(n), session(&thread(n), 2))).collect();
    rig.settle().await;
    assert_eq!(rig.threads().await, 5_000);
    let progress = rig.ingest.progress();
    assert_eq!((progress.counts.lines, progress.counts.malformed), (35_000, 0));
    assert_eq!(progress.sources[0].files, 5_000);
    let more = turn_of("t", 9);
    append(&paths[17], &more);
    rig.settle().await;
    assert_eq!(rig.ingest.progress().bytes_done - progress.bytes_done, more.len() as u64);
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_do_not_wait_for_many_files_after_a_start() {
    let folder = tempfile::tempdir().unwrap();
    for n in 0..4_000 {
        let path = folder.path().join("home/sessions").join(name(n));
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, session(&thread(n), 2)).unwrap();
    }
    let rig = Rig::over(folder, Limits::default()).await;
    rig.ingest.wait_for_first_read(WAIT).await;
    assert!(rig.ingest.progress().is_catching_up, "it waited for all files");
    rig.settle().await;
    assert_eq!(rig.ingest.progress().sources[0].threads, 4_000);
}
