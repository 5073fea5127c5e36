//! The end of a run.

use serde::{Deserialize, Serialize};

use super::{Job, JobKey, Lease, Moment, Rules, State, Token};

/// Why a job did not succeed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// Decides what happens next.
    pub kind: FailureKind,
    /// In words.
    pub detail: String,
    /// Milliseconds a provider asks to be left alone.
    pub retry_after_ms: Option<u64>,
}

/// Kinds of failure, by what happens next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// May pass: waits, longer each time.
    Transient,
    /// Too much was asked: waits as long as it is told, and the attempt is given back.
    RateLimited,
    /// The input was too large: tried again at once, smaller.
    Overflow,
    /// A key or permission is missing: parked until the configuration changes.
    Unauthorized,
    /// A budget is spent: waits until it is filled, and the attempt is given back.
    BudgetSpent,
    /// Can never succeed.
    Permanent,
    /// Stopped cleanly, such as by a shutdown: the attempt is given back.
    Interrupted,
    /// Its holder is gone.
    Abandoned,
}

/// The run does not own its job any more: it must stop, and nothing of it counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Lost {
    /// Another run has it, or it was taken back.
    #[error("another run has taken the job over, or it was cancelled")]
    TakenOver,
    /// Its lease ran out before it was renewed.
    #[error("the lease ran out before it was renewed")]
    LeaseExpired,
}

/// What a run shows where its effect is stored: in the same transaction the job is looked at, and a run that
/// was stopped past its lease, or taken over, stores nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fence {
    /// The job.
    pub key: JobKey,
    /// The claim.
    pub token: Token,
    /// Now.
    pub now: Moment,
}

impl Fence {
    /// Checks that the run still owns `job`, the row of its key.
    ///
    /// # Errors
    /// [`Lost`]: store nothing.
    pub fn check(&self, job: Option<&Job>) -> Result<(), Lost> {
        owned(job.ok_or(Lost::TakenOver)?, &self.token, &self.now).map(drop)
    }
}

/// The lease that `token` shows, while it holds.
pub(super) fn owned<'a>(job: &'a Job, token: &Token, now: &Moment) -> Result<&'a Lease, Lost> {
    let lease = job.lease.as_ref().filter(|lease| {
        job.state == State::Running && job.epoch == token.epoch && lease.nonce == token.nonce
    });
    let lease = lease.ok_or(Lost::TakenOver)?;
    if lease.is_live(now) { Ok(lease) } else { Err(Lost::LeaseExpired) }
}

/// A run succeeded. What was asked for meanwhile is still owed, after the cooldown unless it is urgent; so is
/// what is asked for later.
///
/// # Errors
/// [`Lost`]: somebody else owns it, and nothing changes.
pub fn finish(mut job: Job, token: &Token, rules: &Rules, now: &Moment) -> Result<Job, Lost> {
    let seen = owned(&job, token, now)?.wanted;
    job.done = job.done.max(seen);
    job.lease = None;
    job.attempts = 0;
    job.failure = None;
    job.finished_at = Some(now.clone());
    job.updated_at = now.clone();
    job.state = if job.is_owed() { State::Queued } else { State::Done };
    let passes_by = job.is_owed() && job.urgent;
    job.not_before = (rules.cooldown_ms > 0 && !passes_by).then(|| now.plus_ms(rules.cooldown_ms));
    job.urgent &= job.is_owed();
    Ok(job)
}

/// A run failed. `chance` in 0..1 spreads waits.
///
/// # Errors
/// [`Lost`]: somebody else owns it, and nothing changes.
pub fn fail(
    mut job: Job,
    token: &Token,
    failure: Failure,
    (rules, chance): (&Rules, f64),
    now: &Moment,
) -> Result<Job, Lost> {
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
