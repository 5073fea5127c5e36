//! `history/*`: what was said and done, as it stands in the transcript.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::Method;

/// `history/expand`: the exact items behind a handle of a receipt or a view.
///
/// # Errors
/// `thread_not_found` and `handle_not_found`; `source_changed` when the transcript no longer holds these bytes, which are then not
/// answered at all.
#[derive(Debug, Clone, Copy)]
pub struct Expand;

impl Method for Expand {
    const NAME: &'static str = "history/expand";
    type Params = ExpandParams;
    type Result = ExpandResult;
}

/// Which handle.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "HistoryExpandParams")]
pub struct ExpandParams {
    /// A handle of a receipt, a view or an undo.
    pub handle: String,
    /// Continues where the answer that carried it as `next_cursor` ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Bytes of items to answer at most, lowered to `limit::EXPAND_BYTES_MAX`;
    /// absent: that. At least one item is answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_bytes: Option<u64>,
}

/// Items as they were written, byte for byte: keys keep their order, numbers their digits.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "HistoryExpandResult")]
pub struct ExpandResult {
    /// The items of the handle, in order. Secrets are *not* replaced here: these are the user's own bytes.
    pub items: Vec<Box<RawValue>>,
    /// The transcript they stand in.
    pub path: String,
    /// The first byte of the first line and the byte after the last one, in the uncompressed file.
    pub byte_range: [u64; 2],
    /// Present when the handle holds more items.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}
