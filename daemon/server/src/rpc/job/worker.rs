//! `job/claim`, `job/heartbeat`, `job/complete`, `job/fail`: workers outside the daemon.

use std::sync::Arc;

use longhaul_core::job::{FailureKind, Token};
use longhaul_core::redact::redact;
use longhaul_core::{job, text};
use longhaul_protocol::job::{
    Claim, ClaimParams, ClaimResult, ClaimedJob, Complete, CompleteParams, CompleteResult, Fail,
    FailKind, FailParams, Heartbeat, HeartbeatResult, JobResult, TokenParams, WorkInput,
    WorkResult,
};

use super::super::convert;
use super::{key_of, shown};
use crate::jobs::Jobs;
use crate::link::CallContext;
use crate::rpc::error::Failure;
use crate::rpc::table::{Handlers, TableError};
use crate::service::ServiceError;
use crate::service::memory::ExtractionTask;
use crate::service::worker::{Assigned, Delivery, Task, Workers};

/// Letters of a worker's name.
const WORKER_CHARS_MAX: usize = 64;

/// Bytes of what a worker says about a failure.
const DETAIL_BYTES_MAX: usize = 1_024;

pub(super) fn register(table: &mut Handlers<'_, Jobs>) -> Result<(), TableError> {
    table.on_async::<Heartbeat, _>(heartbeat)?;
    table.on_async::<Fail, _>(fail)
}

pub(super) fn register_results(table: &mut Handlers<'_, Workers>) -> Result<(), TableError> {
    table.on_async::<Claim, _>(claim)?;
    table.on_async::<Complete, _>(complete)
}

async fn claim(
    workers: Arc<Workers>,
    _: CallContext,
    params: ClaimParams,
) -> Result<ClaimResult, Failure> {
    let kind = convert::one_of("kind", &params.kind)?;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let is_name = !params.worker.is_empty() && params.worker.len() <= WORKER_CHARS_MAX;
    if !is_name || !params.worker.chars().all(is_plain) {
        return Err(Failure::invalid("worker", "1 to 64 of letters, digits, `.`, `_`, `-`"));
    }
    // Opened so that no worker can pass for a daemon, whose claims end with it.
    let holder = format!("worker:{}", params.worker);
    let assigned = workers.claim(kind, &holder).await?;
    let claim =
        assigned.map(|Assigned { job, claim, task, stop_in_ms, heartbeat_ms }| ClaimedJob {
            token: token_text(&claim.token),
            payload: job.payload.clone().into(),
            input: task.map(input),
            stop_in_ms,
            heartbeat_ms,
            job: shown(job),
        });
    Ok(ClaimResult { claim })
}

fn input(task: Task) -> WorkInput {
    match task {
        Task::Extract(ExtractionTask { question, lines }) => WorkInput::Extract {
            instructions: question.system.into(),
            record: question.user.into(),
            schema: question.schema,
            lines,
        },
    }
}

async fn heartbeat(
    jobs: Arc<Jobs>,
    _: CallContext,
    params: TokenParams,
) -> Result<HeartbeatResult, Failure> {
    let (key, token) = (key_of(&params.job)?, token_of(&params.token)?);
    let claim = jobs.renew(&key, &token).await.map_err(ServiceError::from)?;
    Ok(HeartbeatResult { stop_in_ms: jobs.stop_in_ms(&claim) })
}

async fn complete(
    workers: Arc<Workers>,
    _: CallContext,
    params: CompleteParams,
) -> Result<CompleteResult, Failure> {
    let (key, token) = (key_of(&params.job)?, token_of(&params.token)?);
    let delivery = params.result.map(|WorkResult::Extract { lines, answer }| {
        let answer = serde_json::to_string(&answer).map_err(Failure::internal)?;
        Ok::<_, Failure>(Delivery::Extract { lines, answer })
    });
    let (job, refused) = workers.complete(key, token, delivery.transpose()?).await?;
    Ok(CompleteResult { job: shown(job), refused })
}

async fn fail(jobs: Arc<Jobs>, _: CallContext, params: FailParams) -> Result<JobResult, Failure> {
    let (key, token) = (key_of(&params.job)?, token_of(&params.token)?);
    let kind = match params.kind {
        FailKind::Transient => FailureKind::Transient,
        FailKind::RateLimited => FailureKind::RateLimited,
        FailKind::Overflow => FailureKind::Overflow,
        FailKind::Unauthorized => FailureKind::Unauthorized,
        FailKind::Permanent => FailureKind::Permanent,
        FailKind::Interrupted => FailureKind::Interrupted,
    };
    let detail = text::one_line_cut(&redact(&params.detail).text, DETAIL_BYTES_MAX);
    let failure = job::Failure { kind, detail, retry_after_ms: params.retry_after_ms };
    let job = jobs.fail(&key, &token, failure).await.map_err(ServiceError::from)?;
    Ok(JobResult { job: shown(job) })
}

fn token_text(token: &Token) -> String {
    format!("{}:{}", token.epoch, token.nonce)
}

fn token_of(text: &str) -> Result<Token, Failure> {
    let parts = text.split_once(':').and_then(|(epoch, nonce)| {
        Some(Token { epoch: epoch.parse().ok()?, nonce: nonce.to_owned() })
    });
    parts.ok_or_else(|| Failure::invalid("token", "the token that job/claim answered"))
}
