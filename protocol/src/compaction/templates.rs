//! The texts of compactions: `compaction/templates`, and those of one call.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use crate::policy::{TemplatesParams, TemplatesResult};

/// `compaction/templates`: the texts in force, and their files.
///
/// A file counts from the next compaction on. One that cannot be used leaves in force what was there
/// before: the answer says so, and so does every compaction, as a warning.
///
/// # Errors
/// `permission_denied` when the folder cannot be written.
#[derive(Debug, Clone, Copy)]
pub struct Templates;

/// Texts of one call. Placeholders are written `{name}`; `compaction/templates` lists those of each text.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "CompactionTemplateOverrides")]
pub struct TemplateOverrides {
    /// What a model is asked for a summary, at most 32 KiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary_prompt: Option<String>,
    /// Stands above a summary, at most 4 KiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary_prefix: Option<String>,
    /// Stands above a checkpoint's view, at most 4 KiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
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
    /// Whose it is.
    pub source: TemplateSource,
}

/// Whose text it is.
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
    /// What a newer daemon may add.
    #[serde(other)]
    Other,
}
