//! Forgetting a thread with damaged packs, and after a kill.

use std::fs;

use longhaul_protocol::archive::{Forget, ForgetParams, Restore, RestoreParams};

use crate::archive::{THREAD, archived, long, noticed, packs, says};
use crate::archive_damage::{flip, remove, spoil, tear};
use crate::support::Daemon;

#[tokio::test]
async fn a_forgotten_thread_is_also_erased_from_a_damaged_pack() {
    for damage in [flip, tear] {
        let home = tempfile::tempdir().unwrap();
        long(THREAD, "turbine", 60).write(home.path());
        let (daemon, mut client) = Daemon::with_client(home, "").await;
        client.sync(THREAD).await;
        archived(&mut client).await;
        damage(&packs(daemon.home.path())[0]);
        client.call::<Forget>(ForgetParams { thread_id: THREAD.into() }).await.unwrap();
        archived(&mut client).await;
        assert!(packs(daemon.home.path()).is_empty(), "{:?}", packs(daemon.home.path()));
    }
}

#[tokio::test]
async fn forgetting_a_thread_with_a_damaged_pack_keeps_the_text_of_all_other_packs() {
    let mut home = tempfile::tempdir().unwrap();
    let mut forgotten = long(THREAD, "turbine", 10);
    let path = forgotten.write(home.path());
    let mut others = Vec::new();
    for number in 0..3 {
        // One pass over both transcripts, so both are in one pack.
        let id = format!("019cadd3-0000-7000-8000-0000000004{number:02}");
        let other = long(&id, &format!("engine{number}"), 10).write(home.path());
        others.push((id, fs::read(&other).unwrap(), other));
        let seq = forgotten.seq();
        forgotten.message("user", &format!("Step {number}. {}", "words ".repeat(1_000)));
        forgotten.append(&path, seq);
        let (daemon, mut client) = Daemon::with_client(home, "").await;
        archived(&mut client).await;
        home = daemon.stopped().await;
        assert_eq!(packs(home.path()).len(), number + 1);
    }
    let (daemon, mut client) = Daemon::with_client(home, "").await;
    archived(&mut client).await;
    for (id, _, path) in &others {
        remove(path);
        noticed(&mut client, id).await;
    }
    spoil(&packs(daemon.home.path())[1]);
    client.call::<Forget>(ForgetParams { thread_id: THREAD.into() }).await.unwrap();
    assert!(!says(daemon.home.path(), "turbine") && !says(daemon.home.path(), THREAD));
    for (number, (id, whole, path)) in others.iter().enumerate() {
        let restored =
            client.call::<Restore>(RestoreParams { thread_id: id.clone(), to: None }).await;
        if number == 1 {
            assert!(restored.is_err() && !path.exists(), "it was in the damaged pack");
            continue;
        }
        restored.unwrap();
        assert!(fs::read(path).unwrap() == *whole, "{number}");
    }
}
