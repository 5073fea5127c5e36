//! Leases: whether a run still owns its job, checked before it renews, ends or stores anything.

use serde::{Deserialize, Serialize};

use super::{Job, JobKey, Moment, Rules, State};

/// Proof that a run owns its job.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Token {
    pub epoch: u64,
    pub nonce: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    /// The daemon's instance or the name of an external worker.
    pub holder: String,
    /// Distinguishes two claims of one epoch if a row is restored from a copy.
    pub nonce: String,
    /// Value of `wanted` when the run was claimed.
    pub wanted: u64,
    pub since: Moment,
    /// When it was last renewed, or claimed.
    pub renewed: Moment,
    /// Duration in milliseconds after that.
    pub lease_ms: u64,
}

impl Lease {
    /// Whether the lease is still valid: made in this boot and not expired. A lease that appears to start later
    /// than it can last (a container with its own boot clock) is expired.
    pub fn is_live(&self, now: &Moment) -> bool {
        self.renewed.boot == now.boot && self.renewed.boot_ms.abs_diff(now.boot_ms) < self.lease_ms
    }
}

/// The run no longer owns its job: it must stop, and its result is discarded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum LeaseLost {
    #[error("another run has taken the job over, or it was cancelled")]
    TakenOver,
    #[error("the lease expired before it was renewed")]
    LeaseExpired,
}

/// Proof of ownership, checked in the transaction that stores a run's effect: a run that was suspended past
/// its lease or taken over stores nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fence {
    pub key: JobKey,
    pub token: Token,
    pub now: Moment,
    /// If set, the effect completes the run, and the same transaction records its success.
    pub finishes: Option<Rules>,
}

impl Fence {
    /// Checks that the run still owns `job`, the row of its key.
    ///
    /// # Errors
    /// [`LeaseLost`]: store nothing.
    pub fn check(&self, job: Option<&Job>) -> Result<(), LeaseLost> {
        owned(job.ok_or(LeaseLost::TakenOver)?, &self.token, &self.now).map(drop)
    }
}

/// The lease matching `token`, if still valid.
pub(super) fn owned<'a>(job: &'a Job, token: &Token, now: &Moment) -> Result<&'a Lease, LeaseLost> {
    let lease = job.lease.as_ref().filter(|lease| {
        job.state == State::Running && job.epoch == token.epoch && lease.nonce == token.nonce
    });
    let lease = lease.ok_or(LeaseLost::TakenOver)?;
    if lease.is_live(now) { Ok(lease) } else { Err(LeaseLost::LeaseExpired) }
}
