//! The archive's bounds when an eviction fails or is interrupted, and when threads share text.

use std::fs;
use std::path::{Path, PathBuf};

use longhaul_protocol::archive::{ArchiveState, Overview, OverviewParams, OverviewResult};
use longhaul_protocol::daemon::{NoParams, Reload};

use crate::archive::{archived, folder, listed, noise, noticed, packs, verify};
use crate::archive_damage::remove;
use crate::support::rollout::Rollout;
use crate::support::{Chance, Client, Daemon, PATIENCE, Process, configure, found, pause};

fn numbered(number: u32) -> String {
    format!("019cadd3-0000-7000-8000-0000000008{number:02}")
}

fn ids(numbers: &[u32]) -> Vec<String> {
    numbers.iter().map(|number| numbered(*number)).collect()
}

/// A thread of `kilobytes` that hardly compress. Threads with higher numbers grew later.
fn noisy(home: &Path, number: u32, kilobytes: u32) -> PathBuf {
    noisy_like(home, number, (number, kilobytes))
}

/// A thread with the text of another one.
fn noisy_like(home: &Path, number: u32, (seed, kilobytes): (u32, u32)) -> PathBuf {
    let mut rollout = Rollout::new(&numbered(number), Path::new("/w/app"));
    let mut chance = Chance::new(seed.into());
    rollout.message("user", "Repair the turbine.");
    for _ in 0..kilobytes {
        rollout.message("assistant", &noise(&mut chance, 1_000));
    }
    // Written at once, as if it had grown on its day.
    let staging = tempfile::tempdir().unwrap();
    let staged = rollout.write(staging.path());
    let day = format!("2026-03-{:02}T", seed + 2);
    let text = fs::read_to_string(&staged).unwrap().replace("2026-03-02T", &day);
    let path = home.join(staged.strip_prefix(staging.path()).unwrap());
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    path
}

fn size(path: &Path) -> u64 {
    fs::metadata(path).unwrap().len()
}

/// Bytes of the packs and the index.
fn size_of_all(home: &Path) -> u64 {
    let packs: u64 = packs(home).iter().map(|pack| size(pack)).sum();
    packs + size(&folder(home).join("index.db"))
}

async fn archived_threads(client: &mut Client) -> Vec<String> {
    let mut threads = listed(client).await;
    threads.sort();
    threads
}

async fn stalled(client: &mut Client) -> OverviewResult {
    found("the archive is stalled", async || {
        // Its index may not be open yet.
        let status = client.call::<Overview>(OverviewParams {}).await.ok()?;
        (status.state == ArchiveState::Stalled).then_some(status)
    })
    .await
}

/// Adds small threads one after another and waits until each is archived. The last one is archived after the bounds were
/// enforced for the one before it.
async fn more_passes(client: &mut Client, home: &Path, numbers: &[u32]) {
    for number in numbers {
        let path = noisy(home, *number, 1);
        client.sync_file(&path).await;
        let added = async {
            while !listed(client).await.contains(&numbered(*number)) {
                pause().await;
            }
        };
        // It pauses longer after each failure.
        tokio::time::timeout(PATIENCE * 3, added).await.expect("a thread is archived");
    }
}

#[tokio::test]
async fn an_eviction_that_cannot_free_its_space_is_repeated_without_evicting_more() {
    let home = tempfile::tempdir().unwrap();
    let (daemon, mut client) = Daemon::with_client(home, "").await;
    for number in 0..5 {
        let path = noisy(daemon.home.path(), number, 400);
        client.sync_file(&path).await;
        archived(&mut client).await;
    }
    let home = daemon.stopped().await;
    let found = packs(home.path());
    assert_eq!(found.len(), 5);
    let bound = size_of_all(home.path()) - size(&found[0]) - size(&found[1]) / 2;
    // Reading a loop of links is an I/O error.
    let aside = found[0].with_extension("aside");
    fs::rename(&found[0], &aside).unwrap();
    std::os::unix::fs::symlink(&found[0], &found[0]).unwrap();

    let config = format!("[archive]\nmax_bytes = {bound}\n");
    let (daemon, mut client) = Daemon::with_client(home, &config).await;
    let status = stalled(&mut client).await;
    let problem = status.problem.unwrap();
    assert!(problem.contains(&found[0].display().to_string()), "{problem}");
    assert!(!found[1].exists(), "another pack is removed");
    more_passes(&mut client, daemon.home.path(), &[10, 11]).await;
    assert_eq!(archived_threads(&mut client).await, ids(&[2, 3, 4, 10, 11]));

    fs::rename(&aside, &found[0]).unwrap();
    let status = archived(&mut client).await;
    assert!(status.bytes <= bound && !found[0].exists(), "{status:?}");
    assert_eq!(archived_threads(&mut client).await, ids(&[2, 3, 4, 10, 11]));
    assert_eq!(verify(&mut client).await.damaged, 0);
}

