//! What the archive reports: damage, and what it does not keep.

use std::fs;

use longhaul_protocol::ErrorKind;
use longhaul_protocol::history::{Expand, ExpandParams, HistoryGet, HistoryGetParams};

use crate::archive::{THREAD, archived, expand, long, noticed, packs, restore, verify};
use crate::archive_damage::{remove, spoil, tear};
use crate::support::Daemon;

#[tokio::test]
async fn a_reader_of_damaged_text_says_that_the_archive_is_damaged_and_a_backup_repairs_it() {
    for damage in [spoil, tear] {
        let home = tempfile::tempdir().unwrap();
        let path = long(THREAD, "turbine", 60).write(home.path());
        let whole = fs::read(&path).unwrap();
        let (daemon, mut client) = Daemon::with_client(home, "").await;
        client.sync(THREAD).await;
        archived(&mut client).await;
        let params = HistoryGetParams { thread_id: THREAD.into(), ..Default::default() };
        let page = client.call::<HistoryGet>(params.clone()).await.unwrap();
        let last = page.origins.into_iter().filter_map(|origin| origin.handle).next_back().unwrap();
        remove(&path);
        noticed(&mut client, THREAD).await;
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
        remove(&path);
        noticed(&mut client, THREAD).await;
        assert!(expand(&mut client, &last).await.1);
        restore(&mut client, None).await.unwrap();
        assert!(fs::read(&path).unwrap() == whole);
    }
}
