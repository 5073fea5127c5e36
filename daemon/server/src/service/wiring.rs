//! Builds the services of each namespace from their shared parts.

mod compaction;
mod memory;
mod policy;

use std::path::PathBuf;
use std::sync::Arc;

use longhaul_store::Store;

use super::Deps;
use super::age::AgeClock;
use super::archive::ArchiveKeeper;
use super::checkpoint::Checkpoints;
use super::choice::PersonChoices;
use super::compaction::Compactor;
use super::context::Contexts;
use super::context::bill::Bills;
use super::context::resume::ResumePrices;
use super::context::window_facts::WindowFacts;
use super::continuation::Continuations;
use super::forget::{Followers, Forgetting};
use super::history::{HandleReader, Histories};
use super::item_index::ItemIndex;
use super::job::JobStates;
use super::memory::{MemoryNotes, MemoryReader};
use super::preimage::RunningCompactions;
use super::projects::Projects;
use super::recording::Recordings;
use super::retention::{PruneRequests, Retention, StoredHistories};
use super::search::{FullText, Searcher};
use super::settings_diff::SettingsDiffs;
use super::snapshot::Snapshots;
use super::startup::TranscriptTasks;
use super::texts::TextStore;
use super::threads::Threads;
use super::worker::Workers;
use crate::clock::Clock;
use crate::config::Live;
use crate::events::EventHub;
use crate::ingest::Ingest;
use crate::jobs::Jobs;
use crate::message_history::MessageHistory;
use crate::model::Models;
use crate::recorder::Recorder;

pub use compaction::CompactionServices;
pub use memory::MemoryServices;
pub use policy::PolicyServices;

pub struct ThreadServices {
    pub threads: Arc<Threads>,
    pub recordings: Arc<Recordings>,
    pub bills: Arc<Bills>,
    pub continuations: Arc<Continuations>,
    pub forgetting: Arc<Forgetting>,
}

pub struct SearchServices {
    pub searcher: Arc<Searcher>,
    pub full_text: Arc<FullText>,
}

pub struct HistoryServices {
    pub handles: Arc<HandleReader>,
    pub histories: Arc<Histories>,
}

pub struct CheckpointServices {
    pub checkpoints: Arc<Checkpoints>,
    pub choices: Arc<PersonChoices>,
}

pub struct ContextServices {
    pub contexts: Arc<Contexts>,
    pub settings_diffs: Arc<SettingsDiffs>,
}

pub struct JobServices {
    pub jobs: Jobs,
    pub states: Arc<JobStates>,
    pub workers: Arc<Workers>,
}

/// Shared parts of the services under construction.
pub(super) struct Wiring {
    config: Live,
    clock: Clock,
    events: EventHub,
    store: Store,
    ingest: Arc<Ingest>,
    archive: Arc<ArchiveKeeper>,
    models: Arc<Models>,
    jobs: Jobs,
    pub(super) texts: Arc<TextStore>,
    snapshots: Arc<Snapshots>,
    histories: Arc<Histories>,
    index: ItemIndex,
    preimages: PathBuf,
    running: RunningCompactions,
}

impl Wiring {
    pub(super) fn new(
        deps: &Deps,
        instance_id: &str,
        store: Store,
        tasks: &TranscriptTasks,
        models: Arc<Models>,
    ) -> Self {
        let Deps { config, clock, events, .. } = deps.clone();
        let TranscriptTasks { ingest, archive, .. } = tasks;
        let now = config.now();
        let jobs = store.jobs.clone();
        let jobs = Jobs::new(jobs, clock.clone(), instance_id, now.jobs.rules.clone());
        let (threads, updates) = (store.threads.clone(), store.updates.clone());
        let snapshots = Arc::new(Snapshots::new(threads, updates, ingest.clone()));
        let index = ItemIndex { pages: store.pages.clone(), threads: store.threads.clone() };
        let histories = Histories {
            index: index.clone(),
            snapshots: snapshots.clone(),
            archive: archive.archive().clone(),
        };
        Self {
            texts: Arc::new(TextStore::new(now.policies.templates.clone())),
            preimages: now.state_dir.join("preimages"),
            running: RunningCompactions::default(),
            histories: Arc::new(histories),
            config,
            clock,
            events,
            store,
            ingest: ingest.clone(),
            archive: archive.clone(),
            models,
            jobs,
            snapshots,
            index,
        }
    }

    fn age(&self) -> AgeClock {
        AgeClock { table: self.store.age.clone(), clock: self.clock.clone() }
    }

    fn windows(&self) -> WindowFacts {
        WindowFacts { gauges: self.store.gauges.clone(), config: self.config.clone() }
    }

    fn prices(&self) -> ResumePrices {
        ResumePrices { config: self.config.clone(), clock: self.clock.clone() }
    }

