//! Why a job runs or does not.

use serde::{Deserialize, Serialize};

use super::{Job, Load, Rules, State, span_ms};

/// Why a job is not claimed, or [`Why::Due`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "reason", rename_all = "snake_case")]
pub enum Why {
    /// It may run now.
    Due,
    /// Nothing is owed.
    NothingOwed,
    /// Somebody runs it.
    Running {
        /// Who.
        holder: String,
        /// Milliseconds its lease still holds.
        lease_ms: u64,
    },
    /// Its holder is gone; it is taken over at the next look.
    Abandoned,
    /// It waits, after a failure or a success.
    Waiting {
        /// Milliseconds.
        wait_ms: u64,
    },
    /// As many of its kind run as may.
    NoRoom {
        /// How many.
        running_max: u32,
    },
    /// Its attempts are spent, or it cannot succeed.
    Dead {
        /// The last failure.
        detail: String,
    },
    /// It waits for the configuration to change.
    Parked {
        /// The last failure.
        detail: String,
    },
}

/// Tells why `job` does not run, or that it may.
#[must_use]
pub fn why(job: &Job, load: Load, rules: &Rules, now: &super::Moment) -> Why {
    let detail = || job.failure.as_ref().map_or_else(String::new, |failure| failure.detail.clone());
    match (job.state, &job.lease) {
        (State::Running, Some(lease)) if lease.is_live(now) => {
            let age = now.boot_ms.saturating_sub(lease.renewed.boot_ms);
            let lease_ms = lease.lease_ms.saturating_sub(age);
            return Why::Running { holder: lease.holder.clone(), lease_ms };
        }
        (State::Running, _) => return Why::Abandoned,
        (State::Dead, _) => return Why::Dead { detail: detail() },
        (State::Parked, _) => return Why::Parked { detail: detail() },
        (State::Done, _) => return Why::NothingOwed,
        (State::Queued | State::Failed, _) => {}
    }
    if !job.is_owed() {
        return Why::NothingOwed;
    }
    let wait_ms = job.not_before.as_ref().map_or(0, |due| span_ms(now, due, rules.wait_ms_max()));
    if wait_ms > 0 {
        return Why::Waiting { wait_ms };
    }
    if load.of_kind >= rules.running_max {
        return Why::NoRoom { running_max: rules.running_max };
    }
    Why::Due
}
