//! Prunes old compactions, and the histories that only they name.
//!
//! # Theory of operation
//! *Owns* nothing; it deletes data of `compaction`, `preimage`, the decisions of policies and the job table. It runs as the job `prune`,
//! requested after the start, once an hour, and after every `COMPACTIONS_PER_PASS` compactions.
//!
//! *Steps.* Delete jobs that ended long ago. Delete rows over their age or number, a few at a time; then the rows,
//! and next the files, of the oldest histories over `HISTORIES_BYTES_MAX`; then every history without a row, and decisions of policies over their age. So a
//! handle never names a deleted history of a compaction that is still listed.
//!
//! *Age* is not read from a clock: see `core::job::DatabaseAge`. Data from a run with a wrong clock, or from before it,
//! is as old as the time the machine has seen pass since.
//!
//! *A crash* at any point leaves at most histories without a row, which the next pass removes. A history is
//! written before its row, so one of a running compaction is kept, and so is one that a job has yet to compact.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use longhaul_core::job::{Failure, Job, JobKey, JobRequest, Kind, Token};
use longhaul_core::limits::DAY_MS;
use longhaul_store::{CompactionTable, PolicyTable, RetentionRules};
use tokio::sync::Notify;

use super::age::AgeClock;
use super::error::ServiceError;
use super::preimage::{self, RunningCompactions};
use crate::clock::Clock;
use crate::config::Live;
use crate::jobs::Jobs;
use crate::jobs::runner::Work;

/// Compactions after which a pass runs early.
const COMPACTIONS_PER_PASS: u64 = 32;

/// Maximum compactions of given items kept, and bytes of their histories.
const OF_ITEMS_MAX: u64 = 512;
const HISTORIES_BYTES_MAX: u64 = 256 << 20;

impl Work for Retention {
    const KIND: Kind = Kind::Prune;

