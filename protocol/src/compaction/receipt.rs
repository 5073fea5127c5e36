//! The receipt of a compaction: what happened to every item.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

/// What was kept, shortened and dropped.
///
/// Each list is bounded by `limit::RECEIPT_ENTRIES_MAX`: in a long history neighbors are merged into one entry. Of items quoted in
/// the view the newest 512 count, the others as dropped.
/// Together the entries cover every item of the old history exactly once.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Receipt {
    /// Items unchanged in the new history, and messages and pins that stand word for word in the view.
    pub kept: Vec<Entry>,
    /// Items that are in the new history in part: cut, redacted, or quoted in the view.
    pub shortened: Vec<Entry>,
    /// Items that are not in it; their handles return them.
    pub dropped: Vec<Entry>,
    /// Present if the model that wrote the summary did not see the whole history: from the first to the last item left
    /// out, with the count and tokens of those alone. The warning `history_trimmed` says the same.
    pub unseen: Option<Entry>,
    /// Sums, exact even if list entries are merged.
    pub totals: Totals,
    /// Secrets that were replaced in the items kept.
    pub redacted: u64,
}

/// An item, or several neighbors, of the old history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Entry {
    /// Returns the exact items by `history/expand`; for given items, while their compaction is kept.
    pub handle: String,
    /// The kind of the item (`user_message`, `tool_output`, …), or `span` for several.
    pub kind: String,
    /// Tokens of the items, an estimate: what expanding costs.
    pub tokens: u64,
    /// How many items, 1 ≤ `items`.
    pub items: u64,
    /// The seq of the first one.
    pub seq_first: u64,
    /// The seq of the last one.
    pub seq_last: u64,
}

/// Sums over the three lists.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Totals {
    /// Over what was kept.
    pub kept: Total,
    /// Over what was shortened; tokens before shortening.
    pub shortened: Total,
    /// Over what was dropped.
    pub dropped: Total,
}

/// Items and their tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Total {
    /// Items, each counted once.
    pub items: u64,
    /// Their tokens, an estimate.
    pub tokens: u64,
}
