//! Maintains memory in the background: extracts idle threads, and runs the job `consolidate`.

use std::sync::Arc;
use std::time::Duration;

use longhaul_core::job::{Failure, Job, Kind, Token};
use longhaul_protocol::memory::RunResult;

use super::curation::Curation;
use super::publish::{Publisher, Purge};
use super::runs::MemoryRuns;
use super::scan::{RunRequest, Scanner};
use crate::config::Live;
use crate::ingest::Ingest;
use crate::jobs::Owner;
use crate::jobs::runner::Work;
use crate::service::error::ServiceError;

/// Maximum time between two scans of the threads.
const LOOK_MAX: Duration = Duration::from_secs(3_600);

/// Minimum time between two scans.
const LOOK_MIN: Duration = Duration::from_secs(60);

pub struct ConsolidateWork(pub Arc<Publisher>, pub Arc<Curation>);

impl Work for ConsolidateWork {
    const KIND: Kind = Kind::Consolidate;

    async fn run(&self, job: Job, token: Token) -> Result<(), Failure> {
        let owner = Owner { key: job.key, token };
        self.0.publish(Purge::No, Some(&owner)).await?;
        Ok(self.1.request().await?)
    }
}

/// Maintains memory, if configured.
pub struct Upkeep {
    pub(in crate::service) scanner: Arc<Scanner>,
    pub(in crate::service) runs: Arc<MemoryRuns>,
    pub(in crate::service) ingest: Arc<Ingest>,
    pub(in crate::service) config: Live,
}

impl Upkeep {
    /// Builds memory whenever threads are due, until it is dropped.
    pub async fn build_when_due(&self) {
        loop {
            let mut pause = LOOK_MAX;
            if *self.config.now().memory.enabled {
                self.ingest.idle().await;
                match self.build_due().await {
                    Ok(next) => pause = next,
                    Err(error) => tracing::warn!(%error, "cannot build memory; trying again later"),
                }
            }
            tokio::time::sleep(pause).await;
        }
    }

    async fn build_due(&self) -> Result<Duration, ServiceError> {
        let scan = self.scanner.scan(&RunRequest::default()).await?;
        if !scan.due.is_empty() {
            let ran = self.runs.run(RunRequest { waits: true, ..RunRequest::default() }).await?;
            let RunResult { extracted, empty, failed, fallbacks, generation, .. } = ran;
            tracing::info!(extracted, empty, failed, fallbacks, generation, "built memory");
        }
        let next_ms = scan.next_ms.and_then(|ms| u64::try_from(ms).ok());
        Ok(next_ms.map_or(LOOK_MAX, Duration::from_millis).clamp(LOOK_MIN, LOOK_MAX))
    }
}
