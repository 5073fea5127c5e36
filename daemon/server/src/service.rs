//! The use cases behind the methods: services by namespace, each with only the dependencies it uses.
//!
//! [`Services::open`] is the one place that builds them, lower ones first, and those of a namespace from shared
//! parts (`parts`). A method's handler gets the one or two services it needs, never all of them.

pub(crate) mod archive;
pub(crate) mod checkpoint;
pub(crate) mod choice;
pub(crate) mod compaction;
pub(crate) mod context;
pub(crate) mod continuation;
mod disk;
mod error;
mod hints;
pub(crate) mod history;
pub(crate) mod idle_trim;
pub(crate) mod item_index;
pub(crate) mod job;
pub(crate) mod keeping;
pub(crate) mod memory;
pub(crate) mod message_history;
mod notices;
mod opening;
mod parts;
pub(crate) mod policy;
mod prefix;
pub(crate) mod preimage;
pub(crate) mod projects;
pub(crate) mod recording;
pub(crate) mod reload;
pub(crate) mod resolve;
pub(crate) mod retention;
pub(crate) mod search;
pub(crate) mod settings_diff;
pub(crate) mod snapshot;
pub(crate) mod status;
pub(crate) mod storage;
pub(crate) mod texts;
pub(crate) mod threads;
pub(crate) mod worker;

use std::path::PathBuf;
use std::sync::Arc;

use longhaul_store::{Store, StoreError};
use tokio::runtime::Handle;

use crate::clock::Clock;
use crate::config::{Config, Live};
use crate::events::EventHub;
use crate::ingest::Ingest;
use crate::jobs::Jobs;
use crate::link::Counters;
use crate::lock::Lock;
use crate::model::Models;
use crate::shutdown::Shutdown;
use archive::ArchiveKeeper;
use checkpoint::Checkpoints;
use choice::PersonChoices;
use context::Contexts;
use continuation::Continuations;
use history::{HandleReader, Histories};
use idle_trim::IdleTrim;
use job::JobStates;
use keeping::Keeping;
use message_history::Prompts;
use opening::{messages, reading};
use parts::Parts;
use projects::Projects;
use recording::Recordings;
use reload::Reload;
use retention::Retention;
use search::{FullText, Searcher};
use settings_diff::SettingsDiffs;
use status::{Instance, Status};
use storage::Storage;
use texts::TextStore;
use threads::Threads;
use worker::Workers;

pub use error::{ChoiceError, CurationStop, ServiceError};
pub use parts::{CompactionServices, MemoryServices, PolicyServices};

/// Dependencies of a daemon; clones share the same handles.
#[derive(Debug, Clone)]
pub struct Deps {
    pub config: Live,
    pub clock: Clock,
    pub events: EventHub,
    pub shutdown: Shutdown,
    /// Counters of the socket server.
    pub counters: Arc<Counters>,
    /// Lock of the state folder.
    pub state: Option<Arc<Lock>>,
    /// Runtimes for indexing and archiving; `None` runs them on the main one, as a simulation needs.
    pub followers: Option<[Handle; 2]>,
}

impl Deps {
    pub fn new(config: Config, clock: Clock) -> Self {
        Self {
            config: Live::new(config),
            events: EventHub::new(clock.clone()),
            clock,
            shutdown: Shutdown::default(),
            counters: Arc::default(),
            state: None,
            followers: None,
        }
    }
}

/// Name of the database in the state folder.
pub(crate) const DATABASE: &str = "longhaul.db";

/// All services of a daemon.
pub struct Services {
    pub ingest: Arc<Ingest>,
    pub keeping: Arc<Keeping>,
    pub jobs: Jobs,
    pub job_states: Arc<JobStates>,
    pub workers: Arc<Workers>,
    pub texts: Arc<TextStore>,
    pub threads: Arc<Threads>,
    pub projects: Arc<Projects>,
    pub recordings: Arc<Recordings>,
    pub prompts: Arc<Prompts>,
    pub searcher: Arc<Searcher>,
    pub full_text: Arc<FullText>,
    pub archive: Arc<ArchiveKeeper>,
    pub handle_reader: Arc<HandleReader>,
    pub histories: Arc<Histories>,
    pub checkpoints: Arc<Checkpoints>,
    pub choices: Arc<PersonChoices>,
    pub contexts: Arc<Contexts>,
    pub settings_diffs: Arc<SettingsDiffs>,
    pub compaction: CompactionServices,
    pub continuations: Arc<Continuations>,
    pub policy: PolicyServices,
    pub memory: MemoryServices,
    pub retention: Arc<Retention>,
    pub status: Arc<Status>,
    pub reload: Arc<Reload>,
    pub storage: Arc<Storage>,
    pub idle_trim: IdleTrim,
}

