//! Logged decisions, repeated decisions, and replays.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_with_macros::skip_serializing_none;

use super::{Decision, Point, RepositoryState};

/// `policy/explain`: repeats a logged decision from the input recorded with it.
///
/// # Errors
/// `handle_not_found` if there is no such decision.
pub struct Explain;

/// Which decision.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "PolicyExplainParams")]
pub struct ExplainParams {
    /// `decision_id` of `policy/log`.
    pub decision_id: String,
}

/// A decision and its input.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "PolicyExplainResult")]
pub struct ExplainResult {
    /// As it was logged.
    pub logged: LoggedDecision,
    /// Whether this version makes the same decision from the same input, byte for byte.
    pub is_reproduced: bool,
    /// What this version decides.
    pub decision: Decision,
    /// What the decision was made from.
    pub situation: Value,
    /// The policy at that time.
    pub settings: Value,
}

/// `policy/log`: logged decisions, and the events of a thread.
///
/// # Errors
/// `thread_not_found`.
pub struct Log;

/// Which decisions.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "PolicyLogParams")]
pub struct LogParams {
    /// Only of this thread; absent: of all.
    pub thread_id: Option<String>,
    /// Only of this policy; absent: of all.
    pub policy: Option<String>,
    /// Rows, 1 ≤ `limit` ≤ `limit::PAGE_ROWS_MAX`; absent: `limit::PAGE_ROWS_DEFAULT`.
    pub limit: Option<u32>,
    /// Only those before this one, by its `decision_id`: the next page.
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
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "PolicyLoggedDecision")]
pub struct LoggedDecision {
    /// Id of the thread.
    pub thread_id: String,
    /// When, Unix milliseconds.
    pub at: i64,
    /// The last known line.
    pub seq: u64,
    /// Number of the turn, from 1.
    pub turn: u64,
    /// The policy was not active.
    pub is_shadow: bool,
    /// The outcome, and what each rule said.
    pub decision: Decision,
    /// The compaction that followed.
    pub compaction_id: Option<String>,
    /// Why none followed although a client was asked to compact.
    pub not_made: Option<String>,
    /// The repository at that time, if it was inspected.
    pub repository: Option<RepositoryState>,
}

/// Something that happened in a thread.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "PolicyHappened")]
pub struct LogEvent {
    /// Seq of its line.
    pub seq: u64,
    /// Number of the turn, from 1.
    pub turn: u64,
    /// When, Unix milliseconds; absent: the line is not dated.
    pub at: Option<i64>,
    /// `turn_started`, a boundary's name, `compacted` or `rolled_back`.
    pub kind: String,
}

/// `policy/report`: a thread replayed under every configured policy: when each would have compacted, and
/// which files it would have had to read again.
///
/// # Errors
/// `thread_not_found`.
pub struct Report;

/// Which thread.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "PolicyReportParams")]
pub struct ReportParams {
    /// Id of the thread, or a unique prefix of it.
    pub thread_id: String,
    /// Tokens of its model's whole window; absent: as configuration, transcript or table say.
    pub context_window: Option<u64>,
}

/// What each policy would have done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "PolicyReportResult")]
pub struct ReportResult {
    /// Id of the thread.
    pub thread_id: String,
    /// Turns that were replayed.
    pub turns: u64,
    /// Compactions its agent made.
    pub compactions: u64,
    /// Whether only the beginning of the transcript was replayed.
    pub is_truncated: bool,
    /// By policy, the active one first.
    pub policies: Vec<ReportPolicy>,
}

/// What one policy would have done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReportPolicy {
    /// `default`, or the name of a shadow policy.
    pub policy: String,
    /// Decisions that were replayed under it.
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
    /// Seq of the line.
    pub seq: u64,
    /// Number of the turn, from 1.
    pub turn: u64,
    /// Where in the conversation.
    pub point: Point,
    /// How urgent it was.
    pub tier: String,
    /// Percent of the window that was left.
    pub percent_remaining: u64,
    /// The boundaries that led to it.
    pub boundaries: Vec<String>,
    /// Whether a judge would have been asked.
    pub is_judged: bool,
    /// Known files that were used again soon after: each would have been read again, unless the view had it.
    pub files_reused: Vec<String>,
}
