//! The job `curate`: an external worker edits the published files with a model.
//!
//! # Theory of operation
//! *When.* Requested after each consolidation, if configured and if something changed since the last success. The
//! files that the rules made are already published: nothing waits for a model.
//!
//! *Steps.* A claim gets copies of the files, with the wording of the last success (the draft) → the worker asks for
//! the model's next answer ([`Curation::ask`]), runs the file tools it names, and asks again; requests, tokens and time
//! are counted here, and a spent bound rejects the next question → the worker delivers the files
//! ([`Curation::deliver`]) → the core checks them against the handbook; the worker gets the reason of a rejection and
//! may fix the files → if the current generation is still the one the work began with, they become a generation.
//!
//! The publication lock is not held while the model works, so forgetting and notes do not wait. Forgetting cancels the
//! current question and rejects the next; a note added during the work invalidates the work.
//!
//! *A crash* of the worker or the daemon ends the claim and publishes nothing. Answers are kept, so a repeated run gets
//! them without another request.

mod progress;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use longhaul_core::job::{Failure, FailureKind, Fence, Job, JobKey, JobRequest, Kind, LeaseLost};
use longhaul_core::memory::agent::{
    AgentAnswer, AgentTask, Baseline, CheckInputs, carry_over, check, input_of, task,
    without_dropped,
};
use longhaul_core::memory::consolidate::Consolidation;
use longhaul_core::memory::input::budget_tokens;
use longhaul_core::memory::{Engine, Files};
use longhaul_core::redact::redact;
use longhaul_core::{text, tokens};
use longhaul_store::{AgentRow, StoreError};
use tokio::sync::Mutex as AsyncMutex;

use super::publications::Base;
use super::publish::{Publisher, Purge};
use crate::clock::Clock;
use crate::config::Live;
use crate::jobs::{JobError, Jobs, Owner, WORKER};
use crate::model::{ModelChoice, Models, Task};
use crate::service::error::{CurationEnd, ServiceError};
use progress::Progress;
pub use progress::{ModelMessage, Speaker};

/// Maximum bytes of a failure's description.
const DETAIL_BYTES: usize = 600;

/// Maximum bytes of all files for a worker. They fit into a frame however much of them is escaped.
const FILES_BYTES_MAX: usize = 5 << 20;

/// Maximum bytes of the delivered files and their paths: leaves room for what the model adds.
const RESULT_BYTES_MAX: usize = 7 << 20;

/// The input of a worker.
pub struct CurationTask {
    /// The first message to the model.
    pub request: String,
    pub files: Files,
    /// Maximum bytes of the conversation.
    pub messages_bytes_max: usize,
}

/// The model's answer, as text and as it was read.
pub struct ModelAnswer {
    pub text: String,
    /// The error says why it could not be read.
    pub read: Result<AgentAnswer, String>,
}

struct Run {
    owner: Owner,
    holder: String,
    base: Base,
    /// What the rules make of everything known.
    known: Consolidation,
    draft: Files,
    task: AgentTask,
    input: String,
    choice: ModelChoice,
    summary_tokens: u64,
    progress: AsyncMutex<Progress>,
}

impl Run {
    /// Returns the files that may be published, or the reason of the rejection for the model.
    fn judge(&self, mut files: Files) -> Result<Files, String> {
        files.retain(|path, _| !self.task.extras.contains(path));
        let (draft, book) = (&self.draft, &self.known.handbook);
        let on = CheckInputs { draft, book, summary_tokens: self.summary_tokens };
        check(&files, on).map_err(|refusal| redact(&refusal.to_string()).text.into_owned())
    }
}

/// The input of a due curation.
struct DueWork {
    base: Base,
    known: Consolidation,
    baseline: Option<Baseline>,
    input: String,
}

/// Hands out the published files for editing, and checks what is delivered.
pub struct Curation {
    publisher: Arc<Publisher>,
    models: Arc<Models>,
    jobs: Jobs,
    config: Live,
    clock: Clock,
    current: Mutex<Option<Arc<Run>>>,
}

