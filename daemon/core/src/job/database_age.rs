//! The age of the database, by a clock that cannot be set.
//!
//! Deletion by age uses this and never the wall clock, so a clock set years ahead or back ages nothing. Within a
//! boot the boot clock counts, including the time between two runs of the daemon. Across boots, the boot clock
//! counts since the last boot; for the time before, while the machine was off, there is only the wall clock, which
//! counts for at most [`OFF_MS_MAX`]. So data lives longer on a machine that is off for weeks, and never shorter.

use serde::{Deserialize, Serialize};

use super::Moment;

/// Maximum milliseconds counted between two boots: one day.
const OFF_MS_MAX: u64 = 86_400_000;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DatabaseAge {
    pub ms: u64,
    pub at: Moment,
}

impl DatabaseAge {
    /// Age 0: a new database.
    pub fn begin(at: Moment) -> Self {
        Self { ms: 0, at }
    }

    pub fn advanced_to(&self, now: Moment) -> Self {
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
    fn the_age_ignores_jumps_of_the_wall_clock() {
        let begun = DatabaseAge::begin(moment("a", 1_000, 0));
        for (now, ms) in [
            (moment("a", 6_000, 5_000), 5_000),
            (moment("a", 6_000, YEARS_MS), 5_000),
            (moment("a", 6_000, -YEARS_MS), 5_000),
            (moment("a", 0, 5_000), 0),
            (moment("b", 7_000, 60_000), 60_000),
            (moment("b", 7_000, YEARS_MS), 7_000 + OFF_MS_MAX),
            (moment("b", 7_000, -YEARS_MS), 7_000),
        ] {
            assert_eq!(begun.advanced_to(now.clone()).ms, ms, "{now:?}");
        }
    }
}