    pub(super) fn retention(&self) -> Retention {
        Retention {
            histories: StoredHistories {
                compactions: self.store.compactions.clone(),
                jobs: self.jobs.clone(),
                running: self.running.clone(),
                preimages: self.preimages.clone(),
            },
            policies: self.store.policies.clone(),
            jobs: self.jobs.clone(),
            age: self.age(),
            config: self.config.clone(),
        }
    }

    pub(super) fn pruning(&self) -> Arc<PruneRequests> {
        Arc::new(PruneRequests::new(self.jobs.clone(), self.clock.clone()))
    }

    pub(super) fn threads(
        &self,
        recorder: Arc<Recorder>,
        compactor: &Arc<Compactor>,
        forgetting: Arc<Forgetting>,
    ) -> ThreadServices {
        let Self { store, ingest, snapshots, .. } = self;
        let archive = self.archive.archive();
        let threads = Arc::new(Threads {
            pages: store.pages.clone(),
            threads: store.threads.clone(),
            ingest: ingest.clone(),
            archive: archive.clone(),
            config: self.config.clone(),
        });
        let (rows, compactions) = (store.threads.clone(), store.compactions.clone());
        ThreadServices {
            recordings: Arc::new(Recordings {
                recorder,
                ingest: ingest.clone(),
                threads: threads.clone(),
            }),
            bills: Arc::new(Bills::new(rows, compactions, snapshots.clone(), self.prices())),
            continuations: Arc::new(Continuations {
                compactor: compactor.clone(),
                snapshots: snapshots.clone(),
                histories: self.histories.clone(),
                ingest: ingest.clone(),
                archive: archive.clone(),
                config: self.config.clone(),
                clock: self.clock.clone(),
            }),
            forgetting,
            threads,
        }
    }

    pub(super) fn forgetting(
        &self,
        recorder: &Arc<Recorder>,
        prompts: &MessageHistory,
        notes: &Arc<MemoryNotes>,
        full_text: &Arc<FullText>,
    ) -> Arc<Forgetting> {
        Arc::new(Forgetting {
            eraser: self.store.eraser.clone(),
            database: self.store.database.clone(),
            recorder: recorder.clone(),
            prompts: prompts.clone(),
            followers: Followers {
                ingest: self.ingest.clone(),
                archive: self.archive.clone(),
                full_text: full_text.clone(),
                notes: notes.clone(),
            },
        })
    }

    pub(super) fn projects(&self) -> Arc<Projects> {
        Arc::new(Projects {
            threads: self.store.threads.clone(),
            compactions: self.store.compactions.clone(),
            index: self.index.clone(),
        })
    }

    pub(super) fn search(&self, full_text: &Arc<FullText>) -> SearchServices {
        let searcher = Searcher {
            files: self.store.files.clone(),
            pages: self.store.pages.clone(),
            archive: self.archive.archive().clone(),
            full_text: full_text.clone(),
            clock: self.clock.clone(),
        };
        SearchServices { searcher: Arc::new(searcher), full_text: full_text.clone() }
    }

    pub(super) fn history(&self) -> HistoryServices {
        let handles = HandleReader {
            threads: self.store.threads.clone(),
            index: self.index.clone(),
            preimages: self.preimages.clone(),
            archive: self.archive.archive().clone(),
            archived: self.archive.lookup(),
        };
        HistoryServices { handles: Arc::new(handles), histories: self.histories.clone() }
    }

    pub(super) fn checkpoint(&self, handles: &Arc<HandleReader>) -> CheckpointServices {
        let Self { store, snapshots, clock, .. } = self;
        CheckpointServices {
            checkpoints: Arc::new(Checkpoints {
                updates: store.updates.clone(),
                snapshots: snapshots.clone(),
                index: self.index.clone(),
                clock: clock.clone(),
            }),
            choices: Arc::new(PersonChoices {
                updates: store.updates.clone(),
                snapshots: snapshots.clone(),
                handles: handles.clone(),
                clock: clock.clone(),
            }),
        }
    }

    pub(super) fn context(&self, memory: &Arc<MemoryReader>) -> ContextServices {
        ContextServices {
            contexts: Arc::new(Contexts {
                windows: self.windows(),
                snapshots: self.snapshots.clone(),
                prices: self.prices(),
                clock: self.clock.clone(),
            }),
            settings_diffs: Arc::new(SettingsDiffs {
                snapshots: self.snapshots.clone(),
                histories: self.histories.clone(),
                memory: memory.clone(),
                config: self.config.clone(),
            }),
        }
    }

    pub(super) fn job(&self, memory: &MemoryServices) -> JobServices {
        let (jobs, config, scanner) =
            (self.jobs.clone(), self.config.clone(), memory.scanner.clone());
        JobServices {
            states: Arc::new(JobStates { jobs: jobs.clone(), scanner, config }),
            workers: Arc::new(Workers {
                jobs: jobs.clone(),
                extraction: memory.extraction.clone(),
                curation: memory.curation.clone(),
            }),
            jobs,
        }
    }
}
