//! `history/*`: the items of a thread as its transcript holds them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_with_macros::skip_serializing_none;

/// `history/expand`: the exact items behind a handle of a receipt or a view.
///
/// # Errors
/// `thread_not_found` and `handle_not_found`; `source_changed` if neither the transcript nor the archive has these
/// bytes; `archive_damaged` if the archive's copy of them is damaged.
pub struct Expand;

/// Which handle.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "HistoryExpandParams")]
pub struct ExpandParams {
    /// A handle of a receipt, a view, a search or an undo; `#747` or `747` is of `thread_id`.
    pub handle: String,
    /// The thread of a handle that names none.
    pub thread_id: Option<String>,
    /// `next_cursor` of the previous answer.
    pub cursor: Option<String>,
    /// Bytes of items to answer at most, lowered to `limit::EXPAND_BYTES_MAX`; absent: 1 MiB. At least
    /// one item is answered.
    pub max_bytes: Option<u64>,
}

/// Items as they were written, byte for byte: keys keep their order, numbers their digits. What is no Unicode, as half of
/// a surrogate pair, is a replacement character.
#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "HistoryExpandResult")]
pub struct ExpandResult {
    /// The items of the handle, in order. Secrets are *not* replaced here: these are the user's own bytes.
    #[schemars(extend("x-text" = "raw"))]
    pub items: Vec<Box<RawValue>>,
    /// The transcript that holds them.
    pub path: String,
    /// The first byte of the first line and the byte after the last one, in the uncompressed file.
    pub byte_range: [u64; 2],
    /// Present when the handle holds more items.
    pub next_cursor: Option<String>,
    /// Whether some of these items come from the archive because the transcript is gone or has changed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub from_archive: bool,
}

/// `history/get`: what the model sees of a thread, now or as it was after an item.
///
/// Rollbacks are applied before the base is chosen; forks and reverts are followed through the
/// transcripts they continue. Outputs are as the transcript holds them: a harness may shorten them for
/// its prompt.
///
/// # Errors
/// `thread_not_found`; `source_changed` when neither a transcript nor the archive holds these bytes; `archive_damaged`
/// if the archive's copy of them is damaged.
pub struct HistoryGet;

/// Which history.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HistoryGetParams {
    /// Id of the thread, or a unique prefix of it.
    pub thread_id: String,
    /// The history as it was after the item with this seq; absent: now.
    pub as_of: Option<u64>,
    /// Continues where the answer that carried it as `next_cursor` ended; `as_of` is that answer's.
    pub cursor: Option<String>,
    /// Bytes of items to answer at most, lowered to `limit::EXPAND_BYTES_MAX`; absent: 1 MiB. At least
    /// one item is answered.
    pub max_bytes: Option<u64>,
    /// How to return a compaction that only its provider can read; absent: `stand_in`.
    pub opaque: Option<Opaque>,
}

/// How to return a compaction that only its provider can read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "HistoryOpaque")]
pub enum Opaque {
    /// Replace it by the checkpoint of the same lines, marked.
    StandIn,
    /// Return it unchanged.
    AsIs,
}

/// A page of the history.
#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct HistoryGetResult {
    /// Id of the thread.
    pub thread_id: String,
    /// The seq of the last line in the history.
    pub seq: u64,
    /// What the history begins with.
    pub base: Base,
    /// The items, byte for byte as the transcript holds them where that is Unicode. Secrets are *not* replaced here:
    /// these are the user's own bytes.
    #[schemars(extend("x-text" = "raw"))]
    pub items: Vec<Box<RawValue>>,
    /// Where each of `items` comes from, in the same order.
    pub origins: Vec<Origin>,
    /// Tokens of the whole history, estimated; not only of this page.
    pub tokens: u64,
    /// Present when there are more items.
    pub next_cursor: Option<String>,
    /// Whether some of these items come from the archive because the transcript is gone or has changed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub from_archive: bool,
}

/// What a history begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "HistoryBase")]
pub struct Base {
    /// What the history starts from.
    pub kind: BaseKind,
    /// The line of the compaction; 0 for the start.
    pub seq: u64,
}

/// Kinds of beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "HistoryBaseKind")]
pub enum BaseKind {
    /// The thread's first line: nothing was compacted.
    Start,
    /// The replacement history that a compaction recorded.
    Replacement,
    /// The newest requests and the summary: all that older programs record of a compaction.
    Summary,
    /// A replacement history with a compaction in it that only its provider can read.
    Opaque,
}

/// Where an item comes from.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "HistoryOrigin")]
pub struct Origin {
    /// The line; several items of one replacement history share it.
    pub seq: u64,
    /// The kind, as in receipts.
    pub kind: String,
    /// Tokens of the item, an estimate.
    pub tokens: u64,
    /// Returns the line at any later time.
    pub handle: Option<String>,
    /// Whether the item is longhaul's, in place of one that only its provider can read.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stand_in: bool,
}
