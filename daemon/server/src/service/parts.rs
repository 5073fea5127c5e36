//! Builds the services of each namespace from their shared parts.

use std::path::PathBuf;
use std::sync::Arc;

use longhaul_store::Store;

use super::Deps;
use super::archive::ArchiveKeeper;
use super::checkpoint::Checkpoints;
use super::choice::PersonChoices;
use super::compaction::{
    AgentSteps, CompactionJobs, CompactionLog, Compactor, Gatherer, GivenItems, Installer, Ladder,
    LoopGuard, Packets, Spans, Steps, Undo,
};
use super::context::Contexts;
use super::continuation::Continuations;
use super::history::{HandleReader, Histories};
use super::item_index::ItemIndex;
use super::memory::{
    Citations, Curation, CuratorProcess, Extraction, MemoryNotes, MemoryOverview, MemoryReader,
    MemoryRuns, Publications, Publisher, ReadCounter, Scanner, Upkeep, Waves,
};
use super::policy::{Adviser, DecisionLog, LivePolicies, Replays, Surroundings, Watchers};
use super::projects::Projects;
use super::recording;
use super::retention::Retention;
use super::snapshot::Snapshots;
use super::status::Instance;
use super::texts::TextStore;
use super::threads::Threads;
use super::worker::Workers;
use crate::archive::Archive;
use crate::clock::Clock;
use crate::config::Live;
use crate::events::EventHub;
use crate::ingest::Ingest;
use crate::jobs::Jobs;
use crate::model::Models;
use crate::recorder::Recorder;
use crate::repository::Repositories;

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
    pub(super) contexts: Arc<Contexts>,
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
    pub curation: Arc<Curation>,
    pub curator: Arc<CuratorProcess>,
    pub scanner: Arc<Scanner>,
    pub upkeep: Upkeep,
}

/// Shared parts of the services under construction.
pub(super) struct Parts {
    pub(super) config: Live,
    pub(super) clock: Clock,
    pub(super) events: EventHub,
    pub(super) store: Store,
    pub(super) ingest: Arc<Ingest>,
    pub(super) models: Arc<Models>,
    pub(super) jobs: Jobs,
    pub(super) texts: Arc<TextStore>,
    pub(super) snapshots: Arc<Snapshots>,
    pub(super) histories: Arc<Histories>,
    pub(super) index: ItemIndex,
    pub(super) archive: Arc<ArchiveKeeper>,
    pub(super) preimages: PathBuf,
    /// This daemon's socket.
    pub(super) socket: PathBuf,
    pub(super) retention: Arc<Retention>,
    pub(super) recorder: Arc<Recorder>,
}

