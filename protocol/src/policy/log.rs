//! Logged decisions, repeated ones, and those a replay would have made.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Decision, Point, RepositoryState};

/// `policy/explain`: repeats a logged decision from the input recorded with it.
///
/// # Errors
/// `handle_not_found` when no such decision is kept.
#[derive(Debug, Clone, Copy)]
pub struct Explain;

/// Which decision.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "PolicyExplainParams")]
pub struct ExplainParams {
    /// Its number.
    pub decision_id: String,
}

/// A decision and what it was made of.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "PolicyExplainResult")]
pub struct ExplainResult {
    /// As it was logged.
    pub logged: LoggedDecision,
    /// Whether this version makes the same decision from the same input, byte for byte.
    pub is_reproduced: bool,
    /// What this version decides.
    pub decision: Decision,
    /// The recorded input.
    pub situation: Value,
    /// The policy as it was then.
    pub settings: Value,
}

/// `policy/log`: logged decisions, and the events of a thread.
///
/// # Errors
/// `thread_not_found`.
#[derive(Debug, Clone, Copy)]
pub struct Log;

/// Which decisions.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "PolicyLogParams")]
pub struct LogParams {
    /// Only of this thread; absent: of all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<String>,
    /// Only of this policy; absent: of all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
    /// Rows, 1 ≤ `limit` ≤ `limit::PAGE_ROWS_MAX`; absent: `limit::PAGE_ROWS_DEFAULT`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// Only those before this one, by its `decision_id`: the next page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
}

/// Decisions and signs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "PolicyLogResult")]
pub struct LogResult {
    /// Newest first.
    pub decisions: Vec<LoggedDecision>,
    /// What happened in the thread, oldest first; empty without a `thread_id`.
    pub events: Vec<LogEvent>,
}

/// A decision that was logged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "PolicyLoggedDecision")]
pub struct LoggedDecision {
    /// The thread.
    pub thread_id: String,
    /// When, Unix milliseconds.
    pub at: i64,
    /// Last line that was known.
    pub seq: u64,
    /// The turn.
    pub turn: u64,
    /// The policy was not in force.
    pub is_shadow: bool,
    /// What was decided.
    pub decision: Decision,
    /// The compaction that it led to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compaction_id: Option<String>,
    /// Why it led to none although a client was asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_made: Option<String>,
    /// The repository as it was then, if it was inspected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repository: Option<RepositoryState>,
}

/// Something that happened in a thread.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "PolicyHappened")]
pub struct LogEvent {
    /// The line.
    pub seq: u64,
    /// The turn.
    pub turn: u64,
    /// When, Unix milliseconds; absent: the line is not dated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<i64>,
    /// `turn_started`, a boundary's name, `compacted` or `rolled_back`.
    pub kind: String,
}

/// `policy/report`: a thread replayed under every configured policy: when each would have compacted, and
/// which files it would have had to read again.
///
/// # Errors
/// `thread_not_found`.
#[derive(Debug, Clone, Copy)]
pub struct Report;

/// Which thread.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "PolicyReportParams")]
pub struct ReportParams {
    /// The thread.
    pub thread_id: String,
    /// Tokens of its model's whole window; absent: as configuration, transcript or table say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_window: Option<u64>,
}

/// What each policy would have done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "PolicyReportResult")]
pub struct ReportResult {
    /// The thread.
    pub thread_id: String,
    /// Turns of it.
    pub turns: u64,
    /// Compactions its agent made.
    pub compactions: u64,
    /// Whether only the beginning of the transcript was replayed.
    pub is_truncated: bool,
    /// By policy, the one in force first.
    pub policies: Vec<ReportPolicy>,
}

/// What one policy would have done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReportPolicy {
    /// Its name.
    pub policy: String,
    /// Decisions it made.
    pub decisions: u64,
    /// How often it would have compacted.
    pub compactions: u64,
    /// Known files that were used again within 40 calls, over all points.
    pub files_reused: u64,
    /// Where, oldest first, at most 200.
    pub points: Vec<ReportPoint>,
}

/// Where a policy would have compacted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReportPoint {
    /// The line.
    pub seq: u64,
    /// The turn.
    pub turn: u64,
    /// Where in the conversation.
    pub point: Point,
    /// How urgent it was.
    pub tier: String,
    /// Percent of the window that was left.
    pub percent_remaining: u64,
    /// The boundaries that led to it.
    pub boundaries: Vec<String>,
    /// A judge would have been asked.
    pub is_judged: bool,
    /// Files that were known and used again soon after: each would have been read again, unless it
    /// stood in the view.
    pub files_reused: Vec<String>,
}
