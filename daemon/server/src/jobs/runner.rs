//! Works through the jobs of one kind in this process.
//!
//! # Theory of operation
//! One task waits for a job to be asked for, or for the time at which one that waits is due, and claims
//! as many as may run. Each runs in a task of its own beside a heartbeat; the heartbeat stops the work
//! when the claim is lost, or when it could not be renewed in time: it stops before anybody else may
//! begin. Work that is dropped must leave nothing half done outside its own staging.
//!
//! When the daemon stops, work is dropped and its claim given back with the attempt.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use longhaul_core::job::{Failure, FailureKind, Job, JobKey, Kind, LeaseLost, Token};
use longhaul_store::SCAN_MAX;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::{Claimed, JobError, Jobs};

/// What does the work of one kind.
pub trait Work: Send + Sync + 'static {
    const KIND: Kind;

    /// Does one job. Its token guards whatever it publishes. Dropping the future gives the work up.
    fn run(&self, job: Job, token: Token) -> impl Future<Output = Result<(), Failure>> + Send;
}

/// Longest time without a look at the table: moments of other boots and leases of workers outside run
/// out without anybody saying so.
const LOOK: Duration = Duration::from_secs(60);

/// Longest sleep between two looks at the boot clock: timers stand still while the machine sleeps, leases do
/// not. After a suspend work goes on for this long at most.
const GLANCE: Duration = Duration::from_secs(1);

/// Milliseconds until what the store refused is tried again.
const AGAIN_MS: u64 = 1_000;

/// Runs until `stop`; then gives back what is under way.
pub async fn run<W: Work>(jobs: Jobs, work: Arc<W>, stop: CancellationToken) {
    let mut changed = jobs.changed.subscribe();
    let mut tasks = JoinSet::new();
    loop {
        changed.mark_unchanged();
        let mut look = LOOK;
        // What is given back because of the stop must not be claimed again by it.
        while !stop.is_cancelled() {
            match jobs.claim(W::KIND, &jobs.holder()).await {
                Ok(Some(claimed)) => {
                    let (jobs, work, stop) = (jobs.clone(), Arc::clone(&work), stop.clone());
                    tasks.spawn(async move { one(&jobs, &*work, claimed, &stop).await });
                }
                Ok(None) => break,
                Err(error) => {
                    tracing::warn!(kind = W::KIND.into_str(), %error, "no job could be claimed");
                    look = Duration::from_millis(AGAIN_MS);
                    break;
                }
            }
        }
        let look = jobs.next_due(W::KIND).await.unwrap_or(look).min(look);
        tokio::select! {
            biased;
            () = stop.cancelled() => break,
            _ = changed.changed() => {}
            Some(_) = tasks.join_next() => {}
            () = tokio::time::sleep(look) => {}
        }
    }
    while tasks.join_next().await.is_some() {}
}

async fn one<W: Work>(jobs: &Jobs, work: &W, claimed: Claimed, stop: &CancellationToken) {
    let Claimed { job, claim } = claimed;
    let (key, token) = (job.key.clone(), claim.token.clone());
    let result = tokio::select! {
        biased;
        () = stop.cancelled() => Err(Failure {
            kind: FailureKind::Interrupted,
            detail: "the daemon stopped".to_owned(),
            retry_after_ms: None,
        }),
        () = taken_back(jobs, &key, &token) => {
            tracing::info!(job = %key, "work is stopped: it was taken back");
            return;
        }
        error = heartbeat(jobs, &key, &token, claim.stop_at_boot_ms) => {
            tracing::warn!(job = %key, %error, "work is stopped: its claim is lost");
            return;
        }
        result = work.run(job, token.clone()) => result,
    };
    settle(jobs, (&key, &token), result, stop).await;
}

/// Notes what came of a job. A store that fails for a moment is asked again until the claim is over: a job that is
/// not settled blocks its key for as long as its lease.
async fn settle(
    jobs: &Jobs,
    (key, token): (&JobKey, &Token),
    result: Result<(), Failure>,
    stop: &CancellationToken,
) {
    loop {
        let settled = match result.clone() {
            Ok(()) => jobs.finish(key, token).await,
            Err(failure) => jobs.fail(key, token, failure).await,
        };
        let Err(error) = settled else { return };
        tracing::warn!(job = %key, %error, "what came of a job could not be noted");
        let is_passing = matches!(&error, JobError::Store(error) if error.may_pass());
        let again = tokio::time::sleep(Duration::from_millis(AGAIN_MS));
        // The next start takes back what is not settled.
        if !is_passing || stop.run_until_cancelled(again).await.is_none() {
            return;
        }
    }
}

/// Waits until the claim is another's or nobody's, as far as this process hears of it.
async fn taken_back(jobs: &Jobs, key: &JobKey, token: &Token) {
    let mut changed = jobs.changed.subscribe();
    while changed.changed().await.is_ok() {
        let job = jobs.store.job_get(key).await;
        if let Ok(job) = job
            && job.is_none_or(|job| job.epoch != token.epoch || job.lease.is_none())
        {
            return;
        }
    }
    std::future::pending::<()>().await;
}

/// Renews until it cannot: the claim is lost, or the time it may be used is over.
async fn heartbeat(jobs: &Jobs, key: &JobKey, token: &Token, mut stop_at_boot_ms: u64) -> JobError {
    let now_ms = || jobs.clock.moment().boot_ms;
    let mut beat_at_ms = now_ms().saturating_add(jobs.rules(key.kind).heartbeat_ms);
    loop {
        let left = Duration::from_millis(beat_at_ms.min(stop_at_boot_ms).saturating_sub(now_ms()));
        if !left.is_zero() {
            tokio::time::sleep(left.min(GLANCE)).await;
            continue;
        }
        if now_ms() >= stop_at_boot_ms {
            return LeaseLost::LeaseExpired.into();
        }
        let pause_ms = match jobs.renew(key, token).await {
            Ok(claim) => {
                stop_at_boot_ms = claim.stop_at_boot_ms;
                jobs.rules(key.kind).heartbeat_ms
            }
            // A database that is busy for a moment is no reason to throw paid work away.
            Err(JobError::Store(error)) => {
                tracing::info!(job = %key, %error, "a claim is renewed in a moment");
                AGAIN_MS
            }
            Err(error) => return error,
        };
        beat_at_ms = now_ms().saturating_add(pause_ms);
    }
}

impl Jobs {
    /// Time until the first job of `kind` that waits is due; `None` when none waits.
    async fn next_due(&self, kind: Kind) -> Option<Duration> {
        let (rules, now) = (self.rules(kind), self.clock.moment());
        let decide = move |jobs: &[Job]| {
            let load = super::load(jobs);
            let waits = jobs.iter().filter_map(|job| {
                match longhaul_core::job::why(job, load, &rules, &now) {
                    longhaul_core::job::Why::Waiting { wait_ms, .. } => Some(wait_ms),
                    _ => None,
                }
            });
            (Vec::new(), waits.min())
        };
        self.store
            .jobs_decide(kind, SCAN_MAX, decide)
            .await
            .ok()
            .flatten()
            .map(Duration::from_millis)
    }
}

#[cfg(test)]
mod tests;