impl Curation {
    pub fn new(
        publisher: Arc<Publisher>,
        models: Arc<Models>,
        jobs: Jobs,
        config: Live,
        clock: Clock,
    ) -> Self {
        Self { publisher, models, jobs, config, clock, current: Mutex::default() }
    }

    /// Requests the job, if a model edits the files and something changed since its last success.
    pub(super) async fn request(&self) -> Result<(), ServiceError> {
        if self.choice().is_none() {
            return Ok(());
        }
        let Some(due) = self.due().await? else { return Ok(()) };
        let request = JobRequest {
            key: JobKey::only(Kind::Curate),
            input: format!("{} {}", due.base.number, due.input),
            payload: String::new(),
            priority: 0,
            urgent: false,
        };
        self.jobs.request(request).await?;
        Ok(())
    }

    /// The model that edits the files, if configured.
    fn choice(&self) -> Option<ModelChoice> {
        let choice = self.models.settings().of(Task::Consolidate);
        choice.filter(|_| *self.config.now().memory.engine == Engine::Model)
    }

    /// Whether a worker started by the daemon edits the files with a model.
    pub(super) fn uses_own_worker(&self) -> bool {
        let is_outside = self.config.now().jobs.outside.contains(&Kind::Curate);
        !is_outside && self.choice().is_some()
    }

    /// The work to do; `None` if nothing changed since the last success.
    async fn due(&self) -> Result<Option<DueWork>, ServiceError> {
        let reading = |publisher: Arc<Publisher>| async move {
            let base = publisher.base().await?;
            let known = publisher.consolidated_by_rules(&base.edits).await?;
            Ok((base, known))
        };
        let (base, known) = self.publisher.in_turn(reading).await?;
        let input = input_of(&known.files, &known.handbook);
        let last = self.publisher.sources.curation.get().await?;
        let baseline = self.publisher.sources.agent_baseline().await?;
        let is_done =
            last.is_some_and(|run| matches!(run.outcome.as_str(), "published" | "unchanged"));
        let is_same = baseline.as_ref().is_some_and(|baseline| baseline.input == input);
        let is_due =
            base.number > 0 && !known.handbook.projects.is_empty() && !(is_done && is_same);
        Ok(is_due.then_some(DueWork { base, known, baseline, input }))
    }

    /// The input for a worker that claimed the job; `None` if nothing is left to do.
    pub(in crate::service) async fn task(
        &self,
        owner: &Owner,
        holder: &str,
    ) -> Result<Option<CurationTask>, ServiceError> {
        let Some(choice) = self.choice() else { return Ok(None) };
        let before = (self.publisher.purges(), self.models.erasures());
        let Some(DueWork { base, known, baseline, input }) = self.due().await? else {
            return Ok(None);
        };
        let settings = self.config.now().memory.clone();
        let summary_tokens = *settings.summary_tokens;
        let on = CheckInputs { draft: &known.files, book: &known.handbook, summary_tokens };
        let draft = baseline.as_ref().map_or_else(|| known.files.clone(), |b| carry_over(b, on));
        let task = task(&draft, baseline.as_ref(), summary_tokens);
        let bytes = task.files.values().map(String::len).sum::<usize>();
        if bytes > FILES_BYTES_MAX {
            let (max, given) = (FILES_BYTES_MAX as u64, bytes as u64);
            return Err(ServiceError::Limit { limit: "memory_bytes", max, given });
        }
        let window = tokens::bytes_of(budget_tokens(Some(choice.context_window)));
        let messages_bytes_max = window.saturating_sub(task.system.len());
        let input_task = CurationTask {
            request: task.user.clone(),
            files: task.files.clone(),
            messages_bytes_max,
        };
        let progress = AsyncMutex::new(Progress::new(before, messages_bytes_max, &settings));
        let run = Run {
            owner: owner.clone(),
            holder: holder.to_owned(),
            base,
            known,
            draft,
            task,
            input,
            choice,
            summary_tokens,
            progress,
        };
        *self.slot() = Some(Arc::new(run));
        Ok(Some(input_task))
    }

