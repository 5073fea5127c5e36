//! `context/diff`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_with_macros::skip_serializing_none;

use crate::text::Raw;

/// `context/diff`: what to tell a model before its next turn about changed settings.
pub struct Diff;

/// The settings last sent to the model, and those of the next turn.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ContextDiffParams")]
pub struct DiffParams {
    /// The settings last sent to the model. Without it and without `thread_id`, as after a compaction, everything is
    /// sent.
    pub reference: Option<Settings>,
    /// A thread whose transcript contains the settings last sent, instead of `reference`. Settings the
    /// transcript does not contain count as unchanged. The texts named in `include` are compared with those in
    /// the history; if `current` omits them, they are read now: AGENTS.md from the root of the project to the
    /// working folder, memory as `memory/summary` returns it.
    pub thread_id: Option<String>,
    /// The settings of the next turn.
    pub current: Settings,
    /// Settings to compare besides the five.
    pub include: Option<Vec<OptionalSetting>>,
}

/// Settings that are compared only when asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OptionalSetting {
    /// The project's instructions.
    AgentsMd,
    /// Memory of earlier work.
    Memory,
}

/// What to put before the next turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ContextDiffResult")]
pub struct DiffResult {
    /// At most a developer message and, after it, a user message.
    pub items: Raw<Vec<Value>>,
    /// The settings they contain, in order: `model`, `permissions`, `memory`, `collaboration_mode`,
    /// `personality`, `agents_md`, `environment`.
    pub changed: Vec<String>,
    /// Whether they contain everything, for lack of a reference.
    pub full: bool,
    /// Estimated tokens of the items.
    pub tokens: u64,
}

/// Settings that a model is informed of. Absent parts are not sent.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ContextSettings")]
pub struct Settings {
    /// Folders, date, time zone and network of the agent.
    pub environment: Option<Environment>,
    /// What it may do.
    pub permissions: Option<Permissions>,
    /// How it works with the person.
    pub collaboration_mode: Option<CollaborationMode>,
    /// The personality the person chose; absent: none.
    pub personality: Option<Personality>,
    /// Which model it is.
    pub model: Option<Model>,
    /// Text of the project's instructions.
    pub agents_md: Option<String>,
    /// Text of the memory.
    pub memory: Option<String>,
}

/// Where the agent works. A change of folders, date, time zone or network is sent.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Environment {
    /// Working folders; usually one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub folders: Vec<WorkingFolder>,
    /// Today, as `2026-11-21`.
    pub current_date: Option<String>,
    /// As `Europe/Paris`.
    pub timezone: Option<String>,
    /// Rules of the network.
    pub network: Option<Network>,
}

/// One working folder.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkingFolder {
    /// Name, where there are several.
    pub id: Option<String>,
    /// The folder, an absolute path.
    pub cwd: String,
    /// The shell; a change of it alone is not sent.
    pub shell: Option<String>,
}

/// Which hosts may be reached.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Network {
    /// Names of hosts that commands may reach.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allowed: Vec<String>,
    /// Names of hosts that commands may not reach.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub denied: Vec<String>,
}

/// What the agent may do. A change of profile or approval policy is sent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Permissions {
    /// As `workspace-write`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub profile: String,
    /// As `on-request`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub approval_policy: String,
    /// What tells the model about profile and approvals; absent: nothing.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub instructions: String,
}

/// How the agent works with the person. Any change is sent, including its end.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CollaborationMode {
    /// As `plan`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub mode: String,
    /// The model it asks for.
    pub model: Option<String>,
    /// The reasoning effort it asks for.
    pub effort: Option<String>,
    /// What tells the model about the mode; absent: nothing.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub instructions: String,
}

/// The agent's personality. A change is sent, unless a new model has its own.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Personality {
    /// Name of the personality; absent: none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// What tells the model about it; absent: nothing.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub instructions: String,
}

/// Which model answers. A new name is sent, with its instructions if there are any.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ContextModel")]
pub struct Model {
    /// As the provider names it, such as `gpt-5.5`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// What the model's own instructions say; absent: nothing.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub instructions: String,
}
