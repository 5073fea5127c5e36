//! Looking at the repositories that threads work in.

use std::time::Duration;

use super::file::Repository;
use super::{ConfigError, Number, Origin, Setting, or_default};

/// A cold look at a large repository takes some hundred milliseconds; a look that takes longer is worth less than the time.
const TIMEOUT_MS: Number =
    Number { key: "repository.timeout_ms", default: 2_000, min: 50, max: 30_000 };

/// As configured, with where each value came from.
#[derive(Debug, Clone)]
pub struct RepositoryConfig {
    /// Whether they are looked at.
    pub observe: Setting<bool>,
    /// Whether what Graphite left in them is read, too.
    pub graphite: Setting<bool>,
    /// Time of one look.
    pub timeout_ms: Setting<u64>,
}

/// What a look needs to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RepositorySettings {
    /// Whether there is to be one.
    pub observe: bool,
    /// Whether what Graphite left is read, too.
    pub graphite: bool,
    /// How long it may take.
    pub timeout: Duration,
}

impl RepositoryConfig {
    /// Reads `[repository]`.
    ///
    /// # Errors
    /// A value out of its bounds.
    pub(super) fn of(file: &Repository) -> Result<Self, ConfigError> {
        Ok(Self {
            observe: or_default(file.observe, true),
            graphite: or_default(file.graphite, true),
            timeout_ms: TIMEOUT_MS.of(file.timeout_ms)?,
        })
    }

    /// The values alone.
    #[must_use]
    pub fn settings(&self) -> RepositorySettings {
        RepositorySettings {
            observe: *self.observe,
            graphite: *self.graphite,
            timeout: Duration::from_millis(*self.timeout_ms),
        }
    }

    /// Keys, values and origins, in the order of the file.
    pub(super) fn entries(&self) -> Vec<(&'static str, String, Origin)> {
        let flag =
            |key, setting: &Setting<bool>| (key, setting.to_string(), setting.origin.clone());
        let timeout = &self.timeout_ms;
        vec![
            flag("repository.observe", &self.observe),
            flag("repository.graphite", &self.graphite),
            ("repository.timeout_ms", timeout.to_string(), timeout.origin.clone()),
        ]
    }
}