impl Services {
    /// Opens the database, moving a damaged one aside, and starts reading transcripts in the background. `socket`
    /// is the daemon's own socket.
    ///
    /// # Errors
    /// The database is of a newer version or cannot be opened.
    pub async fn open(deps: Deps, socket: PathBuf) -> Result<Self, StoreError> {
        let Deps { config, clock, events, counters, .. } = deps.clone();
        let now = config.now();
        let (store, opened) = keeping::open(&now.state_dir.join(DATABASE), &clock).await?;
        let (ingest, full_text, archive) =
            reading(&deps, (&store, &opened), &recording::folder(&now.state_dir));
        let instance = Instance {
            id: clock.new_id(),
            started_at: clock.now_ms(),
            pid: std::process::id(),
            socket,
        };
        let models = models(&now, &store, &clock).await?;
        let parts = Parts::new(&deps, &instance, store, (ingest, archive), models);
        let (memory, policy, compaction) = (parts.memory(), parts.policy(), parts.compaction());
        let (continuations, threads) = (parts.continuations(&compaction), parts.threads());
        let ((handle_reader, choices), workers) = (parts.handles(), parts.workers(&memory));
        let (checkpoints, projects) = (parts.checkpoints(), parts.projects());
        let Parts { store, ingest, models, jobs, texts, snapshots, histories, .. } = parts;
        let (retention, recorder, archive) = (parts.retention, parts.recorder, parts.archive);
        let (reader, scanner) = (memory.reader.clone(), memory.scanner.clone());
        let settings_diffs =
            SettingsDiffs::new(snapshots, histories.clone(), reader, config.clone());
        let followers = (full_text.clone(), archive.clone());
        let (database, state_dir) = (store.database.clone(), now.state_dir.to_path_buf());
        let trimmed = (database.clone(), full_text.clone(), archive.archive().clone());
        let idle_trim = IdleTrim::new(trimmed, ingest.clone(), jobs.clone(), events, counters);
        Ok(Self {
            handle_reader,
            choices,
            recordings: Arc::new(Recordings::new(recorder, ingest.clone(), threads.clone())),
            searcher: Arc::new(Searcher::new(store, full_text.clone(), clock.clone())),
            checkpoints,
            contexts: policy.contexts.clone(),
            projects,
            job_states: Arc::new(JobStates::new(jobs.clone(), scanner, config.clone())),
            reload: Arc::new(Reload::new(config.clone(), models.clone(), jobs.clone())),
            prompts: Arc::new(Prompts::new(messages(&now, &clock))),
            keeping: Arc::new(Keeping::new(state_dir, deps.state, database.clone())),
            storage: Arc::new(Storage::new(ingest.clone(), followers, database.clone())),
            status: Arc::new(Status {
                instance,
                config,
                clock,
                database: (database, opened),
                ingest: ingest.clone(),
                full_text: full_text.clone(),
                models,
                compactions: compaction.log.clone(),
                repositories: policy.repositories.clone(),
                curator: memory.curator.clone(),
            }),
            settings_diffs: Arc::new(settings_diffs),
            ingest,
            jobs,
            texts,
            threads,
            workers,
            full_text,
            archive,
            histories,
            compaction,
            continuations,
            policy,
            memory,
            retention,
            idle_trim,
        })
    }
}

/// The configured models, with today's spending.
async fn models(now: &Config, store: &Store, clock: &Clock) -> Result<Arc<Models>, StoreError> {
    let (settings, budget) = (now.models.clone(), now.budget.bounds());
    let models = Models::new(settings, budget, store.models.clone(), clock.clone());
    models.recall_spent().await?;
    Ok(Arc::new(models))
}

#[cfg(test)]
mod tests;
