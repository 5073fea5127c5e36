//! `compaction/start` and `compaction/cancel`: compaction in the background.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `compaction/start`: like `compaction/run`, as a job that survives the connection and the daemon.
///
/// Events report its progress; `compaction/get` has the result when it is done. It survives a crash, and a
/// model answer that was received is not paid for twice.
///
/// # Errors
/// `thread_not_found`; `limit_exceeded`.
pub struct Start;

/// A compaction that was started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "CompactionStartResult")]
pub struct StartResult {
    /// Names it for `compaction/get`, `compaction/cancel` and in events.
    pub compaction_id: String,
    /// Its job, for `job/get` and `job/why`.
    pub job: String,
}

/// `compaction/cancel`: cancels a compaction that is not done yet.
///
/// # Errors
/// `compaction_not_found`.
pub struct Cancel;

/// Which compaction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "CompactionCancelParams")]
pub struct CancelParams {
    /// Id of the compaction, or a unique prefix of it.
    pub compaction_id: String,
}

/// Whether there was something to cancel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "CompactionCancelResult")]
pub struct CancelResult {
    /// False when it was done already.
    pub cancelled: bool,
}