#[tokio::test]
async fn on_a_full_disk_an_eviction_removes_what_needs_no_rewriting_and_evicts_no_more() {
    let home = tempfile::tempdir().unwrap();
    for (number, kilobytes) in [(0, 1_500), (9, 3_000)] {
        noisy(home.path(), number, kilobytes);
    }
    let (process, mut client) = Process::bounded(home.path()).await;
    client.sync(&numbered(0)).await;
    client.sync(&numbered(9)).await;
    archived(&mut client).await;
    for number in [1, 8] {
        let path = noisy(home.path(), number, 800);
        client.sync_file(&path).await;
        archived(&mut client).await;
    }
    let found = packs(home.path());
    assert_eq!(found.len(), 3, "both were there at the first pass");
    let bound = size_of_all(home.path()) - size(&found[0]) / 3 - size(&found[1]) / 2;
    process.limit(Some(1_500_000));
    configure(home.path(), &format!("[archive]\nmax_bytes = {bound}\n"));
    client.call::<Reload>(NoParams {}).await.unwrap();

    stalled(&mut client).await;
    assert!(found[0].exists(), "there is no room to rewrite it");
    assert!(!found[1].exists(), "nothing of it is used");
    more_passes(&mut client, home.path(), &[10, 11]).await;
    assert_eq!(archived_threads(&mut client).await, ids(&[8, 9, 10, 11]));

    process.limit(None);
    let status = archived(&mut client).await;
    assert!(status.bytes <= bound && !found[0].exists(), "{status:?}");
    assert_eq!(archived_threads(&mut client).await, ids(&[8, 9, 10, 11]));
    process.stopped().await;
}

#[tokio::test]
async fn evicting_copies_frees_their_text_and_no_other_thread_goes() {
    let home = tempfile::tempdir().unwrap();
    let (daemon, mut client) = Daemon::with_client(home, "").await;
    for (number, seed) in [(0, 0), (1, 0), (2, 2), (3, 3)] {
        let path = noisy_like(daemon.home.path(), number, (seed, 1_000));
        client.sync_file(&path).await;
        archived(&mut client).await;
    }
    let home = daemon.stopped().await;
    let found = packs(home.path());
    assert!(size(&found[1]) < size(&found[0]) / 4, "a copy shares its chunks");
    let bound = size_of_all(home.path()) - size(&found[0]) / 2;
    let (_daemon, mut client) =
        Daemon::with_client(home, &format!("[archive]\nmax_bytes = {bound}\n")).await;
    let status = archived(&mut client).await;
    assert!(status.bytes <= bound, "{status:?}");
    assert_eq!(archived_threads(&mut client).await, ids(&[2, 3]));
}

#[tokio::test]
async fn a_kill_before_the_last_pack_is_removed_does_not_bring_an_evicted_thread_back() {
    // The evicted thread is the only one, or its pack has the highest number.
    for numbers in [vec![0], vec![1, 0]] {
        let home = tempfile::tempdir().unwrap();
        let (daemon, mut client) = Daemon::with_client(home, "").await;
        for number in &numbers {
            let path = noisy(daemon.home.path(), *number, 400);
            client.sync_file(&path).await;
            archived(&mut client).await;
            remove(&path);
            noticed(&mut client, &numbered(*number)).await;
        }
        let home = daemon.stopped().await;
        let found = packs(home.path());
        assert_eq!(found.len(), numbers.len());
        let last = found.last().unwrap();
        let (bound, bytes) = (size_of_all(home.path()) - size(last) / 2, fs::read(last).unwrap());
        let config = format!("[archive]\nmax_bytes = {bound}\n");
        let (daemon, mut client) = Daemon::with_client(home, &config).await;
        archived(&mut client).await;
        let kept = ids(&numbers[..numbers.len() - 1]);
        assert_eq!(archived_threads(&mut client).await, kept);
        let home = daemon.stopped().await;
        fs::write(last, bytes).unwrap();

        let (daemon, mut client) = Daemon::with_client(home, "").await;
        archived(&mut client).await;
        assert_eq!(archived_threads(&mut client).await, kept);
        assert!(!last.exists());
        daemon.stopped().await;
    }
}

#[tokio::test]
async fn a_lower_bound_evicts_by_share_of_the_index_which_shrinks() {
    const THREADS: u32 = 400;
    let home = tempfile::tempdir().unwrap();
    let id = |number: u32| format!("019cadd3-0000-7000-8000-000000{number:06}");
    let mut last = None;
    for number in 0..THREADS {
        let mut rollout = Rollout::new(&id(number), Path::new("/w/app"));
        rollout.message("user", &format!("Repair turbine {number}."));
        last = Some(rollout.write(home.path()));
    }
    let (daemon, mut client) = Daemon::synced_file(home, "", &last.unwrap()).await;
    assert_eq!(archived(&mut client).await.threads, u64::from(THREADS));
    let home = daemon.stopped().await;
    let (before, index) = (size_of_all(home.path()), size(&folder(home.path()).join("index.db")));
    let bound = before / 2;
    assert!(index > bound, "the index is most of the archive: {index} of {before} bytes");

    let (daemon, mut client) =
        Daemon::with_client(home, &format!("[archive]\nmax_bytes = {bound}\n")).await;
    let status = archived(&mut client).await;
    let kept = status.threads;
    assert!(status.bytes <= bound, "{status:?}");
    assert!((u64::from(THREADS) / 5..u64::from(THREADS) * 3 / 5).contains(&kept), "{status:?}");
    assert!(size_of_all(daemon.home.path()) <= bound);
}
