//! `job/*`: background work, its state, and why it does not run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

mod ask;
mod work;
mod worker;

pub use ask::{Ask, AskMessage, AskParams, AskResult, AskRole, AskStep, FileCall, FileTool};
pub use work::{ExtractAnswer, ExtractLearning, WorkFile, WorkInput, WorkResult};
pub use worker::{
    Claim, ClaimParams, ClaimResult, ClaimedJob, Complete, CompleteParams, CompleteResult, Fail,
    FailKind, FailParams, Heartbeat, HeartbeatResult, TokenParams,
};

/// `job/list`: jobs, the last changed first.
pub struct JobList;

/// Which jobs.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JobListParams {
    /// Only of this kind: `extract`, `consolidate`, `curate`, `compact`, `prune`, `reindex`.
    pub kind: Option<String>,
    /// Only in this state: `queued`, `running`, `done`, `failed`, `dead`, `parked`.
    pub state: Option<String>,
    /// Rows, 1 ≤ `limit` ≤ `limit::PAGE_ROWS_MAX`; absent: `limit::PAGE_ROWS_DEFAULT`.
    pub limit: Option<u32>,
}

/// Jobs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JobListResult {
    /// The last changed first.
    pub jobs: Vec<Job>,
}

/// A job.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Job {
    /// `KIND/SUBJECT`; unique.
    pub job: String,
    /// `extract`, `consolidate`, `curate`, `compact`, `prune` or `reindex`.
    pub kind: String,
    /// Its subject: a thread, a compaction, or empty.
    pub subject: String,
    /// `queued`, `running`, `done`, `failed`, `dead` or `parked`.
    pub state: String,
    /// Claims of it so far.
    pub epoch: u64,
    /// Attempts since it last succeeded or was woken.
    pub attempts: u32,
    /// Higher runs first.
    pub priority: i32,
    /// Whether there is work requested after the last run started.
    pub is_pending: bool,
    /// Name of the worker that runs it; absent if it is not running.
    pub holder: Option<String>,
    /// Why it last failed, until it succeeds.
    pub failure: Option<String>,
    /// Not before this, Unix milliseconds.
    pub not_before: Option<i64>,
    /// When it was first requested.
    pub created_at: i64,
    /// When it last changed.
    pub updated_at: i64,
    /// When it last succeeded.
    pub finished_at: Option<i64>,
}

/// `job/get`: one job and what happened to it.
///
/// # Errors
/// `job_not_found`.
pub struct JobGet;

/// Which job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JobParams {
    /// `KIND/SUBJECT`, as in `job/list`.
    pub job: String,
}

/// A job and its events.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JobGetResult {
    /// Its row now.
    pub job: Job,
    /// Its events, oldest first; only the newest are kept.
    pub events: Vec<JobEvent>,
}

/// Something that happened to a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JobEvent {
    /// When, Unix milliseconds.
    pub at: i64,
    /// Claims of the job when it happened.
    pub epoch: u64,
    /// The state it entered.
    pub state: String,
    /// A text; may be empty.
    pub detail: String,
}

/// `job/why`: why a job runs or does not; for a thread without an `extract/THREAD` job, why it has none.
///
/// # Errors
/// `job_not_found`; `thread_not_found`.
pub struct Why;

/// Why.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "JobWhyResult")]
pub struct WhyResult {
    /// The job; absent if none was requested yet.
    pub job: Option<Job>,
    /// A stable name: `due`, `nothing_pending`, `running`, `abandoned`, `waiting`, `no_room`, `dead`, `parked`,
    /// `not_asked`.
    pub reason: String,
    /// Why its thread is excluded from memory, a stable name as in `memory/status`.
    pub skipped: Option<String>,
    /// One sentence for a person.
    pub text: String,
    /// Milliseconds until it changes by itself, if known.
    pub wait_ms: Option<u64>,
}

/// `job/retry`: runs a job again, or wakes one that waits, is dead or parked.
///
/// # Errors
/// `job_not_found`.
pub struct Retry;

/// `job/cancel`: cancels a job; a running attempt is stopped and its result discarded.
///
/// # Errors
/// `job_not_found`.
pub struct Cancel;

/// A job after a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JobResult {
    /// Its row after the call.
    pub job: Job,
}
