//! Idle trimming: releases caches and heap when the daemon is idle.
//!
//! # Theory of operation
//! Every `LOOK` it compares the processor time of the process, which covers all work, with that of the last look. After
//! work, the first look that finds none releases what is cheap to reload, database pages and free heap; `FORGET` later
//! also the cached folds are released, which would delay an agent that pauses between two turns. Nothing is released
//! twice without work in between.
//!
//! So an idle daemon has no caches but what less than `NO_WORK` a second loaded, and wakes for a look once a second.

use std::time::Duration;

use super::storage::{Caches, Storage};
use crate::metering;

/// Interval between two looks at the processor time.
const LOOK: Duration = Duration::from_secs(1);

/// Processor time of a look that counts as none: that of the daemon's checks. Less leaves little to release.
const NO_WORK: Duration = Duration::from_millis(2);

/// Idle time before cached folds are dropped.
///
/// # Source
/// Chosen: longer than most turns of an agent; reloading a fold takes milliseconds.
const FORGET: Duration = Duration::from_secs(300);

/// Trims whenever the daemon is idle, until this future is dropped.
pub async fn trim_when_idle(storage: &Storage) {
    let mut idleness = Idleness::default();
    loop {
        tokio::time::sleep(LOOK).await;
        if let Some(caches) = idleness.look(metering::processor_time()) {
            storage.release(caches).await;
            idleness.released(caches, metering::processor_time());
        }
    }
}

#[derive(Debug, Default)]
struct Idleness {
    /// Processor time at the last look.
    worked: Duration,
    idle: Duration,
    next: Option<Caches>,
}

impl Idleness {
    /// What to release now.
    fn look(&mut self, worked: Duration) -> Option<Caches> {
        let work = worked.saturating_sub(self.worked);
        self.worked = worked;
        self.idle += LOOK;
        if work > NO_WORK {
            (self.idle, self.next) = (Duration::ZERO, Some(Caches::Cheap));
        }
        let is_due = |next: &Caches| *next == Caches::Cheap || self.idle >= FORGET;
        self.next.filter(|next| work <= NO_WORK && is_due(next))
    }

    /// Releasing is no work.
    fn released(&mut self, caches: Caches, worked: Duration) {
        self.worked = worked;
        self.next = (caches == Caches::Cheap).then_some(Caches::All);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cache_is_released_once_when_idle_and_again_only_after_more_work() {
        let (mut idleness, mut worked) = (Idleness::default(), Duration::ZERO);
        let mut looks = |looks: u64, work_ms: u64| {
            let mut released = Vec::new();
            for look in 0..looks {
                worked += Duration::from_millis(work_ms);
                if let Some(caches) = idleness.look(worked) {
                    worked += Duration::from_millis(50);
                    idleness.released(caches, worked);
                    released.push((look, caches));
                }
            }
            released
        };
        assert_eq!(looks(5, 100), [], "busy");
        let last = FORGET.as_secs() - 1;
        assert_eq!(looks(1_000, 1), [(0, Caches::Cheap), (last, Caches::All)]);
        assert_eq!(looks(1, 5), [], "a little work");
        assert_eq!(looks(100, 0), [(0, Caches::Cheap)]);
    }
}
