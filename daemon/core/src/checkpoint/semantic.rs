//! Updates that a model may add to a checkpoint: plan, decisions, facts. Each is validated first.
//!
//! Tool output can contain instructions, and a model can believe them. So an update may state facts and reasons,
//! with existing evidence, but never how the agent should behave: stored text that says "always do X" would outlive
//! the attack that planted it.

mod bind;
pub mod policy;
mod validate;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::choice::{Choice, Choices};
use crate::digest::ContentHash;
use crate::limits;

pub use bind::bound;
pub use validate::{ReferenceIndex, Rejection, Rule, validate};

/// The source of a statement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Evidence {
    pub source: EvidenceSource,
    /// A user message's seq, a path, or a tool call's id.
    #[serde(rename = "ref")]
    pub reference: String,
    /// Hash of the file it was read from. Set by the host; the model's value is ignored.
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
        steps: Vec<ProposedItem>,
        /// Done marks by step id.
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
    Fact {
        /// A later fact with the same key replaces it.
        key: String,
        value: String,
        evidence: Evidence,
        /// Files whose change makes the fact suspect.
        #[serde(default)]
        depends_on: Vec<Dependency>,
    },
}

/// An item of a proposed plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProposedItem {
    pub id: String,
    pub text: String,
}

/// A file a fact depends on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dependency {
    pub uri: String,
    /// Its content when the fact was accepted. Set by the host; the model's value is ignored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<ContentHash>,
}

/// A valid update, as stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AcceptedUpdate {
    /// Seq of the thread when it was accepted.
    pub seq: u64,
    /// Redacted and cut to its bounds.
    pub update: Update,
}

/// All accepted updates of a thread, added to its checkpoint when it is served.
#[derive(Debug, Clone, Default)]
pub struct Semantics {
    /// The newest proposed plan and its seq.
    pub plan: Option<(u64, Vec<ProposedItem>, BTreeMap<String, bool>)>,
    /// Seqs and decisions that are not superseded, oldest first.
    pub decisions: Vec<(u64, Update)>,
    /// Seqs and facts by key.
    pub facts: BTreeMap<String, (u64, Update)>,
    /// What the person pinned and dropped.
    pub choices: Choices,
}

/// The content of a row in the store.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum StoredUpdate {
    Update(Update),
    Choice(Choice),
}

impl Semantics {
    /// Applies updates in the order they were accepted. Beyond the bounds the oldest is evicted, ties by key.
    pub fn of(accepted: &[AcceptedUpdate]) -> Self {
        let mut semantics = Self::default();
        for AcceptedUpdate { seq, update } in accepted {
            semantics.apply(*seq, update);
        }
        semantics
    }

    fn apply(&mut self, seq: u64, update: &Update) {
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
