//! Making memory: asks for jobs and waits for them, for a client or in the background.
//!
//! Threads are asked for in waves, so that the job table holds few rows at a time however many threads there
//! are, and a client that waits can be told how far it is. What is asked for runs on when the client is gone.

use std::collections::HashSet;
use std::time::Duration;

use longhaul_core::job::{JobKey, JobRequest, Kind, State};
use longhaul_protocol::event::EventKind;
use serde_json::json;

use super::EXTRACT_VERSION;
use super::scan::{Due, Scan, Scope, Skipped};
use crate::service::{ServiceError, Services};

/// Extractions asked for at a time.
const WAVE: usize = 64;

/// How long a run waits for transcripts that are still unread after a start.
const READ_WITHIN: Duration = Duration::from_secs(30);

/// Longest time without a look at the threads.
const LOOK_MAX: Duration = Duration::from_secs(3_600);

/// Shortest time between two looks.
const LOOK_MIN: Duration = Duration::from_secs(60);

/// What a client asks for.
#[derive(Debug, Clone, Default)]
pub struct RunRequest {
    /// Only this thread.
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

/// What came of it.
#[derive(Debug, Default)]
pub struct Ran {
    /// Whether it is done.
    pub is_done: bool,
    /// Threads that are known.
    pub threads: u64,
    /// Threads that were extracted.
    pub extracted: u64,
    /// Those that taught nothing.
    pub empty: u64,
    /// Those that failed.
    pub failed: u64,
    /// Those that were read without the model that was to read them.
    pub fell_back: u64,
    /// Threads that were left out.
    pub skipped: Vec<Skipped>,
    /// Number in force.
    pub generation: u64,
    /// Whether it is a new one.
    pub is_changed: bool,
    /// Milliseconds.
    pub duration_ms: u64,
}

impl Services {
    /// Makes memory.
    ///
    /// # Errors
    /// There is no such thread; those of the store; consolidation failed.
    pub async fn run_memory(&self, request: RunRequest) -> Result<Ran, ServiceError> {
        let began = self.deps.clock.elapsed();
        // Right after a start there is nothing to be seen yet: what is still unread then waits for the next run.
        drop(tokio::time::timeout(READ_WITHIN, self.ingest.first_read()).await);
        let before = self.published_memory().await?.generation;
        let scope = Scope {
            thread_id: request.thread_id.clone(),
            current: request.current.clone(),
            takes_all: request.takes_all,
            is_manual: request.is_manual,
        };
        let scan = self.scan_memory(&scope).await?;
        let mut ran = Ran { threads: scan.threads, is_done: request.waits, ..Ran::default() };
        self.extract_due(&scan, &request, &mut ran).await?;
        ran.skipped = scan.skipped.into_values().collect();
        let published = self.consolidate_now(&request).await?;
        ran.generation = published;
        ran.is_changed = published != before;
        let duration = self.deps.clock.elapsed().saturating_sub(began);
        ran.duration_ms = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        Ok(ran)
    }

    async fn extract_due(
        &self,
        scan: &Scan,
        request: &RunRequest,
        ran: &mut Ran,
    ) -> Result<(), ServiceError> {
        let total = scan.due.len();
        let waves = if request.waits { total.div_ceil(WAVE) } else { 1 };
        for wave in scan.due.chunks(WAVE).take(waves) {
            let mut keys = HashSet::new();
            for due in wave {
                keys.insert(self.ask_extraction(due, request.is_manual).await?);
            }
            if request.waits {
                self.count_settled(keys, total, ran).await?;
            }
        }
        Ok(())
    }

    async fn ask_extraction(&self, due: &Due, is_manual: bool) -> Result<JobKey, ServiceError> {
        let key = JobKey { kind: Kind::Extract, subject: due.thread_id.clone() };
        let engine = *self.deps.config.now().memory.engine;
        let asked = JobRequest {
            key: key.clone(),
            input: format!("{}:{EXTRACT_VERSION}:{}", due.next_seq, engine.name()),
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
    async fn count_settled(
        &self,
        mut keys: HashSet<JobKey>,
        total: usize,
        ran: &mut Ran,
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
            self.deps.events.publish(EventKind::MemoryProgress, data);
            if keys.is_empty() || changed.changed().await.is_err() {
                return Ok(());
            }
        }
    }

    /// Asks for consolidation; returns the number in force after it.
    async fn consolidate_now(&self, request: &RunRequest) -> Result<u64, ServiceError> {
        let key = JobKey { kind: Kind::Consolidate, subject: String::new() };
        let data = json!({ "phase": "consolidate", "done": 0, "total": 1 });
        self.deps.events.publish(EventKind::MemoryProgress, data);
        let asked = JobRequest {
            key: key.clone(),
            input: self.deps.clock.new_id(),
            payload: String::new(),
            priority: 0,
            urgent: request.is_manual,
        };
        let changed = self.jobs.watch();
        let asked = self.jobs.request(asked).await?;
        if request.waits {
            self.consolidated(&key, asked.wanted, changed).await?;
        }
        Ok(self.published_memory().await?.generation)
    }

    /// Waits until a consolidation that had seen `wanted` is done.
    async fn consolidated(
        &self,
        key: &JobKey,
        wanted: u64,
        mut changed: tokio::sync::watch::Receiver<()>,
    ) -> Result<(), ServiceError> {
        loop {
            changed.mark_unchanged();
            match self.store.job_get(key).await? {
                Some(job) if job.done >= wanted => return Ok(()),
                Some(job) if matches!(job.state, State::Queued | State::Running) => {}
                job => {
                    let detail = job.and_then(|job| job.failure).map(|failure| failure.detail);
                    let detail = detail.unwrap_or_else(|| "it was taken back".to_owned());
                    return Err(ServiceError::MemoryFailed(detail));
                }
            }
            if changed.changed().await.is_err() {
                return Ok(());
            }
        }
    }

    /// Makes memory whenever something is due, until it is dropped.
    pub async fn keep_memory(&self) {
        if let Err(error) = self.settle_memory().await {
            tracing::warn!(%error, "the memory folder is not as it should be");
        }
        loop {
            let mut pause = LOOK_MAX;
            if *self.deps.config.now().memory.enabled {
                self.ingest.idle().await;
                match self.make_due().await {
                    Ok(next) => pause = next,
                    Err(error) => tracing::warn!(%error, "memory could not be made"),
                }
            }
            tokio::select! {
                () = self.memory.wake.notified() => {}
                () = tokio::time::sleep(pause) => {}
            }
        }
    }

    async fn make_due(&self) -> Result<Duration, ServiceError> {
        let scan = self.scan_memory(&Scope::default()).await?;
        if !scan.due.is_empty() {
            let ran = self.run_memory(RunRequest { waits: true, ..RunRequest::default() }).await?;
            let Ran { extracted, empty, failed, fell_back, generation, .. } = ran;
            tracing::info!(extracted, empty, failed, fell_back, generation, "memory is made");
        }
        let next_ms = scan.next_ms.and_then(|ms| u64::try_from(ms).ok());
        Ok(next_ms.map_or(LOOK_MAX, Duration::from_millis).clamp(LOOK_MIN, LOOK_MAX))
    }
}
