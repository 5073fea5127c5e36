//! Ends a run with success or failure.

use serde::{Deserialize, Serialize};

use super::lease::owned;
use super::{Job, LeaseLost, Moment, Rules, State, Token};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    pub kind: FailureKind,
    pub detail: String,
    /// Milliseconds to wait, as requested by the provider.
    pub retry_after_ms: Option<u64>,
}

/// Kinds of failure, by what happens next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// Temporary: retried with growing backoff.
    Transient,
    /// Rate limited: waits as long as requested; the attempt is returned.
    RateLimited,
    /// Input too large: retried at once with less input.
    Overflow,
    /// Missing key or permission: parked until the configuration changes.
    Unauthorized,
    /// Budget exhausted: waits until it renews; the attempt is returned.
    BudgetSpent,
    Permanent,
    /// Stopped cleanly, for example by a shutdown: the attempt is returned.
    Interrupted,
    /// Its holder is gone.
    Abandoned,
}

/// Records a success. Anything requested during the run is still pending, after the cooldown unless urgent. Idempotent:
/// a claim may report its success again if the first answer was lost.
///
/// # Errors
/// [`LeaseLost`]: the run no longer owns the job, and nothing changes.
pub fn finish(mut job: Job, token: &Token, rules: &Rules, now: &Moment) -> Result<Job, LeaseLost> {
    if job.finished_by.as_ref() == Some(token) {
        return Ok(job);
    }
    let seen = owned(&job, token, now)?.wanted;
    job.done = job.done.max(seen);
    job.lease = None;
    job.attempts = 0;
    job.failure = None;
    job.finished_at = Some(now.clone());
    job.finished_by = Some(token.clone());
    job.updated_at = now.clone();
    job.state = if job.is_pending() { State::Queued } else { State::Done };
    let passes_by = job.is_pending() && job.urgent;
    job.not_before = (rules.cooldown_ms > 0 && !passes_by).then(|| now.plus_ms(rules.cooldown_ms));
    job.urgent &= job.is_pending();
    Ok(job)
}

/// Records a failure. `chance` in 0..1 spreads the backoff.
///
/// # Errors
/// [`LeaseLost`]: the run no longer owns the job, and nothing changes.
pub fn fail(
    mut job: Job,
    token: &Token,
    failure: Failure,
    (rules, chance): (&Rules, f64),
    now: &Moment,
) -> Result<Job, LeaseLost> {
    use FailureKind as F;
    owned(&job, token, now)?;
    job.lease = None;
    if matches!(failure.kind, F::RateLimited | F::BudgetSpent | F::Interrupted) {
        job.attempts = job.attempts.saturating_sub(1);
    }
    let wait_ms = rules.backoff_ms(job.attempts.max(1), failure.retry_after_ms, chance);
    let spent = job.attempts >= rules.attempts_max;
    let (state, wait) = match failure.kind {
        F::Permanent => (State::Dead, None),
        F::Unauthorized => (State::Parked, None),
        F::Interrupted => (State::Queued, None),
        F::RateLimited | F::BudgetSpent => (State::Failed, Some(wait_ms)),
        _ if spent => (State::Dead, None),
        F::Overflow | F::Abandoned => (State::Queued, None),
        F::Transient => (State::Failed, Some(wait_ms)),
    };
    job.state = state;
    job.not_before = wait.map(|ms| now.plus_ms(ms));
    job.failure = Some(failure);
    job.updated_at = now.clone();
    Ok(job)
}
