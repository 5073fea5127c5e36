//! Configuration of policies: current values, problems, and texts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

/// `policy/check`: every policy with its effective rules, and mistakes in them.
///
/// # Errors
/// `config_invalid` when the given text cannot be read.
pub struct Check;

/// What to check.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "PolicyCheckParams")]
pub struct CheckParams {
    /// The text of a configuration file; absent: the daemon's configuration.
    pub toml: Option<String>,
}

/// Policies as parsed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "PolicyCheckResult")]
pub struct CheckResult {
    /// The active one first.
    pub policies: Vec<PolicyInfo>,
    /// Errors, and settings without effect.
    pub problems: Vec<Problem>,
}

/// A policy, complete.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PolicyInfo {
    /// `default`, or the name of a shadow policy.
    pub policy: String,
    /// `off`, `tag`, `suggest` or `auto`.
    pub mode: String,
    /// `watcher` or `agent`.
    pub packet_author: String,
    /// Whether the agent is asked for a scratch file.
    pub scratch: bool,
    /// `model` or `client`.
    pub judge: String,
    /// `compact` or `wait`.
    pub on_judgment_failure: String,
    /// Maximum compactions per hour.
    pub compactions_per_hour: u64,
    /// Whether to compact in the middle of a turn, too; absent: no.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub mid_turn: bool,
    /// Who reads the agent's words: `phrases` or `model`.
    pub semantic: Option<String>,
    /// The model of the watcher's compactions; absent: the same as for any other.
    pub compaction_model: Option<String>,
    /// Reasoning effort for them; absent: the same as for any other.
    pub compaction_effort: Option<String>,
    /// The least urgent first.
    pub tiers: Vec<TierInfo>,
}

/// The rule of a tier.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TierInfo {
    /// `early`, `ready`, `asap` or `emergency`.
    pub tier: String,
    /// The tier applies below this percentage of the window.
    pub percent_remaining_lt: u64,
    /// The boundaries that count: those required of those allowed.
    pub boundaries: Vec<String>,
    /// Plan boundaries count only together with a sign in the agent's text.
    pub plan_gate: bool,
    /// Whether a judgment is required.
    pub judgment: bool,
}

/// A problem of a policy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "PolicyProblem")]
pub struct Problem {
    /// `default`, or the name of a shadow policy.
    pub policy: String,
    /// Name of the setting in its table.
    pub key: String,
    /// What is wrong with the value, in a sentence.
    pub reason: String,
    /// Whether it is an error; otherwise the setting has no effect.
    pub is_fatal: bool,
}

/// `policy/templates`: the current texts, and their files.
///
/// # Errors
/// `permission_denied` when the folder cannot be written.
pub struct Templates;

/// What to do with them.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "PolicyTemplatesParams")]
pub struct TemplatesParams {
    /// Write the built-in text of each one that has no file; absent: no.
    pub seed: Option<bool>,
}

/// The texts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "PolicyTemplatesResult")]
pub struct TemplatesResult {
    /// Where their files are.
    pub folder: String,
    /// One per kind.
    pub templates: Vec<TemplateInfo>,
}

/// A text.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "PolicyTemplateInfo")]
pub struct TemplateInfo {
    /// Name of the text, which is also its file's.
    pub name: String,
    /// Its file, which may not exist.
    pub path: String,
    /// `built_in`, `file`, or the name of the text that is used without a file.
    pub source: String,
    /// Whether this call created the file.
    pub is_seeded: bool,
    /// Why the file is not used and the previous text is.
    pub problem: Option<String>,
    /// The placeholders it may use.
    pub placeholders: Vec<String>,
}
