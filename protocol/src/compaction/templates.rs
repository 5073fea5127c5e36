//! The texts of compactions: `compaction/templates`, and those of one call.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

pub use crate::policy::{TemplatesParams, TemplatesResult};

/// `compaction/templates`: the current texts, and their files.
///
/// A changed file takes effect with the next compaction. If it is invalid, the previous text stays in use; the answer
/// and every compaction warn about it.
///
/// # Errors
/// `permission_denied` when the folder cannot be written.
pub struct Templates;

/// Texts of one call. Placeholders are written `{name}`; `compaction/templates` lists those of each text.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "CompactionTemplateOverrides")]
pub struct TemplateOverrides {
    /// What a model is asked for a summary, at most 32 KiB.
    pub summary_prompt: Option<String>,
    /// Heads a summary, at most 4 KiB.
    pub summary_prefix: Option<String>,
    /// Heads a checkpoint's view, at most 4 KiB.
    pub checkpoint_guide: Option<String>,
}

/// A text that a compaction was made with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "CompactionTemplateUsed")]
pub struct TemplateUsed {
    /// Its name, as of `compaction/templates`.
    pub name: String,
    /// Digest of the text before its placeholders were filled.
    pub digest: String,
    /// Where the text comes from.
    pub source: TemplateSource,
}

/// Owner of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "CompactionTemplateSource")]
pub enum TemplateSource {
    /// Built in.
    BuiltIn,
    /// A file of the person's.
    File,
    /// The person's, in the configuration of their agent.
    Agent,
    /// The caller's.
    Call,
    /// A value of a newer daemon.
    #[serde(other)]
    Other,
}
