//! The maintenance jobs `prune` and `reindex`, in the background and on request.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use longhaul_daemon::clock::Clock;
use longhaul_protocol::ErrorKind;
use longhaul_protocol::compaction::{Run, RunParams, Strategy};
use longhaul_protocol::job::{Job, JobGet, JobParams, Retry, Why, WhyResult};
use longhaul_protocol::thread::{Search, SearchParams};

use crate::memory::run_all;
use crate::support::provider::{Answer, Provider};
use crate::support::rollout::Rollout;
use crate::support::{Client, Daemon, eventually, found, message, of_items, of_thread, until};

const THREAD: &str = "019cadd3-0000-7000-8000-0000000000c1";
const DAY_MS: i64 = 86_400_000;

async fn daemon_with(config: &str) -> (Daemon, Client) {
    let cwd = Path::new("/w/app");
    Daemon::reading(&Rollout::with_rounds(THREAD, cwd, "Make the fetcher retry.", 60), config).await
}

fn of(job: &str) -> JobParams {
    JobParams { job: job.into() }
}

/// The job, once a run with an epoch above `epoch` is done.
async fn run_after(client: &mut Client, job: &str, epoch: u64) -> Job {
    found(job, async || match client.call::<JobGet>(of(job)).await {
        Ok(found) => Some(found.job).filter(|job| job.epoch > epoch && job.state == "done"),
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::JobNotFound, "not requested yet");
            None
        }
    })
    .await
}

async fn retry(client: &mut Client, job: &str) {
    client.call::<Retry>(of(job)).await.unwrap();
}

#[tokio::test]
async fn pruning_is_not_misled_by_a_clock_set_ahead() {
    let (daemon, mut client) = daemon_with("").await;
    let first = run_after(&mut client, "prune/", 0).await;
    client.compact(of_thread(THREAD)).await;
    let job = format!("compact/{}", client.start_compaction(of_thread(THREAD)).await);
    run_after(&mut client, &job, 0).await;
    assert_eq!(client.compactions().await.len(), 2);

    daemon.clock.set_wall_ms(daemon.clock.now_ms() + 400 * DAY_MS);
    retry(&mut client, "prune/").await;
    let second = run_after(&mut client, "prune/", first.epoch).await;
    assert_eq!(client.compactions().await.len(), 2, "nothing is older than it was");

    daemon.clock.set_wall_ms(daemon.clock.now_ms() - 400 * DAY_MS);
    daemon.clock.advance_ms(91 * DAY_MS);
    retry(&mut client, "prune/").await;
    run_after(&mut client, "prune/", second.epoch).await;
    assert_eq!(client.compactions().await, [], "over their 90 days");
    let gone = client.call::<JobGet>(of(&job)).await.unwrap_err();
    assert_eq!(gone.kind(), ErrorKind::JobNotFound, "jobs that ended go, too");
    daemon.stopped().await;
}

/// A machine without a battery for its clock, or with a wrong clock.
#[tokio::test]
async fn compactions_survive_starts_with_a_clock_ten_years_ahead_and_back() {
    const NOW_MS: i64 = 1_763_700_000_000;
    const YEARS_MS: i64 = 3_650 * DAY_MS;
    let (daemon, mut client) = daemon_with("").await;
    client.compact(of_thread(THREAD)).await;
    let mut home = daemon.stopped().await;
    // No time twice: a manual clock makes ids of the time and a counter.
    let times = [NOW_MS + YEARS_MS, NOW_MS - YEARS_MS, NOW_MS + 1, NOW_MS + 3 * YEARS_MS];
    for (made, wall_ms) in times.into_iter().enumerate() {
        let clock = Clock::manual(wall_ms);
        clock.reboot();
        let daemon = Daemon::on_clock(home, "", clock).await;
        let mut client = daemon.connect().await;
        let epoch = run_after(&mut client, "prune/", 0).await.epoch;
        client.compact(of_thread(THREAD)).await;
        retry(&mut client, "prune/").await;
        run_after(&mut client, "prune/", epoch).await;
        assert_eq!(client.compactions().await.len(), made + 2);
        home = daemon.stopped().await;
    }
}

