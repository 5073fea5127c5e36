//! A request to a model.

use serde_json::Value;
use serde_json::value::RawValue;

#[derive(Debug, Clone, Copy)]
pub struct Ask<'a> {
    /// The provider's name for the model.
    pub model: &'a str,
    /// The system prompt. May be empty.
    pub instructions: &'a str,
    /// The history as Responses API items.
    pub input: &'a [Box<RawValue>],
    /// Replace images by a sentence.
    pub without_images: bool,
    /// Schema of the answer; `None` for free text.
    pub schema: Option<&'a Schema>,
    /// The provider's name for the reasoning effort.
    pub effort: Option<&'a str>,
    pub max_output_tokens: u64,
    pub endpoint: Endpoint,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Endpoint {
    #[default]
    Answer,
    /// The provider's own compaction of the input; only [`super::WireApi::Responses`] has it.
    Compact,
    /// The same, requested by an item at the end of an ordinary streamed request.
    StreamedCompact,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Schema {
    /// Letters, digits, `_`.
    pub name: String,
    /// A JSON Schema of an object.
    pub schema: Value,
}
