//! The services of `compaction/*`.

use std::sync::Arc;

use super::Wiring;
use crate::recorder::Recorder;
use crate::service::compaction::{
    AgentSteps, CompactionJobs, CompactionLog, Compactor, Gatherer, GivenItems, Installer, Ladder,
    LoopGuard, Packets, Preparation, Records, ReplacedHistories, Spans, Undo,
};
use crate::service::retention::PruneRequests;

pub struct CompactionServices {
    pub compactor: Arc<Compactor>,
    pub installer: Arc<Installer>,
    pub jobs: Arc<CompactionJobs>,
    pub log: Arc<CompactionLog>,
    pub undo: Arc<Undo>,
}

impl Wiring {
    pub(in crate::service) fn compaction(
        &self,
        recorder: &Arc<Recorder>,
        pruning: &Arc<PruneRequests>,
    ) -> CompactionServices {
        let Self { clock, events, store, jobs, snapshots, histories, index, .. } = self;
        let log = Arc::new(CompactionLog {
            compactions: store.compactions.clone(),
            policies: store.policies.clone(),
            jobs: jobs.clone(),
            pruning: pruning.clone(),
        });
        let installer =
            Arc::new(Installer { recorder: recorder.clone(), snapshots: snapshots.clone() });
        let (threads, compactions) = (store.threads.clone(), store.compactions.clone());
        let compactor = Arc::new(Compactor {
            preparation: self.preparation(&log),
            ladder: Ladder {
                models: self.models.clone(),
                histories: histories.clone(),
                texts: self.texts.clone(),
                clock: clock.clone(),
            },
            spans: Spans { pages: store.pages.clone(), index: index.clone() },
            records: Records {
                agent_steps: AgentSteps::new(threads.clone(), compactions, index.clone()),
                log: log.clone(),
                installer: installer.clone(),
            },
            running: self.running.clone(),
            clock: clock.clone(),
            events: events.clone(),
        });
        CompactionServices {
            jobs: Arc::new(CompactionJobs {
                compactor: compactor.clone(),
                log: log.clone(),
                database: store.database.clone(),
                jobs: jobs.clone(),
            }),
            undo: Arc::new(Undo {
                threads,
                log: log.clone(),
                installer: installer.clone(),
                replaced: ReplacedHistories {
                    histories: histories.clone(),
                    preimages: self.preimages.clone(),
                    lookup: self.archive.lookup(),
                },
                clock: clock.clone(),
            }),
            compactor,
            installer,
            log,
        }
    }

    fn preparation(&self, log: &Arc<CompactionLog>) -> Preparation {
        let Self { store, snapshots, .. } = self;
        Preparation {
            gatherer: Gatherer {
                windows: self.windows(),
                snapshots: snapshots.clone(),
                index: self.index.clone(),
                archive: self.archive.archive().clone(),
                given: GivenItems { preimages: self.preimages.clone(), log: log.clone() },
            },
            guard: LoopGuard {
                pages: store.pages.clone(),
                compactions: store.compactions.clone(),
                events: self.events.clone(),
            },
            packets: Packets {
                policies: store.policies.clone(),
                models: self.models.clone(),
                config: self.config.clone(),
                clock: self.clock.clone(),
            },
            histories: self.histories.clone(),
        }
    }
}
