//! The use-cases behind the methods: services by namespace, each with the few things it works with.
//!
//! [`Services::open`] is the one place that makes them, lower ones first: who works with another is given it.
//! Whoever answers a method is given the one or two services it needs, never all of them.

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
pub(crate) mod policy;
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

use crate::archive::Archive;
use crate::clock::Clock;
use crate::config::{Config, Live};
use crate::events::EventHub;
use crate::ingest::Ingest;
use crate::jobs::Jobs;
use crate::link::Counters;
use crate::lock::Lock;
use crate::model::Models;
use crate::recorder::Recorder;
use crate::repository::Repositories;
use crate::shutdown::Shutdown;
use archive::ArchiveKeeper;
use checkpoint::Checkpoints;
use choice::PersonChoices;
use compaction::{
    AgentSteps, CompactionJobs, CompactionLog, Compactor, Gatherer, GivenItems, Installer, Ladder,
    LoopGuard, Packets, Spans, Steps, Undo,
};
use context::Contexts;
use continuation::Continuations;
use history::{HandleReader, Histories};
use idle_trim::IdleTrim;
use item_index::ItemIndex;
use job::JobStates;
use keeping::Keeping;
use memory::{
    Agent, Citations, Extraction, MemoryNotes, MemoryOverview, MemoryReader, MemoryRuns,
    Publications, Publisher, ReadCounter, Scanner, Upkeep, Waves,
};
use message_history::Prompts;
use opening::{messages, reading};
use policy::{Adviser, DecisionLog, LivePolicies, Replays, Surroundings, Watchers};
use projects::Projects;
use recording::Recordings;
use reload::Reload;
use retention::Retention;
use search::{FullText, Searcher};
use settings_diff::SettingsDiffs;
use snapshot::Snapshots;
use status::{Instance, Status};
use storage::Storage;
use texts::TextStore;
use threads::Threads;
use worker::Workers;

pub use error::{ChoiceError, ServiceError};

/// What a daemon is made with; clones are the same handles.
#[derive(Debug, Clone)]
pub struct Deps {
    pub config: Live,
    pub clock: Clock,
    /// Where to tell what happened.
    pub events: EventHub,
    /// The switch that stops the daemon.
    pub shutdown: Shutdown,
    /// Counts of the socket server.
    pub counters: Arc<Counters>,
    /// The right to the state folder.
    pub state: Option<Arc<Lock>>,
    /// Where indexing and archiving run: `None` is where everything else does, a simulation takes turns.
    pub followers: Option<[Handle; 2]>,
}

