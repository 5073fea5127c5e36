//! Runs the daemon's own jobs and maintenance.

use std::sync::Arc;
use std::time::Duration;

use longhaul_core::job::Kind;
use tokio_util::sync::CancellationToken;

use super::TaskFailure;
use crate::config::Live;
use crate::jobs::Jobs;
use crate::jobs::runner;
use crate::service::compaction::CompactionJobs;
use crate::service::idle_trim::trim_when_idle;
use crate::service::memory::{ConsolidateWork, ExtractWork};
use crate::service::search::FullText;
use crate::service::storage::Storage;
use crate::service::{MemoryServices, StateUpkeep};

/// Interval between two passes over the store.
const STORE_PERIOD: Duration = Duration::from_secs(3_600);

pub(super) struct OwnWork {
    pub(super) compaction: Arc<CompactionJobs>,
    pub(super) full_text: Arc<FullText>,
    pub(super) memory: MemoryServices,
    pub(super) upkeep: StateUpkeep,
    pub(super) storage: Arc<Storage>,
    pub(super) jobs: Jobs,
    pub(super) config: Live,
}

impl OwnWork {
    /// Takes back the jobs of earlier daemons, then runs jobs until stopped.
    pub(super) async fn run(self, stop: CancellationToken) -> Result<(), TaskFailure> {
        let Self { memory, upkeep, jobs, .. } = &self;
        let _until_settled = self.storage.settle().await;
        match jobs.rescue().await {
            Ok(0) => {}
            Ok(taken) => tracing::info!(taken, "took back jobs of an earlier run"),
            Err(error) => tracing::warn!(%error, "cannot take back jobs of an earlier run"),
        }
        let maintenance = async {
            tokio::select! {
                () = stop.cancelled() => {}
                _ = async {
                    tokio::join!(
                        memory.upkeep.build_when_due(),
                        self.look_after_store(),
                        jobs.keep_unparked(),
                        trim_when_idle(&self.storage),
                    )
                } => {}
            }
        };
        let extract = Arc::new(ExtractWork(memory.extraction.clone()));
        let consolidate = ConsolidateWork(memory.publisher.clone(), memory.curation.clone());
        tokio::join!(
            self.work(self.compaction.clone(), &stop),
            self.work(extract, &stop),
            self.work(Arc::new(consolidate), &stop),
            self.work(upkeep.retention.clone(), &stop),
            self.work(self.full_text.clone(), &stop),
            self.curate(&stop),
            maintenance,
        );
        Ok(())
    }

    /// Prunes the store now, then checks and prunes it once an hour, until the future is dropped.
    ///
    /// The check comes first: a write unseals the database, and the next seal would describe a damaged page.
    async fn look_after_store(&self) {
        loop {
            self.upkeep.pruning.request_pass().await;
            tokio::select! {
                () = self.upkeep.pruning.early_pass_due() => {}
                () = tokio::time::sleep(STORE_PERIOD) => self.storage.check().await,
            }
        }
    }

    /// Starts the worker that edits the files of memory, unless external workers do that.
    async fn curate(&self, stop: &CancellationToken) {
        if !self.config.now().jobs.outside.contains(&Kind::Curate) {
            stop.run_until_cancelled(self.memory.curator.run_when_due()).await;
        }
    }

    /// Runs the jobs of one kind, unless external workers do that.
    async fn work<W: runner::Work>(&self, work: Arc<W>, stop: &CancellationToken) {
        if !self.config.now().jobs.outside.contains(&W::KIND) {
            runner::run(self.jobs.clone(), work, stop.clone()).await;
        }
    }
}
