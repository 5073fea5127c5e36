//! The configuration file read anew, and what can change put in force.

use std::sync::Arc;

use crate::config::{Change, ConfigError, Live, Reloaded};
use crate::jobs::Jobs;
use crate::model::Models;
use crate::telemetry;

/// Puts another configuration in force.
pub struct Reload {
    config: Live,
    models: Arc<Models>,
    jobs: Jobs,
}

impl Reload {
    #[must_use]
    pub fn new(config: Live, models: Arc<Models>, jobs: Jobs) -> Self {
        Self { config, models, jobs }
    }

    /// Reads the configuration file anew and lets what can change take hold.
    ///
    /// # Errors
    /// The file is refused: everything stays as it was.
    pub fn run(&self) -> Result<Reloaded, ConfigError> {
        // Within the one step: of two reloads at once, models and configuration must not be of different ones.
        let reloaded = self.config.reload(|config| {
            telemetry::filter(&config.log)?;
            self.models.configure(config.models.clone(), config.budget.bounds());
            self.jobs.configure(config.jobs.rules.clone());
            Ok(())
        })?;
        for Change { key, is_applied, .. } in &reloaded.changes {
            tracing::info!(key, is_applied, "the configuration changed");
        }
        Ok(reloaded)
    }
}
