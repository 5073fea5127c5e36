//! Why a job runs or does not.

use serde::{Deserialize, Serialize};

use super::{Job, Moment, Rules, State, span_ms};

/// Why a job is not claimed, or [`Why::Due`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "reason", rename_all = "snake_case")]
pub enum Why {
    /// It may run now.
    Due,
    NothingPending,
    Running {
        holder: String,
        /// Milliseconds until its lease expires.
        lease_ms: u64,
    },
    /// Its holder is gone; the next scan takes it over.
    Abandoned,
    /// Waiting after a failure or a success.
    Waiting {
        wait_ms: u64,
        /// The failure that caused the wait; `None` after a success.
        after: Option<String>,
    },
    /// The maximum number of its kind is running.
    NoRoom {
        running_max: u32,
    },
    /// Out of attempts, or cannot succeed.
    Dead {
        detail: String,
    },
    /// Waiting for a configuration change.
    Parked {
        detail: String,
    },
}

/// Why a job runs or does not, while `running` jobs of its kind run.
pub fn why(job: &Job, running: u32, rules: &Rules, now: &Moment) -> Why {
    let detail = || job.failure.as_ref().map_or_else(String::new, |failure| failure.detail.clone());
    match (job.state, &job.lease) {
        (State::Running, Some(lease)) if lease.is_live(now) => {
            let end = lease.renewed.boot_ms.saturating_add(lease.lease_ms);
            let lease_ms = end.saturating_sub(now.boot_ms);
            return Why::Running { holder: lease.holder.clone(), lease_ms };
        }
        (State::Running, _) => return Why::Abandoned,
        (State::Dead, _) => return Why::Dead { detail: detail() },
        (State::Parked, _) => return Why::Parked { detail: detail() },
        (State::Done, _) => return Why::NothingPending,
        (State::Queued | State::Failed, _) => {}
    }
    if !job.is_pending() {
        return Why::NothingPending;
    }
    let wait_ms =
        job.not_before.as_ref().map_or(0, |due| span_ms(now, due, longest(job, due, rules)));
    if wait_ms > 0 {
        let after = job.failure.as_ref().map(|failure| failure.detail.clone());
        return Why::Waiting { wait_ms, after };
    }
    if running >= rules.running_max {
        return Why::NoRoom { running_max: rules.running_max };
    }
    Why::Due
}

/// Upper bound of the wait until `due`, by the boot clock at its start, so that setting the wall clock back
/// between two boots does not extend it.
fn longest(job: &Job, due: &Moment, rules: &Rules) -> u64 {
    let begun = &job.updated_at;
    let is_same_boot = begun.boot == due.boot;
    let intended = if is_same_boot { due.boot_ms.saturating_sub(begun.boot_ms) } else { u64::MAX };
    intended.min(rules.wait_ms_max())
}
