//! Reloads the configuration file and applies the settings that can change at run time.

use std::sync::Arc;

use super::archive::ArchiveKeeper;
use crate::config::{Change, ConfigError, Live, Reloaded};
use crate::jobs::Jobs;
use crate::model::Models;
use crate::telemetry;

pub struct Reload {
    config: Live,
    models: Arc<Models>,
    jobs: Jobs,
    archive: Arc<ArchiveKeeper>,
}

impl Reload {
    pub(super) fn new(
        (config, models): (Live, Arc<Models>),
        jobs: &Jobs,
        archive: &Arc<ArchiveKeeper>,
    ) -> Self {
        Self { config, models, jobs: jobs.clone(), archive: Arc::clone(archive) }
    }

    /// Reloads the configuration file and applies the settings that can change at run time.
    ///
    /// # Errors
    /// The file is invalid; nothing changes.
    pub fn run(&self) -> Result<Reloaded, ConfigError> {
        // In one step: concurrent reloads must not mix models and configuration of different files.
        let reloaded = self.config.reload(|config| {
            telemetry::filter(&config.log)?;
            self.models.configure(config.models.clone(), config.budget.bounds());
            self.jobs.configure(config.jobs.rules.clone());
            Ok(())
        })?;
        for Change { key, is_applied, .. } in &reloaded.changes {
            tracing::info!(key, is_applied, "the configuration changed");
        }
        self.archive.settings_changed();
        Ok(reloaded)
    }
}
