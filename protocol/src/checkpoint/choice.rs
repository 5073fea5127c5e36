//! `checkpoint/choose`, `checkpoint/choices`, `checkpoint/unchoose`: what a person wants in every later view of a
//! thread, and what in none.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::text::Block;

/// `checkpoint/choose`: pins or drops a text, or the items behind a handle.
///
/// A pinned text stands word for word in every later view of the thread, of all strategies; no line of a dropped one
/// does. Threads that go on from this one have the choice, too. Choosing the same thing twice is choosing it once.
///
/// # Errors
/// `thread_not_found`; `handle_not_found`; `invalid_params` for no text, a text to drop of fewer than three letters, or
/// a handle of another thread; `limit_exceeded` with the limit `choice_bytes` (a text), `choices` (of the thread) or
/// `pinned_tokens` (all pins together); `illegal_transition` for the request being worked on, which cannot be dropped,
/// and for a pin that a drop takes out, or the reverse.
#[derive(Debug, Clone, Copy)]
pub struct Choose;

/// What to choose. Exactly one of `text` and `handle` is given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "CheckpointChooseParams")]
pub struct ChooseParams {
    /// Its whole id.
    pub thread_id: String,
    /// Into every view, or into none.
    pub action: ChoiceAction,
    /// Words. To drop: no line of a view holds them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Items of the thread. Of a longer text the beginning is kept, see `whole_bytes`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handle: Option<String>,
}

/// What is wanted of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[derive(strum::Display)]
#[strum(serialize_all = "snake_case")]
pub enum ChoiceAction {
    /// It stands in every view.
    Pin,
    /// It stands in none.
    Drop,
}

/// What was chosen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "CheckpointChooseResult")]
pub struct ChooseResult {
    /// As it is in force.
    pub choice: Choice,
    /// Whether it was in force already.
    pub was_there: bool,
}

/// A pin or drop in force.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Choice {
    /// Names it for `checkpoint/unchoose`; follows from what was chosen.
    pub choice_id: String,
    /// The thread it was made in: this one, or one that it goes on from.
    pub thread_id: String,
    /// Into every view, or into none.
    pub action: ChoiceAction,
    /// The text, secrets replaced.
    pub text: Block<String>,
    /// The items it was taken from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handle: Option<String>,
    /// Bytes of the items' whole text, where only the beginning was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whole_bytes: Option<u64>,
    /// Tokens it takes of a view; 0 for a drop.
    pub tokens: u64,
    /// When, Unix milliseconds.
    pub created_at: i64,
}

/// `checkpoint/choices`: the pins and drops of a thread, in the order they were chosen.
///
/// # Errors
/// `thread_not_found`; `checkpoint_not_found` before the first item.
#[derive(Debug, Clone, Copy)]
pub struct Choices;

/// Which thread.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "CheckpointChoicesParams")]
pub struct ChoicesParams {
    /// Its whole id.
    pub thread_id: String,
}

/// The pins and drops.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "CheckpointChoicesResult")]
pub struct ChoicesResult {
    /// At most 64.
    pub choices: Vec<Choice>,
    /// Tokens that all pins together take of a view.
    pub pinned_tokens: u64,
    /// The most that they may take.
    pub pinned_tokens_max: u64,
}

/// `checkpoint/unchoose`: takes a pin or drop back.
///
/// # Errors
/// `choice_not_found`, also for one that was made in a thread this one goes on from.
#[derive(Debug, Clone, Copy)]
pub struct Unchoose;

/// Which choice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "CheckpointUnchooseParams")]
pub struct UnchooseParams {
    /// Its whole id.
    pub thread_id: String,
    /// The choice's id.
    pub choice_id: String,
}

/// What was taken back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "CheckpointUnchooseResult")]
pub struct UnchooseResult {
    /// As it was in force.
    pub choice: Choice,
}
