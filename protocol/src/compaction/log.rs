//! The log of compactions: `compaction/list`, `compaction/get`, `compaction/undo`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_with_macros::skip_serializing_none;

use super::{Cost, Entry, Phase, Reason, RunResult, Strategy, TokensChange, Trigger};
use crate::text::Raw;

/// `compaction/list`: compactions that were made, the newest first.
pub struct CompactionList;

/// Which compactions.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CompactionListParams {
    /// Only those of this thread.
    pub thread_id: Option<String>,
    /// Rows of the page, as in `thread/list`.
    pub limit: Option<u32>,
    /// `next_cursor` of the previous page.
    pub cursor: Option<String>,
}

/// A page of compactions.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CompactionListResult {
    /// The newest first.
    pub compactions: Vec<CompactionSummary>,
    /// Present when there are more.
    pub next_cursor: Option<String>,
}

/// One compaction in a few numbers.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CompactionSummary {
    /// Id of the compaction.
    pub compaction_id: String,
    /// The thread it was made of; absent for given items.
    pub thread_id: Option<String>,
    /// When, Unix milliseconds.
    pub created_at: i64,
    /// The strategy that made it.
    pub strategy_used: Strategy,
    /// When in the thread.
    pub phase: Phase,
    /// Whether a person or a program asked.
    pub trigger: Trigger,
    /// What the caller named as the cause.
    #[serde(default)]
    pub reason: Reason,
    /// Tokens of the history.
    pub tokens: TokensChange,
    /// Lines of the transcript it covers.
    pub seq: u64,
    /// Milliseconds it took.
    pub duration_ms: u64,
    /// Cost of model requests; absent if there were none.
    #[serde(default, skip_serializing_if = "Cost::is_none")]
    pub cost: Cost,
    /// When it was undone, Unix milliseconds.
    pub undone_at: Option<i64>,
}

/// `compaction/get`: a compaction as it was answered, from the log.
///
/// # Errors
/// `compaction_not_found`.
pub struct CompactionGet;

/// Which compaction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CompactionGetParams {
    /// Id of the compaction, or a unique prefix of it.
    pub compaction_id: String,
}

/// A compaction from the log: the fields of `compaction/run` and its row.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CompactionGetResult {
    /// What `compaction/run` answered.
    #[serde(flatten)]
    pub run: RunResult,
    /// Its row in `compaction/list`.
    pub summary: CompactionSummary,
    /// Why the thread's watcher asked for it, if it did.
    pub policy: Option<crate::policy::Trigger>,
}

/// `compaction/undo`: returns the history before the compaction and marks it undone. Undoing twice answers the same.
///
/// Undoing an installed compaction restores the thread's old history in one step; later appends stay after it. A
/// running agent of another program is not informed, and `reach` says so.
///
/// # Errors
/// `compaction_not_found`; `illegal_transition` if a later compaction of the thread is installed; `source_changed` if the
/// transcript no longer holds the old items.
pub struct Undo;

/// Which compaction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "CompactionUndoParams")]
pub struct UndoParams {
    /// Id of the compaction, or a unique prefix of it.
    pub compaction_id: String,
}

/// What an undo changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum UndoReach {
    /// The thread itself continues from its old history.
    Thread,
    /// The caller gave the items and gets them back in `history`.
    Caller,
    /// The thread's agent has its own history, and a running session cannot be given another.
    NotAgent,
    /// A value of a newer daemon, or one that an older daemon does not report.
    #[default]
    #[serde(other)]
    Other,
}

/// The history as it was before.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "CompactionUndoResult")]
pub struct UndoResult {
    /// Id of the compaction.
    pub compaction_id: String,
    /// When it was first undone, Unix milliseconds.
    pub undone_at: i64,
    /// The old history; empty if it is larger than `limit::EXPAND_BYTES_MAX`, or if its transcript was rewritten and the
    /// archive does not have it.
    pub history: Raw<Vec<Value>>,
    /// Handles of all its items, for `history/expand`, in order.
    pub handles: Vec<Entry>,
    /// Whether `history` has all items.
    pub complete: bool,
    /// The line of the thread that restored its history, if the compaction was installed.
    pub restored_seq: Option<u64>,
    /// Where the old history is in effect again.
    #[serde(default)]
    pub reach: UndoReach,
    /// The program whose thread it is, as in `thread/list`.
    pub source: Option<String>,
    /// Name of that program for people, such as `Claude Code`; present with `not_agent`.
    pub agent: Option<String>,
    /// A sentence that tells a person how to undo the compaction in the agent's open session; absent if the agent has
    /// no way, and without `not_agent`.
    pub session_hint: Option<String>,
    /// The thread; absent for given items.
    pub thread_id: Option<String>,
    /// The last compacted line: `thread/continue` with it as `as_of` continues from before the compaction.
    pub seq: Option<u64>,
}
