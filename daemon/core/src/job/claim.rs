//! Claiming a job, renewing the claim, and taking over an abandoned one.

use super::why::{Why, why};
use super::{Failure, FailureKind, Job, Lease, LeaseLost, Moment, Rules, State, Token};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    pub token: Token,
    /// Boot clock milliseconds at which the run must have stopped unless it renews.
    pub stop_at_boot_ms: u64,
}

/// Claims a job for `holder` while `running` jobs of its kind run; the error is why it does not run. `now` must be read before the row is written, so
/// that the holder's lease ends before anyone else considers it expired.
pub fn claim(
    mut job: Job,
    running: u32,
    rules: &Rules,
    (holder, nonce): (&str, &str),
    now: &Moment,
) -> Result<(Job, Claim), Why> {
    match why(&job, running, rules, now) {
        Why::Due => {}
        reason => return Err(reason),
    }
    job.epoch = job.epoch.saturating_add(1);
    job.attempts = job.attempts.saturating_add(1);
    job.state = State::Running;
    job.not_before = None;
    job.lease = Some(Lease {
        holder: holder.to_owned(),
        nonce: nonce.to_owned(),
        wanted: job.wanted,
        since: now.clone(),
        renewed: now.clone(),
        lease_ms: rules.lease_ms,
    });
    job.updated_at = now.clone();
    let token = Token { epoch: job.epoch, nonce: nonce.to_owned() };
    Ok((job, Claim { token, stop_at_boot_ms: stop_at(rules, now) }))
}

/// Renews a claim. An expired claim is lost, even if no other run has taken it over.
///
/// # Errors
/// [`LeaseLost`]: stop, and publish nothing.
pub fn renew(
    mut job: Job,
    token: &Token,
    rules: &Rules,
    now: &Moment,
) -> Result<(Job, Claim), LeaseLost> {
    let lease = super::lease::owned(&job, token, now)?;
    let lease = Lease { renewed: now.clone(), lease_ms: rules.lease_ms, ..lease.clone() };
    job.lease = Some(lease);
    job.updated_at = now.clone();
    Ok((job, Claim { token: token.clone(), stop_at_boot_ms: stop_at(rules, now) }))
}

fn stop_at(rules: &Rules, now: &Moment) -> u64 {
    now.boot_ms.saturating_add(rules.lease_ms.saturating_sub(rules.margin_ms))
}

/// Takes over a job whose lease expired, whose holder ran in another boot, or whose holder is known to be dead
/// (`is_dead`). The attempt stays counted. `None` if there is nothing to take over.
pub fn rescue(mut job: Job, rules: &Rules, is_dead: bool, now: &Moment) -> Option<Job> {
    if job.state != State::Running {
        return None;
    }
    if !is_dead && job.lease.as_ref().is_some_and(|lease| lease.is_live(now)) {
        return None;
    }
    let holder = job.lease.take().map_or_else(|| "its holder".to_owned(), |lease| lease.holder);
    let detail = format!("{holder} left it unfinished");
    let failure = Failure { kind: FailureKind::Abandoned, detail, retry_after_ms: None };
    job.state = if job.attempts >= rules.attempts_max { State::Dead } else { State::Queued };
    job.failure = Some(failure);
    job.updated_at = now.clone();
    Some(job)
}

/// The next job to claim: due, urgent ones first, then by priority, then the longest waiting. Jobs waiting
/// since another boot precede those of this one; within a boot the boot clock decides, so a clock that was
/// set wrong cannot hold a job back behind newer ones.
pub fn next<'a>(
    jobs: impl IntoIterator<Item = &'a Job>,
    running: u32,
    rules: &Rules,
    now: &Moment,
) -> Option<&'a Job> {
    jobs.into_iter().filter(|job| why(job, running, rules, now) == Why::Due).min_by_key(|job| {
        let since = &job.updated_at;
        let is_of_now = since.boot == now.boot;
        let since_ms = if is_of_now { since.boot_ms.cast_signed() } else { since.wall_ms };
        (!job.urgent, std::cmp::Reverse(job.priority), is_of_now, since_ms, job.key.clone())
    })
}