    /// Asks for the model's next answer.
    pub(in crate::service) async fn ask(
        &self,
        owner: &Owner,
        messages: &[ModelMessage],
    ) -> Result<ModelAnswer, ServiceError> {
        let job = self.jobs.get(&owner.key).await?;
        self.jobs.check(owner, &job)?;
        let run = self.run_of(owner)?;
        let mut progress = run.progress.lock().await;
        let asked = progress.ask(&self.models, &run.choice, &run.task.system, messages).await;
        asked.map_err(|end| progress.end(end))
    }

    /// Publishes the files of a worker and settles its job.
    pub(in crate::service) async fn deliver(
        self: &Arc<Self>,
        owner: &Owner,
        files: Files,
    ) -> Result<(), ServiceError> {
        let run = self.run_of(owner)?;
        let bytes = files.iter().map(|(path, text)| path.len() + text.len()).sum::<usize>();
        if bytes > RESULT_BYTES_MAX {
            let (max, given) = (RESULT_BYTES_MAX as u64, bytes as u64);
            return Err(ServiceError::Limit { limit: "result_bytes", max, given });
        }
        let mut progress = run.progress.lock().await;
        let judged = run.clone();
        let judged = tokio::task::spawn_blocking(move || judged.judge(files)).await?;
        let files = judged.map_err(|reason| progress.end(CurationEnd::Refused(reason)))?;
        let (row, curation, run) = (row(&run, &progress), Arc::clone(self), Arc::clone(&run));
        // The row is stored in the same turn, or it could restore what is forgotten in between.
        let work = move |_| async move { curation.publish_and_settle(&run, files, row).await };
        match self.publisher.in_turn(work).await {
            Err(ServiceError::Busy) => Err(progress.end(CurationEnd::Overtaken)),
            delivered => delivered,
        }
    }

    async fn publish_and_settle(
        &self,
        run: &Run,
        files: Files,
        row: AgentRow,
    ) -> Result<(), ServiceError> {
        let is_new = self.publish(run, files.clone()).await?;
        let baseline = Baseline { input: run.input.clone(), files, seen: run.task.seen.clone() };
        let row = AgentRow {
            baseline: serde_json::to_string(&baseline).ok(),
            outcome: if is_new { "published" } else { "unchanged" }.to_owned(),
            ..row
        };
        self.record(row, &self.jobs.finishing_fence(&run.owner)).await?;
        self.release(&run.owner);
        Ok(())
    }

    /// Publishes the files, if the current generation is the one the work began with; in the publisher's turn. Returns
    /// false if the files equal the current ones.
    async fn publish(&self, run: &Run, files: Files) -> Result<bool, ServiceError> {
        let base = self.publisher.base().await?;
        let began = &run.base;
        let is_same = base.number == began.number && base.edits == began.edits;
        if !is_same || base.found != began.found {
            return Err(ServiceError::Busy);
        }
        let files = base.edits.apply(files);
        if files == base.files {
            return Ok(false);
        }
        let handbook = without_dropped(run.known.handbook.clone(), &files);
        let made = Consolidation { files, handbook, selected: run.known.selected.clone() };
        let owner = Some(&run.owner);
        Ok(self.publisher.publish_generation(base, made, Purge::No, owner).await?.1)
    }