impl Deps {
    /// The handles of one daemon.
    #[must_use]
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

/// The database, in the state folder.
pub(crate) const DATABASE: &str = "longhaul.db";

/// The services of a daemon, to be handed out.
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

/// The services of `compaction/*`.
pub struct CompactionServices {
    pub compactor: Arc<Compactor>,
    pub installer: Arc<Installer>,
    pub jobs: Arc<CompactionJobs>,
    pub log: Arc<CompactionLog>,
    pub undo: Arc<Undo>,
}

/// The services of `policy/*`.
pub struct PolicyServices {
    contexts: Arc<Contexts>,
    pub watchers: Arc<Watchers>,
    pub log: Arc<DecisionLog>,
    pub replays: Arc<Replays>,
    pub live: LivePolicies,
    pub repositories: Repositories,
}

/// The services of `memory/*`.
pub struct MemoryServices {
    pub reader: Arc<MemoryReader>,
    pub notes: Arc<MemoryNotes>,
    pub citations: Arc<Citations>,
    pub runs: Arc<MemoryRuns>,
    pub overview: Arc<MemoryOverview>,
    pub extraction: Arc<Extraction>,
    pub publisher: Arc<Publisher>,
    pub agent: Arc<Agent>,
    pub scanner: Arc<Scanner>,
    pub upkeep: Upkeep,
}

/// What several services are made of, while they are made.
struct Parts {
    config: Live,
    clock: Clock,
    events: EventHub,
    store: Store,
    ingest: Arc<Ingest>,
    models: Arc<Models>,
    jobs: Jobs,
    texts: Arc<TextStore>,
    snapshots: Arc<Snapshots>,
    histories: Arc<Histories>,
    index: ItemIndex,
    archive: Arc<ArchiveKeeper>,
    preimages: PathBuf,
    retention: Arc<Retention>,
    recorder: Arc<Recorder>,
}

impl Services {
    /// Opens the database, a damaged one moved aside, and starts reading transcripts in the
    /// background: the services of the daemon that is found at `socket`.
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
        let (handle_reader, choices) = parts.handles();
        let Parts { store, ingest, models, jobs, texts, snapshots, histories, index, .. } = parts;
        let (retention, recorder, archive) = (parts.retention, parts.recorder, parts.archive);
        let (reader, scanner) = (memory.reader.clone(), memory.scanner.clone());
        let settings_diffs =
            SettingsDiffs::new(snapshots.clone(), histories.clone(), reader, config.clone());
        let followers = (full_text.clone(), archive.clone());
        let trimmed = (store.clone(), full_text.clone(), archive.archive().clone());
        let idle_trim = IdleTrim::new(trimmed, ingest.clone(), jobs.clone(), events, counters);
        Ok(Self {
            handle_reader,
            choices,
            recordings: Arc::new(Recordings::new(recorder, ingest.clone(), threads.clone())),
            searcher: Arc::new(Searcher::new(store.clone(), full_text.clone(), clock.clone())),
            checkpoints: Arc::new(Checkpoints::new(store.clone(), snapshots, index, clock.clone())),
            contexts: policy.contexts.clone(),
            projects: Arc::new(Projects::new(store.clone())),
            workers: Arc::new(Workers::new(jobs.clone(), memory.extraction.clone())),
            job_states: Arc::new(JobStates::new(jobs.clone(), scanner, config.clone())),
            reload: Arc::new(Reload::new(config.clone(), models.clone(), jobs.clone())),
            prompts: Arc::new(Prompts::new(messages(&now, &clock))),
            keeping: Arc::new(Keeping::new(now.state_dir.to_path_buf(), deps.state, store.clone())),
            storage: Arc::new(Storage::new(ingest.clone(), followers, store.clone())),
            status: Arc::new(Status {
                instance,
                config,
                clock,
                store: (store, opened),
                ingest: ingest.clone(),
                full_text: full_text.clone(),
                models,
                compactions: compaction.log.clone(),
                repositories: policy.repositories.clone(),
            }),
            settings_diffs: Arc::new(settings_diffs),
            ingest,
            jobs,
            texts,
            threads,
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

/// The models that may be asked, with what was asked of them today.
async fn models(now: &Config, store: &Store, clock: &Clock) -> Result<Arc<Models>, StoreError> {
    let (settings, budget) = (now.models.clone(), now.budget.bounds());
    let models = Models::new(settings, budget, store.clone(), clock.clone());
    models.recall_spent().await?;
    Ok(Arc::new(models))
}

impl Parts {
    fn new(
        deps: &Deps,
        instance: &Instance,
        store: Store,
        (ingest, archive): (Arc<Ingest>, Arc<ArchiveKeeper>),
        models: Arc<Models>,
    ) -> Self {
        let Deps { config, clock, events, .. } = deps.clone();
        let now = config.now();
        let rules = now.jobs.rules.clone();
        let jobs = Jobs::new(store.clone(), clock.clone(), &instance.id, rules);
        let texts = Arc::new(TextStore::new(now.policies.templates.clone()));
        let snapshots = Arc::new(Snapshots::new(store.clone(), ingest.clone()));
        let index = ItemIndex::new(store.clone());
        let preimages = now.state_dir.join("preimages");
        let recorder = Recorder::new(recording::folder(&now.state_dir), clock.clone());
        let histories = Histories::new(index.clone(), snapshots.clone(), archive.archive().clone());
        let retention = Retention::new(
            store.clone(),
            jobs.clone(),
            config.clone(),
            clock.clone(),
            preimages.clone(),
        );
        Self {
            config,
            clock,
            events,
            store,
            ingest,
            models,
            jobs,
            texts,
            snapshots,
            histories: Arc::new(histories),
            index,
            archive,
            preimages,
            retention: Arc::new(retention),
            recorder: Arc::new(recorder),
        }
    }

    fn compaction(&self) -> CompactionServices {
        let Self { config, clock, events, store, models, jobs, snapshots, histories, .. } = self;
        let (index, preimages) = (&self.index, &self.preimages);
        let log = CompactionLog::new(store.clone(), jobs.clone(), self.retention.clone());
        let log = Arc::new(log);
        let installer = Arc::new(Installer::new(self.recorder.clone(), snapshots.clone()));
        let given = Arc::new(GivenItems::new(preimages.clone(), log.clone()));
        let ladder =
            Ladder::new(models.clone(), histories.clone(), self.texts.clone(), clock.clone());
        let gatherer =
            Gatherer::new(snapshots.clone(), self.read_back(), given.clone(), config.clone());
        let steps = Steps {
            gatherer,
            agent_steps: AgentSteps::new(store.clone(), index.clone()),
            guard: LoopGuard::new(store.clone(), events.clone()),
            packets: Packets::new(store.clone(), models.clone(), config.clone(), clock.clone()),
            ladder,
            spans: Spans::new(store.clone(), index.clone()),
            installer: installer.clone(),
            log: log.clone(),
        };
        let compactor = Arc::new(Compactor::new(steps, clock.clone(), events.clone()));
        let background = CompactionJobs::new(
            (compactor.clone(), log.clone(), given),
            snapshots.clone(),
            (store.clone(), jobs.clone()),
        );
        let undo = Undo::new(
            store.clone(),
            (log.clone(), installer.clone()),
            histories.clone(),
            preimages.clone(),
            clock.clone(),
        );
        let (jobs, undo) = (Arc::new(background), Arc::new(undo));
        CompactionServices { compactor, installer, jobs, log, undo }
    }

    /// What reads items by their handles, and what keeps those that a person chose.
    fn handles(&self) -> (Arc<HandleReader>, Arc<PersonChoices>) {
        let stored = (self.store.clone(), self.index.clone());
        let reader = HandleReader::new(stored, self.preimages.clone(), &self.archive);
        let reader = Arc::new(reader);
        let read = (self.snapshots.clone(), reader.clone());
        let choices = PersonChoices::new(self.store.clone(), read, self.clock.clone());
        (reader, Arc::new(choices))
    }

    fn threads(&self) -> Arc<Threads> {
        let read = (self.ingest.clone(), self.archive.archive().clone());
        Arc::new(Threads::new(self.store.clone(), read, self.config.clone()))
    }

    /// The index of items, and where they are had from when their transcript is gone.
    fn read_back(&self) -> (ItemIndex, Arc<Archive>) {
        (self.index.clone(), self.archive.archive().clone())
    }

    fn continuations(&self, compaction: &CompactionServices) -> Arc<Continuations> {
        Arc::new(Continuations::new(
            compaction.compactor.clone(),
            (self.snapshots.clone(), self.histories.clone()),
            (self.ingest.clone(), self.archive.archive().clone()),
            self.config.clone(),
            self.clock.clone(),
        ))
    }

    fn policy(&self) -> PolicyServices {
        let Self { config, clock, store, snapshots, .. } = self;
        let adviser = Arc::new(Adviser::new(self.models.clone(), config.clone()));
        let repositories = Repositories::new(clock.clone(), config.now().program());
        let surroundings =
            Surroundings::new(repositories.clone(), store.clone(), adviser.clone(), config.clone());
        let contexts = (store.clone(), snapshots.clone(), config.clone(), clock.clone());
        let contexts = Arc::new(Contexts::new(contexts));
        let watchers = Arc::new(Watchers::new(
            (store.clone(), self.events.clone(), contexts.clone()),
            (surroundings, adviser),
            self.texts.clone(),
            config.clone(),
            clock.clone(),
        ));
        PolicyServices {
            contexts,
            live: LivePolicies::new(
                watchers.clone(),
                store.clone(),
                self.ingest.clone(),
                clock.clone(),
                &self.events,
            ),
            watchers,
            log: Arc::new(DecisionLog::new(store.clone(), snapshots.clone())),
            replays: Arc::new(Replays::new(snapshots.clone(), config.clone())),
            repositories,
        }
    }

    fn memory(&self) -> MemoryServices {
        let Self { config, clock, events, store, ingest, models, jobs, .. } = self;
        let state_dir = &config.now().state_dir;
        let publications = Arc::new(Publications::new(store.clone(), state_dir));
        let scanner = Arc::new(Scanner::new(store.clone(), config.clone(), clock.clone()));
        let publisher = Arc::new(Publisher::new(
            (publications.clone(), store.clone()),
            jobs.clone(),
            config.clone(),
            clock.clone(),
            events.clone(),
        ));
        let with_model = || (store.clone(), models.clone(), jobs.clone());
        let agent = Arc::new(Agent::new(
            (publisher.clone(), &*publications),
            with_model(),
            config.clone(),
            clock.clone(),
        ));
        let of_published = || (store.clone(), publications.clone());
        let citations = Arc::new(Citations::new(of_published(), clock.clone()));
        let reads = ReadCounter::new(of_published(), citations.clone());
        let known = (publications.clone(), reads);
        let extraction = Extraction::new(known, with_model(), config.clone(), clock.clone());
        let (events, jobs) = (events.clone(), jobs.clone());
        let waves = Waves::new(store.clone(), jobs.clone(), config.clone(), clock.clone(), events);
        let runs = Arc::new(MemoryRuns::new(
            (scanner.clone(), waves),
            publications.clone(),
            ingest.clone(),
            clock.clone(),
        ));
        let upkeep = Upkeep::new(
            (scanner.clone(), runs.clone()),
            (publisher.clone(), agent.clone()),
            ingest.clone(),
            config.clone(),
        );
        MemoryServices {
            reader: Arc::new(MemoryReader::new(of_published(), config.clone(), clock.clone())),
            notes: Arc::new(MemoryNotes::new(
                of_published(),
                (publisher.clone(), self.archive.clone()),
                clock.clone(),
            )),
            overview: Arc::new(MemoryOverview::new(of_published(), jobs, scanner.clone())),
            extraction: Arc::new(extraction),
            citations,
            runs,
            publisher,
            agent,
            scanner,
            upkeep,
        }
    }
}

#[cfg(test)]
mod tests;
