//! `checkpoint/*`: the structured state of a thread, folded while its transcript is read.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_with_macros::skip_serializing_none;

use crate::text::Block;

mod choice;
mod export;
mod update;

pub use choice::{
    Choice, ChoiceAction, Choices, ChoicesParams, ChoicesResult, Choose, ChooseParams,
    ChooseResult, Unchoose, UnchooseParams, UnchooseResult,
};
pub use export::{
    ArtifactKind, CheckpointV1, ExportedArtifact, ExportedDecision, ExportedFact, ExportedPlan,
    ExportedTask, FactStatus,
};
pub use update::{
    Apply, ApplyParams, ApplyResult, DecisionUpdate, Dependency, Evidence, EvidenceSource,
    FactUpdate, PlanStep, PlanUpdate, Update,
};

/// `checkpoint/get`: the whole checkpoint as JSON.
///
/// # Errors
/// `thread_not_found`; `checkpoint_not_found` before the first item.
pub struct CheckpointGet;

/// Which thread, and when.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CheckpointGetParams {
    /// Id of the thread, or a unique prefix of it.
    pub thread_id: String,
    /// As it was after the item of this seq; absent: as it is now.
    pub as_of: Option<u64>,
}

/// The checkpoint.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CheckpointGetResult {
    /// An object with its own `schema_version` (1); bounded in size.
    pub checkpoint: Block<Value>,
    /// Lines of the transcript that are folded into it.
    pub seq: u64,
    /// Digest of the checkpoint: equal digests, equal checkpoints.
    pub digest: String,
}

/// `checkpoint/view`: the checkpoint as text for a model, byte-stable for the same state and caps.
///
/// # Errors
/// As [`CheckpointGet`].
pub struct View;

/// Which thread, how much, and when.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "CheckpointViewParams")]
pub struct ViewParams {
    /// Id of the thread, or a unique prefix of it.
    pub thread_id: String,
    /// Bounds of the sections.
    pub caps: Option<Caps>,
    /// Maximum tokens of the text, at least 256; absent: the daemon's default.
    pub max_tokens: Option<u64>,
    /// As it was after the item of this seq; absent: as it is now.
    pub as_of: Option<u64>,
    /// What the view is to be about, in words, at most `limit::FOCUS_BYTES_MAX` bytes: lines of the checkpoint that
    /// speak of it are chosen first. It is never quoted or sent to a model.
    pub focus: Option<String>,
}

/// Bounds of a view; an absent one takes the daemon's default.
#[skip_serializing_none]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Caps {
    /// Plan steps that are open.
    pub max_open_plan_steps: Option<u32>,
    /// Plan steps that are done.
    pub max_done_plan_steps: Option<u32>,
    /// Decisions, the newest that are not superseded.
    pub max_decisions: Option<u32>,
    /// Valid facts.
    pub max_facts_valid: Option<u32>,
    /// Facts that are outdated or cannot be checked.
    pub max_facts_suspect: Option<u32>,
    /// Files, commands and outputs, the newest.
    pub max_recent_artifacts: Option<u32>,
    /// Characters of one value.
    pub max_value_chars: Option<u32>,
}

/// The text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "CheckpointViewResult")]
pub struct ViewResult {
    /// For a model to read.
    pub text: Block<String>,
    /// Its tokens, an estimate.
    pub tokens: u64,
    /// Digest of the text: equal digests, equal bytes.
    pub digest: String,
    /// Lines of the transcript that are folded into it.
    pub seq: u64,
}
