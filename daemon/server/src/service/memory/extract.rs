//! The job `extract`: turns the transcript of one thread into what a later thread can use.
//!
//! An extraction is stored only if the stored one did not read further, so a run that lost its job, or is repeated after a crash,
//! leaves the same result as a single run.
//!
//! If a model is to read threads, the same pass collects the question for it, and the extraction without the model
//! completes its answer. A failure of the model fails the job by its kind: it waits, is parked, or dies. Unless
//! configured otherwise, the extraction without the model is stored in the meantime, with the reason.

use std::sync::Arc;
use std::time::Duration;

use longhaul_core::job::{Failure, Fence, Job, Kind, Token};
use longhaul_core::memory::Engine;
use longhaul_core::memory::input::{AnswerError, Question, Reading, budget_tokens, combine};
use longhaul_core::model::budget::Spending;
use longhaul_store::{ExtractionRow, ExtractionTable};

use super::ask::MemoryQuestion;
use super::citations::Citations;
use super::thread_reader::{ThreadReader, ThreadReading};
use crate::config::Live;
use crate::jobs::runner::Work;
use crate::jobs::{Jobs, Owner};
use crate::model::{Models, Purpose, Task};
use crate::service::error::ServiceError;

/// Maximum tokens of a thread for an external worker. They fit into a frame however much of them is escaped.
const OUTSIDE_TOKENS_MAX: u64 = 500_000;

pub struct ExtractWork(pub Arc<Extraction>);

impl Work for ExtractWork {
    const KIND: Kind = Kind::Extract;

    async fn run(&self, job: Job, token: Token) -> Result<(), Failure> {
        let owner = Owner { key: job.key, token };
        self.0.run(&owner).await
    }
}

/// The input of an external worker.
pub struct ExtractionTask {
    pub question: Question,
    /// Lines of the transcript that the question covers.
    pub lines: u64,
}

/// Extracts memory from threads.
pub struct Extraction {
    pub(in crate::service) reader: ThreadReader,
    pub(in crate::service) extractions: ExtractionTable,
    pub(in crate::service) citations: Arc<Citations>,
    pub(in crate::service) models: Arc<Models>,
    pub(in crate::service) jobs: Jobs,
    pub(in crate::service) config: Live,
}

impl Extraction {
    async fn run(&self, owner: &Owner) -> Result<(), Failure> {
        let thread_id = owner.key.subject.as_str();
        let erasures = self.models.erasures();
        let row = self.reader.thread(thread_id).await?;
        let settings = self.config.now().memory.clone();
        let choice = match *settings.engine {
            Engine::Model => self.models.settings().of(Task::Extract),
            Engine::Deterministic => None,
        };
        let budget = choice.as_ref().map(|choice| budget_tokens(Some(choice.context_window)));
        let ThreadReading { mut extraction, question, reads } =
            self.reader.read(row, budget, u64::MAX).await?;
        let fence = || self.jobs.fence(owner);
        let Some(choice) = choice else {
            return Ok(self.put(&extraction, reads, fence()).await?);
        };
        let mut conversation = MemoryQuestion {
            models: &self.models,
            choice: &choice,
            purpose: Purpose::Extraction,
            timeout: Duration::from_secs(*settings.answer_timeout_s),
            erasures,
            spent: Spending::default(),
        };
        // Without words of a person there is no question.
        let reading = match question {
            Some(question) => conversation.about(question).await,
            None => Ok(Reading::default()),
        };
        match reading {
            Ok(Reading { memory, refused }) => {
                for error in &refused {
                    tracing::info!(thread_id, %error, "a learning was rejected");
                }
                extraction.memory = combine(extraction.memory, memory);
                extraction.engine = Engine::Model;
                Ok(self.put(&extraction, reads, fence()).await?)
            }
            Err(error) => {
                if *settings.fallback {
                    extraction.reason = Some(error.to_string());
                    self.put(&extraction, reads, fence()).await?;
                }
                Err(error.failure())
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
        let row = self.reader.thread(thread_id).await?;
        let ThreadReading { extraction, question, reads } =
            self.reader.read(row, Some(self.outside_tokens()), u64::MAX).await?;
        if let Some(question) = question {
            return Ok(Some(ExtractionTask { question, lines: extraction.next_seq }));
        }
        self.put(&extraction, reads, self.jobs.finishing_fence(owner)).await?;
        self.jobs.settled(Kind::Extract);
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
        let row = self.reader.thread(thread_id).await?;
        let present = row.file.cursor.next_seq;
        if present < lines {
            return Err(ServiceError::StaleBase { expected: lines, present });
        }
        let ThreadReading { mut extraction, question, reads } =
            self.reader.read(row, Some(self.outside_tokens()), lines).await?;
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
        self.put(&extraction, reads, self.jobs.finishing_fence(owner)).await?;
        Ok(refused.iter().map(AnswerError::to_string).collect())
    }

    /// Maximum tokens of a thread for an external worker: that of the configured model, whichever model it uses.
    fn outside_tokens(&self) -> u64 {
        let default = self.models.settings().of(Task::Extract);
        budget_tokens(default.map(|choice| choice.context_window)).min(OUTSIDE_TOKENS_MAX)
    }

    /// The fence checks the claim at the time of the write: reading takes a while, and a model longer. The thread's
    /// reads of memory are counted after it, because these lines are not searched for reads again. A crash in between
    /// loses the count: it is only a hint of what is useful, and a low count is better than counting a read twice.
    async fn put(
        &self,
        extraction: &ExtractionRow,
        reads: Vec<String>,
        fence: Fence,
    ) -> Result<(), ServiceError> {
        if self.extractions.put(extraction, Some(&fence)).await?
            && !reads.is_empty()
            && let Err(error) = self.citations.count(None, Vec::new(), reads).await
        {
            tracing::info!(%error, "cannot count reads of memory");
        }
        Ok(())
    }
}
