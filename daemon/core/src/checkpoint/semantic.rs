//! What the model may add to a checkpoint: plan, decisions, facts; each checked before it enters.
//!
//! Tool output can carry instructions, and a model can believe them. So an update may state what is
//! so and why, with evidence that exists, but never how the agent is to behave: stored text that
//! says "always do X" would outlive the attack that planted it.

mod bind;
pub mod policy;
mod validate;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::choice::{Choice, Choices};
use crate::digest::ContentHash;
use crate::limits;

pub use bind::bound;
pub use validate::{Known, Rejection, Rule, validate};

/// Where a statement is from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Evidence {
    pub source: EvidenceSource,
    /// A user message's seq, a path, or a tool call's id.
    #[serde(rename = "ref")]
    pub reference: String,
    /// Hash of the file it was read from; set by the host, whatever the model sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[derive(strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum EvidenceSource {
    User,
    File,
    ToolOutput,
}

/// An update the model proposes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Update {
    Plan {
        steps: Vec<UpdateStep>,
        /// Steps that are done, by id.
        #[serde(default)]
        done: BTreeMap<String, bool>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        evidence: Option<Evidence>,
    },
    Decision {
        decision_id: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        topic: Option<String>,
        decision: String,
        rationale: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        supersedes: Option<String>,
        evidence: Evidence,
    },
    /// Records something that is so.
    Fact {
        /// Names it; a later fact of the same key replaces it.
        key: String,
        value: String,
        evidence: Evidence,
        /// Files it holds only as long as they do not change.
        #[serde(default)]
        depends_on: Vec<Dependency>,
    },
}

/// A step of a proposed plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UpdateStep {
    pub id: String,
    /// What is to be done.
    pub text: String,
}

/// A file a fact depends on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dependency {
    pub uri: String,
    /// Its content when the fact was accepted; set by the host, whatever the model sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<ContentHash>,
}

/// An update that passed, as stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Accepted {
    /// Seq of the thread when it was accepted.
    pub seq: u64,
    /// The update, redacted and cut to its bounds.
    pub update: Update,
}

/// All accepted updates of a thread, laid over its checkpoint when it is served.
#[derive(Debug, Clone, Default)]
pub struct Semantics {
    /// The newest proposed plan and its seq.
    pub plan: Option<(u64, Vec<UpdateStep>, BTreeMap<String, bool>)>,
    /// Decisions that none supersedes, oldest first, and their seq.
    pub decisions: Vec<(u64, Update)>,
    /// Facts by key, and their seq.
    pub facts: BTreeMap<String, (u64, Update)>,
    /// What the person pinned and dropped.
    pub choices: Choices,
}

/// What a row of the store holds.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum StoredUpdate {
    Update(Update),
    Choice(Choice),
}

impl Semantics {
    /// Lays updates over each other in the order they were accepted. Over the bounds, the oldest
    /// goes; ties by key.
    pub fn of(accepted: &[Accepted]) -> Self {
        let mut semantics = Self::default();
        for Accepted { seq, update } in accepted {
            semantics.take(*seq, update);
        }
        semantics
    }

    fn take(&mut self, seq: u64, update: &Update) {
        match update {
            Update::Plan { steps, done, .. } => {
                self.plan = Some((seq, steps.clone(), done.clone()));
            }
            Update::Decision { decision_id, supersedes, .. } => {
                self.decisions.retain(|(_, earlier)| match earlier {
                    Update::Decision { decision_id: id, .. } => {
                        id != decision_id && Some(id) != supersedes.as_ref()
                    }
                    Update::Plan { .. } | Update::Fact { .. } => true,
                });
                if self.decisions.len() >= limits::DECISIONS {
                    self.decisions.remove(0);
                }
                self.decisions.push((seq, update.clone()));
            }
            Update::Fact { key, .. } => {
                self.facts.insert(key.clone(), (seq, update.clone()));
                if self.facts.len() > limits::FACTS {
                    let oldest =
                        self.facts.iter().min_by_key(|(key, (seq, _))| (*seq, key.as_str()));
                    if let Some(key) = oldest.map(|(key, _)| key.clone()) {
                        self.facts.remove(&key);
                    }
                }
            }
        }
    }
}
