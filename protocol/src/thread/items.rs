//! `thread/items`: the index of a thread, item by item.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

/// `thread/items`: the items of a thread in order, with their positions and beginnings.
///
/// These are the items of the transcript itself, including those that a compaction or a rollback hides from the
/// model. `history/expand` returns their text.
///
/// # Errors
/// `thread_not_found`.
pub struct Items;

/// Which items. At most one of `from_seq` and `last` is given; absent: the last `limit`.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ThreadItemsParams")]
pub struct ItemsParams {
    /// Id of the thread, or a unique prefix of it.
    pub thread_id: String,
    /// Items from this seq on.
    pub from_seq: Option<u64>,
    /// The last N items, at most `limit::PAGE_ROWS_MAX`.
    pub last: Option<u32>,
    /// Rows of the page, 1 ≤ `limit` ≤ `limit::PAGE_ROWS_MAX`; absent: `limit::PAGE_ROWS_DEFAULT`.
    pub limit: Option<u32>,
}

/// A page of items.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ThreadItemsResult")]
pub struct ItemsResult {
    /// The items, in the order of the transcript.
    pub items: Vec<ItemSummary>,
    /// The `from_seq` of the next page; at the end, of the next item to be written.
    pub next_seq: u64,
    /// Whether there are more items now.
    pub more: bool,
}

/// One item in a line.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ItemSummary {
    /// Its line in the thread's lineage.
    pub seq: u64,
    /// When it was written, Unix milliseconds, if its line says so.
    pub at: Option<i64>,
    /// What it is: `user_message`, `assistant_message`, `context`, `reasoning`, `tool_call`, `tool_output`,
    /// `compaction`, `oversized`, `other`.
    pub kind: String,
    /// Its tokens, an estimate.
    pub tokens: u64,
    /// Returns the item, see `history/expand`.
    pub handle: String,
    /// How it begins, on one line, secrets replaced.
    pub excerpt: String,
}
