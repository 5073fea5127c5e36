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

use longhaul_core::job::{Failure, FailureKind, Job, Kind, Token};
use longhaul_core::memory::extract::{Extractor, ThreadRef};
use longhaul_core::memory::input::{Collector, Question, Reading, budget_tokens, combine};
use longhaul_core::memory::own::Own;
use longhaul_core::memory::{Engine, RolloutMemory};
use longhaul_core::model::budget::Spent;
use longhaul_store::{ExtractionRow, FileRow, ThreadRow};

use super::EXTRACT_VERSION;
use super::ask::{Asking, Unanswered};
use super::project::project_of;
use crate::jobs::Owner;
use crate::jobs::runner::Work;
use crate::model::Purpose;
use crate::service::{ServiceError, Services};
use crate::transcript::each_line;

/// Extracts threads for jobs.
#[derive(Debug)]
pub struct ExtractWork(pub Arc<Services>);

/// Why a thread is not read as it was to be.
enum Unread {
    /// The transcript or the store.
    Service(ServiceError),
    /// The model; what came of the thread without it is stored where the configuration says so.
    Model(Unanswered),
}

impl<E: Into<ServiceError>> From<E> for Unread {
    fn from(error: E) -> Self {
        Self::Service(error.into())
    }
}

impl Work for ExtractWork {
    const KIND: Kind = Kind::Extract;

    async fn run(&self, job: Job, token: Token) -> Result<(), Failure> {
        let failure = |kind, detail| Failure { kind, detail, retry_after_ms: None };
        let owner = Owner { key: job.key, token };
        match self.0.extract(&owner).await {
            Ok(()) => Ok(()),
            Err(Unread::Service(ServiceError::ThreadNotFound(_))) => {
                Err(failure(FailureKind::Permanent, "its transcript is gone".to_owned()))
            }
            Err(Unread::Service(error)) => Err(failure(FailureKind::Transient, error.to_string())),
            Err(Unread::Model(unanswered)) => Err(unanswered.failure()),
        }
    }
}

/// What reading a thread gave.
struct Read {
    next_seq: u64,
    extracted: Option<RolloutMemory>,
    /// What a model would be asked.
    question: Option<Question>,
}

impl Services {
    async fn extract(&self, owner: &Owner) -> Result<(), Unread> {
        let thread_id = owner.key.subject.as_str();
        let missing = || ServiceError::ThreadNotFound(thread_id.to_owned());
        let row = self.store.thread_get(thread_id).await?.ok_or_else(missing)?;
        if row.file.gone_at_ms.is_some() {
            return Err(missing().into());
        }
        let reads = self.unseen_reads(thread_id).await;
        let own = self.published_memory().await?.own.clone();
        let settings = self.deps.config.now().memory.clone();
        let choice = match *settings.engine {
            Engine::Model => self.models.settings().default.clone(),
            Engine::Deterministic => None,
        };
        let budget = choice.as_ref().map(|choice| budget_tokens(Some(choice.context_window)));
        let Read { next_seq, extracted, question } = self.read_memory(row, own, budget).await?;
        let mut extraction = ExtractionRow {
            thread_id: thread_id.to_owned(),
            next_seq,
            version: EXTRACT_VERSION,
            extracted_at_ms: self.deps.clock.now_ms(),
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
        let mut asking = Asking {
            models: &self.models,
            choice: &choice,
            purpose: Purpose::Extraction,
            timeout: *settings.answer_timeout,
            spent: Spent::default(),
        };
        // Where no person speaks there is nothing to be asked.
        let reading = match question {
            Some(question) => asking.about(question).await,
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
            Err(unanswered) => {
                if *settings.fallback {
                    extraction.reason = Some(unanswered.to_string());
                    self.put_extraction(&extraction, reads, owner).await?;
                }
                Err(Unread::Model(unanswered))
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
            self.count_reads(reads).await;
        }
        Ok(())
    }

    async fn read_memory(
        &self,
        row: ThreadRow,
        own: Own,
        question_tokens: Option<u64>,
    ) -> Result<Read, ServiceError> {
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
            Ok(Read { next_seq, extracted: extractor.finish(), question })
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
