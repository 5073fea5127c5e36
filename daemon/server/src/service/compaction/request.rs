//! A compaction that is asked for. Stored as the payload of a job.

use std::collections::BTreeMap;

use longhaul_core::compaction::Phase;
use longhaul_core::compaction::ladder::Strategy;
use longhaul_core::template::{self, Kind};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::service::error::ServiceError;

/// What is to be compacted.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Subject {
    /// A thread, now or as it was after a line.
    Thread {
        thread_id: String,
        as_of: Option<u64>,
    },
    /// A thread as it was when a job was asked for, a moment ago, with the files as they are now.
    Begun {
        thread_id: String,
        seq: u64,
    },
    Items(Vec<Value>),
    /// Items that were stored under the compaction's id, and the secrets replaced in them.
    Stored(u64),
}

/// A compaction that is asked for.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Request {
    /// What is to be compacted.
    pub subject: Subject,
    /// The rung that is wanted.
    pub strategy: Strategy,
    pub phase: Phase,
    /// What asked for it: `manual` or `auto`.
    pub trigger: String,
    /// Why, where the caller says.
    #[serde(default)]
    pub reason: Option<Reason>,
    pub max_tokens: Option<u64>,
    /// Context that the harness always rebuilds.
    pub initial_context: Vec<Value>,
    /// The caller said nothing of it: in the middle of a turn it is taken from the history.
    #[serde(default)]
    pub finds_context: bool,
    /// The model to ask instead of the configured one.
    pub model: Option<ModelRef>,
    /// Milliseconds the caller waits.
    pub deadline_ms: Option<u64>,
    /// The model that will read the result.
    #[serde(default)]
    pub reader: Option<ModelRef>,
    /// Whether the result replaces the history of the thread.
    #[serde(default)]
    pub install: bool,
    /// The agent itself compacts, and this is a step of it.
    #[serde(default)]
    pub agent_step: Option<AgentStep>,
    #[serde(default)]
    pub templates: BTreeMap<Kind, String>,
    /// What the view is to be about, redacted. It weighs lines and is never quoted.
    #[serde(default)]
    pub focus: Option<String>,
}

/// A model that a caller names.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelRef {
    /// As configured; `None`: of the configured provider, or for one that only reads.
    pub provider: Option<String>,
    pub name: String,
    /// How hard it is to think; `None`: as configured.
    pub effort: Option<String>,
    pub context_window: Option<u64>,
}

/// A step of a compaction that an agent makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentStep {
    /// It is about to compact.
    Announced,
    /// What is made here takes the place of its history.
    Answered,
}

/// Why a compaction was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[derive(strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum Reason {
    UserRequested,
    ContextLimit,
    /// A model with a smaller window comes next.
    ModelDownshift,
    Policy,
}

impl Reason {
    /// What is stored of one made before reasons were.
    #[must_use]
    pub fn of(name: &str, trigger: &str) -> Self {
        match (name, trigger) {
            ("context_limit", _) | ("", "auto") => Self::ContextLimit,
            ("model_downshift", _) => Self::ModelDownshift,
            ("policy", _) => Self::Policy,
            _ => Self::UserRequested,
        }
    }
}

impl Request {
    /// The thread whose history the result is to replace.
    #[must_use]
    pub fn installs_in(&self) -> Option<&str> {
        match &self.subject {
            Subject::Thread { thread_id, .. } | Subject::Begun { thread_id, .. } => {
                Some(thread_id.as_str()).filter(|_| self.install)
            }
            Subject::Items(_) | Subject::Stored(_) => None,
        }
    }

    /// Sees that the caller's own texts can be used.
    ///
    /// # Errors
    /// [`ServiceError::Invalid`] names the text and the place that it does not have.
    pub fn check_templates(&self) -> Result<(), ServiceError> {
        for (kind, text) in &self.templates {
            let field = match kind {
                Kind::SummaryPrompt => "templates.summary_prompt",
                Kind::SummaryPrefix => "templates.summary_prefix",
                Kind::CheckpointGuide => "templates.checkpoint_guide",
                _ => "templates",
            };
            template::check(*kind, text)
                .map_err(|error| ServiceError::Invalid { field, reason: error.to_string() })?;
        }
        Ok(())
    }
}
