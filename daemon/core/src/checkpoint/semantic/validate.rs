//! Validates a proposed update and normalizes it for storage.

use std::collections::{BTreeMap, BTreeSet};

use super::policy::behavior;
use super::{Evidence, EvidenceSource, ProposedItem, Update};
use crate::checkpoint::clean;
use crate::{limits, text};

/// Resolves an update's references, with the host's knowledge.
pub trait ReferenceIndex {
    /// Whether this names a message of the person, by seq or handle.
    fn user_message(&self, reference: &str) -> bool;
    /// Whether the thread has seen this file.
    fn file(&self, path: &str) -> bool;
    /// Whether two paths name the same file.
    fn is_same_file(&self, path: &str, other: &str) -> bool;
    /// Whether this names a tool call or its output, by call id, seq or handle.
    fn tool_output(&self, reference: &str) -> bool;
    /// Whether this decision exists and is not superseded.
    fn decision(&self, decision_id: &str) -> bool;
}

/// Why an update was rejected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejection {
    pub rule: Rule,
    /// The problem and its place, for the model to fix.
    pub reason: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[derive(strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum Rule {
    /// A required text is empty.
    Empty,
    TooMany,
    /// Two steps have the same id, or a done mark names no step.
    Steps,
    /// The evidence does not exist in this thread.
    Evidence,
    /// A dependency was never seen, or the file the fact was read from is not among them.
    DependsOn,
    /// A dependency has other content than the update says.
    Hash,
    /// It supersedes a decision that does not exist or is superseded itself.
    Supersedes,
    /// It is a rule of behavior.
    #[strum(serialize = "behavior_policy")]
    Behavior,
}

impl Rule {
    /// How to fix an update that breaks this rule.
    pub fn hint(self) -> &'static str {
        match self {
            Self::Empty => "give every text at least a word",
            Self::TooMany => "keep the ones that matter and leave the others out",
            Self::Steps => "give each step its own id, and use only these ids in done",
            Self::Evidence => {
                "name existing evidence: for user the number of the person's message, for file a path this thread \
                 read or edited, for tool_output the call's id or the number of its item (#747 in a view)"
            }
            Self::DependsOn => {
                "list in depends_on the files the fact was read from, each read or edited by this thread"
            }
            Self::Hash => "leave the hash out, or read the file again: the host knows its content",
            Self::Supersedes => {
                "use the decision_id of a current decision in the checkpoint, or leave it out"
            }
            Self::Behavior => {
                "state facts and reasons, not how to act; record a preference of the person as a note"
            }
        }
    }
}

/// Maximum characters of an id or key.
const KEY_CHARS: usize = 80;

/// Validates an update; returns it redacted and cut to its limits. The error is the first rule it breaks.
pub fn validate(update: Update, known: &dyn ReferenceIndex) -> Result<Update, Rejection> {
    match update {
        Update::Plan { steps, done, evidence } => validate_plan(steps, done, evidence, known),
        Update::Decision { decision_id, topic, decision, rationale, supersedes, evidence } => {
            check_text("decision_id", &decision_id)?;
            check_text("decision", &decision)?;
            check_text("rationale", &rationale)?;
            topic.as_deref().map_or(Ok(()), |topic| check_text("topic", topic))?;
            check_evidence(&evidence, known)?;
            if let Some(earlier) = &supersedes
                && !known.decision(earlier)
            {
                let reason = format!("supersedes {earlier:?}, which is not a current decision");
                return Err(Rejection { rule: Rule::Supersedes, reason });
            }
            Ok(Update::Decision {
                decision_id: key(&decision_id),
                topic: topic.map(|topic| clean(&topic, KEY_CHARS)),
                decision: clean(&decision, limits::VALUE_CHARS),
                rationale: clean(&rationale, limits::VALUE_CHARS),
                supersedes: supersedes.map(|id| key(&id)),
                evidence,
            })
        }
        Update::Fact { key: name, value, evidence, depends_on } => {
            check_text("key", &name)?;
            check_text("value", &value)?;
            check_evidence(&evidence, known)?;
            if depends_on.len() > limits::FACT_DEPENDENCIES {
                let most = limits::FACT_DEPENDENCIES;
                let reason = format!("{} dependencies; at most {most} are kept", depends_on.len());
                return Err(Rejection { rule: Rule::TooMany, reason });
            }
            if let Some(stray) = depends_on.iter().find(|dep| !known.file(&dep.uri)) {
                let reason =
                    format!("depends_on names {:?}, which this thread never saw", stray.uri);
                return Err(Rejection { rule: Rule::DependsOn, reason });
            }
            // Otherwise the fact would stay valid when the file it was read from changes.
            let is_bound =
                depends_on.iter().any(|dep| known.is_same_file(&dep.uri, &evidence.reference));
            if evidence.source == EvidenceSource::File && !is_bound {
                let reason =
                    format!("a fact read from {:?} must name it in depends_on", evidence.reference);
                return Err(Rejection { rule: Rule::DependsOn, reason });
            }
            let value = clean(&value, limits::VALUE_CHARS);
            Ok(Update::Fact { key: key(&name), value, evidence, depends_on })
        }
    }
}

fn validate_plan(
    steps: Vec<ProposedItem>,
    done: BTreeMap<String, bool>,
    evidence: Option<Evidence>,
    known: &dyn ReferenceIndex,
) -> Result<Update, Rejection> {
    if let Some(evidence) = &evidence {
        check_evidence(evidence, known)?;
    }
    if steps.len() > limits::PLAN_ITEMS {
        let reason = format!("{} steps; at most {} are kept", steps.len(), limits::PLAN_ITEMS);
        return Err(Rejection { rule: Rule::TooMany, reason });
    }
    let mut ids = BTreeSet::new();
    for step in &steps {
        check_text("step", &step.text)?;
        check_text("step id", &step.id)?;
        // Compare the stored forms: two long ids that differ only at the end would collide.
        if !ids.insert(key(&step.id)) {
            let reason = format!("step id {:?} is given twice", step.id);
            return Err(Rejection { rule: Rule::Steps, reason });
        }
    }
    if let Some(stray) = done.keys().find(|id| !ids.contains(&key(id))) {
        let reason = format!("done names {stray:?}, which is not a step");
        return Err(Rejection { rule: Rule::Steps, reason });
    }
    let done = done.into_iter().map(|(id, is_done)| (key(&id), is_done)).collect();
    let steps = steps
        .into_iter()
        .map(|s| ProposedItem { id: key(&s.id), text: clean(&s.text, limits::PLAN_ITEM_CHARS) })
        .collect();
    Ok(Update::Plan { steps, done, evidence })
}

fn check_text(field: &str, value: &str) -> Result<(), Rejection> {
    // Also check the stored form, in which control characters are spaces, so that they cannot hide an empty
    // text or an order.
    let line = text::one_line(value);
    if line.is_empty() {
        return Err(Rejection { rule: Rule::Empty, reason: format!("{field} is empty") });
    }
    if let Some(words) = behavior(value).or_else(|| behavior(&line)) {
        let reason = format!("{field} tells an agent how to behave ({words:?}); only state facts");
        return Err(Rejection { rule: Rule::Behavior, reason });
    }
    Ok(())
}

fn check_evidence(evidence: &Evidence, known: &dyn ReferenceIndex) -> Result<(), Rejection> {
    let reference = evidence.reference.trim();
    let exists = !reference.is_empty()
        && match evidence.source {
            EvidenceSource::User => known.user_message(reference),
            EvidenceSource::File => known.file(reference),
            EvidenceSource::ToolOutput => known.tool_output(reference),
        };
    if exists {
        return Ok(());
    }
    let reason = format!(
        "evidence {}:{reference:?} does not exist in this thread",
        evidence.source.into_str()
    );
    Err(Rejection { rule: Rule::Evidence, reason })
}

fn key(id: &str) -> String {
    clean(id, KEY_CHARS)
}

#[cfg(test)]
mod tests;
