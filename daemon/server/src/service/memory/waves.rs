//! The jobs of memory: asked for in waves, and waited for.
//!
//! Waves keep the job table small however many threads there are, and a client that waits can be told how
//! far it is. What is asked for runs on when the client is gone.

use std::collections::HashSet;
use std::time::Duration;

use longhaul_core::job::{FailureKind, JobKey, JobRequest, Kind, State};
use longhaul_protocol::event::EventKind;
use longhaul_store::Store;
use serde_json::json;
use tokio::sync::watch::Receiver;

use super::extract::EXTRACT_VERSION;
use super::scan::{DueThread, Scan, SkippedThreads};
use crate::clock::Clock;
use crate::config::Live;
use crate::events::EventHub;
use crate::jobs::Jobs;
use crate::service::error::ServiceError;

/// Extractions asked for at a time.
const WAVE: usize = 64;

/// Longest wait for a job without a look whether anything can be stored.
const LOOK: Duration = Duration::from_secs(2);

/// What a client asks for.
#[derive(Debug, Clone, Default)]
pub struct RunRequest {
    pub thread_id: Option<String>,
    /// The thread that asks: it is left out.
    pub current: Option<String>,
    /// Rest and age do not matter.
    pub takes_all: bool,
    /// Whether to wait for the end.
    pub waits: bool,
    /// Whether a person waits for it.
    pub is_manual: bool,
}

#[derive(Debug, Default)]
pub struct RunCounts {
    pub is_done: bool,
    pub threads: u64,
    pub extracted: u64,
    pub empty: u64,
    pub failed: u64,
    /// Those that were read without the model that was to read them.
    pub fell_back: u64,
    /// Threads that were left out.
    pub skipped: Vec<SkippedThreads>,
    pub generation: u64,
    /// Whether it is a new one.
    pub is_changed: bool,
    /// Whether a model goes on to edit it.
    pub is_edited: bool,
    /// Milliseconds.
    pub duration_ms: u64,
}

/// Asks for the jobs of memory.
pub struct Waves {
    store: Store,
    jobs: Jobs,
    config: Live,
    clock: Clock,
    events: EventHub,
}

impl Waves {
    #[must_use]
    pub fn new(store: Store, jobs: Jobs, config: Live, clock: Clock, events: EventHub) -> Self {
        Self { store, jobs, config, clock, events }
    }

    pub(super) async fn extract(
        &self,
        scan: &Scan,
        request: &RunRequest,
        ran: &mut RunCounts,
    ) -> Result<(), ServiceError> {
        let most = *self.config.now().memory.max_threads_per_run;
        let due = &scan.due[..scan.due.len().min(most)];
        let total = due.len();
        let waves = if request.waits { total.div_ceil(WAVE) } else { 1 };
        for wave in due.chunks(WAVE).take(waves) {
            let mut keys = HashSet::new();
            for due in wave {
                keys.insert(self.ask_extraction(due, request.is_manual).await?);
            }
            if request.waits {
                self.wait_settled(keys, total, ran).await?;
            }
        }
        Ok(())
    }

    async fn ask_extraction(
        &self,
        due: &DueThread,
        is_manual: bool,
    ) -> Result<JobKey, ServiceError> {
        let key = JobKey { kind: Kind::Extract, subject: due.thread_id.clone() };
        let engine = *self.config.now().memory.engine;
        let asked = JobRequest {
            key: key.clone(),
            input: format!("{}:{EXTRACT_VERSION}:{}", due.next_seq, engine.into_str()),
            payload: String::new(),
            priority: i32::from(is_manual),
            urgent: is_manual,
        };
        let job = self.jobs.request(asked).await?;
        // It is due although it is done: what came of it is lost. A person who asks may try at once what waits or
        // was given up.
        let is_stuck = matches!(job.state, State::Dead | State::Failed | State::Parked);
        if job.state == State::Done || (is_manual && is_stuck) {
            self.jobs.retry(&key).await?;
        }
        Ok(key)
    }

