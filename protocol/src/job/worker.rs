//! Workers outside the daemon, under the same rules as those inside.
//!
//! A worker claims, renews before the lease ends, and settles. Its result is part of `job/complete`, so it is stored
//! together with the success or not at all. It belongs to the `token` of the claim: once another worker has claimed
//! the job, the old token has no effect (`lease_lost`).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

use super::{Job, WorkInput, WorkResult};
use crate::text::Raw;

/// `job/claim`: takes the next job of a kind that is due.
///
/// The daemon itself extracts threads without a request, since a worker could learn nothing from them.
pub struct Claim;

/// Who claims what.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "JobClaimParams")]
pub struct ClaimParams {
    /// Kind of job, as in `job/list`.
    pub kind: String,
    /// Name of the worker, for people: 1 to 64 of letters, digits, `.`, `_`, `-`.
    pub worker: String,
}

/// The job, if one is due.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "JobClaimResult")]
pub struct ClaimResult {
    /// The claim; absent: nothing is due.
    pub claim: Option<ClaimedJob>,
}

/// A claimed job.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClaimedJob {
    /// Its row after the claim.
    pub job: Job,
    /// Proves the claim in later calls.
    pub token: String,
    /// Input besides its name; may be empty.
    pub payload: Raw<String>,
    /// What the work is about; absent for kinds that deliver nothing.
    pub input: Option<WorkInput>,
    /// Milliseconds after which the work must have stopped unless the claim is renewed.
    pub stop_in_ms: u64,
    /// Milliseconds between two renewals.
    pub heartbeat_ms: u64,
}

/// `job/heartbeat`: renews a claim.
///
/// # Errors
/// `job_not_found`; `lease_lost`: stop, and discard the result.
pub struct Heartbeat;

/// Which claim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "JobTokenParams")]
pub struct TokenParams {
    /// `KIND/SUBJECT` of the claimed job.
    pub job: String,
    /// The token of the claim.
    pub token: String,
}

/// The renewed claim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "JobHeartbeatResult")]
pub struct HeartbeatResult {
    /// Milliseconds after which the work must have stopped unless the claim is renewed.
    pub stop_in_ms: u64,
}

/// `job/complete`: the work is done, and this is its result.
///
/// The result is stored and the job settled in one transaction. Completing again with the same token returns the job
/// and changes nothing, so a lost answer can be requested again.
///
/// # Errors
/// `job_not_found`; `lease_lost`: the result is ignored; `invalid_params`, `limit_exceeded`: nothing of the result is
/// acceptable, and the claim continues; `stale_base`: the transcript has fewer lines than the result covers.
pub struct Complete;

/// Which claim, and its result.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "JobCompleteParams")]
pub struct CompleteParams {
    /// `KIND/SUBJECT` of the claimed job.
    pub job: String,
    /// The token of the claim.
    pub token: String,
    /// The result, of the kind of the claim's `input`; absent if that was absent.
    pub result: Option<WorkResult>,
}

/// The settled job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "JobCompleteResult")]
pub struct CompleteResult {
    /// Its row after the call.
    pub job: Job,
    /// Parts of the result that were left out, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<String>,
}

/// `job/fail`: the work failed.
///
/// # Errors
/// `job_not_found`; `lease_lost`.
pub struct Fail;

/// Why.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "JobFailParams")]
pub struct FailParams {
    /// `KIND/SUBJECT` of the claimed job.
    pub job: String,
    /// The token of the claim.
    pub token: String,
    /// Whether it is tried again.
    pub kind: FailKind,
    /// For a person; secrets are replaced.
    pub detail: String,
    /// Minimum milliseconds to wait.
    pub retry_after_ms: Option<u64>,
}

/// Kinds of failure, by what happens next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FailKind {
    /// Temporary: waits, longer each time.
    Transient,
    /// Rate limited: waits, and the attempt does not count.
    RateLimited,
    /// The input was too large: tried again at once.
    Overflow,
    /// A key or permission is missing: waits for a person.
    Unauthorized,
    /// Can never succeed.
    Permanent,
    /// Stopped cleanly: the attempt does not count.
    Interrupted,
}
