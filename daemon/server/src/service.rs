//! The use-cases behind the methods, and what they work with.
//!
//! [`Deps`] is what every part of the shell may have: configuration, time, events, the switch that stops
//! the daemon. [`Services`] is what method handlers get.

pub mod checkpoint;
pub mod compaction;
pub mod context;
pub mod continuation;
mod disk;
mod error;
pub mod history;
pub mod items;
pub mod memory;
mod message_history;
mod notices;
pub mod policy;
pub mod preimage;
pub mod recording;
mod rest;
pub mod retention;
pub mod search;
mod snapshot;
mod status;
pub mod texts;
pub mod threads;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use longhaul_core::thread::Source;
use longhaul_store::{Opened, Store, StoreError};
use tokio::sync::{Notify, RwLock, Semaphore};

use crate::clock::Clock;
use crate::config::{Change, Config, ConfigError, Live, Persistence, Reloaded};
use crate::events::EventHub;
use crate::ingest::{Ingest, IngestDeps, IngestEvents as _, Limits, Root};
use crate::jobs::Jobs;
use crate::link::Counters;
use crate::message_history::MessageHistory;
use crate::model::Models;
use crate::recorder::Recorder;
use crate::repository::Repositories;
use crate::shutdown::Shutdown;
use crate::telemetry;
use disk::HashCache;
use memory::Memory;
use notices::Notices;
use search::{FullText, IndexProgress};
use texts::TextStore;

pub use error::ServiceError;

/// Handles every part of the shell may have; clones are the same handles.
#[derive(Debug, Clone)]
pub struct Deps {
    /// The values in force.
    pub config: Live,
    /// Time and ids.
    pub clock: Clock,
    /// Where to tell what happened.
    pub events: EventHub,
    /// The switch that stops the daemon.
    pub shutdown: Shutdown,
    /// Counts of the socket server.
    pub counters: Arc<Counters>,
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
        }
    }
}

/// This run of the daemon.
#[derive(Debug, Clone)]
pub struct Instance {
    /// Differs for each start.
    pub id: String,
    /// When it started, Unix milliseconds.
    pub started_at: i64,
    /// Its process.
    pub pid: u32,
    /// Where clients find it.
    pub socket: PathBuf,
}

/// The database, in the state folder.
const DATABASE: &str = "longhaul.db";

/// What method handlers work with.
pub struct Services {
    /// The shell's handles.
    pub deps: Deps,
    /// This run of the daemon.
    pub instance: Instance,
    /// Permits for work that keeps a processor busy; see `rpc::Table::on_blocking`.
    pub blocking: Arc<Semaphore>,
    store: Store,
    opened: Opened,
    ingest: Arc<Ingest>,
    full_text: FullText,
    hashes: Arc<HashCache>,
    preimages: PathBuf,
    models: Models,
    /// Background jobs.
    pub jobs: Jobs,
    /// Held by whoever must settle something in the store before it closes.
    pub settling: RwLock<()>,
    compactions_made: AtomicU64,
    prune_due: Notify,
    recorder: Recorder,
    messages: MessageHistory,
    /// Texts that a person may override.
    pub texts: TextStore,
    repositories: Repositories,
    readings: policy::Readings,
    memory: Memory,
}

impl std::fmt::Debug for Services {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Services").field("instance", &self.instance).finish_non_exhaustive()
    }
}

/// Calls that may keep a thread of the blocking pool busy at the same time.
///
/// # Source
/// Chosen: more than the processors of a laptop, fewer than the pool's threads, so that the store and
/// files always find one.
const BLOCKING_CALLS_MAX: usize = 4;

