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

use longhaul_core::job::{Failure, FailureKind, Fence, Job, Kind, Token};
use longhaul_core::memory::Engine;
use longhaul_core::memory::extract::{Extractor, ThreadRef};
use longhaul_core::memory::input::{
    AnswerError, Collector, Question, Reading, budget_tokens, combine,
};
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
use crate::model::{Models, Purpose, Task};
use crate::service::error::ServiceError;
use crate::transcript::each_line;

/// Version of what is made of a thread: another one extracts all threads again.
pub const EXTRACT_VERSION: u32 = 5;

/// Tokens of a thread that is handed to a worker outside: whatever is escaped in them, they fit into a frame.
const OUTSIDE_TOKENS_MAX: u64 = 500_000;

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
        let owner = Owner { key: job.key, token };
        self.0.run(&owner).await.map_err(|error| match error {
            ExtractError::Service(error) => Extraction::failure(&error),
            ExtractError::Model(error) => error.failure(),
        })
    }
}

/// A thread as a worker outside reads it.
pub struct ExtractionTask {
    pub question: Question,
    /// Lines of the transcript that it is made of.
    pub lines: u64,
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
    pub fn new(
        (publications, reads): (Arc<Publications>, ReadCounter),
        (store, models, jobs): (Store, Arc<Models>, Jobs),
        config: Live,
        clock: Clock,
    ) -> Self {
        Self { store, publications, reads, models, jobs, config, clock }
    }

    /// What the job table is told of a thread that cannot be read.
    pub(in crate::service) fn failure(error: &ServiceError) -> Failure {
        let (kind, detail) = match error {
            ServiceError::ThreadNotFound(_) => {
                (FailureKind::Permanent, "its transcript is gone".to_owned())
            }
            error => (FailureKind::Transient, error.to_string()),
        };
        Failure { kind, detail, retry_after_ms: None }
    }

