//! The values in force, which a reload replaces.
//!
//! *Owns* the one configuration that all parts read, each time they need it. A reload reads the file, takes
//! over what can change while the daemon runs, and publishes the result in one step: nobody sees half of
//! it. What only a start can set (folders, sockets, sizes of pools) stays as it was and is named. A file
//! that is refused changes nothing.

use std::sync::{Arc, Mutex, PoisonError};

use super::{Config, ConfigError, jobs};

/// The configuration that is in force; clones are the same one.
#[derive(Debug, Clone)]
pub struct Live {
    value: Arc<Mutex<Arc<Config>>>,
}

/// A key that the file gives another value than the daemon was run with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    pub key: String,
    pub before: String,
    /// The value of the file.
    pub after: String,
    /// Whether it holds from now on; else from the next start.
    pub is_applied: bool,
}

#[derive(Debug, Clone)]
pub struct Reloaded {
    /// The values in force now.
    pub config: Arc<Config>,
    /// Keys whose value differs, in the order of the file.
    pub changes: Vec<Change>,
}

impl Live {
    /// The configuration of a start.
    pub fn new(config: Config) -> Self {
        Self { value: Arc::new(Mutex::new(Arc::new(config))) }
    }

    /// The values in force now.
    pub fn now(&self) -> Arc<Config> {
        Arc::clone(&self.value.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Reads the file anew and takes over what can change while the daemon runs; `accept` has the last
    /// word before anything is published.
    ///
    /// # Errors
    /// The file cannot be read or is refused: the values in force stay.
    pub fn reload(
        &self,
        accept: impl FnOnce(&Config) -> Result<(), ConfigError>,
    ) -> Result<Reloaded, ConfigError> {
        // Held while the file is read: of two reloads the one that read last is published last.
        let mut value = self.value.lock().unwrap_or_else(PoisonError::into_inner);
        let wanted = value.again()?;
        let merged = value.with_live_values_of(&wanted);
        accept(&merged)?;
        let mut changes = changes(&value, &merged, true);
        changes.extend(self::changes(&merged, &wanted, false));
        // What is no single key comes last.
        let entries = merged.entries();
        changes.sort_by_key(|change| {
            entries.iter().position(|(key, ..)| *key == change.key).unwrap_or(entries.len())
        });
        *value = Arc::new(merged);
        Ok(Reloaded { config: Arc::clone(&value), changes })
    }
}

impl Config {
    /// Reads the file anew, with the flags and the environment of the start.
    pub fn again(&self) -> Result<Self, ConfigError> {
        Self::load(&self.launch.args, &self.launch.around)
    }

    /// This one with those values of `new` that need no start.
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
    // Headers, timeouts and sources of keys have no entry: some may not be shown.
    let is_told = changes.iter().any(|change| matches!(change.key.as_str(), "model" | "providers"));
    if before.models != after.models && !is_told {
        let words = after.models.provider_words();
        changes.push(Change {
            key: "providers".to_owned(),
            before: words.clone(),
            after: words,
            is_applied,
        });
    }
    let is_told = changes.iter().any(|change| change.key.contains("policy"));
    if before.policies != after.policies && !is_told {
        let (before, after) = (before.policies.words(), after.policies.words());
        changes.push(Change { key: "policy".to_owned(), before, after, is_applied });
    }
    if before.jobs != after.jobs {
        let (before, after) = (before.jobs.words(), after.jobs.words());
        changes.push(Change { key: "jobs".to_owned(), before, after, is_applied });
    }
    changes
}
