//! `compaction/*`: replacing a history by a shorter one, and taking that back.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_with_macros::skip_serializing_none;

use crate::text::{Block, Raw};
use crate::warning::Warning;

mod log;
mod preview;
mod receipt;
mod should;
mod start;
mod templates;

pub use log::{
    CompactionGet, CompactionGetParams, CompactionGetResult, CompactionList, CompactionListParams,
    CompactionListResult, CompactionSummary, Undo, UndoParams, UndoReach, UndoResult,
};
pub use preview::{
    KindTotal, Preview, PreviewItem, PreviewParams, PreviewResult, Question, ViewLine, ViewPart,
};
pub use receipt::{Entry, Receipt, Total, Totals};
pub use should::{Should, ShouldParams, ShouldResult};
pub use start::{Cancel, CancelParams, CancelResult, Start, StartResult};
pub use templates::{
    TemplateOverrides, TemplateSource, TemplateUsed, Templates, TemplatesParams, TemplatesResult,
};

/// `compaction/run`: compacts a thread or given items now, and waits for it.
///
/// # Errors
/// `thread_not_found`; `invalid_params` for a text of `templates` with an unknown placeholder;
/// `not_worthwhile` with the trigger `auto` before the history has grown enough since the last one (a person's
/// request is answered, with a warning of that name if it gains little); `limit_exceeded` for more items than a
/// frame holds; `disk_full` for given items, which are stored nowhere else. With `install`: `thread_read_only` for a
/// thread of another program; `stale_base` if in the meantime the thread was rolled back or compacted, or a compacted
/// call got its output; `limit_exceeded` for a result over 4 MiB. The strategies `auto` and `checkpoint` cannot fail on any
/// history: else only `checkpoint_not_found` for a thread without items, and errors of the store.
pub struct Run;

/// What to compact, and how. Exactly one of `thread_id` and `items` is given.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "CompactionRunParams")]
pub struct RunParams {
    /// Id of a thread, or a unique prefix of it; absent: `items` is given.
    pub thread_id: Option<String>,
    /// A history of the caller's own, in the Responses API item form.
    pub items: Option<Vec<Value>>,
    /// Absent: `auto`.
    pub strategy: Option<Strategy>,
    /// Absent: `standalone`.
    pub phase: Option<Phase>,
    /// Maximum tokens of `history` without `initial_context`. A view has at least 256 tokens, and the last request is kept up to
    /// 20,000; if that is more, the warning is `over_max_tokens`. With `agent_step` `answered`, maximum tokens of `view`. Absent: the
    /// view has a quarter of the history, from 512 to 8,000, and the pins.
    pub max_tokens: Option<u64>,
    /// The model that will read the result. With a `provider` it also writes the summary; its `context_window` then
    /// decides how much of the history it is sent.
    pub model: Option<Model>,
    /// On a change to a model with a smaller window: the previous one, which writes the summary since it can still
    /// read the whole history. Without a `provider` the configured one is used.
    pub previous_model: Option<Model>,
    /// Items that are rebuilt for every request and never summarized; placed according to `phase`. Absent with
    /// `mid_turn`: what the history itself contains about settings, environment, project instructions and memory,
    /// with the warning `no_initial_context` if it contains nothing.
    pub initial_context: Option<Vec<Value>>,
    /// Milliseconds the caller will wait; strategies that would take longer are skipped. Absent: 120,000.
    pub deadline_ms: Option<u64>,
    /// Compacts the thread as it was after the item of this seq; absent: as it is now.
    pub as_of: Option<u64>,
    /// Who asked, for the log; absent: `manual`.
    pub trigger: Option<Trigger>,
    /// Why, for the log; absent: as `trigger` says. Usually the answer of `compaction/should`.
    pub reason: Option<Reason>,
    /// Installs the result: it replaces the history of a thread of `thread/open` in one step, which undo reverts.
    /// Not with `items` or `as_of`. Absent: no.
    pub install: Option<bool>,
    /// This is a step of a compaction by the agent itself. The steps share one record: the answer takes the id and the
    /// place of the announcement, unless the agent worked in between. Absent: a separate compaction.
    pub agent_step: Option<AgentStep>,
    /// Texts for this call alone, instead of the configured ones.
    pub templates: Option<TemplateOverrides>,
    /// What the view is to be about, in words, at most `limit::FOCUS_BYTES_MAX` bytes: lines of the checkpoint that
    /// speak of it are chosen first. It is never quoted or sent to a model.
    pub focus: Option<String>,
}

