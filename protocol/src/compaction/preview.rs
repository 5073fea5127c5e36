//! `compaction/preview`: the result of a compaction, without making it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

use super::{Entry, Model, Phase, Strategy, TokensChange, Totals};
use crate::text::Block;
use crate::warning::Warning;

/// `compaction/preview`: what `compaction/run` with the same params would replace a thread's history with.
///
/// Records nothing and asks no model. With the strategy `checkpoint`, `view` is byte for byte the result as long as the
/// thread and its files do not change. With a strategy that needs a model, `question` says what would be asked, and
/// `view` is the result if no model answers.
///
/// # Errors
/// `thread_not_found`; `checkpoint_not_found` before the first item.
pub struct Preview;

/// Which thread, and how it would be compacted.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "CompactionPreviewParams")]
pub struct PreviewParams {
    /// Id of the thread, or a unique prefix of it.
    pub thread_id: String,
    /// Absent: `auto`.
    pub strategy: Option<Strategy>,
    /// Absent: `standalone`.
    pub phase: Option<Phase>,
    /// As in `compaction/run`.
    pub max_tokens: Option<u64>,
    /// The model that would read the result; with a `provider`, that would write it.
    pub model: Option<Model>,
    /// The thread as it was after the item of this seq; absent: as it is now.
    pub as_of: Option<u64>,
    /// As in `compaction/run`: what the view is to be about, in words, at most `limit::FOCUS_BYTES_MAX` bytes: lines of the checkpoint that
    /// speak of it are chosen first. It is never quoted or sent to a model.
    pub focus: Option<String>,
}

/// The preview.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "CompactionPreviewResult")]
pub struct PreviewResult {
    /// Id of the thread.
    pub thread_id: String,
    /// Seq of the thread's last line.
    pub seq: u64,
    /// What a run would try first.
    pub strategy: Strategy,
    /// What a model would be asked; absent if none would be.
    pub question: Option<Question>,
    /// Maximum tokens of the view.
    pub max_tokens: u64,
    /// The text that would replace the dropped items.
    pub view: Block<String>,
    /// Its sections in their order, with their cost.
    pub parts: Vec<ViewPart>,
    /// The lines that were chosen for it; header, pins and the last request are not among them.
    pub lines: Vec<ViewLine>,
    /// Tokens of the history.
    pub tokens: TokensChange,
    /// Items kept unchanged.
    pub kept: Vec<PreviewItem>,
    /// Items kept in part.
    pub shortened: Vec<PreviewItem>,
    /// Items that would be dropped, newest first, at most 256.
    pub dropped: Vec<PreviewItem>,
    /// The older items that would be dropped.
    pub older: Option<Entry>,
    /// All items that would be dropped, by kind.
    pub dropped_by_kind: Vec<KindTotal>,
    /// Sums over all items.
    pub totals: Totals,
    /// What a person should know.
    pub warnings: Vec<Warning>,
}

/// What a model would be asked, and its maximum cost.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "CompactionQuestion")]
pub struct Question {
    /// The provider's name in the daemon's configuration.
    pub provider: String,
    /// The model's name at its provider.
    pub model: String,
    /// Maximum tokens of the first request, an estimate.
    pub input_tokens: u64,
    /// Maximum tokens of its answer.
    pub output_tokens_max: u64,
    /// Maximum requests that the budget allows for one compaction: if the model rejects an input as too large, a smaller
    /// one is sent. Absent: no bound.
    pub requests_max: Option<u64>,
    /// Maximum tokens of all of them together. Absent: no bound.
    pub tokens_max: Option<u64>,
}

/// A section of a view.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ViewPart {
    /// Its title, such as `REPORTS`.
    pub name: String,
    /// Lines below its heading.
    pub lines: u64,
    /// Its tokens, an estimate.
    pub tokens: u64,
}

/// A line that was chosen for a view.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ViewLine {
    /// The title of its section.
    pub part: String,
    /// The line as the view has it.
    pub text: String,
    /// Its tokens, an estimate.
    pub tokens: u64,
    /// The item it was taken from, such as `#747`; absent for a composed line.
    pub handle: Option<String>,
}

/// An item of the history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PreviewItem {
    /// Returns the item, see `history/expand`.
    pub handle: String,
    /// What it is, as in `thread/items`.
    pub kind: String,
    /// Its tokens, an estimate.
    pub tokens: u64,
    /// Its line in the thread.
    pub seq: u64,
    /// How it begins, secrets replaced.
    pub excerpt: String,
}

/// Items of one kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KindTotal {
    /// Kind of item, as in a receipt.
    pub kind: String,
    /// Items of this kind.
    pub items: u64,
    /// Their tokens, an estimate.
    pub tokens: u64,
}
