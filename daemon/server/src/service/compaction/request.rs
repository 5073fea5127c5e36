//! A requested compaction. Stored as the payload of a job.

use std::collections::BTreeMap;

use longhaul_core::compaction::Phase;
use longhaul_core::compaction::ladder::Strategy;
use longhaul_core::redact::{redact, redact_value};
use longhaul_core::template::{self, Kind};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::service::error::ServiceError;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Subject {
    /// A thread, now or as it was after a line.
    Thread {
        thread_id: String,
        as_of: Option<u64>,
    },
    /// A thread as it was when a job was requested, with the files as they are now.
    Begun {
        thread_id: String,
        seq: u64,
    },
    Items(Vec<Value>),
    /// Items stored under the compaction's id, and the number of secrets replaced in them.
    Stored(u64),
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Request {
    pub subject: Subject,
    pub strategy: Strategy,
    pub phase: Phase,
    /// Who requested it: `manual` or `auto`.
    pub trigger: String,
    #[serde(default)]
    pub reason: Option<Reason>,
    pub max_tokens: Option<u64>,
    /// Context that the harness always rebuilds.
    pub initial_context: Vec<Value>,
    /// The caller did not specify the context: in the middle of a turn it is taken from the history.
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
    #[serde(default)]
    pub agent_step: Option<AgentStep>,
    #[serde(default)]
    pub templates: BTreeMap<Kind, String>,
    /// What the view is to be about, redacted. It weighs lines and is never quoted.
    #[serde(default)]
    pub focus: Option<String>,
    /// Number of secrets replaced in the context and the texts.
    #[serde(default)]
    pub redacted: u64,
}

/// A model named by a caller.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelRef {
    /// `None`: the configured provider, or any for a model that only reads.
    pub provider: Option<String>,
    pub name: String,
    /// Reasoning effort; `None`: as configured.
    pub effort: Option<String>,
    pub context_window: Option<u64>,
}

/// A step of a compaction made by an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentStep {
    /// The agent is about to compact.
    Announced,
    /// The result replaces its history.
    Answered,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[derive(strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum Reason {
    UserRequested,
    ContextLimit,
    /// The next model has a smaller window.
    ModelDownshift,
    Policy,
}

impl Reason {
    /// The stored reason, or the one implied by the trigger in records older than reasons.
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
    /// Maximum tokens of the replacement, as far as the caller limits it. An agent that answers its own compaction takes
    /// the view alone, so it limits that.
    pub(super) fn replacement_tokens_max(&self) -> Option<u64> {
        self.max_tokens.filter(|_| self.agent_step != Some(AgentStep::Answered))
    }

    /// The thread whose history the result replaces.
    pub fn installs_in(&self) -> Option<&str> {
        match &self.subject {
            Subject::Thread { thread_id, .. } | Subject::Begun { thread_id, .. } => {
                Some(thread_id.as_str()).filter(|_| self.install)
            }
            Subject::Items(_) | Subject::Stored(_) => None,
        }
    }

    /// Replaces secrets in the caller's context and texts: both may be stored, with the request and with the result.
    pub(super) fn redact(&mut self) {
        let context = self.initial_context.iter_mut().map(redact_value);
        self.redacted += context.map(u64::from).sum::<u64>();
        for text in self.templates.values_mut() {
            let clean = redact(text);
            self.redacted += u64::from(clean.hits);
            *text = clean.text.into_owned();
        }
    }

    /// Checks the caller's own texts.
    ///
    /// # Errors
    /// [`ServiceError::Invalid`] with the text and its unknown placeholder.
    pub fn check_templates(&self) -> Result<(), ServiceError> {
        for (kind, text) in &self.templates {
            let field = match kind {
                Kind::SummaryPrompt => "templates.summary_prompt",
                Kind::SummaryPrefix => "templates.summary_prefix",
                Kind::CheckpointGuide => "templates.checkpoint_guide",
                _ => "templates",
            };
            template::check(*kind, text)
                .map_err(|error| ServiceError::invalid(field, error.to_string()))?;
        }
        Ok(())
    }
}
