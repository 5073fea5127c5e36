//! The job `extract`: turns the transcript of one thread into what a later thread can use.
//!
//! The transcript is read on a thread for blocking work; dropping the job stops it at the next line. An extraction
//! is stored only if the stored one did not read further, so a run that lost its job, or is repeated after a crash,
//! leaves the same result as a single run.
//!
//! If a model is to read threads, the same pass collects the question for it, and the extraction without the model
//! completes its answer. A failure of the model fails the job by its kind: it waits, is parked, or dies. Unless
//! configured otherwise, the extraction without the model is stored in the meantime, with the reason.

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
use longhaul_store::{ExtractionRow, ExtractionTable, FileRow, Store, ThreadRow, ThreadTable};

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

/// Version of the extraction. A change extracts all threads again.
pub const EXTRACT_VERSION: u32 = 5;

/// Maximum tokens of a thread for an external worker. They fit into a frame however much of them is escaped.
const OUTSIDE_TOKENS_MAX: u64 = 500_000;

pub struct ExtractWork(pub Arc<Extraction>);

enum ExtractError {
    /// The transcript or the store.
    Service(ServiceError),
    /// The model. The extraction without it is stored if the configuration allows that.
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

/// The input of an external worker.
pub struct ExtractionTask {
    pub question: Question,
    /// Lines of the transcript that the question covers.
    pub lines: u64,
}

/// Reads threads into what later threads can use.
pub struct Extraction {
    threads: ThreadTable,
    extractions: ExtractionTable,
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
        (Store { threads, extractions, .. }, models, jobs): (Store, Arc<Models>, Jobs),
        config: Live,
        clock: Clock,
    ) -> Self {
        Self { threads, extractions, publications, reads, models, jobs, config, clock }
    }

    /// The failure to record in the job table.
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
        // Without words of a person there is no question.
        let reading = match question {
            Some(question) => asked.about(question).await,
            None => Ok(Reading::default()),
        };
        match reading {
            Ok(Reading { memory, refused }) => {
                for error in &refused {
                    tracing::info!(thread_id, %error, "a learning was rejected");
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

    /// The question about the thread for an external worker, the same as for the daemon's own model. `None` if no
    /// person speaks in the thread; its job is done then.
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

    /// Stores the answer of an external worker about the first `lines` of the thread and settles its job; returns the
    /// rejected learnings. Evidence is checked against the transcript again: nothing the worker says about the thread
    /// is trusted.
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
        let invalid = |error: AnswerError| match error {
            AnswerError::TooLong { field, bytes, max } => {
                ServiceError::Limit { limit: field, max: max as u64, given: bytes as u64 }
            }
            error => ServiceError::Invalid { field: "result", reason: error.to_string() },
        };
        let question = question.ok_or_else(|| ServiceError::Invalid {
            field: "result.lines",
            reason: "these lines contain no words of a person".to_owned(),
        })?;
        let Reading { memory, refused } = question.read(answer).map_err(invalid)?;
        extraction.memory = combine(extraction.memory, memory);
        extraction.engine = Engine::Model;
        self.put_extraction(&extraction, reads, self.jobs.finishing_fence(owner)).await?;
        Ok(refused.iter().map(AnswerError::to_string).collect())
    }

    /// Maximum tokens of a thread for an external worker: that of the configured model, whichever model it uses.
    fn outside_tokens(&self) -> u64 {
        let default = self.models.settings().of(Task::Extract);
        budget_tokens(default.map(|choice| choice.context_window)).min(OUTSIDE_TOKENS_MAX)
    }

    async fn thread(&self, thread_id: &str) -> Result<ThreadRow, ServiceError> {
        let missing = || ServiceError::ThreadNotFound(thread_id.to_owned());
        let row = self.threads.get(thread_id).await?.ok_or_else(missing)?;
        if row.file.gone_at_ms.is_some() { Err(missing()) } else { Ok(row) }
    }

    /// The fence checks the claim at the time of the write: reading takes a while, and a model longer. The thread's
    /// reads of memory are counted with it, because these lines are not searched for reads again.
    async fn put_extraction(
        &self,
        extraction: &ExtractionRow,
        reads: Vec<String>,
        fence: Fence,
    ) -> Result<(), ServiceError> {
        if self.extractions.put(extraction, Some(&fence)).await? {
            self.reads.count(reads).await;
        }
        Ok(())
    }

    /// Reads the first `lines` of a thread: the extraction without a model, and with `question_tokens` the question for
    /// a model.
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

/// Stops the reading thread when its job is dropped.
struct StopOnDrop(Arc<AtomicBool>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
