//! Workers outside the daemon work by the rules of those inside; what a killed daemon left is resumed.

use longhaul_core::job::{self, JobKey, JobRequest, Kind};
use longhaul_protocol::daemon::{NoParams, Reload};
use longhaul_protocol::job::{
    Claim, ClaimParams, ClaimedJob, Complete, CompleteParams, Fail, FailKind, FailParams,
    Heartbeat, Job, JobParams, TokenParams, Why, WhyResult,
};
use longhaul_protocol::{ErrorKind, WireError};
use longhaul_store::Store;

use crate::support::{Client, Daemon, soon};

/// Leaves a kind of job to workers outside.
pub const OUTSIDE: &str = "[jobs.reindex]\noutside = true\n";

/// Asks for a job as the daemon does.
pub async fn request_job(daemon: &Daemon, kind: Kind, subject: &str) {
    let database = daemon.deps.config.now().state_dir.join("longhaul.db");
    let (store, _) = Store::open(&database, daemon.clock.now_ms()).await.unwrap();
    let key = JobKey { kind, subject: subject.to_owned() };
    let (input, payload) = ("1".to_owned(), "{}".to_owned());
    let request = JobRequest { key: key.clone(), input, payload, priority: 0, urgent: false };
    let now = daemon.clock.moment();
    let decide = move |found| (Some(job::request(found, request, &now)), ());
    store.jobs.decide(&key, decide).await.unwrap();
    store.database.close().await;
}

/// A daemon with one job for workers outside.
async fn daemon() -> (Daemon, Client) {
    let daemon = Daemon::with_config(OUTSIDE).await;
    request_job(&daemon, Kind::Reindex, "search").await;
    let client = daemon.connect().await;
    (daemon, client)
}

async fn try_claim(client: &mut Client, worker: &str) -> Option<ClaimedJob> {
    let params = ClaimParams { kind: "reindex".into(), worker: worker.into() };
    client.call::<Claim>(params).await.unwrap().claim
}

async fn claim(client: &mut Client, worker: &str) -> ClaimedJob {
    try_claim(client, worker).await.expect("a claim")
}

fn token(claim: &ClaimedJob) -> TokenParams {
    TokenParams { job: claim.job.job.clone(), token: claim.token.clone() }
}

async fn heartbeat(client: &mut Client, claim: &ClaimedJob) -> Result<u64, WireError> {
    client.call::<Heartbeat>(token(claim)).await.map(|beat| beat.stop_in_ms)
}

async fn complete(client: &mut Client, claim: &ClaimedJob) -> Result<Job, WireError> {
    let TokenParams { job, token } = token(claim);
    let params = CompleteParams { job, token, result: None };
    client.call::<Complete>(params).await.map(|result| result.job)
}

fn failure(claim: &ClaimedJob, kind: FailKind, detail: &str) -> FailParams {
    let TokenParams { job, token } = token(claim);
    FailParams { job, token, kind, detail: detail.into(), retry_after_ms: None }
}

async fn fail(client: &mut Client, params: FailParams) -> Job {
    client.call::<Fail>(params).await.unwrap().job
}

async fn why(client: &mut Client, job: &str) -> WhyResult {
    client.call::<Why>(JobParams { job: job.into() }).await.unwrap()
}

#[tokio::test]
async fn a_worker_that_was_taken_over_changes_nothing() {
    let (daemon, mut client) = daemon().await;
    let first = claim(&mut client, "one").await;
    assert_eq!(first.job.holder.as_deref(), Some("worker:one"));
    assert_eq!((first.job.kind.as_str(), first.job.subject.as_str()), ("reindex", "search"));
    assert_eq!((first.payload.bytes().as_str(), first.job.state.as_str()), ("{}", "running"));
    assert!(first.heartbeat_ms < first.stop_in_ms, "{first:?}");
    assert_eq!(try_claim(&mut client, "two").await, None, "one at a time");

    let stop_in_ms = i64::try_from(first.stop_in_ms).unwrap();
    daemon.clock.advance_ms(stop_in_ms / 2);
    let renewed = heartbeat(&mut client, &first).await.unwrap();
    assert_eq!(renewed, first.stop_in_ms, "renewed whole");

    // As if it had been stopped (SIGSTOP, a suspend) past its lease: it is lost, taken over or not.
    daemon.clock.advance_ms(2 * stop_in_ms);
    let late = heartbeat(&mut client, &first).await.unwrap_err();
    assert_eq!(late.kind(), ErrorKind::LeaseLost);
    let late = complete(&mut client, &first).await.unwrap_err();
    assert_eq!(late.kind(), ErrorKind::LeaseLost);
    let second = claim(&mut client, "two").await;
    assert_eq!((second.job.attempts, second.job.epoch), (2, 2));
    let late = complete(&mut client, &first).await.unwrap_err();
    assert_eq!(late.kind(), ErrorKind::LeaseLost);
    let done = complete(&mut client, &second).await.unwrap();
    assert_eq!((done.state.as_str(), done.is_pending), ("done", false));
    assert_eq!(complete(&mut client, &second).await, Ok(done), "told again, and settled once");
    let late = complete(&mut client, &first).await.unwrap_err();
    assert_eq!(late.kind(), ErrorKind::LeaseLost);
    daemon.stopped().await;
}

