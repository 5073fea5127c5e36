//! `[repository]`: whether and how to inspect the repositories that threads work in.

use std::time::Duration;

use super::tables::RepositoryConfig;

/// `[repository]` without the origins of its values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RepositorySettings {
    pub observe: bool,
    pub graphite: bool,
    /// Of one inspection.
    pub timeout: Duration,
}

impl RepositoryConfig {
    pub fn settings(&self) -> RepositorySettings {
        RepositorySettings {
            observe: *self.observe,
            graphite: *self.graphite,
            timeout: Duration::from_millis(*self.timeout_ms),
        }
    }
}
