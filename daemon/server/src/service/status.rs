//! The daemon's state for `daemon/status` and `daemon/metrics`: plain values, which `rpc` converts for the wire.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use longhaul_core::model::budget::{Budget, Spending};
use longhaul_store::{CompactionTotals, RebuildReport, SCHEMA_VERSION};

use super::compaction::CompactionLog;
use super::memory::CuratorProcess;
use super::search::IndexState;
use super::storage::Storage;
use crate::clock::Clock;
use crate::config::Live;
use crate::ingest::Progress;
use crate::model::{ModelChoice, Models, Task};
use crate::repository::Repositories;

/// This run of the daemon.
#[derive(Debug, Clone)]
pub struct Instance {
    pub id: String,
    pub started_at: i64,
    pub pid: u32,
    pub socket: PathBuf,
    pub(super) clock: Clock,
}

#[derive(Debug)]
pub struct StoreState {
    pub path: PathBuf,
    pub schema_version: u32,
    pub rebuilt: Option<RebuildReport>,
    /// Size of the database and the search index.
    pub bytes: u64,
}

/// The configured model, and today's spending on models.
#[derive(Debug)]
pub struct ModelUse {
    pub choice: ModelChoice,
    pub by_task: BTreeMap<Task, ModelChoice>,
    pub spent: Spending,
    pub budget: Budget,
}

/// Something a person should know about the daemon.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DaemonWarning {
    pub kind: &'static str,
    pub message: String,
    pub hint: &'static str,
}

/// Reads the state of the daemon's parts.
pub struct Status {
    pub instance: Instance,
    pub config: Live,
    pub(super) storage: Arc<Storage>,
    pub(super) compactions: Arc<CompactionLog>,
    pub(super) optional: OptionalParts,
}

/// What the daemon works with but may lack.
pub struct OptionalParts {
    pub(super) models: Arc<Models>,
    pub(super) repositories: Repositories,
    pub(super) curator: Arc<CuratorProcess>,
}

impl Instance {
    pub fn uptime_ms(&self) -> u64 {
        u64::try_from(self.clock.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

impl Status {
    pub fn store(&self) -> StoreState {
        let database = self.storage.database();
        StoreState {
            path: database.path().to_owned(),
            schema_version: SCHEMA_VERSION,
            rebuilt: database.rebuilt(),
            bytes: database.bytes() + self.index().bytes,
        }
    }

    pub fn index(&self) -> IndexState {
        self.storage.index_state()
    }

    pub fn ingest(&self) -> Progress {
        self.storage.reading_progress()
    }

    /// `None` where no model is configured.
    pub fn model(&self) -> Option<ModelUse> {
        let models = &self.optional.models;
        let settings = models.settings();
        let (choice, by_task) = (settings.default.clone()?, settings.by_task.clone());
        let (spent, budget) = (models.spent_today(), self.config.now().budget.bounds());
        Some(ModelUse { choice, by_task, spent, budget })
    }

    /// Totals of all compactions; empty if the store cannot be read, which other fields report.
    pub async fn compactions(&self) -> CompactionTotals {
        let totals = self.compactions.totals().await;
        totals
            .inspect_err(|error| tracing::warn!(%error, "compactions are not counted"))
            .unwrap_or_default()
    }

    /// What a person should know, `progress` included.
    pub fn warnings(&self, progress: &Progress) -> Vec<DaemonWarning> {
        let OptionalParts { models, repositories, curator } = &self.optional;
        let mut warnings = warnings(progress, models.refused_today());
        warnings.extend(repaired(self.storage.database().pages_repaired()));
        warnings.extend(repositories.unavailable().as_deref().map(unseen));
        warnings.extend(curator.missing().map(uncurated));
        warnings
    }
}

fn unseen(why: &str) -> DaemonWarning {
    DaemonWarning {
        kind: "repositories_unseen",
        message: format!("repositories are not observed: {why}"),
        hint: "decisions are made without them; observe = false under [repository] ends the attempts",
    }
}

fn uncurated(program: &Path) -> DaemonWarning {
    DaemonWarning {
        kind: "curator_missing",
        message: format!(
            "the model cannot edit the files of memory: {} is not there",
            program.display()
        ),
        hint: "cargo install --locked --path workers/curator, into the folder of longhauld; until then memory is \
               made by rules alone",
    }
}

fn repaired(pages: usize) -> Option<DaemonWarning> {
    let counted = match pages {
        0 => return None,
        1 => "1 page".to_owned(),
        more => format!("{more} pages"),
    };
    Some(DaemonWarning {
        kind: "store_repaired",
        message: format!("{counted} of the database had a flipped bit, which was corrected"),
        hint: "nothing is lost; the disk or the memory may be failing: check smartctl and the journal",
    })
}

fn warnings(progress: &Progress, refused: Option<String>) -> Vec<DaemonWarning> {
    let mut warnings = Vec::new();
    let mut warn = |kind, message, hint| warnings.push(DaemonWarning { kind, message, hint });
    if let Some(why) = &progress.stalled {
        warn(
            "ingest_stalled",
            why.clone(),
            "free space on the disk or see the journal; reading continues automatically",
        );
    }
    if progress.is_watch_degraded {
        let message = "changes are found by scanning only".to_owned();
        warn("watch_degraded", message, "raise fs.inotify.max_user_watches or max_user_instances");
    }
    if progress.folds_broken > 0 {
        warn(
            "fold_broken",
            format!("{} saved states could not be read", progress.folds_broken),
            "they were rebuilt from their transcripts and nothing is lost; the disk may be failing",
        );
    }
    // While files wait to be read, the missing base may be one of them.
    if progress.bases_missing > 0 && !progress.is_catching_up {
        let message =
            format!("{} forks continue a transcript that is not there", progress.bases_missing);
        warn(
            "base_missing",
            message,
            "put the parent transcript back; it is then found automatically",
        );
    }
    if let Some(bound) = refused {
        let message = format!("a model was not asked: {bound}");
        warn(
            "budget_spent",
            message,
            "days end at midnight UTC; the limits are set under [budget] in config.toml",
        );
    }
    warnings
}
