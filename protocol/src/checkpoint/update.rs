//! `checkpoint/apply`: what a model proposes to remember, validated before it is stored.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_with_macros::skip_serializing_none;

/// `checkpoint/apply`: one update, accepted or rejected as a whole.
///
/// A proposal that breaks a rule is answered, not an error: `accepted` is false and `rule` names it. Only the
/// host records hashes; an update that contains rules of behavior is rejected.
///
/// # Errors
/// `thread_not_found`; `stale_base` when `expected_seq` is not the current seq; its detail is
/// `{expected, present}`.
pub struct Apply;

/// Which thread, and what.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "CheckpointApplyParams")]
pub struct ApplyParams {
    /// Id of the thread, or a unique prefix of it.
    pub thread_id: String,
    /// One change; several are several calls.
    pub update: Update,
    /// The seq the caller made the update from; absent: any.
    pub expected_seq: Option<u64>,
}

/// An update of one kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Update {
    /// Replaces the plan.
    Plan(PlanUpdate),
    /// Adds a decision, or replaces the one of the same id.
    Decision(DecisionUpdate),
    /// Adds a fact, or replaces the one of the same key.
    Fact(FactUpdate),
}

impl Update {
    /// What it is about, for a person or a model: `fact "port"`.
    #[must_use]
    pub fn label(&self) -> String {
        match self {
            Self::Plan(_) => "plan".to_owned(),
            Self::Decision(decision) => format!("decision {:?}", decision.decision_id),
            Self::Fact(fact) => format!("fact {:?}", fact.key),
        }
    }

    /// Reads one update or a list of them.
    ///
    /// # Errors
    /// What is wrong, and with which of them.
    pub fn read_all(given: Value) -> Result<Vec<Self>, String> {
        let given = match given {
            Value::Array(given) => given,
            one => vec![one],
        };
        let count = given.len();
        let read = |(at, update): (usize, Value)| {
            let wrong = |error| format!("update {} of {count} cannot be read: {error}", at + 1);
            serde_json::from_value(update).map_err(wrong)
        };
        given.into_iter().enumerate().map(read).collect()
    }
}

/// A plan.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlanUpdate {
    /// The steps, in order.
    pub steps: Vec<PlanStep>,
    /// Which steps are done, by id; a step that is not named is open.
    #[serde(default)]
    pub done: BTreeMap<String, bool>,
    /// Where the plan comes from.
    pub evidence: Option<Evidence>,
}

/// One step of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlanStep {
    /// Unique in the plan.
    pub id: String,
    /// What to do, in a sentence.
    pub text: String,
}

/// A decision with its reason.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DecisionUpdate {
    /// Unique in the thread; a decision with the same id is replaced.
    pub decision_id: String,
    /// What it is about.
    pub topic: Option<String>,
    /// What was decided, in a sentence.
    pub decision: String,
    /// The reason, in a sentence.
    pub rationale: String,
    /// The id of the decision this one replaces.
    pub supersedes: Option<String>,
    /// Where it comes from.
    pub evidence: Evidence,
}

/// A learned fact and the files it depends on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FactUpdate {
    /// Unique in the thread; a fact with the same key is replaced.
    pub key: String,
    /// What is true, in a sentence.
    pub value: String,
    /// Where it comes from.
    pub evidence: Evidence,
    /// When one of these changes, the fact is no longer valid.
    #[serde(default)]
    pub depends_on: Vec<Dependency>,
}

/// Something a fact depends on.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Dependency {
    /// A file path or another artifact of the checkpoint.
    pub uri: String,
    /// SHA-256 of the content that the fact was learned from, 64 hex digits. An update may give the first 7 or more, as
    /// `checkpoint/get` has them under the file; they are compared, and the daemon records its own.
    pub hash: Option<String>,
}

/// Where something comes from; an update with missing evidence is rejected.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Evidence {
    /// What kind of thing `ref` names.
    pub source: EvidenceSource,
    /// A message id, a file path, a tool call id.
    #[serde(rename = "ref")]
    pub reference: String,
    /// Of a file: the hash of what was read, as in a dependency.
    pub hash: Option<String>,
}

/// What kind of thing evidence names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EvidenceSource {
    /// A message of the user.
    User,
    /// A file that was observed.
    File,
    /// The output of a tool call.
    ToolOutput,
}

/// The outcome of an update.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "CheckpointApplyResult")]
pub struct ApplyResult {
    /// Whether it is part of the checkpoint now.
    pub accepted: bool,
    /// Why not, for a person.
    pub reason: Option<String>,
    /// Why not, as a stable name such as `evidence`.
    pub rule: Option<String>,
    /// How to fix it.
    pub hint: Option<String>,
    /// Seq of the thread's last line, for `expected_seq` of the next update.
    pub seq: u64,
}
