//! `context/normalize`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_with_macros::skip_serializing_none;

/// `context/normalize`: makes a history acceptable to a provider: every call has its output, every output its call,
/// and no id appears twice.
pub struct Normalize;

/// What to normalize, and for whom.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ContextNormalizeParams")]
pub struct NormalizeParams {
    /// History items in the Responses API form.
    pub items: Vec<Box<RawValue>>,
    /// Modalities the model accepts, such as `text` and `image`; without `image`, images become a sentence.
    /// Absent: everything.
    pub input_modalities: Option<Vec<String>>,
    /// Indexes of items to remove, each with its counterpart.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remove: Vec<u64>,
    /// The provider rejected an image: the images of the newest output become a sentence.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub repair_image: bool,
}

/// The valid history.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ContextNormalizeResult")]
pub struct NormalizeResult {
    /// The items; unchanged ones keep the bytes that were sent.
    #[schemars(extend("x-text" = "raw"))]
    pub items: Vec<Box<RawValue>>,
    /// What was changed, by index; empty if the history was valid.
    pub changes: Vec<Change>,
}

/// One change.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ContextChange")]
pub struct Change {
    /// `removed`, `counterpart_removed`, `output_added`, `output_moved`, `orphan_output_removed`,
    /// `duplicate_output_removed`, `duplicate_call_removed`, `orphan_call_removed`,
    /// `duplicate_item_removed`, `id_removed`, `invisible_removed`, `images_omitted` or
    /// `images_repaired`. New kinds may come.
    pub kind: String,
    /// Index among the items that were sent.
    pub index: u64,
    /// The call it belongs to.
    pub call_id: Option<String>,
}
