//! `[memory]` as the core's rules and bounds.

use longhaul_core::limits::{DAY_MS, HOUR_MS};
use longhaul_core::memory::{consolidate, eligible};

use super::tables::MemorySettings;

impl MemorySettings {
    pub fn rules(&self) -> eligible::Rules {
        eligible::Rules {
            min_idle_ms: times(*self.min_idle_hours, HOUR_MS),
            max_age_ms: times(*self.max_age_days, DAY_MS),
            takes_exec: *self.takes_exec,
            excludes_outside: *self.excludes_outside,
            ..eligible::Rules::default()
        }
    }

    pub fn bounds(&self) -> consolidate::Bounds {
        consolidate::Bounds {
            max_threads: *self.max_threads,
            max_unused_ms: times(*self.max_unused_days, DAY_MS),
            summary_tokens: *self.summary_tokens,
        }
    }
}

fn times(number: u64, unit: i64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX).saturating_mul(unit)
}
