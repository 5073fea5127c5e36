//! The current configuration, which a reload replaces.
//!
//! *State*: one configuration, which all parts read each time they need a value. A reload reads the file, takes over
//! what can change while the daemon runs, and publishes the result in one step, so no reader sees a part of it. Values
//! that need a restart (folders, sockets, sizes of pools) keep their old value and are listed. A rejected file changes
//! nothing.

use std::sync::{Arc, Mutex, PoisonError};

use super::{Config, ConfigError, jobs};

/// The current configuration; clones share it.
#[derive(Debug, Clone)]
pub struct Live {
    value: Arc<Mutex<Arc<Config>>>,
}

/// A key whose value in the file differs from the current one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    pub key: String,
    pub before: String,
    /// The value of the file.
    pub after: String,
    /// Whether it applies now; otherwise after a restart.
    pub is_applied: bool,
}

#[derive(Debug, Clone)]
pub struct Reloaded {
    /// The values after the reload.
    pub config: Arc<Config>,
    /// Keys whose value differs, in the order of the file.
    pub changes: Vec<Change>,
}

impl Live {
    pub fn new(config: Config) -> Self {
        Self { value: Arc::new(Mutex::new(Arc::new(config))) }
    }

    pub fn now(&self) -> Arc<Config> {
        Arc::clone(&self.value.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Reads the file again and takes over what can change while the daemon runs, if `accept` agrees.
    ///
    /// # Errors
    /// The file cannot be read or is rejected; the current values remain.
    pub fn reload(
        &self,
        accept: impl FnOnce(&Config) -> Result<(), ConfigError>,
    ) -> Result<Reloaded, ConfigError> {
        // Keep the lock while reading the file, so that of two reloads the later read is published last.
        let mut value = self.value.lock().unwrap_or_else(PoisonError::into_inner);
        let wanted = value.load_again()?;
        let merged = value.with_live_values_of(&wanted);
        accept(&merged)?;
        let mut changes = changes(&value, &merged, true);
        changes.extend(self::changes(&merged, &wanted, false));
        // Changes that are not of a single key come last.
        let entries = merged.entries();
        changes.sort_by_key(|change| {
            entries.iter().position(|(key, ..)| *key == change.key).unwrap_or(entries.len())
        });
        *value = Arc::new(merged);
        Ok(Reloaded { config: Arc::clone(&value), changes })
    }
}

impl Config {
    /// Loads the file again, with the flags and environment of the start.
    pub fn load_again(&self) -> Result<Self, ConfigError> {
        Self::load(&self.launch.args, &self.launch.around)
    }

    /// This configuration with those values of `new` that need no restart.
    fn with_live_values_of(&self, new: &Self) -> Self {
        let new = new.clone();
        Self {
            file: new.file,
            log: new.log,
            compaction: new.compaction,
            context: new.context,
            archive: new.archive,
            memory: new.memory,
            models: new.models,
            budget: new.budget,
            policies: new.policies,
            jobs: jobs::JobSettings { outside: self.jobs.outside.clone(), ..new.jobs },
            repository: new.repository,
            ..self.clone()
        }
    }
}

fn changes(before: &Config, after: &Config, is_applied: bool) -> Vec<Change> {
    let pairs = before.entries().into_iter().zip(after.entries());
    let mut changes: Vec<Change> = pairs
        .filter(|(old, new)| old.1 != new.1)
        .map(|((key, before, _), (_, after, _))| Change { key, before, after, is_applied })
        .collect();
    // Headers, timeouts and sources of keys have no entry, since some must not be shown.
    let is_listed =
        changes.iter().any(|change| matches!(change.key.as_str(), "model" | "providers"));
    if before.models != after.models && !is_listed {
        let words = after.models.provider_words();
        changes.push(Change {
            key: "providers".to_owned(),
            before: words.clone(),
            after: words,
            is_applied,
        });
    }
    let is_listed = changes.iter().any(|change| change.key.contains("policy"));
    if before.policies != after.policies && !is_listed {
        let (before, after) = (before.policies.words(), after.policies.words());
        changes.push(Change { key: "policy".to_owned(), before, after, is_applied });
    }
    if before.jobs != after.jobs {
        let (before, after) = (before.jobs.words(), after.jobs.words());
        changes.push(Change { key: "jobs".to_owned(), before, after, is_applied });
    }
    changes
}
