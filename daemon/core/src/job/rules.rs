//! Limits for each kind of job.

use serde::{Deserialize, Serialize};

use super::Kind;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rules {
    /// Milliseconds a claim lasts without renewal.
    pub lease_ms: u64,
    /// Milliseconds between renewals; at most a third of the lease.
    pub heartbeat_ms: u64,
    /// Milliseconds before its lease ends at which a run stops itself, so that it has stopped when another
    /// begins.
    pub margin_ms: u64,
    /// Milliseconds of the first backoff; doubled for each further failure.
    pub retry_ms: u64,
    /// Maximum backoff in milliseconds.
    pub retry_ms_max: u64,
    /// Cooldown after a success in milliseconds; skipped by urgent requests.
    pub cooldown_ms: u64,
    /// Maximum attempts before the job is dead.
    pub attempts_max: u32,
    /// Maximum concurrent jobs of this kind.
    pub running_max: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RulesError {
    /// A single late renewal would lose the lease.
    #[error("the heartbeat must be at most a third of the lease")]
    HeartbeatTooSlow,
    /// A run would stop before its first renewal.
    #[error("the margin must leave room for two heartbeats")]
    MarginTooWide,
    /// Nothing would ever run.
    #[error("attempts and running must be at least 1")]
    Nothing,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            lease_ms: 3_600_000,
            heartbeat_ms: 90_000,
            margin_ms: 60_000,
            retry_ms: 3_600_000,
            retry_ms_max: 24 * 3_600_000,
            cooldown_ms: 0,
            attempts_max: 5,
            running_max: 1,
        }
    }
}

impl Rules {
    /// The defaults of a kind. Extraction and consolidation retry soon, because without a model no outside service can
    /// fail. A person waits for a compaction, pruning takes seconds, and rebuilding the index of a million items takes
    /// minutes.
    pub fn of(kind: Kind) -> Self {
        let base = Self::default();
        match kind {
            Kind::Extract => Self { attempts_max: 3, running_max: 8, ..base },
            Kind::Consolidate => Self { retry_ms: 60_000, retry_ms_max: 3_600_000, ..base },
            Kind::Curate => Self {
                lease_ms: 120_000,
                heartbeat_ms: 30_000,
                margin_ms: 30_000,
                retry_ms: 60_000,
                retry_ms_max: 3_600_000,
                attempts_max: 3,
                ..base
            },
            Kind::Compact => Self {
                lease_ms: 300_000,
                heartbeat_ms: 30_000,
                margin_ms: 30_000,
                retry_ms: 2_000,
                retry_ms_max: 60_000,
                attempts_max: 3,
                running_max: 2,
                ..base
            },
            Kind::Prune | Kind::Reindex => Self {
                lease_ms: 600_000,
                heartbeat_ms: 60_000,
                margin_ms: 60_000,
                retry_ms: 60_000,
                retry_ms_max: 3_600_000,
                ..base
            },
        }
    }

    /// Validates the rules; the error is the first violation.
    pub fn checked(self) -> Result<Self, RulesError> {
        if self.heartbeat_ms == 0 || self.heartbeat_ms > self.lease_ms / 3 {
            return Err(RulesError::HeartbeatTooSlow);
        }
        if self.margin_ms.saturating_add(2 * self.heartbeat_ms) > self.lease_ms {
            return Err(RulesError::MarginTooWide);
        }
        if self.attempts_max == 0 || self.running_max == 0 {
            return Err(RulesError::Nothing);
        }
        Ok(self)
    }

    /// Backoff after failed attempt `attempts`: doubled each time, spread over the upper half by `chance` in 0..1, and
    /// at least the provider's wait; never more than [`Rules::wait_ms_max`].
    pub fn backoff_ms(&self, attempts: u32, retry_after_ms: Option<u64>, chance: f64) -> u64 {
        let doubled = self.retry_ms.saturating_mul(1 << attempts.saturating_sub(1).min(20));
        let most = doubled.min(self.retry_ms_max);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "at most half of retry_ms_max"
        )]
        let spread = (most as f64 / 2.0 * chance.clamp(0.0, 1.0)) as u64;
        (most / 2 + spread).max(retry_after_ms.unwrap_or(0)).min(self.wait_ms_max())
    }

    /// The longest wait any rule allows; a longer one means a wrong clock.
    pub fn wait_ms_max(&self) -> u64 {
        self.retry_ms_max.max(self.cooldown_ms).max(24 * 3_600_000)
    }
}