#[tokio::test]
async fn the_items_of_a_waiting_compaction_are_not_pruned() {
    let (daemon, mut client) = daemon_with("[jobs.compact]\noutside = true\n").await;
    let text = |n: u32| message("assistant", &format!("Round {n} of src/fetch.rs."));
    let id = client.start_compaction(of_items((0..60).map(text).collect::<Vec<_>>())).await;
    let first = run_after(&mut client, "prune/", 0).await;
    // Long after the real time of the writes.
    daemon.clock.set_wall_ms(4_000_000_000_000);
    retry(&mut client, "prune/").await;
    run_after(&mut client, "prune/", first.epoch).await;
    let (daemon, mut client) = Daemon::with_client(daemon.stopped().await, "").await;
    run_after(&mut client, &format!("compact/{id}"), 0).await;
    assert_eq!(client.compaction(&id).await.run.compaction_id, id);
    daemon.stopped().await;
}

#[tokio::test]
async fn the_items_of_a_running_compaction_are_not_pruned() {
    let held = Answer::Held(Box::new(Answer::says("The fetcher in src/fetch.rs retries.")));
    let provider = Provider::start(vec![held]).await;
    let (daemon, mut client) = daemon_with(&provider.config("")).await;
    let text = |n: u32| message("assistant", &format!("Round {n} of src/fetch.rs."));
    let items: Vec<_> = (0..60).map(text).collect();
    let mut other = daemon.connect().await;
    let params = RunParams { strategy: Some(Strategy::Summary), ..of_items(items.clone()) };
    let running = tokio::spawn(async move { other.call::<Run>(params).await.unwrap() });
    eventually("the model is asked", || !provider.requests().is_empty()).await;
    let first = run_after(&mut client, "prune/", 0).await;
    // Long after the real time of the writes.
    daemon.clock.set_wall_ms(4_000_000_000_000);
    retry(&mut client, "prune/").await;
    let second = run_after(&mut client, "prune/", first.epoch).await;
    provider.release();
    let run = running.await.unwrap();
    retry(&mut client, "prune/").await;
    run_after(&mut client, "prune/", second.epoch).await;
    assert_eq!(client.undo(&run.compaction_id).await.history.into_bytes(), items);
    daemon.stopped().await;
}

#[tokio::test]
async fn the_search_index_is_rebuilt_on_request() {
    let (daemon, mut client) = daemon_with("").await;
    let before = found("the item is found", async || {
        Some(client.hits("fetch_17").await).filter(|hits| !hits.is_empty())
    })
    .await;
    let index = daemon.deps.config.now().state_dir.join("search.db");
    // Keep it open, so that its inode is not reused.
    let old = std::fs::File::open(&index).unwrap();
    retry(&mut client, "reindex/search").await;
    run_after(&mut client, "reindex/search", 0).await;
    let (rebuilt, old) = (std::fs::metadata(&index).unwrap(), old.metadata().unwrap());
    assert_ne!(rebuilt.ino(), old.ino(), "another file");
    assert_eq!(client.hits("fetch_17").await, before, "all is found again when the job is done");
    daemon.stopped().await;
}

#[tokio::test]
async fn a_rebuild_of_the_search_index_that_failed_is_tried_again() {
    let (daemon, mut client) = daemon_with("").await;
    until("the item is found", async || !client.hits("fetch_17").await.is_empty()).await;
    let state = daemon.deps.config.now().state_dir.clone();
    // A folder is in the way: the index is closed, and cannot be removed.
    let blocked = state.join("search.db.seal");
    std::fs::create_dir(&blocked).unwrap();
    retry(&mut client, "reindex/search").await;
    let params = SearchParams { query: "fetch_17".into(), ..Default::default() };
    until("the rebuild fails", async || client.call::<Search>(params.clone()).await.is_err()).await;
    std::fs::remove_dir(&blocked).unwrap();
    until("the item is found again", async || {
        client.call::<Search>(params.clone()).await.is_ok_and(|found| !found.hits.is_empty())
    })
    .await;
    run_after(&mut client, "reindex/search", 0).await;
    daemon.stopped().await;
}

async fn why(client: &mut Client, thread: &str) -> WhyResult {
    client.call::<Why>(of(&format!("extract/{thread}"))).await.unwrap()
}

#[tokio::test]
async fn a_thread_without_a_job_says_why() {
    let (daemon, mut client) = daemon_with("[memory]\nenabled = false\n").await;
    let answer = why(&mut client, THREAD).await;
    assert_eq!((answer.reason.as_str(), answer.skipped.as_deref()), ("not_asked", Some("busy")));
    assert_eq!(answer.job, None);
    run_all(&mut client).await;
    let answer = why(&mut client, THREAD).await;
    let found = (answer.reason.as_str(), answer.skipped.as_deref());
    assert_eq!(found, ("nothing_pending", Some("nothing_new")));
    let nobody = of("extract/019cadd3-0000-7000-8000-00000000dead");
    let error = client.call::<Why>(nobody).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ThreadNotFound);
    daemon.stopped().await;
}