impl Services {
    /// Opens the database, a damaged one moved aside, and starts reading transcripts in the
    /// background: the services of the daemon that is found at `socket`.
    ///
    /// # Errors
    /// The database is of a newer version or cannot be opened.
    pub async fn open(deps: Deps, socket: PathBuf) -> Result<Self, StoreError> {
        let config = deps.config.now();
        let (store, opened) =
            Store::open(&config.state_dir.join(DATABASE), deps.clock.now_ms()).await?;
        let index_progress = Arc::<IndexProgress>::default();
        let notices = Notices::new(deps.events.clone(), Arc::clone(&index_progress));
        if let Some(moved_to) = &opened.moved_aside {
            notices.store_rebuilt(moved_to);
        }
        let own = recording::folder(&config.state_dir);
        let now = deps.clock.clone();
        let ingest = Arc::new(Ingest::start(IngestDeps {
            store: store.clone(),
            roots: roots(&config, &own),
            events: Arc::new(notices),
            now_ms: Arc::new(move || now.now_ms()),
            limits: Limits { scan_period: *config.scan_interval, ..Limits::default() },
        }));
        let full_text =
            FullText::start(&config.state_dir, store.clone(), Arc::clone(&ingest), index_progress);
        let instance = Instance {
            id: deps.clock.new_id(),
            started_at: deps.clock.now_ms(),
            pid: std::process::id(),
            socket,
        };
        let preimages = config.state_dir.join("preimages");
        let blocking = Arc::new(Semaphore::new(BLOCKING_CALLS_MAX));
        let recorder = Recorder::new(own, deps.clock.clone());
        let messages = messages(&deps);
        let hashes = Arc::default();
        let texts = TextStore::new(config.policies.templates.clone());
        let (settings, budget) = (config.models.clone(), config.budget.bounds());
        let models = Models::new(settings, budget, store.clone(), deps.clock.clone());
        models.recall_spent().await?;
        let rules = config.jobs.rules.clone();
        let jobs = Jobs::new(store.clone(), deps.clock.clone(), &instance.id, rules);
        let memory = Memory::new(&config.state_dir);
        let repositories = Repositories::new(deps.clock.clone());
        Ok(Self {
            deps,
            instance,
            blocking,
            store,
            opened,
            ingest,
            full_text,
            hashes,
            preimages,
            models,
            jobs,
            settling: RwLock::default(),
            compactions_made: AtomicU64::new(0),
            prune_due: Notify::new(),
            recorder,
            messages,
            texts,
            repositories,
            readings: policy::Readings::default(),
            memory,
        })
    }

    /// Ends reading, then closes the database: what was read is stored.
    pub async fn stop(&self) {
        self.ingest.stop().await;
        self.full_text.stop().await;
        drop(self.settling.write().await);
        self.store.close().await;
    }

    /// Answers damage that a request met; the transcripts are read again.
    pub async fn repair(&self) {
        if let Err(error) = self.ingest.recover().await {
            tracing::error!(%error, "the damaged database cannot be begun anew");
        }
    }

    /// Waits until reading has ended, which it does by itself only through a defect.
    pub async fn reading_ended(&self) {
        self.ingest.ended().await;
    }

    /// Reads the configuration file anew and lets what can change take hold.
    ///
    /// # Errors
    /// The file is refused: everything stays as it was.
    pub fn reload(&self) -> Result<Reloaded, ConfigError> {
        // Within the one step: of two reloads at once, models and configuration must not be of different ones.
        let reloaded = self.deps.config.reload(|config| {
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

/// The folders that are read: those of the agents that are not left out, and our own.
fn roots(config: &Config, own: &Path) -> Vec<Root> {
    let mut roots = Vec::new();
    for agent in config.sources.iter().filter(|agent| *agent.enabled) {
        roots.extend(Root::of(agent.source, &agent.home));
    }
    roots.push(Root { source: Source::Longhaul, path: own.to_owned(), archived: false });
    roots
}

fn messages(deps: &Deps) -> MessageHistory {
    let config = deps.config.now();
    let max_bytes = match *config.message_persistence {
        Persistence::SaveAll => Some(*config.message_max_bytes),
        Persistence::None => None,
    };
    MessageHistory::new(
        &config.state_dir,
        config.home(Source::Codex),
        max_bytes,
        deps.clock.clone(),
    )
}
