//! Builds memory once: extracts the due threads, then consolidates.
//!
//! The jobs are requested in waves, which keep the job table small however many threads there are, and give a waiting
//! client progress. Requested jobs continue when the client disconnects.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use longhaul_core::job::{FailureKind, JobKey, JobRequest, Kind, State};
use longhaul_protocol::event::EventKind;
use longhaul_protocol::memory::{RunResult, RunState};
use longhaul_store::ExtractionTable;
use serde_json::json;
use tokio::sync::watch::Receiver;

use super::publications::Publications;
use super::scan::{DueThread, RunRequest, Scan, Scanner};
use super::thread_reader::EXTRACT_VERSION;
use crate::clock::Clock;
use crate::config::Live;
use crate::events::EventHub;
use crate::ingest::Ingest;
use crate::jobs::Jobs;
use crate::service::age::AgeClock;
use crate::service::error::ServiceError;

/// Maximum wait for transcripts that are still unread after a start.
const READ_WITHIN: Duration = Duration::from_secs(30);

const WAVE: usize = 64;

/// Maximum wait for a job before a test write to the store.
const LOOK: Duration = Duration::from_secs(2);

/// Builds memory, for a client or in the background.
pub struct MemoryRuns {
    pub(in crate::service) scanner: Arc<Scanner>,
    pub(in crate::service) publications: Arc<Publications>,
    pub(in crate::service) extractions: ExtractionTable,
    pub(in crate::service) ingest: Arc<Ingest>,
    pub(in crate::service) age: AgeClock,
    pub(in crate::service) jobs: Jobs,
    pub(in crate::service) config: Live,
    pub(in crate::service) clock: Clock,
    pub(in crate::service) events: EventHub,
}

impl MemoryRuns {
    pub async fn run(&self, request: RunRequest) -> Result<RunResult, ServiceError> {
        let began = self.clock.elapsed();
        // After a start, wait for unread transcripts; those still unread after the timeout wait for the next run.
        if let Ok(read) = tokio::time::timeout(READ_WITHIN, self.ingest.first_read()).await {
            read?;
        }
        let before = self.publications.newest().await?.generation;
        let scan = self.scanner.scan(&request).await?;
        let mut ran = RunResult {
            state: if request.waits { RunState::Done } else { RunState::Started },
            threads: scan.threads,
            extracted: 0,
            empty: 0,
            failed: 0,
            fallbacks: 0,
            skipped: Vec::new(),
            generation: before,
            changed: false,
            editing: false,
            duration_ms: 0,
        };
        self.extract(&scan, &request, &mut ran).await?;
        ran.skipped = scan.skipped.into_values().collect();
        self.consolidate(&request).await?;
        ran.generation = self.publications.newest().await?.generation;
        ran.changed = ran.generation != before;
        ran.editing = self.is_being_edited().await?;
        let duration = self.clock.elapsed().saturating_sub(began);
        ran.duration_ms = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        Ok(ran)
    }

    async fn extract(
        &self,
        scan: &Scan,
        request: &RunRequest,
        ran: &mut RunResult,
    ) -> Result<(), ServiceError> {
        let most = *self.config.now().memory.max_threads_per_run;
        let due = &scan.due[..scan.due.len().min(most)];
        let total = due.len();
        let waves = if request.waits { total.div_ceil(WAVE) } else { 1 };
        for wave in due.chunks(WAVE).take(waves) {
            let mut keys = HashSet::new();
            for due in wave {
                keys.insert(self.request_extraction(due, request.is_manual).await?);
            }
            if request.waits {
                self.wait_settled(keys, total, ran).await?;
            }
        }
        Ok(())
    }

    async fn request_extraction(
        &self,
        due: &DueThread,
        is_manual: bool,
    ) -> Result<JobKey, ServiceError> {
        let key = JobKey { kind: Kind::Extract, subject: due.thread_id.clone() };
        let engine = *self.config.now().memory.engine;
        let request = JobRequest {
            key: key.clone(),
            input: format!("{}:{EXTRACT_VERSION}:{}", due.next_seq, engine.into_str()),
            payload: String::new(),
            priority: i32::from(is_manual),
            urgent: is_manual,
        };
        let job = self.jobs.request(request).await?;
        // A due thread with a settled job lost its result. A request of a person also retries at once what waits, is
        // parked or is dead.
        let is_stuck = matches!(job.state, State::Dead | State::Failed | State::Parked);
        if job.state == State::Done || (is_manual && is_stuck) {
            self.jobs.retry(&key).await?;
        }
        Ok(key)
    }

