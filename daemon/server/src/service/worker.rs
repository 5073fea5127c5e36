//! External workers: what they get with a claim, and how their results are accepted.
//!
//! Results go through the same checks as the daemon's own, and are stored in the transaction that settles the job:
//! a killed, late or hostile worker leaves nothing.

use std::sync::Arc;

use longhaul_core::job::{Claim, Failure, Job, JobKey, Kind, Token};
use longhaul_core::memory::Files;
use longhaul_protocol::job::{WorkFile, WorkInput};

use super::error::ServiceError;
use super::memory::{
    Curation, CurationTask, Extraction, ExtractionTask, ModelAnswer, ModelMessage, worker_failed,
};
use crate::jobs::{ClaimedJob, JobError, Jobs, Owner};

pub struct Assigned {
    pub job: Job,
    pub claim: Claim,
    /// `None` for kinds without a deliverable.
    pub task: Option<WorkInput>,
    /// Milliseconds until the worker must stop.
    pub stop_in_ms: u64,
    pub heartbeat_ms: u64,
}

pub enum Delivery {
    Extract {
        /// Lines of the transcript it is based on.
        lines: u64,
        /// JSON in the schema of the question.
        answer: String,
    },
    Curate(Files),
}

pub struct Workers {
    pub(super) jobs: Jobs,
    pub(super) extraction: Arc<Extraction>,
    pub(super) curation: Arc<Curation>,
}

impl Workers {
    /// Claims the next job of `kind` that has work for `holder`. A job that cannot be handed out fails, as it
    /// would in the daemon.
    pub async fn claim(&self, kind: Kind, holder: &str) -> Result<Option<Assigned>, ServiceError> {
        while let Some(claimed) = self.jobs.claim(kind, holder).await? {
            let (key, token) = (claimed.job.key.clone(), claimed.claim.token.clone());
            let owner = Owner { key, token };
            let task = match kind {
                Kind::Extract => {
                    self.extraction.task(&owner).await.map(|task| task.map(to_extract))
                }
                Kind::Curate => self.curation_task(&owner, holder).await,
                _ => return Ok(Some(self.assigned(claimed, None))),
            };
            match task {
                Ok(Some(task)) => return Ok(Some(self.assigned(claimed, Some(task)))),
                Ok(None) => {}
                Err(error) => {
                    match self.jobs.fail(&owner.key, &owner.token, error.into()).await {
                        // Cancelled in the meantime: there may be another one.
                        Ok(_) | Err(JobError::Lost(_) | JobError::NotFound(_)) => {}
                        Err(error) => return Err(error.into()),
                    }
                }
            }
        }
        Ok(None)
    }

    /// The task; if nothing is left to edit, the job is settled as done.
    async fn curation_task(
        &self,
        owner: &Owner,
        holder: &str,
    ) -> Result<Option<WorkInput>, ServiceError> {
        let task = self.curation.task(owner, holder).await?;
        if task.is_none() {
            self.jobs.finish(&owner.key, &owner.token).await?;
        }
        Ok(task.map(to_curate))
    }

    fn assigned(&self, ClaimedJob { job, claim }: ClaimedJob, task: Option<WorkInput>) -> Assigned {
        let (stop_in_ms, rules) = (self.jobs.stop_in_ms(&claim), self.jobs.rules(job.key.kind));
        Assigned { job, claim, task, stop_in_ms, heartbeat_ms: rules.heartbeat_ms }
    }

    /// Accepts a result and settles its job; returns the rejected parts with reasons.
    pub async fn complete(
        &self,
        key: JobKey,
        token: Token,
        delivery: Option<Delivery>,
    ) -> Result<(Job, Vec<String>), ServiceError> {
        let owner = Owner { key, token };
        let has_result = matches!(owner.key.kind, Kind::Extract | Kind::Curate);
        if !has_result && delivery.is_none() {
            return Ok((self.jobs.finish(&owner.key, &owner.token).await?, Vec::new()));
        }
        let job = self.jobs.get(&owner.key).await?;
        if job.finished_by.as_ref() == Some(&owner.token) {
            return Ok((job, Vec::new()));
        }
        self.jobs.check(&owner, &job)?;
        let refused = match (owner.key.kind, delivery) {
            (Kind::Extract, Some(Delivery::Extract { lines, answer })) => {
                self.extraction.deliver(&owner, lines, &answer).await?
            }
            (Kind::Curate, Some(Delivery::Curate(files))) => {
                self.curation.deliver(&owner, files).await?;
                Vec::new()
            }
            (_, None) => {
                let reason = "a job of this kind must be completed with a result";
                return Err(ServiceError::invalid("result", reason));
            }
            (_, Some(_)) => {
                let reason = "a job of this kind takes a different result";
                return Err(ServiceError::invalid("result", reason));
            }
        };
        self.jobs.settled(owner.key.kind);
        Ok((self.jobs.get(&owner.key).await?, refused))
    }

    /// Asks the model for a worker that edits the memory files.
    pub async fn ask(
        &self,
        key: JobKey,
        token: Token,
        messages: &[ModelMessage],
    ) -> Result<ModelAnswer, ServiceError> {
        if key.kind != Kind::Curate {
            return Err(ServiceError::invalid("job", "only a curate job asks a model"));
        }
        self.curation.ask(&Owner { key, token }, messages).await
    }

    /// Settles a job as failed.
    pub async fn fail(
        &self,
        key: JobKey,
        token: Token,
        failure: Failure,
    ) -> Result<Job, ServiceError> {
        if key.kind == Kind::Curate {
            let name = worker_failed(String::new()).0;
            return self.curation.fail(&Owner { key, token }, (name, failure)).await;
        }
        Ok(self.jobs.fail(&key, &token, failure).await?)
    }
}

fn to_extract(ExtractionTask { question, lines }: ExtractionTask) -> WorkInput {
    WorkInput::Extract {
        instructions: question.system.into(),
        record: question.user.into(),
        schema: question.schema,
        lines,
    }
}

fn to_curate(CurationTask { request, files, messages_bytes_max }: CurationTask) -> WorkInput {
    let file = |(path, text): (String, String)| WorkFile { path, text: text.into() };
    WorkInput::Curate {
        request: request.into(),
        files: files.into_iter().map(file).collect(),
        messages_bytes_max: messages_bytes_max as u64,
    }
}

#[cfg(test)]
mod tests;