    /// Waits until none of the jobs is under way, and counts what came of them.
    async fn wait_settled(
        &self,
        mut keys: HashSet<JobKey>,
        total: usize,
        ran: &mut RunCounts,
    ) -> Result<(), ServiceError> {
        let mut changed = self.jobs.watch();
        loop {
            changed.mark_unchanged();
            let mut settled = Vec::new();
            for key in &keys {
                let state = self.store.job_get(key).await?.map(|job| job.state);
                if !matches!(state, Some(State::Queued | State::Running)) {
                    settled.push((key.clone(), state));
                }
            }
            for (key, state) in settled {
                let row = self.store.extraction_get(&key.subject).await?;
                let fell_back = row.as_ref().is_some_and(|row| row.reason.is_some());
                if state == Some(State::Done) || fell_back {
                    ran.extracted += 1;
                    ran.fell_back += u64::from(fell_back);
                    ran.empty += u64::from(row.is_none_or(|row| row.memory.is_none()));
                } else {
                    ran.failed += 1;
                }
                keys.remove(&key);
            }
            let done = ran.extracted + ran.failed;
            let data = json!({ "phase": "extract", "done": done, "total": total });
            self.events.publish(EventKind::MemoryProgress, data);
            if keys.is_empty() || !self.goes_on(&mut changed).await? {
                return Ok(());
            }
        }
    }

    /// Waits for a change of the jobs; false when there will be none. What cannot be claimed, since nothing can be stored,
    /// never changes: so a write is tried now and then.
    async fn goes_on(&self, changed: &mut Receiver<()>) -> Result<bool, ServiceError> {
        tokio::select! {
            changed = changed.changed() => Ok(changed.is_ok()),
            () = tokio::time::sleep(LOOK) => {
                self.store.advance_age(self.clock.moment()).await?;
                Ok(true)
            }
        }
    }

    /// Asks for consolidation; returns the number in force after it.
    pub(super) async fn consolidate(&self, request: &RunRequest) -> Result<(), ServiceError> {
        let key = JobKey { kind: Kind::Consolidate, subject: String::new() };
        let data = json!({ "phase": "consolidate", "done": 0, "total": 1 });
        self.events.publish(EventKind::MemoryProgress, data);
        let asked = JobRequest {
            key: key.clone(),
            input: self.clock.new_id(),
            payload: String::new(),
            priority: 0,
            urgent: request.is_manual,
        };
        let changed = self.jobs.watch();
        let asked = self.jobs.request(asked).await?;
        if request.waits {
            self.wait_consolidated(&key, asked.wanted, changed).await?;
        }
        Ok(())
    }

    /// Whether a worker edits the files or is about to: nobody waits for a model.
    pub(super) async fn is_edited(&self) -> Result<bool, ServiceError> {
        let job = self.store.job_get(&JobKey::only(Kind::Curate)).await?;
        Ok(job.is_some_and(|job| matches!(job.state, State::Queued | State::Running)))
    }

    /// Waits until a consolidation that had seen `wanted` is done.
    async fn wait_consolidated(
        &self,
        key: &JobKey,
        wanted: u64,
        mut changed: Receiver<()>,
    ) -> Result<(), ServiceError> {
        loop {
            changed.mark_unchanged();
            match self.store.job_get(key).await? {
                Some(job) if job.done >= wanted => return Ok(()),
                Some(job) if matches!(job.state, State::Queued | State::Running) => {}
                job => {
                    let failure = job.and_then(|job| job.failure);
                    let may_pass = failure
                        .as_ref()
                        .is_some_and(|failure| failure.kind == FailureKind::Transient);
                    let detail = failure.map(|failure| failure.detail);
                    let detail = detail.unwrap_or_else(|| "it was taken back".to_owned());
                    return Err(ServiceError::MemoryFailed { detail, may_pass });
                }
            }
            if !self.goes_on(&mut changed).await? {
                return Ok(());
            }
        }
    }
}
