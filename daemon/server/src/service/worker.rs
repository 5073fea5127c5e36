//! Workers outside the daemon: what they are given with a claim, and what is taken of what they deliver.
//!
//! A result is judged by the code that judges the daemon's own work, and stored in the transaction that settles the
//! job: a worker that is killed, late or hostile leaves nothing.

use std::sync::Arc;

use longhaul_core::job::{Claim, Failure, Job, JobKey, Kind, Token};
use longhaul_core::memory::Files;

use super::error::ServiceError;
use super::memory::{
    Curation, CurationTask, Extraction, ExtractionTask, ModelMessage, ModelStep, worker_failed,
};
use crate::jobs::{Claimed, JobError, Jobs, Owner};

/// What a worker has to do.
pub enum Task {
    /// To read a thread.
    Extract(Box<ExtractionTask>),
    /// To edit the files of memory.
    Curate(CurationTask),
}

/// A job that was handed out.
pub struct Assigned {
    pub job: Job,
    pub claim: Claim,
    /// `None` for kinds that deliver nothing.
    pub task: Option<Task>,
    /// Milliseconds until the worker must have stopped.
    pub stop_in_ms: u64,
    pub heartbeat_ms: u64,
}

/// What a worker made.
pub enum Delivery {
    Extract {
        /// Lines of the transcript that it rests on.
        lines: u64,
        /// In the JSON of the question's schema.
        answer: String,
    },
    Curate(Files),
}

pub struct Workers {
    jobs: Jobs,
    extraction: Arc<Extraction>,
    curation: Arc<Curation>,
}

impl Workers {
    #[must_use]
    pub fn new(jobs: Jobs, extraction: Arc<Extraction>, curation: Arc<Curation>) -> Self {
        Self { jobs, extraction, curation }
    }

    /// Claims the next job of `kind` for `holder` that leaves something to do. One that cannot be handed out fails
    /// on the way, as it would in the daemon.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn claim(&self, kind: Kind, holder: &str) -> Result<Option<Assigned>, ServiceError> {
        while let Some(claimed) = self.jobs.claim(kind, holder).await? {
            let (key, token) = (claimed.job.key.clone(), claimed.claim.token.clone());
            let owner = Owner { key, token };
            let task = match kind {
                Kind::Extract => self
                    .extraction
                    .task(&owner)
                    .await
                    .map(|task| task.map(|task| Task::Extract(Box::new(task)))),
                Kind::Curate => self.curation_task(&owner, holder).await,
                _ => return Ok(Some(self.assigned(claimed, None))),
            };
            match task {
                Ok(Some(task)) => return Ok(Some(self.assigned(claimed, Some(task)))),
                Ok(None) => {}
                Err(error) => {
                    let failure = Extraction::failure(&error);
                    match self.jobs.fail(&owner.key, &owner.token, failure).await {
                        // Taken back meanwhile: there may be another one.
                        Ok(_) | Err(JobError::Lost(_) | JobError::NotFound(_)) => {}
                        Err(error) => return Err(error.into()),
                    }
                }
            }
        }
        Ok(None)
    }

    /// What there is to edit; where there is nothing any more, the job is done.
    async fn curation_task(
        &self,
        owner: &Owner,
        holder: &str,
    ) -> Result<Option<Task>, ServiceError> {
        if let Some(task) = self.curation.task(owner, holder).await? {
            return Ok(Some(Task::Curate(task)));
        }
        self.jobs.finish(&owner.key, &owner.token).await?;
        Ok(None)
    }

    fn assigned(&self, Claimed { job, claim }: Claimed, task: Option<Task>) -> Assigned {
        let (stop_in_ms, rules) = (self.jobs.stop_in_ms(&claim), self.jobs.rules(job.key.kind));
        Assigned { job, claim, task, stop_in_ms, heartbeat_ms: rules.heartbeat_ms }
    }

    /// Takes a result and settles its job; also tells what of it was left out, and why.
    ///
    /// # Errors
    /// No such job; the claim is lost; nothing of the result can be taken; those of the store.
    pub async fn complete(
        &self,
        key: JobKey,
        token: Token,
        delivery: Option<Delivery>,
    ) -> Result<(Job, Vec<String>), ServiceError> {
        let owner = Owner { key, token };
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
            (Kind::Extract | Kind::Curate, None) => {
                return Err(invalid("a job of this kind is completed with what was made of it"));
            }
            (_, Some(_)) => return Err(invalid("a job of this kind delivers something else")),
            (_, None) => {
                return Ok((self.jobs.finish(&owner.key, &owner.token).await?, Vec::new()));
            }
        };
        self.jobs.settled();
        Ok((self.jobs.get(&owner.key).await?, refused))
    }

    /// Asks the model for a worker that edits the files of memory.
    ///
    /// # Errors
    /// No such job; the claim is lost; the job may ask no more; those of the model.
    pub async fn ask(
        &self,
        key: JobKey,
        token: Token,
        messages: &[ModelMessage],
    ) -> Result<ModelStep, ServiceError> {
        if key.kind != Kind::Curate {
            return Err(ServiceError::Invalid {
                field: "job",
                reason: "only a curate job asks a model".to_owned(),
            });
        }
        self.curation.ask(&Owner { key, token }, messages).await
    }

    /// Settles a job as failed.
    ///
    /// # Errors
    /// No such job; the claim is lost; those of the store.
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

fn invalid(reason: &str) -> ServiceError {
    ServiceError::Invalid { field: "result", reason: reason.to_owned() }
}
