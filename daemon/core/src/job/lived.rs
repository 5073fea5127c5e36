//! How long this daemon's database has been in use, by what cannot be set.
//!
//! What is removed by its age is aged by this and never by the wall clock: a machine that starts ten years ahead,
//! or runs ten years back for an hour, makes nothing old. Inside a boot the boot clock tells, the times between
//! two runs included. Across boots it tells the time since the last one; of the time before, during which the
//! machine was off, only the wall clock knows, and it is believed [`OFF_MS_MAX`] at most. So things live longer on
//! a machine that is off for weeks, and never shorter.

use serde::{Deserialize, Serialize};

use super::Moment;

/// Milliseconds between two boots that are counted: a night and a day.
const OFF_MS_MAX: u64 = 86_400_000;

/// The time lived up to a moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lived {
    pub ms: u64,
    pub at: Moment,
}

impl Lived {
    /// A database that begins.
    #[must_use]
    pub fn begin(at: Moment) -> Self {
        Self { ms: 0, at }
    }

    /// The time lived at a later moment.
    #[must_use]
    pub fn carried_on(&self, now: Moment) -> Self {
        let since_ms = if now.boot == self.at.boot {
            now.boot_ms.saturating_sub(self.at.boot_ms)
        } else {
            let by_wall = u64::try_from(now.wall_ms.saturating_sub(self.at.wall_ms)).unwrap_or(0);
            now.boot_ms.saturating_add(by_wall.saturating_sub(now.boot_ms).min(OFF_MS_MAX))
        };
        Self { ms: self.ms.saturating_add(since_ms), at: now }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY_MS: i64 = 86_400_000;
    const YEARS_MS: i64 = 3_650 * DAY_MS;

    fn moment(boot: &str, boot_ms: u64, wall_ms: i64) -> Moment {
        Moment { wall_ms, boot: boot.to_owned(), boot_ms }
    }

    #[test]
    fn time_passes_as_the_machine_saw_it_whatever_its_clock_says() {
        let begun = Lived::begin(moment("a", 1_000, 0));
        for (now, ms) in [
            (moment("a", 6_000, 5_000), 5_000),
            (moment("a", 6_000, YEARS_MS), 5_000),
            (moment("a", 6_000, -YEARS_MS), 5_000),
            (moment("a", 0, 5_000), 0),
            (moment("b", 7_000, 60_000), 60_000),
            (moment("b", 7_000, YEARS_MS), 7_000 + OFF_MS_MAX),
            (moment("b", 7_000, -YEARS_MS), 7_000),
        ] {
            assert_eq!(begun.carried_on(now.clone()).ms, ms, "{now:?}");
        }
    }
}
