//! `compaction/start` and `compaction/cancel`: a compaction that nobody waits for.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::RunParams;
use crate::Method;

/// `compaction/start`: as `compaction/run`, as a job that outlives the connection and the daemon.
///
/// Events tell how far it is; `compaction/get` has the result when it is done. After a crash it goes on,
/// and an answer of a model that was there is not paid twice.
///
/// # Errors
/// `thread_not_found`; `limit_exceeded`.
#[derive(Debug, Clone, Copy)]
pub struct Start;

impl Method for Start {
    const NAME: &'static str = "compaction/start";
    type Params = RunParams;
    type Result = StartResult;
}

/// A compaction that was begun.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "CompactionStartResult")]
pub struct StartResult {
    /// Names it for `compaction/get`, `compaction/cancel` and in events.
    pub compaction_id: String,
    /// Its job, for `job/get` and `job/why`.
    pub job: String,
}

/// `compaction/cancel`: takes back a compaction that was begun and is not done.
///
/// # Errors
/// `compaction_not_found`.
#[derive(Debug, Clone, Copy)]
pub struct Cancel;

impl Method for Cancel {
    const NAME: &'static str = "compaction/cancel";
    type Params = CancelParams;
    type Result = CancelResult;
}

/// Which compaction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "CompactionCancelParams")]
pub struct CancelParams {
    /// Its id.
    pub compaction_id: String,
}

/// Whether there was something to take back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "CompactionCancelResult")]
pub struct CancelResult {
    /// False when it was done already.
    pub cancelled: bool,
}
