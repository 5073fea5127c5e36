//! A point in time on two clocks.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moment {
    /// Unix milliseconds; may jump.
    pub wall_ms: i64,
    /// Id of the machine's boot.
    pub boot: String,
    /// Milliseconds since that boot, sleep included; never jumps.
    pub boot_ms: u64,
}

impl Moment {
    pub fn plus_ms(&self, ms: u64) -> Self {
        Self {
            wall_ms: self.wall_ms.saturating_add_unsigned(ms),
            boot: self.boot.clone(),
            boot_ms: self.boot_ms.saturating_add(ms),
        }
    }
}

/// Milliseconds from `now` until `due`, 0 if past. Uses the boot clock within one boot, else the wall
/// clock; a result above `span_ms_max`, the longest wait any rule allows, means a wrong clock and counts as
/// past.
pub fn span_ms(now: &Moment, due: &Moment, span_ms_max: u64) -> u64 {
    let span = if now.boot == due.boot {
        due.boot_ms.saturating_sub(now.boot_ms)
    } else {
        u64::try_from(due.wall_ms.saturating_sub(now.wall_ms)).unwrap_or(0)
    };
    if span > span_ms_max { 0 } else { span }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(wall_ms: i64, boot: &str, boot_ms: u64) -> Moment {
        Moment { wall_ms, boot: boot.to_owned(), boot_ms }
    }

    #[test]
    fn a_jump_of_the_wall_clock_changes_nothing_within_a_boot() {
        let due = at(10_000, "a", 5_000);
        for wall in [0, 10_000, i64::MAX, i64::MIN] {
            assert_eq!(span_ms(&at(wall, "a", 4_000), &due, 9_000), 1_000);
            assert_eq!(span_ms(&at(wall, "a", 5_000), &due, 9_000), 0);
        }
    }

    #[test]
    fn across_boots_an_impossible_wait_is_over() {
        let due = at(10_000, "a", 5_000);
        assert_eq!(span_ms(&at(9_000, "b", 1), &due, 9_000), 1_000);
        assert_eq!(span_ms(&at(-90_000_000, "b", 1), &due, 9_000), 0);
        assert_eq!(span_ms(&at(11_000, "b", 1), &due, 9_000), 0);
    }
}