    async fn run(&self, owner: &Owner) -> Result<(), ExtractError> {
        let thread_id = owner.key.subject.as_str();
        let row = self.thread(thread_id).await?;
        let reads = self.reads.unseen(thread_id).await;
        let settings = self.config.now().memory.clone();
        let choice = match *settings.engine {
            Engine::Model => self.models.settings().of(Task::Extract),
            Engine::Deterministic => None,
        };
        let budget = choice.as_ref().map(|choice| budget_tokens(Some(choice.context_window)));
        let (mut extraction, question) = self.read(row, budget, u64::MAX).await?;
        let fence = || self.jobs.fence(owner);
        let Some(choice) = choice else {
            self.put_extraction(&extraction, reads, fence()).await?;
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
                self.put_extraction(&extraction, reads, fence()).await?;
                Ok(())
            }
            Err(error) => {
                if *settings.fallback {
                    extraction.reason = Some(error.to_string());
                    self.put_extraction(&extraction, reads, fence()).await?;
                }
                Err(ExtractError::Model(error))
            }
        }
    }

    /// The thread for a worker outside, which the daemon asks about as it would ask its own model. `None`: nobody
    /// asks for anything in it, and its job is done.
    pub(in crate::service) async fn task(
        &self,
        owner: &Owner,
    ) -> Result<Option<ExtractionTask>, ServiceError> {
        let thread_id = owner.key.subject.as_str();
        let row = self.thread(thread_id).await?;
        let reads = self.reads.unseen(thread_id).await;
        let (extraction, question) = self.read(row, Some(self.outside_tokens()), u64::MAX).await?;
        if let Some(question) = question {
            return Ok(Some(ExtractionTask { question, lines: extraction.next_seq }));
        }
        self.put_extraction(&extraction, reads, self.jobs.finishing_fence(owner)).await?;
        self.jobs.settled();
        Ok(None)
    }

    /// Takes the answer of a worker outside to the first `lines` of the thread and settles its job; returns what was
    /// left out of it. What it proves is looked for in the transcript once more: nothing of the worker's account of
    /// the thread is believed.
    pub(in crate::service) async fn deliver(
        &self,
        owner: &Owner,
        lines: u64,
        answer: &str,
    ) -> Result<Vec<String>, ServiceError> {
        let thread_id = owner.key.subject.as_str();
        let row = self.thread(thread_id).await?;
        let present = row.file.cursor.next_seq;
        if present < lines {
            return Err(ServiceError::StaleBase { expected: lines, present });
        }
        let reads = self.reads.unseen(thread_id).await;
        let (mut extraction, question) = self.read(row, Some(self.outside_tokens()), lines).await?;
        let refused = |error: AnswerError| match error {
            AnswerError::TooLong { field, bytes, max } => {
                ServiceError::Limit { limit: field, max: max as u64, given: bytes as u64 }
            }
            error => ServiceError::Invalid { field: "result", reason: error.to_string() },
        };
        let question = question.ok_or_else(|| ServiceError::Invalid {
            field: "result.lines",
            reason: "nobody asks for anything in so many lines".to_owned(),
        })?;
        let Reading { memory, refused } = question.read(answer).map_err(refused)?;
        extraction.memory = combine(extraction.memory, memory);
        extraction.engine = Engine::Model;
        self.put_extraction(&extraction, reads, self.jobs.finishing_fence(owner)).await?;
        Ok(refused.iter().map(AnswerError::to_string).collect())
    }

    /// Tokens of a thread for a worker outside: as for the configured model, whoever asks.
    fn outside_tokens(&self) -> u64 {
        let default = self.models.settings().of(Task::Extract);
        budget_tokens(default.map(|choice| choice.context_window)).min(OUTSIDE_TOKENS_MAX)
    }

    async fn thread(&self, thread_id: &str) -> Result<ThreadRow, ServiceError> {
        let missing = || ServiceError::ThreadNotFound(thread_id.to_owned());
        let row = self.store.thread_get(thread_id).await?.ok_or_else(missing)?;
        if row.file.gone_at_ms.is_some() { Err(missing()) } else { Ok(row) }
    }

    /// The claim is looked at as of now: reading takes a while, and a model longer. What the thread read of memory
    /// counts with it, since its lines are not looked at for that again.
    async fn put_extraction(
        &self,
        extraction: &ExtractionRow,
        reads: Vec<String>,
        fence: Fence,
    ) -> Result<(), ServiceError> {
        if self.store.extraction_put(extraction, Some(&fence)).await? {
            self.reads.count(reads).await;
        }
        Ok(())
    }

    /// Reads the first `lines` of a thread: what is extracted without a model, and with `question_tokens` what a
    /// model would be asked.
    async fn read(
        &self,
        row: ThreadRow,
        question_tokens: Option<u64>,
        lines: u64,
    ) -> Result<(ExtractionRow, Option<Question>), ServiceError> {
        let own = self.publications.newest().await?.own.clone();
        let stop = StopOnDrop(Arc::default());
        let stopped = Arc::clone(&stop.0);
        let (path, thread_id) = (row.file.path.clone(), row.thread_id.clone());
        let reading = tokio::task::spawn_blocking(move || {
            let file = row.file;
            let thread = thread_ref(row.thread_id, &file);
            let mut collector =
                question_tokens.map(|tokens| Collector::new(thread.clone(), own.clone(), tokens));
            let mut extractor = Extractor::new(thread, own);
            let next_seq = each_line(&file, |place, line| {
                if place.line >= lines {
                    return false;
                }
                extractor.line(place, line);
                if let Some(collector) = &mut collector {
                    collector.line(place, line);
                }
                !stopped.load(Ordering::Relaxed)
            })?;
            let question = collector.and_then(Collector::finish);
            Ok((next_seq.min(lines), extractor.finish(), question))
        });
        let read = reading.await?;
        let (next_seq, memory, question) =
            read.map_err(|source| ServiceError::File { path, source })?;
        let extraction = ExtractionRow {
            thread_id,
            next_seq,
            version: EXTRACT_VERSION,
            extracted_at_ms: self.clock.now_ms(),
            uses: 0,
            last_used_ms: None,
            memory,
            engine: Engine::Deterministic,
            reason: None,
        };
        Ok((extraction, question))
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
