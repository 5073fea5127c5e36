//! The job `extract`: one thread, read from its transcript, into what a later thread can use.
//!
//! The transcript is read on a thread for blocking work; dropping the job stops it at the next line. What was
//! extracted is stored only if the stored one did not read further, so a run that was taken over, or that a
//! crash repeats, leaves what one run leaves.
//!
//! Where a model is to read threads, the same pass collects what it is asked; what was extracted without it
//! completes its answer. A failure of the model fails the job, by its kind: it waits, is parked, or is given
//! up. What was extracted without the model is stored meanwhile with the reason, unless told otherwise.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use longhaul_core::job::{Failure, FailureKind, Job, Kind, Token};
use longhaul_core::memory::extract::{Extractor, ThreadRef};
use longhaul_core::memory::input::{Collector, Question, Reading, budget_tokens, combine};
use longhaul_core::memory::own::Own;
use longhaul_core::memory::{Engine, RolloutMemory};
use longhaul_core::model::budget::Spending;
use longhaul_store::{ExtractionRow, FileRow, Store, ThreadRow};

use super::ask::{AskError, MemoryQuestion};
use super::project::project_of;
use super::publications::Publications;
use super::reads::ReadCounter;
use crate::clock::Clock;
use crate::config::Live;
use crate::jobs::runner::Work;
use crate::jobs::{Jobs, Owner};
use crate::model::{Models, Purpose};
use crate::service::error::ServiceError;
use crate::transcript::each_line;

/// Version of what is made of a thread: another one extracts all threads again.
pub const EXTRACT_VERSION: u32 = 4;

pub struct ExtractWork(pub Arc<Extraction>);

/// Why a thread is not read as it was to be.
enum ExtractError {
    /// The transcript or the store.
    Service(ServiceError),
    /// The model; what came of the thread without it is stored where the configuration says so.
    Model(AskError),
}

impl<E: Into<ServiceError>> From<E> for ExtractError {
    fn from(error: E) -> Self {
        Self::Service(error.into())
    }
}

impl Work for ExtractWork {
    const KIND: Kind = Kind::Extract;

    async fn run(&self, job: Job, token: Token) -> Result<(), Failure> {
        let failure = |kind, detail| Failure { kind, detail, retry_after_ms: None };
        let owner = Owner { key: job.key, token };
        match self.0.run(&owner).await {
            Ok(()) => Ok(()),
            Err(ExtractError::Service(ServiceError::ThreadNotFound(_))) => {
                Err(failure(FailureKind::Permanent, "its transcript is gone".to_owned()))
            }
            Err(ExtractError::Service(error)) => {
                Err(failure(FailureKind::Transient, error.to_string()))
            }
            Err(ExtractError::Model(error)) => Err(error.failure()),
        }
    }
}

/// What reading a thread gave.
struct ThreadReading {
    next_seq: u64,
    extracted: Option<RolloutMemory>,
    /// What a model would be asked.
    question: Option<Question>,
}

/// Reads threads into what later ones can use.
pub struct Extraction {
    store: Store,
    publications: Arc<Publications>,
    reads: ReadCounter,
    models: Arc<Models>,
    jobs: Jobs,
    config: Live,
    clock: Clock,
}

impl Extraction {
    #[must_use]
    pub fn new(
        (publications, reads): (Arc<Publications>, ReadCounter),
        (store, models, jobs): (Store, Arc<Models>, Jobs),
        config: Live,
        clock: Clock,
    ) -> Self {
        Self { store, publications, reads, models, jobs, config, clock }
    }