    /// Waits until all jobs have settled or stopped, and counts their outcomes.
    async fn wait_settled(
        &self,
        mut keys: HashSet<JobKey>,
        total: usize,
        ran: &mut RunResult,
    ) -> Result<(), ServiceError> {
        let mut changed = self.jobs.watch(Kind::Extract);
        loop {
            changed.mark_unchanged();
            let mut settled = Vec::new();
            for key in &keys {
                let state = self.jobs.find(key).await?.map(|job| job.state);
                if !matches!(state, Some(State::Queued | State::Running)) {
                    settled.push((key.clone(), state));
                }
            }
            for (key, state) in settled {
                let row = self.extractions.get(&key.subject).await?;
                let has_fallen_back = row.as_ref().is_some_and(|row| row.reason.is_some());
                if state == Some(State::Done) || has_fallen_back {
                    ran.extracted += 1;
                    ran.fallbacks += u64::from(has_fallen_back);
                    ran.empty += u64::from(row.is_none_or(|row| row.memory.is_none()));
                } else {
                    ran.failed += 1;
                }
                keys.remove(&key);
            }
            let done = ran.extracted + ran.failed;
            let data = json!({ "phase": "extract", "done": done, "total": total });
            self.events.publish(EventKind::MemoryProgress, data);
            if keys.is_empty() || !self.wait_changed(&mut changed).await? {
                return Ok(());
            }
        }
    }

    /// Waits for a change of the jobs; false if there will be none. If the store rejects writes, no job can be claimed
    /// and nothing ever changes, so this tries a write at intervals.
    async fn wait_changed(&self, changed: &mut Receiver<()>) -> Result<bool, ServiceError> {
        tokio::select! {
            changed = changed.changed() => Ok(changed.is_ok()),
            () = tokio::time::sleep(LOOK) => {
                self.age.lived_ms().await?;
                Ok(true)
            }
        }
    }

    async fn consolidate(&self, request: &RunRequest) -> Result<(), ServiceError> {
        let key = JobKey::only(Kind::Consolidate);
        let data = json!({ "phase": "consolidate", "done": 0, "total": 1 });
        self.events.publish(EventKind::MemoryProgress, data);
        let job = JobRequest {
            key: key.clone(),
            input: self.clock.new_id(),
            payload: String::new(),
            priority: 0,
            urgent: request.is_manual,
        };
        let changed = self.jobs.watch(key.kind);
        let job = self.jobs.request(job).await?;
        if request.waits {
            self.wait_consolidated(&key, job.wanted, changed).await?;
        }
        Ok(())
    }

    /// Whether a worker edits the files or is about to; nothing waits for it.
    async fn is_being_edited(&self) -> Result<bool, ServiceError> {
        let job = self.jobs.find(&JobKey::only(Kind::Curate)).await?;
        Ok(job.is_some_and(|job| matches!(job.state, State::Queued | State::Running)))
    }

    /// Waits until a consolidation that covers `wanted` is done.
    async fn wait_consolidated(
        &self,
        key: &JobKey,
        wanted: u64,
        mut changed: Receiver<()>,
    ) -> Result<(), ServiceError> {
        loop {
            changed.mark_unchanged();
            match self.jobs.find(key).await? {
                Some(job) if job.done >= wanted => return Ok(()),
                Some(job) if matches!(job.state, State::Queued | State::Running) => {}
                job => {
                    let failure = job.and_then(|job| job.failure);
                    let is_transient = failure
                        .as_ref()
                        .is_some_and(|failure| failure.kind == FailureKind::Transient);
                    let detail = failure.map(|failure| failure.detail);
                    let detail = detail.unwrap_or_else(|| "it was taken back".to_owned());
                    return Err(ServiceError::MemoryFailed { detail, may_pass: is_transient });
                }
            }
            if !self.wait_changed(&mut changed).await? {
                return Ok(());
            }
        }
    }
}
