//! The use cases behind the methods: services by namespace, each with only the dependencies it uses.
//!
//! [`Services::open`] is the one place that builds them, lower ones first, and those of a namespace from shared
//! parts (`wiring`). A method's handler gets the one or two services it needs, never all of them.

mod age;
pub(crate) mod archive;
pub(crate) mod checkpoint;
pub(crate) mod choice;
pub(crate) mod compaction;
pub(crate) mod context;
pub(crate) mod continuation;
mod disk;
mod error;
pub(crate) mod forget;
mod hints;
pub(crate) mod history;
pub(crate) mod idle_trim;
mod ingest_reports;
pub(crate) mod item_index;
pub(crate) mod job;
pub(crate) mod memory;
pub(crate) mod message_history;
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
mod startup;
pub(crate) mod state_check;
pub(crate) mod status;
pub(crate) mod storage;
pub(crate) mod texts;
pub(crate) mod threads;
mod wiring;
pub(crate) mod worker;

use std::path::PathBuf;
use std::sync::Arc;

use longhaul_store::{ModelTable, StoreError};
use tokio::runtime::Handle;

use crate::clock::Clock;
use crate::config::{Config, Live};
use crate::events::EventHub;
use crate::ingest::Ingest;
use crate::lock::Lock;
use crate::model::Models;
use crate::peer::Counters;
use crate::recorder::Recorder;
use crate::shutdown::Shutdown;
use archive::ArchiveKeeper;
use message_history::Prompts;
use projects::Projects;
use reload::Reload;
use retention::{PruneRequests, Retention};
use startup::{TranscriptTasks, messages};
use state_check::StateCheck;
use status::{CompactionCostReader, Instance, OptionalParts, Status};
use storage::Storage;
use texts::TextStore;
use wiring::Wiring;

pub use error::{ChoiceError, CurationEnd, ServiceError};
pub use wiring::{
    CheckpointServices, CompactionServices, ContextServices, HistoryServices, JobServices,
    MemoryServices, PolicyServices, SearchServices, ThreadServices,
};

/// Dependencies of a daemon; clones share the same handles.
#[derive(Debug, Clone)]
pub struct Deps {
    pub config: Live,
    pub clock: Clock,
    pub events: EventHub,
    pub shutdown: Shutdown,
    pub counters: Arc<Counters>,
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

/// All services of a daemon, by namespace.
pub struct Services {
    pub ingest: Arc<Ingest>,
    pub daemon: DaemonServices,
    pub job: JobServices,
    pub texts: Arc<TextStore>,
    pub projects: Arc<Projects>,
    pub thread: ThreadServices,
    pub prompts: Arc<Prompts>,
    pub search: SearchServices,
    pub archive: Arc<ArchiveKeeper>,
    pub history: HistoryServices,
    pub checkpoint: CheckpointServices,
    pub context: ContextServices,
    pub compaction: CompactionServices,
    pub policy: PolicyServices,
    pub memory: MemoryServices,
}

/// The services of `daemon/*`, and those that keep the daemon's state in order.
pub struct DaemonServices {
    pub status: Arc<Status>,
    pub reload: Arc<Reload>,
    pub state_check: Arc<StateCheck>,
    pub storage: Arc<Storage>,
    pub upkeep: StateUpkeep,
}

/// Removes what is old or can be made again.
pub struct StateUpkeep {
    pub pruning: Arc<PruneRequests>,
    pub retention: Arc<Retention>,
}

impl Services {
    /// Opens the database, moving a damaged one aside, and starts reading transcripts in the background. `socket`
    /// is the daemon's own socket.
    ///
    /// # Errors
    /// The database is of a newer version or cannot be opened.
    pub async fn open(deps: Deps, socket: PathBuf) -> Result<Self, StoreError> {
        let Deps { config, clock, .. } = deps.clone();
        let now = config.now();
        let (store, opened) = state_check::open(&now.state_dir.join(DATABASE), &clock).await?;
        let folder = recording::folder(&now.state_dir);
        let tasks = startup::start(&deps, &store, &opened, &folder);
        let instance = instance(&clock, socket.clone());
        let models = models(&now, store.models.clone(), &clock).await?;
        let (database, compactions) = (store.database.clone(), store.compactions.clone());
        let wiring = Wiring::new(&deps, &instance.id, store, &tasks, models.clone());
        let recorder = Arc::new(Recorder::new(folder, clock.clone()));
        let pruning = wiring.pruning();
        let compaction = wiring.compaction(&recorder, &pruning);
        let (memory, history) = (wiring.memory(socket), wiring.history());
        // Before anything learns or forgets: a new store takes over what the folder excludes.
        if let Err(error) = memory.publisher.settle().await {
            tracing::warn!(%error, "cannot repair the memory folder; the next publication tries again");
        }
        let context = wiring.context(&memory.reader);
        let policy = wiring.policy(&context.contexts);
        let job = wiring.job(&memory);
        let TranscriptTasks { ingest, full_text, archive } = tasks;
        let prompts = messages(&now, &clock);
        let forgetting = wiring.forgetting(&recorder, &prompts, &memory.notes, &full_text);
        let storage =
            Storage::new(ingest.clone(), full_text.clone(), archive.clone(), database.clone());
        let storage = Arc::new(storage);
        let thread = wiring.threads(recorder, &compaction.compactor, forgetting);
        let bills = thread.bills.clone();
        let daemon = DaemonServices {
            status: Arc::new(Status {
                instance,
                config: config.clone(),
                storage: storage.clone(),
                costs: CompactionCostReader::new(database.clone(), compactions, bills),
                optional: OptionalParts {
                    models: models.clone(),
                    repositories: policy.repositories.clone(),
                    curator: memory.curator.clone(),
                    memory: memory.publications.clone(),
                },
            }),
            reload: Arc::new(Reload::new((config, models), &job.jobs, &archive)),
            state_check: Arc::new(StateCheck {
                folder: now.state_dir.to_path_buf(),
                lock: deps.state,
                database,
            }),
            storage,
            upkeep: StateUpkeep { pruning, retention: Arc::new(wiring.retention()) },
        };
        Ok(Self {
            daemon,
            texts: wiring.texts.clone(),
            projects: wiring.projects(),
            thread,
            prompts: Arc::new(Prompts { history: prompts }),
            search: wiring.search(&full_text),
            checkpoint: wiring.checkpoint(&history.handles),
            ingest,
            job,
            archive,
            history,
            context,
            compaction,
            policy,
            memory,
        })
    }
}

fn instance(clock: &Clock, socket: PathBuf) -> Instance {
    // Opening the store may have taken long, and the uptime counts from the clock's creation.
    let age_ms = i64::try_from(clock.elapsed().as_millis()).unwrap_or(0);
    Instance {
        id: clock.new_id(),
        started_at: clock.now_ms().saturating_sub(age_ms),
        pid: std::process::id(),
        socket,
        clock: clock.clone(),
    }
}

/// The configured models, with today's spending.
async fn models(now: &Config, table: ModelTable, clock: &Clock) -> Result<Arc<Models>, StoreError> {
    let (settings, budget) = (now.models.clone(), now.budget.bounds());
    let models = Models::new(settings, budget, table, clock.clone());
    models.recall_spent().await?;
    Ok(Arc::new(models))
}

#[cfg(test)]
mod tests;
