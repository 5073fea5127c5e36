//! The daemon's state for `daemon/status` and `daemon/metrics`.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use longhaul_protocol::daemon::{
    CompactionsStatus, ModelStatus, SalvageStatus, StoreStatus, TaskModelStatus,
};
use longhaul_protocol::thread::IndexStatus;
use longhaul_protocol::warning::Warning;
use longhaul_store::{RebuildReport, SCHEMA_VERSION};

use super::memory::{CuratorProcess, Publications};
use super::storage::Storage;
use crate::clock::Clock;
use crate::config::Live;
use crate::ingest::{MissingBase, Progress};
use crate::model::{Models, SilentProvider};
use crate::repository::Repositories;

mod compaction_costs;

pub use compaction_costs::CompactionCostReader;

/// This run of the daemon.
#[derive(Debug, Clone)]
pub struct Instance {
    pub id: String,
    pub started_at: i64,
    pub pid: u32,
    pub socket: PathBuf,
    pub(super) clock: Clock,
}

pub struct Status {
    pub instance: Instance,
    pub config: Live,
    pub(super) storage: Arc<Storage>,
    pub(super) costs: CompactionCostReader,
    pub(super) optional: OptionalParts,
}

/// What the daemon works with but may lack.
pub struct OptionalParts {
    pub(super) models: Arc<Models>,
    pub(super) repositories: Repositories,
    pub(super) curator: Arc<CuratorProcess>,
    pub(super) memory: Arc<Publications>,
}

impl Instance {
    pub fn uptime_ms(&self) -> u64 {
        self.clock.ms_since(Duration::ZERO)
    }
}

impl Status {
    pub fn store(&self) -> StoreStatus {
        let database = &self.storage.database;
        let rebuilt = database.rebuilt();
        let salvaged = rebuilt.as_ref().and_then(|rebuilt| rebuilt.salvaged.as_ref());
        StoreStatus {
            path: database.path().display().to_string(),
            schema_version: SCHEMA_VERSION,
            older_version: rebuilt.as_ref().is_some_and(RebuildReport::is_of_older_version),
            salvaged: salvaged.map(|salvaged| SalvageStatus {
                updates: salvaged.updates,
                compactions: salvaged.compactions,
                model_usage: salvaged.usage,
                jobs: salvaged.jobs,
                complete: salvaged.complete,
            }),
            rebuilt_from: rebuilt.map(|rebuilt| rebuilt.moved_to.display().to_string()),
        }
    }

    /// Bytes of the database and the search index.
    pub fn stored_bytes(&self) -> u64 {
        self.storage.database.bytes() + self.index().bytes
    }

    pub fn index(&self) -> IndexStatus {
        self.storage.full_text.progress.state()
    }

    pub fn ingest(&self) -> Progress {
        self.storage.ingest.progress()
    }

    /// `None` where no model is configured.
    pub fn model(&self) -> Option<ModelStatus> {
        let models = &self.optional.models;
        let settings = models.settings();
        let choice = settings.default.clone()?;
        let tasks = settings.by_task.iter().map(|(task, own)| TaskModelStatus {
            task: task.into_str().to_owned(),
            provider: own.provider.clone(),
            name: own.model.clone(),
            effort: own.effort.clone(),
        });
        let (spent, budget) = (models.spent_today(), self.config.now().budget.bounds());
        Some(ModelStatus {
            provider: choice.provider,
            name: choice.model,
            tasks: tasks.collect(),
            requests_today: spent.requests,
            tokens_today: spent.tokens,
            requests_per_day: budget.requests_per_day,
            tokens_per_day: budget.tokens_per_day,
            requests_per_job: budget.requests_per_job,
            tokens_per_job: budget.tokens_per_job,
        })
    }

    /// Costs of all compactions; empty if the store cannot be read, which other fields report.
    pub async fn compaction_costs(&self) -> CompactionsStatus {
        let costs = self.costs.read().await;
        costs
            .inspect_err(|error| tracing::warn!(%error, "compactions are not counted"))
            .unwrap_or_default()
    }

    /// What a person should know, `progress` included.
    pub async fn warnings(&self, progress: &Progress) -> Vec<Warning> {
        let OptionalParts { models, repositories, curator, memory } = &self.optional;
        let mut warnings = warnings(progress, models.refused_today());
        warnings.extend(repaired(self.storage.database.pages_repaired()));
        warnings.extend(repositories.unavailable().as_deref().map(unseen));
        warnings.extend(curator.missing().map(uncurated));
        warnings.extend(models.silent_providers().await.iter().map(unreachable));
        let (is_taken_over, asides) = memory.after_loss();
        warnings.extend(is_taken_over.then(taken_over));
        warnings.extend(asides.iter().map(|aside| set_aside(aside)));
        warnings
    }
}

fn warning(kind: &str, message: String, hint: &str) -> Warning {
    Warning { kind: kind.to_owned(), message, hint: Some(hint.to_owned()) }
}

fn unseen(why: &str) -> Warning {
    warning(
        "repositories_unseen",
        format!("repositories are not observed: {why}"),
        "decisions are made without them; observe = false under [repository] ends the attempts",
    )
}

fn uncurated(program: &Path) -> Warning {
    warning(
        "curator_missing",
        format!("the model cannot edit the files of memory: {} is not there", program.display()),
        "cargo install --locked --path workers/curator, into the folder of longhauld; until then memory is \
         made by rules alone",
    )
}

fn unreachable(provider: &SilentProvider) -> Warning {
    let SilentProvider { name, address, why } = provider;
    warning(
        "model_unreachable",
        format!(
            "nothing answers at {address}, where the model of provider {name} should be: {why}"
        ),
        "start that server, or change base_url in config.toml; until then the daemon works without a model",
    )
}

fn taken_over() -> Warning {
    warning(
        "memory_taken_over",
        "the database was new or damaged: your notes, edits and exclusions were read from the memory folder".to_owned(),
        "nothing is lost; memory of the threads follows as they are read again",
    )
}

fn set_aside(folder: &Path) -> Warning {
    warning(
        "memory_set_aside",
        format!("memory of a lost database could not be taken over; it is in {}", folder.display()),
        "copy what is yours into the memory folder, then delete it; longhaul memory forget deletes it, too",
    )
}

fn repaired(pages: usize) -> Option<Warning> {
    let counted = match pages {
        0 => return None,
        1 => "1 page".to_owned(),
        more => format!("{more} pages"),
    };
    Some(warning(
        "store_repaired",
        format!("{counted} of the database had a flipped bit, which was corrected"),
        "nothing is lost; the disk or the memory may be failing: check smartctl and the journal",
    ))
}

fn missing_bases(progress: &Progress) -> String {
    let one = progress.missing_base.as_ref().map(|MissingBase { thread_id, base }| {
        format!("thread {thread_id} continues {base}, whose transcript is not there")
    });
    match (progress.bases_missing, one) {
        (1, Some(one)) => one,
        (1, None) => "a fork continues a transcript that is not there".to_owned(),
        (forks, one) => {
            let forks = format!("{forks} forks continue transcripts that are not there");
            forks + &one.map(|one| format!("; the first: {one}")).unwrap_or_default()
        }
    }
}

fn warnings(progress: &Progress, refused: Option<String>) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let mut warn = |kind, message, hint| warnings.push(warning(kind, message, hint));
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
        warn(
            "base_missing",
            missing_bases(progress),
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