impl Parts {
    pub(super) fn new(
        deps: &Deps,
        instance: &Instance,
        store: Store,
        (ingest, archive): (Arc<Ingest>, Arc<ArchiveKeeper>),
        models: Arc<Models>,
    ) -> Self {
        let Deps { config, clock, events, .. } = deps.clone();
        let now = config.now();
        let rules = now.jobs.rules.clone();
        let jobs = Jobs::new(store.jobs.clone(), clock.clone(), &instance.id, rules);
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
            socket: instance.socket.clone(),
            retention: Arc::new(retention),
            recorder: Arc::new(recorder),
        }
    }

    pub(super) fn compaction(&self) -> CompactionServices {
        let Self { config, clock, events, store, models, jobs, snapshots, histories, .. } = self;
        let (index, preimages) = (&self.index, &self.preimages);
        let log = CompactionLog::new(store.clone(), jobs.clone(), self.retention.clone());
        let log = Arc::new(log);
        let installer = Arc::new(Installer::new(self.recorder.clone(), snapshots.clone()));
        let given = Arc::new(GivenItems::new(preimages.clone(), log.clone()));
        let ladder =
            Ladder::new(models.clone(), histories.clone(), self.texts.clone(), clock.clone());
        let read = (store.gauges.clone(), snapshots.clone());
        let gatherer = Gatherer::new(read, self.read_back(), given.clone(), config.clone());
        let steps = Steps {
            gatherer,
            agent_steps: AgentSteps::new(store.clone(), index.clone()),
            guard: LoopGuard::new(store.clone(), events.clone()),
            packets: Packets::new(
                store.policies.clone(),
                models.clone(),
                config.clone(),
                clock.clone(),
            ),
            ladder,
            spans: Spans::new(store.pages.clone(), index.clone()),
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

    /// Services that read items by handle and that store a person's choices.
    pub(super) fn handles(&self) -> (Arc<HandleReader>, Arc<PersonChoices>) {
        let stored = (self.store.threads.clone(), self.index.clone());
        let reader = HandleReader::new(stored, self.preimages.clone(), &self.archive);
        let reader = Arc::new(reader);
        let read = (self.snapshots.clone(), reader.clone());
        let choices = PersonChoices::new(self.store.updates.clone(), read, self.clock.clone());
        (reader, Arc::new(choices))
    }

    pub(super) fn checkpoints(&self) -> Arc<Checkpoints> {
        let (updates, clock) = (self.store.updates.clone(), self.clock.clone());
        Arc::new(Checkpoints::new(updates, self.snapshots.clone(), self.index.clone(), clock))
    }

    pub(super) fn projects(&self) -> Arc<Projects> {
        Arc::new(Projects::new(self.store.clone(), self.index.clone()))
    }

    /// The service for external workers.
    pub(super) fn workers(&self, memory: &MemoryServices) -> Arc<Workers> {
        let (extraction, curation) = (memory.extraction.clone(), memory.curation.clone());
        Arc::new(Workers::new(self.jobs.clone(), extraction, curation))
    }

    pub(super) fn threads(&self) -> Arc<Threads> {
        let read = (self.ingest.clone(), self.archive.archive().clone());
        Arc::new(Threads::new(self.store.clone(), read, self.config.clone()))
    }

    /// The item index, and the archive that replaces deleted transcripts.
    fn read_back(&self) -> (ItemIndex, Arc<Archive>) {
        (self.index.clone(), self.archive.archive().clone())
    }

    pub(super) fn continuations(&self, compaction: &CompactionServices) -> Arc<Continuations> {
        Arc::new(Continuations::new(
            compaction.compactor.clone(),
            (self.snapshots.clone(), self.histories.clone()),
            (self.ingest.clone(), self.archive.archive().clone()),
            self.config.clone(),
            self.clock.clone(),
        ))
    }

    pub(super) fn policy(&self) -> PolicyServices {
        let Self { config, clock, store, snapshots, .. } = self;
        let adviser = Arc::new(Adviser::new(self.models.clone(), config.clone()));
        let repositories = Repositories::new(clock.clone(), config.now().program());
        let surroundings = Surroundings::new(
            repositories.clone(),
            store.threads.clone(),
            adviser.clone(),
            config.clone(),
        );
        let contexts =
            Contexts::new(store.clone(), snapshots.clone(), config.clone(), clock.clone());
        let contexts = Arc::new(contexts);
        let watchers = Arc::new(Watchers::new(
            (store.policies.clone(), self.events.clone(), contexts.clone()),
            (surroundings, adviser),
            self.texts.clone(),
            config.clone(),
            clock.clone(),
        ));
        PolicyServices {
            contexts,
            live: LivePolicies::new(
                watchers.clone(),
                store.threads.clone(),
                self.ingest.clone(),
                clock.clone(),
                &self.events,
            ),
            watchers,
            log: Arc::new(DecisionLog::new(store.policies.clone(), snapshots.clone())),
            replays: Arc::new(Replays::new(
                (store.gauges.clone(), snapshots.clone()),
                config.clone(),
            )),
            repositories,
        }
    }

    pub(super) fn memory(&self) -> MemoryServices {
        let Self { config, clock, events, store, ingest, models, jobs, .. } = self;
        let state_dir = &config.now().state_dir;
        let publications = Arc::new(Publications::new(store.generations.clone(), state_dir));
        let scanner = Arc::new(Scanner::new(store.clone(), config.clone(), clock.clone()));
        let publisher = Arc::new(Publisher::new(
            (publications.clone(), store.clone()),
            jobs.clone(),
            config.clone(),
            clock.clone(),
            events.clone(),
        ));
        let with_model = (store.curation.clone(), models.clone(), jobs.clone());
        let curation = Curation::new(publisher.clone(), with_model, config.clone(), clock.clone());
        let curation = Arc::new(curation);
        let program = config.now().program();
        let curator =
            CuratorProcess::new(curation.clone(), jobs.clone(), &program, self.socket.clone());
        let of_published = || (store.clone(), publications.clone());
        let citations =
            Arc::new(Citations::new((store.uses.clone(), publications.clone()), clock.clone()));
        let reads = ReadCounter::new(of_published(), citations.clone());
        let known = (publications.clone(), reads);
        let extraction = Extraction::new(
            known,
            (store.clone(), models.clone(), jobs.clone()),
            config.clone(),
            clock.clone(),
        );
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
            publisher.clone(),
            ingest.clone(),
            config.clone(),
        );
        MemoryServices {
            reader: Arc::new(MemoryReader::new(
                (store.generations.clone(), publications.clone()),
                config.clone(),
                clock.clone(),
            )),
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
            curation,
            curator: Arc::new(curator),
            scanner,
            upkeep,
        }
    }
}