    async fn run(&self, _: Job, _: Token) -> Result<(), Failure> {
        // Expired data may be removed without the claim.
        self.prune().await?;
        Ok(())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PruneCounts {
    pub compactions: u64,
    pub histories: u64,
    pub jobs: u64,
}

/// Requests passes, at least after every few compactions.
pub struct PruneRequests {
    jobs: Jobs,
    clock: Clock,
    compactions_made: AtomicU64,
    due: Notify,
}

impl PruneRequests {
    pub fn new(jobs: Jobs, clock: Clock) -> Self {
        Self { jobs, clock, compactions_made: AtomicU64::new(0), due: Notify::new() }
    }

    /// Counts a recorded compaction; every so often this requests a pass.
    pub(super) fn note_compaction(&self) {
        let made = self.compactions_made.fetch_add(1, Ordering::Relaxed) + 1;
        if made.is_multiple_of(COMPACTIONS_PER_PASS) {
            self.due.notify_one();
        }
    }

    pub async fn request_pass(&self) {
        let job = JobRequest {
            key: JobKey::only(Kind::Prune),
            input: self.clock.new_id(),
            payload: String::new(),
            priority: 0,
            urgent: false,
        };
        if let Err(error) = self.jobs.request(job).await {
            tracing::warn!(%error, "cannot request pruning of old compactions");
        }
    }

    /// Waits until enough compactions were recorded for an early pass.
    pub async fn early_pass_due(&self) {
        self.due.notified().await;
    }
}

/// Prunes compactions, histories and jobs over their age or number.
pub struct Retention {
    pub(super) histories: StoredHistories,
    pub(super) policies: PolicyTable,
    pub(super) jobs: Jobs,
    pub(super) age: AgeClock,
    pub(super) config: Live,
}

impl Retention {
    /// Deletes everything over its age or number.
    ///
    /// # Errors
    /// The store or the folder of histories refuses; the next pass continues.
    pub async fn prune(&self) -> Result<PruneCounts, ServiceError> {
        let config = self.config.now();
        let days = i64::try_from(*config.compaction.keep_days).unwrap_or(i64::MAX);
        let lived_ms = self.age.lived_ms().await?;
        let keep = RetentionRules {
            since_age_ms: lived_ms.saturating_sub(days.saturating_mul(DAY_MS)),
            per_thread: *config.compaction.keep_per_thread,
            of_items: OF_ITEMS_MAX,
        };
        let mut pruned = PruneCounts::default();
        loop {
            let jobs = self.jobs.prune(keep.since_age_ms).await?;
            pruned.jobs += jobs;
            if jobs == 0 {
                break;
            }
        }
        (pruned.compactions, pruned.histories) = self.histories.prune(keep).await?;
        self.policies.prune(keep.since_age_ms).await?;
        if pruned != PruneCounts::default() {
            let PruneCounts { compactions, histories, jobs } = pruned;
            tracing::info!(compactions, histories, jobs, "pruned expired data");
        }
        Ok(pruned)
    }
}

/// The recorded compactions, and the files of given items that they name.
pub struct StoredHistories {
    pub(super) compactions: CompactionTable,
    pub(super) jobs: Jobs,
    pub(super) running: RunningCompactions,
    /// Folder of the files.
    pub(super) preimages: PathBuf,
}

impl StoredHistories {
    /// Deletes compactions by the rules, then histories over their size or without a compaction. Returns the numbers of
    /// both.
    async fn prune(&self, keep: RetentionRules) -> Result<(u64, u64), ServiceError> {
        let (mut compactions, mut histories) = (0, 0);
        loop {
            let ids = self.compactions.prune(keep).await?;
            if ids.is_empty() {
                break;
            }
            compactions += ids.len() as u64;
            histories += self.remove(ids).await?;
        }
        let over = self.prune_bytes().await?;
        Ok((compactions + over, histories + over + self.sweep().await?))
    }

    /// Deletes the compactions of the oldest histories over the limit; the sweep removes the histories.
    async fn prune_bytes(&self) -> Result<u64, ServiceError> {
        let mut bytes = 0;
        let stored = self.list().await?;
        let over = stored.into_iter().filter(|stored| {
            bytes += stored.bytes;
            bytes > HISTORIES_BYTES_MAX
        });
        let ids = self.ended(over.map(|stored| stored.id).collect()).await?;
        self.compactions.delete(&ids).await?;
        self.remove(ids).await
    }

    /// Removes histories that no compaction names, and none will.
    async fn sweep(&self) -> Result<u64, ServiceError> {
        // In this order: one that ends meanwhile is still running in the earlier list, or its row is in a later one.
        let stored = self.list().await?.into_iter();
        let mut left = self.ended(stored.map(|stored| stored.id).collect()).await?;
        let known = self.compactions.existing(&left).await?;
        left.retain(|id| !known.contains(id));
        self.remove(left).await
    }

    /// Those of these compactions that neither run nor wait as a job.
    async fn ended(&self, ids: Vec<String>) -> Result<Vec<String>, ServiceError> {
        let running = self.running.ids();
        let mut ended = Vec::new();
        for id in ids.into_iter().filter(|id| !running.contains(id)) {
            let key = JobKey { kind: Kind::Compact, subject: id };
            if !self.jobs.find(&key).await?.is_some_and(|job| job.is_pending()) {
                ended.push(key.subject);
            }
        }
        Ok(ended)
    }

    async fn list(&self) -> Result<Vec<preimage::Stored>, ServiceError> {
        let folder = self.preimages.clone();
        tokio::task::spawn_blocking(move || preimage::list(&folder)).await?
    }

    /// Removes the histories of these compactions; those of threads have none.
    async fn remove(&self, ids: Vec<String>) -> Result<u64, ServiceError> {
        let folder = self.preimages.clone();
        let removed = move || {
            let is_there = |id: &str, end| folder.join(format!("{id}.{end}")).exists();
            let there = |id: &&String| preimage::EXTENSIONS.iter().any(|end| is_there(id, *end));
            let ids: Vec<&String> = ids.iter().filter(there).collect();
            ids.iter().try_for_each(|id| preimage::remove(&folder, id))?;
            Ok(ids.len() as u64)
        };
        tokio::task::spawn_blocking(removed).await?
    }
}