    async fn run(&self, owner: &Owner) -> Result<(), ExtractError> {
        let thread_id = owner.key.subject.as_str();
        let missing = || ServiceError::ThreadNotFound(thread_id.to_owned());
        let row = self.store.thread_get(thread_id).await?.ok_or_else(missing)?;
        if row.file.gone_at_ms.is_some() {
            return Err(missing().into());
        }
        let reads = self.reads.unseen(thread_id).await;
        let own = self.publications.newest().await?.own.clone();
        let settings = self.config.now().memory.clone();
        let choice = match *settings.engine {
            Engine::Model => self.models.settings().default.clone(),
            Engine::Deterministic => None,
        };
        let budget = choice.as_ref().map(|choice| budget_tokens(Some(choice.context_window)));
        let ThreadReading { next_seq, extracted, question } = self.read(row, own, budget).await?;
        let mut extraction = ExtractionRow {
            thread_id: thread_id.to_owned(),
            next_seq,
            version: EXTRACT_VERSION,
            extracted_at_ms: self.clock.now_ms(),
            uses: 0,
            last_used_ms: None,
            memory: extracted,
            engine: Engine::Deterministic,
            reason: None,
        };
        let Some(choice) = choice else {
            self.put_extraction(&extraction, reads, owner).await?;
            return Ok(());
        };
        let mut asked = MemoryQuestion {
            models: &self.models,
            choice: &choice,
            purpose: Purpose::Extraction,
            timeout: Duration::from_secs(*settings.answer_timeout_s),
            spent: Spending::default(),
        };
        // Where no person speaks there is nothing to be asked.
        let reading = match question {
            Some(question) => asked.about(question).await,
            None => Ok(Reading::default()),
        };
        match reading {
            Ok(Reading { memory, refused }) => {
                for error in &refused {
                    tracing::info!(thread_id, %error, "a learning is left out");
                }
                extraction.memory = combine(extraction.memory, memory);
                extraction.engine = Engine::Model;
                self.put_extraction(&extraction, reads, owner).await?;
                Ok(())
            }
            Err(error) => {
                if *settings.fallback {
                    extraction.reason = Some(error.to_string());
                    self.put_extraction(&extraction, reads, owner).await?;
                }
                Err(ExtractError::Model(error))
            }
        }
    }

    /// The claim is looked at as of now: reading takes a while, and a model longer. What the thread read of memory
    /// counts with it, since its lines are not looked at for that again.
    async fn put_extraction(
        &self,
        extraction: &ExtractionRow,
        reads: Vec<String>,
        owner: &Owner,
    ) -> Result<(), ServiceError> {
        let fence = self.jobs.fence(owner);
        if self.store.extraction_put(extraction, Some(&fence)).await? {
            self.reads.count(reads).await;
        }
        Ok(())
    }

    async fn read(
        &self,
        row: ThreadRow,
        own: Own,
        question_tokens: Option<u64>,
    ) -> Result<ThreadReading, ServiceError> {
        let stop = StopOnDrop(Arc::default());
        let stopped = Arc::clone(&stop.0);
        let path = row.file.path.clone();
        let reading = tokio::task::spawn_blocking(move || {
            let file = row.file;
            let thread = thread_ref(row.thread_id, &file);
            let mut collector =
                question_tokens.map(|tokens| Collector::new(thread.clone(), own.clone(), tokens));
            let mut extractor = Extractor::new(thread, own);
            let next_seq = each_line(&file, |place, line| {
                extractor.line(place, line);
                if let Some(collector) = &mut collector {
                    collector.line(place, line);
                }
                !stopped.load(Ordering::Relaxed)
            })?;
            let question = collector.and_then(Collector::finish);
            Ok(ThreadReading { next_seq, extracted: extractor.finish(), question })
        });
        reading.await?.map_err(|source| ServiceError::File { path, source })
    }
}

fn thread_ref(thread_id: String, file: &FileRow) -> ThreadRef {
    let cwd = file.head.as_ref().and_then(|head| head.cwd.as_deref());
    ThreadRef { thread_id, source: file.source, project: cwd.and_then(project_of) }
}

/// Stops the reading thread when the job that waits for it is given up.
struct StopOnDrop(Arc<AtomicBool>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