/// A step of a compaction that an agent makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AgentStep {
    /// The agent is about to compact, by any means.
    Announced,
    /// This result replaces the agent's history.
    Answered,
}

/// How a history is compacted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[derive(strum::Display)]
#[strum(serialize_all = "snake_case")]
pub enum Strategy {
    /// The highest rung of the ladder that is configured.
    Auto,
    /// The view of the folded checkpoint: no model, cannot fail.
    Checkpoint,
    /// A summary written by a model.
    Summary,
    /// A summary and the checkpoint's view.
    Hybrid,
    /// The provider's own compaction.
    Remote,
}

/// When in a thread a compaction happens; decides where the initial context goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Between turns, asked for by a person.
    Standalone,
    /// Before a turn begins.
    PreTurn,
    /// During a turn.
    MidTurn,
}

/// Who asked for a compaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Trigger {
    /// A person.
    Manual,
    /// A rule, on growth.
    Auto,
}

/// Why a compaction was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "CompactionReason")]
pub enum Reason {
    /// A person asked.
    UserRequested,
    /// The limit was reached.
    ContextLimit,
    /// A model with a smaller window comes next.
    ModelDownshift,
    /// The thread's policy; see `policy` of `compaction/get`.
    Policy,
    /// A value of a newer daemon, or one that an older daemon does not report.
    #[default]
    #[serde(other)]
    Other,
}

/// A model by name, and what the caller knows of it.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Model {
    /// Its name, as its provider writes it.
    pub name: String,
    /// Tokens of its context window.
    pub context_window: Option<u64>,
    /// Name of a provider in the daemon's configuration; absent: no model is asked.
    pub provider: Option<String>,
}

/// A compaction that was made.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "CompactionRunResult")]
pub struct RunResult {
    /// Names it for `compaction/get` and `compaction/undo`.
    pub compaction_id: String,
    /// The strategy that made it, never `auto`.
    pub strategy_used: Strategy,
    /// The rungs that were tried, in order; the last one made it.
    pub ladder: Vec<Rung>,
    /// The history that replaces the old one.
    pub history: Raw<Vec<Value>>,
    /// The text in it that carries the checkpoint or summary.
    pub view: Block<String>,
    /// Tokens of the history.
    pub tokens: TokensChange,
    /// What happened to every item.
    pub receipt: Receipt,
    /// What a person should know.
    pub warnings: Vec<Warning>,
    /// Cost of model requests; absent if there were none.
    #[serde(default, skip_serializing_if = "Cost::is_none")]
    pub cost: Cost,
    /// The texts used in it or in a model's prompt, by their digests.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub templates: Vec<TemplateUsed>,
    /// The line of the thread that installed it, if `install` was set.
    pub installed_seq: Option<u64>,
}

/// Cost of model requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Cost {
    /// Requests, failed ones included.
    pub requests: u64,
    /// Tokens, input and answers.
    pub tokens: u64,
}

impl Cost {
    /// Whether no model was asked.
    #[must_use]
    pub const fn is_none(&self) -> bool {
        self.requests == 0 && self.tokens == 0
    }
}

/// One rung of the ladder.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Rung {
    /// The strategy that was tried or skipped.
    pub strategy: Strategy,
    /// Whether its result was used.
    pub outcome: RungOutcome,
    /// Why it was not used, a stable name such as `not_configured`.
    pub reason: Option<String>,
    /// Milliseconds it took.
    pub duration_ms: u64,
}

/// Outcome of a rung.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RungOutcome {
    /// It made the compaction.
    Used,
    /// It was not tried.
    Skipped,
    /// It was tried and failed.
    Failed,
    /// A value of a newer daemon.
    #[serde(other)]
    Other,
}

/// Tokens before and after.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TokensChange {
    /// Tokens of the old history, an estimate.
    pub before: u64,
    /// Tokens of the new one.
    pub after: u64,
}