#[tokio::test]
async fn kinds_of_failure_differ_and_their_details_hold_no_secret() {
    let (daemon, mut client) = daemon().await;
    let first = claim(&mut client, "one").await;
    let secret = "password=hunter2-hunter2-hunter2";
    let job = fail(&mut client, failure(&first, FailKind::Interrupted, secret)).await;
    assert_eq!((job.state.as_str(), job.attempts), ("queued", 0), "given back");
    assert!(!format!("{job:?}").contains("hunter2"), "{job:?}");
    let second = claim(&mut client, "one").await;
    let permanent = failure(&second, FailKind::Permanent, "it can never work");
    let job = fail(&mut client, permanent).await;
    assert_eq!((job.state.as_str(), job.is_pending), ("dead", true));
    assert!(job.failure.unwrap().contains("it can never work"));
    assert_eq!(try_claim(&mut client, "one").await, None);
    daemon.stopped().await;
}

#[tokio::test]
async fn a_claim_outlives_the_daemon_but_not_its_lease() {
    let (daemon, mut client) = daemon().await;
    let first = claim(&mut client, "one").await;
    // The next daemon's manual clock starts again at the same moment of the same boot.
    let (daemon, mut client) = Daemon::with_client(daemon.stopped().await, OUTSIDE).await;
    assert_eq!(try_claim(&mut client, "two").await, None, "it is still the first worker's");
    assert_eq!(complete(&mut client, &first).await.unwrap().state, "done");
    daemon.stopped().await;
}

#[tokio::test]
async fn setting_the_wall_clock_frees_no_claim_and_lengthens_no_wait() {
    const RETRY_AFTER_MS: i64 = 120_000;
    let (daemon, mut client) = daemon().await;
    let began_ms = daemon.clock.now_ms();
    let clocks = [began_ms - 3_600_000, began_ms + 86_400_000, 0, began_ms + 10_000_000_000_000];
    for wall_ms in clocks {
        let held = claim(&mut client, "one").await;
        daemon.clock.set_wall_ms(wall_ms);
        let other = try_claim(&mut client, "two").await;
        assert_eq!(other, None, "at {wall_ms} it is still the first's");
        let limited = FailParams {
            retry_after_ms: Some(RETRY_AFTER_MS.unsigned_abs()),
            ..failure(&held, FailKind::RateLimited, "slow down")
        };
        fail(&mut client, limited).await;
        daemon.clock.set_wall_ms(began_ms - 7_200_000);
        let answer = why(&mut client, "reindex/search").await;
        let wait = (answer.reason.as_str(), answer.wait_ms);
        assert_eq!(wait, ("waiting", Some(RETRY_AFTER_MS.unsigned_abs())), "{answer:?}");
        assert!(answer.text.ends_with("slow down"), "{}", answer.text);
        daemon.clock.advance_ms(RETRY_AFTER_MS);
        let answer = why(&mut client, "reindex/search").await;
        assert_eq!(answer.reason, "due", "after {wall_ms}");
    }
    daemon.stopped().await;
}

#[tokio::test]
async fn a_job_that_waits_for_another_configuration_is_due_after_a_reload() {
    let (daemon, mut client) = daemon().await;
    let held = claim(&mut client, "one").await;
    fail(&mut client, failure(&held, FailKind::Unauthorized, "no key")).await;
    assert_eq!(why(&mut client, "reindex/search").await.reason, "parked");
    client.call::<Reload>(NoParams {}).await.unwrap();
    let due = async { while why(&mut client, "reindex/search").await.reason != "due" {} };
    soon("it is due", due).await;
    daemon.stopped().await;
}

#[tokio::test]
async fn a_full_kind_and_a_missing_job_say_so() {
    let daemon = Daemon::with_config(OUTSIDE).await;
    request_job(&daemon, Kind::Reindex, "a").await;
    request_job(&daemon, Kind::Reindex, "b").await;
    let mut client = daemon.connect().await;
    assert_eq!(why(&mut client, "reindex/search").await.reason, "not_asked");
    let held = claim(&mut client, "one").await;
    assert_eq!(held.job.subject, "a");
    let answer = why(&mut client, "reindex/b").await;
    assert_eq!(answer.reason, "no_room", "{answer:?}");
    assert_eq!(answer.job.unwrap().job, "reindex/b");
    assert!(answer.text.contains('1'), "{}", answer.text);
    daemon.stopped().await;
}