    /// Settles a claim as failed. If the run was ended here, that reason overrides the worker's.
    pub(in crate::service) async fn fail(
        self: &Arc<Self>,
        owner: &Owner,
        reported: (&'static str, Failure),
    ) -> Result<Job, ServiceError> {
        let Ok(run) = self.run_of(owner) else {
            return Ok(self.jobs.fail(&owner.key, &owner.token, reported.1).await?);
        };
        let progress = run.progress.lock().await;
        let (outcome, failure) = progress.ended().unwrap_or(reported);
        let detail = text::one_line_cut(&redact(&failure.detail).text, DETAIL_BYTES);
        let failure = Failure { detail: detail.clone(), ..failure };
        let row = AgentRow { outcome: outcome.to_owned(), detail, ..row(&run, &progress) };
        // As in `deliver`.
        let (curation, run) = (Arc::clone(self), Arc::clone(&run));
        let work = move |_| async move { curation.settle_failed(&run.owner, row, failure).await };
        self.publisher.in_turn(work).await
    }

    async fn settle_failed(
        &self,
        owner: &Owner,
        row: AgentRow,
        failure: Failure,
    ) -> Result<Job, ServiceError> {
        self.record(row, &self.jobs.fence(owner)).await?;
        let job = self.jobs.fail(&owner.key, &owner.token, failure).await?;
        self.release(owner);
        Ok(job)
    }

    /// Records the end of a run, while the fence holds.
    async fn record(&self, row: AgentRow, fence: &Fence) -> Result<(), StoreError> {
        let row = AgentRow { at_ms: self.clock.now_ms(), ..row };
        self.publisher.sources.curation.put(&row, fence).await
    }

    /// Settles the job of `worker`, which exited or never claimed it, with the failure `why` and its stable name. A job
    /// held by another worker is left alone.
    pub(super) async fn abandoned(
        self: &Arc<Self>,
        worker: &str,
        why: (&'static str, Failure),
    ) -> Result<(), ServiceError> {
        if let Some(owner) = self.owner_of(worker) {
            return match self.fail(&owner, why).await {
                // Taken back or expired in the meantime: its next holder settles it.
                Err(
                    ServiceError::Job(JobError::Lost(_) | JobError::NotFound(_))
                    | ServiceError::Store(StoreError::Fenced(_)),
                ) => {
                    self.release(&owner);
                    Ok(())
                }
                settled => settled.map(drop),
            };
        }
        if let Some(claimed) = self.jobs.claim(Kind::Curate, &self.jobs.holder()).await? {
            let owner = Owner { key: claimed.job.key, token: claimed.claim.token };
            let (outcome, Failure { detail, .. }) = (why.0.to_owned(), why.1.clone());
            let row = AgentRow { outcome, detail, ..AgentRow::default() };
            self.record(row, &self.jobs.fence(&owner)).await?;
            self.jobs.fail(&owner.key, &owner.token, why.1).await?;
        }
        Ok(())
    }

    /// The claim held by `worker`.
    pub(super) fn owner_of(&self, worker: &str) -> Option<Owner> {
        let slot = self.slot();
        let run = slot.as_ref().filter(|run| run.holder.strip_prefix(WORKER) == Some(worker));
        run.map(|run| run.owner.clone())
    }

    fn run_of(&self, owner: &Owner) -> Result<Arc<Run>, ServiceError> {
        let run = self.slot().clone().filter(|run| run.owner.token == owner.token);
        run.ok_or_else(|| JobError::from(LeaseLost::TakenOver).into())
    }

    /// Drops the claim of `owner`, which is settled or lost.
    fn release(&self, owner: &Owner) {
        let mut slot = self.slot();
        if slot.as_ref().is_some_and(|run| run.owner.token == owner.token) {
            *slot = None;
        }
    }

    fn slot(&self) -> MutexGuard<'_, Option<Arc<Run>>> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn row(run: &Run, progress: &Progress) -> AgentRow {
    let mode = run.task.mode.into_str().to_owned();
    let (turns, tokens) = progress.spent();
    AgentRow { mode, turns, tokens, ..AgentRow::default() }
}

/// A failure outside the daemon.
pub fn worker_failed(detail: String) -> (&'static str, Failure) {
    ("worker_failed", Failure { kind: FailureKind::Transient, detail, retry_after_ms: None })
}
