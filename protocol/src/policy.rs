//! `policy/*`: when to compact a thread, why, and the steps around it.
//!
//! The daemon decides and the client acts: it reports events to `policy/step` and carries out the returned effects
//! in order.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_with_macros::skip_serializing_none;

mod admin;
mod log;
mod repository;
mod step;

pub use admin::{
    Check, CheckParams, CheckResult, PolicyInfo, Problem, TemplateInfo, Templates, TemplatesParams,
    TemplatesResult, TierInfo,
};
pub use log::{
    Explain, ExplainParams, ExplainResult, Log, LogEvent, LogParams, LogResult, LoggedDecision,
    Report, ReportParams, ReportPoint, ReportPolicy, ReportResult,
};
pub use repository::{RepositoryCommit, RepositoryStack, RepositoryState};
pub use step::{Effect, Step, StepEvent, StepParams, StepResult, Trigger};

/// `policy/evaluate`: whether to compact a thread now; changes only the log.
///
/// # Errors
/// `thread_not_found`, `checkpoint_not_found`.
pub struct Evaluate;

/// Which thread, and at which point.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "PolicyEvaluateParams")]
pub struct EvaluateParams {
    /// Id of the thread, or a unique prefix of it.
    pub thread_id: String,
    /// Absent: `turn_end`.
    pub point: Option<Point>,
    /// The thread as it was after the line of this seq; absent: now. The past is not logged.
    pub as_of: Option<u64>,
    /// Name of the model; absent: as the transcript says.
    pub model: Option<String>,
    /// Tokens of its whole window; absent: as configuration, transcript or table say.
    pub context_window: Option<u64>,
    /// Whether to log the decisions; absent: no.
    pub record: Option<bool>,
}

/// Where in a conversation a decision is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "PolicyPoint")]
pub enum Point {
    /// The turn ended.
    TurnEnd,
    /// Between two model calls of a turn.
    MidTurn,
}

/// The decision and a forecast.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "PolicyEvaluateResult")]
pub struct EvaluateResult {
    /// Id of the thread.
    pub thread_id: String,
    /// Last line that is known.
    pub seq: u64,
    /// The turn, from 1.
    pub turn: u64,
    /// Tokens in the window.
    pub used: u64,
    /// Tokens of the whole window; 0 if unknown.
    pub window: u64,
    /// The active policy's decision.
    pub decision: Decision,
    /// Decisions of the other policies, which are evaluated but not active.
    pub shadows: Vec<Decision>,
    /// When the next tier is reached, if the thread goes on like this.
    pub forecast: Forecast,
    /// State of the watcher.
    pub watcher: Watcher,
    /// The repository the thread works in, if it was inspected.
    pub repository: Option<RepositoryState>,
}

/// A policy's decision.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "PolicyDecision")]
pub struct Decision {
    /// Its number in the log, if it was logged.
    pub decision_id: Option<String>,
    /// Name of the policy; `default` is the active one.
    pub policy: String,
    /// `wait`, `judge` or `compact`.
    pub action: String,
    /// `early`, `ready`, `asap` or `emergency`.
    pub tier: Option<String>,
    /// Percent of the window that is left; absent if the window is unknown.
    pub percent_remaining: Option<u64>,
    /// All boundaries seen in the turn.
    pub boundaries: Vec<String>,
    /// Those that count at the tier.
    pub satisfied: Vec<String>,
    /// The result of every rule, in order, including those that refused.
    pub reasons: Vec<Reason>,
}

/// The result of one rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "PolicyReason")]
pub struct Reason {
    /// `words`, `repository`, `window`, `tier`, `boundary`, `plan_gate`, `growth`, `budget`, `judgment`.
    pub rule: String,
    /// Whether it permits a compaction.
    pub passed: bool,
    /// The finding in a sentence.
    pub text: String,
}

/// An estimate from the thread's growth so far.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "PolicyForecast")]
pub struct Forecast {
    /// Tokens a turn adds.
    pub tokens_per_turn: u64,
    /// Turns until the window is full.
    pub turns_left: Option<u64>,
    /// Name of the next tier; absent: the last one is reached.
    pub next_tier: Option<String>,
    /// Turns until it applies.
    pub turns_to_next_tier: Option<u64>,
    /// The boundary that comes most often.
    pub next_boundary: Option<String>,
    /// Turns until it is due; 0: now.
    pub turns_to_boundary: Option<u64>,
}

/// State of a thread's watcher.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "PolicyWatcher")]
pub struct Watcher {
    /// `idle`, `awaiting_judgment`, `awaiting_scratch`, `awaiting_packet` or `compacting`.
    pub phase: String,
    /// What it does when a compaction is due: `off`, `tag`, `suggest` or `auto`.
    pub mode: String,
    /// Whether it does that in the middle of a turn, too, for clients that can only compact; absent: no.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub mid_turn: bool,
    /// A compaction waits for the user's next message.
    pub deferred: bool,
    /// A user message is held back.
    pub held: bool,
    /// A packet is stored whose compaction did not happen.
    pub packet_kept: bool,
    /// The complete state, for debugging; its shape may change.
    pub state: Value,
}
