//! `job/*`.

use std::sync::Arc;

use longhaul_core::job::{self, JobKey};
use longhaul_protocol::job::{
    Ask, Cancel, Claim, Complete, Fail, Heartbeat, Job, JobEvent, JobGet, JobGetResult, JobList,
    JobListParams, JobListResult, JobParams, JobResult, Retry, Why, WhyResult,
};
use longhaul_store::JobFilter;

use super::error::Failure;
use super::{Table, TableError, convert};
use crate::jobs::Jobs;
use crate::service::job::{Due, JobState, JobStates};
use crate::service::{JobServices, ServiceError};

mod worker;

pub(super) fn register(table: &mut Table, services: &JobServices) -> Result<(), TableError> {
    table.of(&services.states).on_async::<Why, _>(why)?;
    let mut on = table.of(&Arc::new(services.jobs.clone()));
    on.on_async::<JobList, _>(list)?;
    on.on_async::<JobGet, _>(get)?;
    on.on_async::<Retry, _>(retry)?;
    on.on_async::<Cancel, _>(cancel)?;
    on.on_async::<Heartbeat, _>(worker::heartbeat)?;
    let mut workers = table.of(&services.workers);
    workers.on_async::<Claim, _>(worker::claim)?;
    workers.on_async::<Ask, _>(worker::ask)?;
    workers.on_async::<Complete, _>(worker::complete)?;
    workers.on_async::<Fail, _>(worker::fail)
}

async fn list(jobs: Arc<Jobs>, params: JobListParams) -> Result<JobListResult, Failure> {
    let kind = params.kind.as_deref().map(|name| convert::one_of("kind", name));
    let state = params.state.as_deref().map(|name| convert::one_of("state", name));
    let filter = JobFilter { kind: kind.transpose()?, state: state.transpose()? };
    let limit = convert::page_rows(params.limit);
    let found = jobs.list(&filter, limit).await.map_err(ServiceError::from)?;
    Ok(JobListResult { jobs: found.into_iter().map(job_of).collect() })
}

async fn get(jobs: Arc<Jobs>, params: JobParams) -> Result<JobGetResult, Failure> {
    let key = key_of(&params.job)?;
    let (job, _) = jobs.why(&key).await.map_err(ServiceError::from)?;
    let events = jobs.events(&key).await.map_err(ServiceError::from)?;
    let event = |event: longhaul_store::JobEvent| JobEvent {
        at: event.at_ms,
        epoch: event.epoch,
        state: event.state,
        detail: event.detail,
    };
    Ok(JobGetResult { job: job_of(job), events: events.into_iter().map(event).collect() })
}

async fn why(states: Arc<JobStates>, params: JobParams) -> Result<WhyResult, Failure> {
    let JobState { job, is_outside, due } = states.why(key_of(&params.job)?).await?;
    let (job, (reason, mut text, wait_ms)) = match job {
        Some((job, why)) => (Some(job), describe(why, is_outside)),
        None => (None, ("not_asked", "it was never requested".to_owned(), None)),
    };
    let mut skipped = None;
    match due {
        Some(Due::Yes) => text = "it is due".to_owned(),
        Some(Due::No(threads)) => (text, skipped) = (threads.text, Some(threads.reason)),
        None => {}
    }
    Ok(WhyResult { job: job.map(job_of), reason: reason.to_owned(), skipped, text, wait_ms })
}

/// The reason's stable name, its sentence, and milliseconds until it changes without a call.
fn describe(why: job::Why, is_outside: bool) -> (&'static str, String, Option<u64>) {
    match why {
        job::Why::Due if is_outside => ("due", "an external worker may claim it".to_owned(), None),
        job::Why::Due => ("due", "it runs as soon as a worker is free".to_owned(), None),
        job::Why::NothingPending => ("nothing_pending", "there is nothing to do".to_owned(), None),
        job::Why::Running { holder, lease_ms } => {
            ("running", format!("{holder} is running it"), Some(lease_ms))
        }
        job::Why::Abandoned => {
            ("abandoned", "its holder is gone; the next claim takes it over".to_owned(), None)
        }
        job::Why::Waiting { wait_ms, after: Some(failure) } => {
            ("waiting", format!("it waits after a failure: {failure}"), Some(wait_ms))
        }
        job::Why::Waiting { wait_ms, after: None } => {
            ("waiting", "it ran recently; waiting for its cooldown".to_owned(), Some(wait_ms))
        }
        job::Why::NoRoom { running_max } => (
            "no_room",
            format!("{running_max} jobs of its kind are running, which is the maximum"),
            None,
        ),
        job::Why::Dead { detail } => ("dead", format!("it failed permanently: {detail}"), None),
        job::Why::Parked { detail } => {
            ("parked", format!("it waits for a change of the configuration: {detail}"), None)
        }
    }
}

async fn retry(jobs: Arc<Jobs>, params: JobParams) -> Result<JobResult, Failure> {
    let job = jobs.retry(&key_of(&params.job)?).await.map_err(ServiceError::from)?;
    Ok(JobResult { job: job_of(job) })
}

async fn cancel(jobs: Arc<Jobs>, params: JobParams) -> Result<JobResult, Failure> {
    let job = jobs.cancel(&key_of(&params.job)?).await.map_err(ServiceError::from)?;
    Ok(JobResult { job: job_of(job) })
}

fn key_of(job: &str) -> Result<JobKey, Failure> {
    JobKey::parse(job)
        .ok_or_else(|| Failure::invalid("job", "KIND/SUBJECT, as longhaul job list shows it"))
}

fn job_of(job: job::Job) -> Job {
    Job {
        job: job.key.to_string(),
        kind: job.key.kind.into_str().to_owned(),
        state: job.state.into_str().to_owned(),
        epoch: job.epoch,
        attempts: job.attempts,
        priority: job.priority,
        is_pending: job.is_pending(),
        holder: job.lease.map(|lease| lease.holder),
        failure: job.failure.map(|failure| failure.detail),
        not_before: job.not_before.map(|moment| moment.wall_ms),
        created_at: job.created_at.wall_ms,
        updated_at: job.updated_at.wall_ms,
        finished_at: job.finished_at.map(|moment| moment.wall_ms),
        subject: job.key.subject,
    }
}
