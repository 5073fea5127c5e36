//! What is asked.

use serde_json::Value;
use serde_json::value::RawValue;

/// One request to a model.
#[derive(Debug, Clone, Copy)]
pub struct Ask<'a> {
    /// The model, as its provider calls it.
    pub model: &'a str,
    /// What stands above the history: the system prompt. May be empty.
    pub instructions: &'a str,
    /// The history, in the Responses item form.
    pub input: &'a [Box<RawValue>],
    /// The shape the answer is to have; `None` for free text.
    pub schema: Option<&'a Schema>,
    /// How hard the model is to think, as its provider calls it.
    pub effort: Option<&'a str>,
    /// Tokens of the answer, at most.
    pub max_output_tokens: u64,
    /// What is wanted of the provider.
    pub endpoint: Endpoint,
}

/// What is wanted of a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Endpoint {
    /// An answer, streamed.
    #[default]
    Answer,
    /// Its own compaction of the input, in one piece; only [`super::Wire::Responses`] has it.
    Compact,
}

/// The shape of a structured answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Schema {
    /// Its name: letters, digits, `_`.
    pub name: String,
    /// A JSON Schema of an object.
    pub schema: Value,
}
