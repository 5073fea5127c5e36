//! `compaction/*`: replacing a history by a shorter one, and taking that back.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::text::{Block, Raw};
use crate::warning::Warning;

mod log;
mod preview;
mod receipt;
mod should;
mod start;
mod templates;

pub use log::{
    CompactionSummary, Get, GetParams, GetResult, List, ListParams, ListResult, Undo, UndoParams,
    UndoReach, UndoResult,
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
/// `not_worthwhile` with the trigger `auto` before the history has really grown since the last one (a person
/// who asks is answered, with a warning of that name where hardly anything is gained); `limit_exceeded` for
/// more items than a frame holds; `disk_full` for given items, which are kept nowhere else. With `install`:
/// `thread_read_only` for a thread of another program; `stale_base` where the thread was rolled back or compacted
/// meanwhile, or the output of a call came that was compacted. With the
/// strategies `auto` and `checkpoint` nothing else: they cannot fail on any history.
#[derive(Debug, Clone, Copy)]
pub struct Run;

/// What to compact, and how. Exactly one of `thread_id` and `items` is given.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "CompactionRunParams")]
pub struct RunParams {
    /// A known thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<String>,
    /// A history of the caller's own, in the Responses API item form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub items: Option<Vec<Value>>,
    /// Absent: `auto`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strategy: Option<Strategy>,
    /// Absent: `standalone`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<Phase>,
    /// Tokens `view` may have at most, never exceeded; absent: the daemon's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// The model that will read the result. With a `provider` it also writes the summary; its `context_window` then
    /// decides how much of the history it is sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<Model>,
    /// On a change to a model with a smaller window: the one before, which writes the summary since it can still
    /// read the whole history. Without a `provider` it is asked of the configured one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous_model: Option<Model>,
    /// Items that are rebuilt for every request and never summarised; placed according to `phase`. Absent with
    /// `mid_turn`: what the history itself tells of settings, environment, project instructions and memory, with
    /// the warning `no_initial_context` where it tells nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initial_context: Option<Vec<Value>>,
    /// Milliseconds the caller is willing to wait; strategies that would take longer are skipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_ms: Option<u64>,
    /// Compacts the thread as it was after the item of this seq; absent: as it is now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub as_of: Option<u64>,
    /// Who asked, for the log; absent: `manual`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trigger: Option<Trigger>,
    /// Why, for the log; absent: as `trigger` says. What `compaction/should` answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
    /// Puts the result in force: it replaces the history of a thread of `thread/open` in one step, which undo takes
    /// back. Not with `items` or `as_of`. Absent: no.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub install: Option<bool>,
    /// The agent itself compacts, and this is a step of it. The steps of one compaction are one record: the answer takes
    /// the id and the place of what was announced, unless the agent worked in between. Absent: a compaction of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_step: Option<AgentStep>,
    /// Texts of this call alone, in place of those in force.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub templates: Option<TemplateOverrides>,
    /// What the view is to be about, in words, at most `limit::FOCUS_BYTES_MAX` bytes: lines of the checkpoint that
    /// speak of it are chosen first. It is never quoted or sent to a model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub focus: Option<String>,
}

/// A step of a compaction that an agent makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AgentStep {
    /// It is about to compact, in whatever way.
    Announced,
    /// What is made here takes the place of its history.
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

/// When in the life of a thread a compaction happens; decides where the initial context goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Between turns, asked for by a person.
    Standalone,
    /// Before a turn begins.
    PreTurn,
    /// While a turn goes on.
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
    /// What a newer daemon may add, or an older one does not say.
    #[default]
    #[serde(other)]
    Other,
}

/// A model by name, and what the caller knows of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Model {
    /// Its name, as its provider writes it.
    pub name: String,
    /// Tokens of its context window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_window: Option<u64>,
    /// Its provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
}

/// A compaction that was made.
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
    /// The text in it that carries the checkpoint or summary, at most `max_tokens`.
    pub view: Block<String>,
    /// Tokens of the history.
    pub tokens: TokensChange,
    /// What happened to every item.
    pub receipt: Receipt,
    /// What a person should know.
    pub warnings: Vec<Warning>,
    /// What models cost; nothing where none was asked.
    #[serde(default, skip_serializing_if = "Cost::is_none")]
    pub cost: Cost,
    /// The texts used in it or in a model's prompt, by their digests.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub templates: Vec<TemplateUsed>,
    /// The line of the thread that put it in force, where that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub installed_seq: Option<u64>,
}

/// What models cost.
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Rung {
    /// Its strategy.
    pub strategy: Strategy,
    /// What came of it.
    pub outcome: RungOutcome,
    /// Why it was not used, a stable name such as `not_configured`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Milliseconds it took.
    pub duration_ms: u64,
}

/// What came of a rung.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RungOutcome {
    /// It made the compaction.
    Used,
    /// It was not tried.
    Skipped,
    /// It was tried and failed.
    Failed,
    /// What a newer daemon may add.
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
