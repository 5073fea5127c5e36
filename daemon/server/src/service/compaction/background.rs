//! `compaction/start`: runs a compaction as a job.
//!
//! # Theory of operation
//! Starting stores the input: given items as a history under the compaction's id, with secrets replaced, or a
//! thread by its id and its last line at that moment. Then it requests a job of that id. The job compacts and
//! records, like `compaction/run`.
//!
//! *A crash* before the job's row: nothing was started, and the stored items are pruned. After it: the next start
//! of the daemon runs the job. A model's answer is stored under its request, so it is not paid for twice, even if
//! the thread's agent has continued: the job compacts the thread as it was when requested. A crash between the
//! record and the job's end: the record is found and nothing is made again. A run past its lease, or taken over,
//! records nothing: the record is only stored while its claim holds.

use std::sync::Arc;

use longhaul_core::job::{
    Failure, FailureKind, Job, JobKey, JobRequest, Kind, PAYLOAD_BYTES, Token,
};
use longhaul_store::Database;

use super::compactor::Compactor;
use super::log::{CompactionLog, StoreAs};
use super::progress::ProgressEvents;
use super::request::Request;
use crate::jobs::runner::Work;
use crate::jobs::{JobError, Jobs, Owner};
use crate::service::error::ServiceError;

pub struct CompactionJobs {
    pub(in crate::service) compactor: Arc<Compactor>,
    pub(in crate::service) log: Arc<CompactionLog>,
    pub(in crate::service) database: Database,
    pub(in crate::service) jobs: Jobs,
}

impl CompactionJobs {
    /// Starts a compaction in the background; returns its id and its job.
    pub async fn start(&self, mut request: Request) -> Result<(String, JobKey), ServiceError> {
        request.check_templates()?;
        request.redact();
        self.compactor.records.installer.check(&request).await?;
        let id = self.compactor.new_id();
        let _running = self.compactor.running.begin(&id);
        request.subject = self.compactor.preparation.gatherer.fix(&id, request.subject).await?;
        let payload =
            serde_json::to_string(&request).map_err(ServiceError::undecodable("request"))?;
        if payload.len() > PAYLOAD_BYTES {
            let reason = format!(
                "at most {PAYLOAD_BYTES} bytes, as JSON, for a compaction in the background"
            );
            return Err(ServiceError::invalid("initial_context", reason));
        }
        let key = JobKey { kind: Kind::Compact, subject: id.clone() };
        let job =
            JobRequest { key: key.clone(), input: id.clone(), payload, priority: 0, urgent: true };
        self.jobs.request(job).await?;
        self.database.sync().await?;
        Ok((id, key))
    }

    /// Cancels an unfinished compaction; returns false if it is finished.
    pub async fn cancel(&self, id: &str) -> Result<bool, ServiceError> {
        let done = self.log.compactions.get(id).await?.is_some();
        let key = JobKey { kind: Kind::Compact, subject: id.to_owned() };
        match self.jobs.cancel(&key).await {
            Ok(_) => Ok(!done),
            Err(JobError::NotFound(_)) if done => Ok(false),
            Err(JobError::NotFound(_)) => Err(ServiceError::CompactionNotFound(id.to_owned())),
            Err(error) => Err(error.into()),
        }
    }
}

impl Work for CompactionJobs {
    const KIND: Kind = Kind::Compact;

    async fn run(&self, job: Job, token: Token) -> Result<(), Failure> {
        let owner = Owner { key: job.key, token };
        let events = self.compactor.events.clone();
        let progress = ProgressEvents::new(events, owner.key.subject.clone(), None);
        let result = self.compact(&owner, &progress, &job.payload).await;
        let Err((kind, detail)) = result else { return Ok(()) };
        let is_last = kind == FailureKind::Permanent
            || job.attempts >= self.jobs.rules(Kind::Compact).attempts_max;
        if is_last || progress.has_started() {
            progress.failed(&detail, !is_last);
        }
        Err(Failure { kind, detail, retry_after_ms: None })
    }
}

impl CompactionJobs {
    async fn compact(
        &self,
        owner: &Owner,
        progress: &ProgressEvents,
        payload: &str,
    ) -> Result<(), (FailureKind, String)> {
        let request: Request = serde_json::from_str(payload)
            .map_err(|error| (FailureKind::Permanent, error.to_string()))?;
        match self.log.get(progress.id()).await {
            Ok(mut made) => {
                let installed = self.compactor.records.installer.install(&mut made).await;
                return installed.map_err(|error| failed(&error));
            }
            Err(ServiceError::CompactionNotFound(_)) => {}
            Err(error) => return Err(failed(&error)),
        }
        // The runner drops this future when the job is cancelled, which closes the connection to a model.
        let made = self.compactor.run_as(progress, request, StoreAs::OfJob(owner)).await;
        made.map(drop).map_err(|error| failed(&error))
    }
}

fn failed(error: &ServiceError) -> (FailureKind, String) {
    let kind = match error {
        ServiceError::ThreadNotFound(_)
        | ServiceError::ThreadReadOnly(_)
        | ServiceError::CheckpointNotFound(_)
        | ServiceError::HandleNotFound(_)
        | ServiceError::NotWorthwhile { .. }
        | ServiceError::StaleBase { .. }
        | ServiceError::Invalid { .. } => FailureKind::Permanent,
        _ => FailureKind::Transient,
    };
    (kind, error.to_string())
}
