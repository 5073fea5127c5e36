//! `job/claim`, `job/ask`, `job/heartbeat`, `job/complete`, `job/fail`: for external workers.

use std::sync::Arc;

use longhaul_core::job::{FailureKind, Token};
use longhaul_core::memory::agent::{AgentAnswer, ToolCall, ToolName};
use longhaul_core::redact::redact;
use longhaul_core::{job, text};
use longhaul_protocol::job::{
    AskMessage, AskParams, AskResult, AskRole, AskStep, ClaimParams, ClaimResult, ClaimedJob,
    CompleteParams, CompleteResult, FailKind, FailParams, FileCall, FileTool, HeartbeatResult,
    JobResult, TokenParams, WorkResult,
};

use super::super::convert;
use super::{job_of, key_of};
use crate::jobs::Jobs;
use crate::jobs::WORKER;
use crate::rpc::error::Failure;
use crate::service::ServiceError;
use crate::service::memory::{ModelAnswer, ModelMessage, Speaker};
use crate::service::worker::{Assigned, Delivery, Workers};

/// Maximum characters of a worker's name.
const WORKER_CHARS_MAX: usize = 64;

/// Maximum bytes of a worker's description of a failure.
const DETAIL_BYTES_MAX: usize = 1_024;

pub(super) async fn claim(
    workers: Arc<Workers>,
    params: ClaimParams,
) -> Result<ClaimResult, Failure> {
    let kind = convert::one_of("kind", &params.kind)?;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let is_name = !params.worker.is_empty() && params.worker.len() <= WORKER_CHARS_MAX;
    if !is_name || !params.worker.chars().all(is_plain) {
        return Err(Failure::invalid("worker", "1 to 64 of letters, digits, `.`, `_`, `-`"));
    }
    let holder = format!("{WORKER}{}", params.worker);
    let assigned = workers.claim(kind, &holder).await?;
    let claim =
        assigned.map(|Assigned { job, claim, task, stop_in_ms, heartbeat_ms }| ClaimedJob {
            token: format!("{}:{}", claim.token.epoch, claim.token.nonce),
            payload: job.payload.clone().into(),
            input: task,
            stop_in_ms,
            heartbeat_ms,
            job: job_of(job),
        });
    Ok(ClaimResult { claim })
}

pub(super) async fn ask(workers: Arc<Workers>, params: AskParams) -> Result<AskResult, Failure> {
    let (key, token) = (key_of(&params.job)?, token_of(&params.token)?);
    let messages: Vec<ModelMessage> = params
        .messages
        .into_iter()
        .map(|AskMessage { role, text }| ModelMessage {
            by: match role {
                AskRole::User => Speaker::Worker,
                AskRole::Assistant => Speaker::Model,
            },
            text: text.into_bytes(),
        })
        .collect();
    let ModelAnswer { text, read } = workers.ask(key, token, &messages).await?;
    let step = match read {
        Ok(AgentAnswer { calls, done }) => {
            AskStep::Calls { calls: calls.into_iter().map(file_call).collect(), done }
        }
        Err(reason) => AskStep::Unreadable { reason },
    };
    Ok(AskResult { text: text.into(), step })
}

fn file_call(call: ToolCall) -> FileCall {
    let ToolCall { tool, path, text, new_text, line, lines } = call;
    let tool = convert::same_variants!(tool, ToolName => FileTool, List | Read | Write | Replace | Search | Delete);
    let (path, text, new_text) = (path.into(), text.into(), new_text.into());
    FileCall { tool, path, text, new_text, line, lines }
}

pub(super) async fn heartbeat(
    jobs: Arc<Jobs>,
    params: TokenParams,
) -> Result<HeartbeatResult, Failure> {
    let (key, token) = (key_of(&params.job)?, token_of(&params.token)?);
    let claim = jobs.renew(&key, &token).await.map_err(ServiceError::from)?;
    Ok(HeartbeatResult { stop_in_ms: jobs.stop_in_ms(&claim) })
}

pub(super) async fn complete(
    workers: Arc<Workers>,
    params: CompleteParams,
) -> Result<CompleteResult, Failure> {
    let (key, token) = (key_of(&params.job)?, token_of(&params.token)?);
    let delivery = params.result.map(|result| {
        Ok::<_, Failure>(match result {
            WorkResult::Extract { lines, answer } => {
                let answer = serde_json::to_string(&answer).map_err(Failure::internal)?;
                Delivery::Extract { lines, answer }
            }
            WorkResult::Curate { files } => {
                let files = files.into_iter().map(|file| (file.path, file.text.into_bytes()));
                Delivery::Curate(files.collect())
            }
        })
    });
    let (job, refused) = workers.complete(key, token, delivery.transpose()?).await?;
    Ok(CompleteResult { job: job_of(job), refused })
}

pub(super) async fn fail(workers: Arc<Workers>, params: FailParams) -> Result<JobResult, Failure> {
    let (key, token) = (key_of(&params.job)?, token_of(&params.token)?);
    let kind = convert::same_variants!(
        params.kind,
        FailKind => FailureKind,
        Transient | RateLimited | Overflow | Unauthorized | Permanent | Interrupted
    );
    let detail = text::one_line_cut(&redact(&params.detail).text, DETAIL_BYTES_MAX);
    let failure = job::Failure { kind, detail, retry_after_ms: params.retry_after_ms };
    let job = workers.fail(key, token, failure).await?;
    Ok(JobResult { job: job_of(job) })
}

fn token_of(text: &str) -> Result<Token, Failure> {
    let parts = text.split_once(':').and_then(|(epoch, nonce)| {
        Some(Token { epoch: epoch.parse().ok()?, nonce: nonce.to_owned() })
    });
    parts.ok_or_else(|| Failure::invalid("token", "the token that the claim returned"))
}
