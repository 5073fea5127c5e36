//! What the archive reports: damage, and what it does not keep.

use std::fs;
use std::path::Path;

use longhaul_protocol::ErrorKind;
use longhaul_protocol::archive::{Forget, ForgetParams, OverviewResult, Restore, RestoreParams};
use longhaul_protocol::daemon::{NoParams, Reload};
use longhaul_protocol::history::{Expand, ExpandParams, HistoryGet, HistoryGetParams};

use crate::archive::{
    OTHER, THREAD, archived, archiving, expand, folder, long, lose, packs, restore, verify,
};
use crate::archive_damage::{spoil, tear};
use crate::support::{Client, Daemon, configure, found};

#[tokio::test]
async fn a_reader_of_damaged_text_says_that_the_archive_is_damaged_and_a_backup_repairs_it() {
    for damage in [spoil, tear] {
        let home = tempfile::tempdir().unwrap();
        let path = long(THREAD, "turbine", 60).write(home.path());
        let whole = fs::read(&path).unwrap();
        let (daemon, mut client) = archiving(home, THREAD).await;
        let params = HistoryGetParams { thread_id: THREAD.into(), ..Default::default() };
        let page = client.call::<HistoryGet>(params.clone()).await.unwrap();
        let last = page.origins.into_iter().filter_map(|origin| origin.handle).next_back().unwrap();
        lose(&mut client, THREAD, &path).await;
        damage(&packs(daemon.home.path())[0]);

        let handle = ExpandParams { handle: last.clone(), ..Default::default() };
        let expanded = client.call::<Expand>(handle).await.unwrap_err();
        let listed = client.call::<HistoryGet>(params).await.unwrap_err();
        for error in [expanded, listed, restore(&mut client, None).await.unwrap_err()] {
            assert_eq!(error.kind(), ErrorKind::ArchiveDamaged, "{error:?}");
            let hint = error.data.unwrap().hint.unwrap();
            assert!(hint.contains("verify repairs") && hint.contains("forget"), "{hint}");
        }

        fs::write(&path, &whole).unwrap();
        verify(&mut client).await;
        assert_eq!(verify(&mut client).await.damaged, 0, "the hint works");
        archived(&mut client).await;
        lose(&mut client, THREAD, &path).await;
        assert!(expand(&mut client, &last).await.1);
        restore(&mut client, None).await.unwrap();
        assert!(fs::read(&path).unwrap() == whole);
    }
}

/// Waits until the archive is up to date and in this state.
async fn kept(client: &mut Client, is_reached: impl Fn(&OverviewResult) -> bool) -> OverviewResult {
    found("the threads that the archive keeps", async || {
        Some(archived(client).await).filter(&is_reached)
    })
    .await
}

#[tokio::test]
async fn evicted_threads_are_counted_and_archived_again_under_wider_limits_only() {
    let home = tempfile::tempdir().unwrap();
    for number in 0..6 {
        let id = format!("019cadd3-0000-7000-8000-0000000006{number:02}");
        long(&id, &format!("engine{number}"), 200).write(home.path());
    }
    let (daemon, mut client) = Daemon::with_client(home, "").await;
    let full = kept(&mut client, |status| status.threads == 6).await;
    assert_eq!(full.evicted, 0);
    let home = daemon.stopped().await;
    let bytes = |path: &Path| fs::metadata(path).unwrap().len();
    let in_packs: u64 = packs(home.path()).iter().map(|path| bytes(path)).sum();
    let bound = bytes(&folder(home.path()).join("index.db")) + in_packs * 2 / 3;
    let narrow = format!("[archive]\nmax_bytes = {bound}\n");

    let (daemon, mut client) = Daemon::with_client(home, &narrow).await;
    let bounded = kept(&mut client, |status| status.evicted > 0).await;
    assert_eq!((bounded.threads + bounded.evicted, bounded.gone), (6, 0));
    let home = daemon.stopped().await;
    let (daemon, mut client) = Daemon::with_client(home, &narrow).await;
    let again = archived(&mut client).await;
    assert_eq!((again.threads, again.evicted), (bounded.threads, bounded.evicted));

    let home = daemon.stopped().await;
    let (daemon, mut client) = Daemon::with_client(home, "").await;
    kept(&mut client, |status| (status.threads, status.evicted) == (6, 0)).await;

    // The same without a restart.
    configure(daemon.home.path(), &narrow);
    client.call::<Reload>(NoParams {}).await.unwrap();
    kept(&mut client, |status| status.evicted > 0).await;
    configure(daemon.home.path(), "");
    client.call::<Reload>(NoParams {}).await.unwrap();
    kept(&mut client, |status| (status.threads, status.evicted) == (6, 0)).await;
}

#[tokio::test]
async fn forgetting_says_whether_it_removed_the_only_copy() {
    let home = tempfile::tempdir().unwrap();
    let gone = long(THREAD, "turbine", 10).write(home.path());
    long(OTHER, "compressor", 10).write(home.path());
    let (_daemon, mut client) = archiving(home, OTHER).await;
    lose(&mut client, THREAD, &gone).await;
    for (thread_id, is_only) in [(THREAD, true), (OTHER, false), (THREAD, false)] {
        let forgotten = client.call::<Forget>(ForgetParams { thread_id: thread_id.into() }).await;
        assert_eq!(forgotten.unwrap().only_copy, is_only, "{thread_id}");
    }
}

#[tokio::test]
async fn a_path_below_a_file_is_a_mistake_of_the_caller() {
    let home = tempfile::tempdir().unwrap();
    let path = long(THREAD, "turbine", 10).write(home.path());
    let (_daemon, mut client) = archiving(home, THREAD).await;
    let to = Some(path.join("codex/thread.jsonl").display().to_string());
    let params = RestoreParams { thread_id: THREAD.into(), to };
    let refused = client.call::<Restore>(params).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::InvalidParams, "{refused:?}");
}

#[tokio::test]
async fn a_folder_that_cannot_be_written_is_refused_with_the_systems_reason() {
    let (_daemon, mut client) = Daemon::reading(&long(THREAD, "turbine", 10), "").await;
    archived(&mut client).await;
    let to = Some("/proc/export/codex/thread.jsonl".to_owned());
    let params = RestoreParams { thread_id: THREAD.into(), to };
    let refused = client.call::<Restore>(params).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::InvalidParams, "{refused:?}");
    assert!(refused.message.contains("(os error"), "{refused:?}");
}
