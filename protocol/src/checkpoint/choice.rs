//! `checkpoint/choose`, `checkpoint/choices`, `checkpoint/unchoose`: what a person wants in every later view of a
//! thread, and what in no view.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

use crate::text::Block;

/// `checkpoint/choose`: pins or drops a text, or the items behind a handle.
///
/// A pinned text appears verbatim in every later view of the thread, with any strategy; no line of a dropped one
/// does. Threads that continue this one inherit the choice. Repeating a choice has no effect.
///
/// # Errors
/// `thread_not_found`; `handle_not_found`; `invalid_params` for no text, a text to drop of fewer than three letters, or
/// a handle of another thread; `limit_exceeded` with the limit `choice_bytes` (a text), `choices` (of the thread) or
/// `pinned_tokens` (all pins together); `illegal_transition` for the current request, which cannot be dropped, and
/// for a pin that an existing drop would remove, or the reverse.
pub struct Choose;

/// What to choose. Exactly one of `text` and `handle` is given.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "CheckpointChooseParams")]
pub struct ChooseParams {
    /// Id of the thread, or a unique prefix of it.
    pub thread_id: String,
    /// Into every view, or into none.
    pub action: ChoiceAction,
    /// A text. Dropping it removes every line of a view that contains it.
    pub text: Option<String>,
    /// Items of the thread. A longer text is cut to its beginning, see `whole_bytes`.
    pub handle: Option<String>,
}

/// What is wanted of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[derive(strum::Display)]
#[strum(serialize_all = "snake_case")]
pub enum ChoiceAction {
    /// It appears in every view.
    Pin,
    /// It appears in no view.
    Drop,
}

/// What was chosen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "CheckpointChooseResult")]
pub struct ChooseResult {
    /// The choice as stored.
    pub choice: Choice,
    /// Whether it existed already.
    pub was_there: bool,
}

/// A pin or drop.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Choice {
    /// Names it for `checkpoint/unchoose`; follows from what was chosen.
    pub choice_id: String,
    /// The thread it was made in: this one, or one that it continues.
    pub thread_id: String,
    /// Into every view, or into none.
    pub action: ChoiceAction,
    /// The text, secrets replaced.
    pub text: Block<String>,
    /// The items it was taken from.
    pub handle: Option<String>,
    /// Bytes of the items' whole text, if only the beginning was kept.
    pub whole_bytes: Option<u64>,
    /// Tokens it takes in a view; 0 for a drop.
    pub tokens: u64,
    /// When, Unix milliseconds.
    pub created_at: i64,
}

/// `checkpoint/choices`: the pins and drops of a thread, in the order they were chosen.
///
/// # Errors
/// `thread_not_found`; `checkpoint_not_found` before the first item.
pub struct Choices;

/// Which thread.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "CheckpointChoicesParams")]
pub struct ChoicesParams {
    /// Id of the thread, or a unique prefix of it.
    pub thread_id: String,
}

/// The pins and drops.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "CheckpointChoicesResult")]
pub struct ChoicesResult {
    /// At most 64.
    pub choices: Vec<Choice>,
    /// Tokens that all pins together take in a view.
    pub pinned_tokens: u64,
    /// Maximum of `pinned_tokens`.
    pub pinned_tokens_max: u64,
}

/// `checkpoint/unchoose`: removes a pin or drop.
///
/// # Errors
/// `choice_not_found`, also for one that was made in a thread this one continues.
pub struct Unchoose;

/// Which choice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "CheckpointUnchooseParams")]
pub struct UnchooseParams {
    /// Id of the thread, or a unique prefix of it.
    pub thread_id: String,
    /// `choice_id` of `checkpoint/choices`.
    pub choice_id: String,
}

/// What was removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "CheckpointUnchooseResult")]
pub struct UnchooseResult {
    /// The choice as it was.
    pub choice: Choice,
}
