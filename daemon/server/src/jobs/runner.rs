//! Runs the jobs of one kind in this process.
//!
//! # Theory of operation
//! One task waits for a request, or for the time at which a waiting job is due, and claims as many jobs as may run. Each
//! runs in a separate task with a heartbeat. The heartbeat stops the work when the claim is lost or was not renewed in
//! time, before another holder may begin. Dropped work must leave nothing unfinished outside its own staging.
//!
//! When the daemon stops, work is dropped and its claim is returned together with the attempt.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use longhaul_core::job::{Failure, FailureKind, Job, JobKey, Kind, LeaseLost, Token, Why, why};
use longhaul_store::SCAN_MAX;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::{ClaimedJob, JobError, Jobs};

/// Runs the jobs of one kind.
pub trait Work: Send + Sync + 'static {
    const KIND: Kind;

    /// Runs one job. Its token guards whatever it publishes. Dropping the future cancels the work.
    fn run(&self, job: Job, token: Token) -> impl Future<Output = Result<(), Failure>> + Send;
}

/// Maximum time between two checks of the table: moments of other boots and leases of external workers expire without a
/// notification.
const CHECK_MAX: Duration = Duration::from_secs(60);

/// Maximum sleep between two readings of the boot clock: timers stop while the machine sleeps, leases do not. After a
/// suspend, work continues for this long at most.
const CLOCK_CHECK_MAX: Duration = Duration::from_secs(1);

/// Milliseconds before a rejected store operation is retried.
const RETRY_MS: u64 = 1_000;

/// Runs jobs until `stop`, then returns the running ones.
pub async fn run<W: Work>(jobs: Jobs, work: Arc<W>, stop: CancellationToken) {
    let mut changed = jobs.watch(W::KIND);
    let mut tasks = JoinSet::new();
    loop {
        changed.mark_unchanged();
        let mut check = None;
        // After the stop, a returned job must not be claimed again.
        while !stop.is_cancelled() {
            match jobs.claim(W::KIND, &jobs.holder()).await {
                Ok(Some(claimed)) => {
                    let (jobs, work, stop) = (jobs.clone(), Arc::clone(&work), stop.clone());
                    tasks.spawn(async move { run_job(&jobs, &*work, claimed, &stop).await });
                }
                Ok(None) => break,
                Err(error) => {
                    tracing::warn!(kind = W::KIND.into_str(), %error, "cannot claim a job");
                    check = Some(Duration::from_millis(RETRY_MS));
                    break;
                }
            }
        }
        let check = match check {
            Some(check) => check,
            None => jobs.next_due(W::KIND).await.unwrap_or(CHECK_MAX).min(CHECK_MAX),
        };
        tokio::select! {
            biased;
            () = stop.cancelled() => break,
            _ = changed.changed() => {}
            Some(_) = tasks.join_next() => {}
            () = tokio::time::sleep(check) => {}
        }
    }
    while tasks.join_next().await.is_some() {}
}

async fn run_job<W: Work>(jobs: &Jobs, work: &W, claimed: ClaimedJob, stop: &CancellationToken) {
    let ClaimedJob { job, claim } = claimed;
    let (key, token) = (job.key.clone(), claim.token.clone());
    let result = tokio::select! {
        biased;
        () = stop.cancelled() => Err(Failure {
            kind: FailureKind::Interrupted,
            detail: "the daemon stopped".to_owned(),
            retry_after_ms: None,
        }),
        () = wait_taken_back(jobs, &key, &token) => {
            tracing::info!(job = %key, "stopping work: its job was taken back");
            return;
        }
        error = heartbeat(jobs, &key, &token, claim.stop_at_boot_ms) => {
            tracing::warn!(job = %key, %error, "stopping work: its claim is lost");
            return;
        }
        result = work.run(job, token.clone()) => result,
    };
    settle(jobs, (&key, &token), result, stop).await;
}

/// Records the outcome of a job. If the store fails temporarily, this retries until the claim ends, because an unsettled
/// job blocks its key for the rest of its lease.
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
        tracing::warn!(job = %key, %error, "cannot record the outcome of a job");
        let is_temporary = matches!(&error, JobError::Store(error) if error.may_pass());
        let again = tokio::time::sleep(Duration::from_millis(RETRY_MS));
        // The next start takes unsettled jobs back.
        if !is_temporary || stop.run_until_cancelled(again).await.is_none() {
            return;
        }
    }
}

/// Waits until this process learns that the claim was lost or returned.
async fn wait_taken_back(jobs: &Jobs, key: &JobKey, token: &Token) {
    let mut changed = jobs.watch(key.kind);
    while changed.changed().await.is_ok() {
        let job = jobs.table.get(key).await;
        if let Ok(job) = job
            && job.is_none_or(|job| job.epoch != token.epoch || job.lease.is_none())
        {
            return;
        }
    }
    std::future::pending::<()>().await;
}

/// Renews the claim until that fails: the claim is lost, or its time is over.
async fn heartbeat(jobs: &Jobs, key: &JobKey, token: &Token, mut stop_at_boot_ms: u64) -> JobError {
    let now_ms = || jobs.clock.moment().boot_ms;
    let mut beat_at_ms = now_ms().saturating_add(jobs.rules(key.kind).heartbeat_ms);
    loop {
        let left = Duration::from_millis(beat_at_ms.min(stop_at_boot_ms).saturating_sub(now_ms()));
        if !left.is_zero() {
            tokio::time::sleep(left.min(CLOCK_CHECK_MAX)).await;
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
            // A database that is busy for a moment must not discard paid work.
            Err(JobError::Store(error)) => {
                tracing::info!(job = %key, %error, "retrying to renew a claim");
                RETRY_MS
            }
            Err(error) => return error,
        };
        beat_at_ms = now_ms().saturating_add(pause_ms);
    }
}

impl Jobs {
    /// Time until the first waiting job of `kind` is due: none for one that became due since the last claim. `None` if no
    /// job waits.
    async fn next_due(&self, kind: Kind) -> Option<Duration> {
        let (rules, now) = (self.rules(kind), self.clock.moment());
        let jobs = self.table.first(kind, SCAN_MAX).await.ok()?;
        let load = super::load(&jobs);
        let waits = jobs.iter().filter_map(|job| match why(job, load, &rules, &now) {
            Why::Due => Some(0),
            Why::Waiting { wait_ms, .. } => Some(wait_ms),
            _ => None,
        });
        waits.min().map(Duration::from_millis)
    }
}

#[cfg(test)]
mod tests;
