//! The log of compactions: `compaction/list`, `compaction/get`, `compaction/undo`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Cost, Entry, Phase, Reason, RunResult, Strategy, TokensChange, Trigger};
use crate::text::Raw;

/// `compaction/list`: compactions that were made, the newest first.
#[derive(Debug, Clone, Copy)]
pub struct List;

/// Which compactions.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "CompactionListParams")]
pub struct ListParams {
    /// Only those of this thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<String>,
    /// Rows of the page, as in `thread/list`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// Continues where the page that carried it as `next_cursor` ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// A page of compactions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "CompactionListResult")]
pub struct ListResult {
    /// The newest first.
    pub compactions: Vec<CompactionSummary>,
    /// Present when there are more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// One compaction in a few numbers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CompactionSummary {
    /// Its id.
    pub compaction_id: String,
    /// The thread it was made of; absent for given items.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<String>,
    /// When, Unix milliseconds.
    pub created_at: i64,
    /// The strategy that made it.
    pub strategy_used: Strategy,
    /// When in the life of the thread.
    pub phase: Phase,
    /// Who asked.
    pub trigger: Trigger,
    /// Why.
    #[serde(default)]
    pub reason: Reason,
    /// Tokens of the history.
    pub tokens: TokensChange,
    /// Lines of the transcript it covers.
    pub seq: u64,
    /// Milliseconds it took.
    pub duration_ms: u64,
    /// What models cost; nothing where none was asked.
    #[serde(default, skip_serializing_if = "Cost::is_none")]
    pub cost: Cost,
    /// When it was undone, Unix milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undone_at: Option<i64>,
}

/// `compaction/get`: a compaction as it was answered, from the log.
///
/// # Errors
/// `compaction_not_found`.
#[derive(Debug, Clone, Copy)]
pub struct Get;

/// Which compaction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "CompactionGetParams")]
pub struct GetParams {
    /// Its whole id.
    pub compaction_id: String,
}

/// A compaction from the log: the fields of `compaction/run` and its row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "CompactionGetResult")]
pub struct GetResult {
    /// What `compaction/run` answered.
    #[serde(flatten)]
    pub run: RunResult,
    /// Its row in `compaction/list`.
    pub summary: CompactionSummary,
    /// Why the thread's watcher asked for it, where it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<crate::policy::Trigger>,
}

/// `compaction/undo`: the history as it was before, and a mark in the log. Undoing twice answers the same.
///
/// Of a compaction that was installed the thread has its old history again, in one step; what was appended since
/// stays behind it. No running agent of another program is told, and `reach` says so.
///
/// # Errors
/// `compaction_not_found`; `illegal_transition` where a later compaction of the thread is in force; `source_changed` when the transcript no longer holds the old items.
#[derive(Debug, Clone, Copy)]
pub struct Undo;

/// Which compaction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "CompactionUndoParams")]
pub struct UndoParams {
    /// Its whole id.
    pub compaction_id: String,
}

/// Where an undo arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum UndoReach {
    /// The thread itself goes on from its old history.
    Thread,
    /// Whoever gave the items finds them in `history`.
    Caller,
    /// The thread's agent keeps a history of its own, and there is no way to put one back into a running session.
    NotAgent,
    /// What a newer daemon may add, or an older one does not say.
    #[default]
    #[serde(other)]
    Other,
}

/// The history as it was before.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "CompactionUndoResult")]
pub struct UndoResult {
    /// The compaction.
    pub compaction_id: String,
    /// When it was first undone, Unix milliseconds.
    pub undone_at: i64,
    /// The old history, as far as it fits into a frame.
    pub history: Raw<Vec<Value>>,
    /// What did not fit, to be fetched by `history/expand`, in order after `history`.
    pub handles: Vec<Entry>,
    /// Whether `history` holds all of it, that is, `handles` is empty.
    pub complete: bool,
    /// The line of the thread that put its history back, where the compaction was in force.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restored_seq: Option<u64>,
    /// Where it arrives.
    #[serde(default)]
    pub reach: UndoReach,
    /// The program whose thread it is, as in `thread/list`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The thread; absent for given items.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<String>,
    /// The last line that was compacted: `thread/continue` with it as `as_of` goes on from before the compaction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
}
