//! The checkpoint as a JSON document (`checkpoint_v1`), with the host's knowledge.

use std::collections::BTreeMap;

use serde::Serialize;

use super::Checkpoint;
use super::commands::Command;
use super::files::FileState;
use super::plan::PlanState;
use super::semantic::{Dependency, Evidence, EvidenceSource, ProposedItem, Update};
use super::view::ViewInputs;
use crate::briefing::{Failure, TurnOutcome};
use crate::limits;
use crate::text::{cut, one_line};

/// Version of the document's form.
const SCHEMA_VERSION: u32 = 1;

#[derive(Debug, Serialize)]
pub struct CheckpointV1<'a> {
    schema_version: u32,
    seq: u64,
    cwd: Option<&'a str>,
    task: Option<Task<'a>>,
    plan: Plan,
    decisions: Vec<&'a Update>,
    artifacts: BTreeMap<String, Artifact<'a>>,
    facts: BTreeMap<&'a str, Fact<'a>>,
    recent_artifacts: Vec<String>,
    requests: Vec<RequestEntry<'a>>,
    errors: Vec<Failure<'a>>,
}

#[derive(Debug, Serialize)]
struct RequestEntry<'a> {
    seq: u64,
    text: &'a str,
    bytes: u64,
    outcome: TurnOutcome,
}

#[derive(Debug, Serialize)]
struct Task<'a> {
    text: &'a str,
    evidence: Evidence,
}

#[derive(Debug, Serialize)]
struct Plan {
    steps: Vec<ProposedItem>,
    done: BTreeMap<String, bool>,
    in_progress: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    evidence: Option<Evidence>,
}

#[derive(Debug, Serialize)]
struct Artifact<'a> {
    uri: &'a str,
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    hash: Option<&'a str>,
    last_observed_seq: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<FileState>,
    #[serde(skip_serializing_if = "Option::is_none")]
    standing: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<&'a Command>,
}

#[derive(Debug, Serialize)]
struct Fact<'a> {
    value: &'a str,
    evidence: &'a Evidence,
    depends_on: &'a [Dependency],
    status: &'static str,
}

pub fn document<'a>(inputs: &ViewInputs<'a>) -> CheckpointV1<'a> {
    let state = inputs.state;
    let artifacts = artifacts(inputs);
    let mut recent: Vec<(u64, &String)> =
        artifacts.iter().map(|(key, artifact)| (artifact.last_observed_seq, key)).collect();
    recent.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(b.1)));
    let recent =
        recent.into_iter().take(limits::RECENT_ARTIFACTS).map(|(_, key)| key.clone()).collect();
    CheckpointV1 {
        schema_version: SCHEMA_VERSION,
        seq: state.seq,
        cwd: state.cwd.as_deref(),
        task: state
            .requests
            .active()
            .map(|request| Task { text: &request.text, evidence: user_evidence(request.seq) }),
        plan: plan(inputs),
        decisions: inputs.semantics.decisions.iter().map(|(_, decision)| decision).collect(),
        artifacts,
        facts: facts(inputs),
        recent_artifacts: recent,
        requests: requests(state),
        errors: state.briefing.failures().collect(),
    }
}

fn requests(state: &Checkpoint) -> Vec<RequestEntry<'_>> {
    let requests = state.requests.all().iter().map(|request| RequestEntry {
        seq: request.seq,
        text: &request.text,
        bytes: request.bytes,
        outcome: state.briefing.outcome(request.turn),
    });
    requests.collect()
}

fn user_evidence(seq: u64) -> Evidence {
    Evidence { source: EvidenceSource::User, reference: seq.to_string(), hash: None }
}

fn artifacts<'a>(inputs: &ViewInputs<'a>) -> BTreeMap<String, Artifact<'a>> {
    let files = inputs.state.files.iter().map(|(key, file)| {
        let disk = inputs.disk.get(key);
        let standing = file.standing(disk);
        let seen = disk.filter(|disk| !disk.late).and_then(|disk| disk.then.as_ref());
        let artifact = Artifact {
            uri: &file.path,
            kind: "file",
            hash: file.hash.as_ref().or(seen).map(crate::digest::ContentHash::as_str),
            last_observed_seq: file.seq,
            state: Some(file.state),
            standing: Some(standing.into_str()),
            command: None,
        };
        (key.to_owned(), artifact)
    });
    let commands = inputs.state.commands.newest().map(|command| {
        let artifact = Artifact {
            uri: &command.text,
            kind: "command",
            hash: None,
            last_observed_seq: command.seq,
            state: None,
            standing: None,
            command: Some(command),
        };
        let key = cut(&one_line(&command.text), limits::COMMAND_BYTES).into_owned();
        (format!("cmd:{key}"), artifact)
    });
    files.chain(commands).collect()
}

fn plan(inputs: &ViewInputs<'_>) -> Plan {
    let own = &inputs.state.plan;
    if let Some((seq, steps, done)) = &inputs.semantics.plan
        && *seq >= own.seq
    {
        return Plan {
            steps: steps.clone(),
            done: done.clone(),
            in_progress: Vec::new(),
            evidence: None,
        };
    }
    let ids = |state: PlanState| own.items.iter().filter(move |item| item.state == state);
    let steps =
        own.items.iter().map(|item| ProposedItem { id: item.id.clone(), text: item.text.clone() });
    let evidence = (!own.items.is_empty()).then(|| Evidence {
        source: EvidenceSource::ToolOutput,
        reference: own.seq.to_string(),
        hash: None,
    });
    Plan {
        steps: steps.collect(),
        done: ids(PlanState::Done).map(|item| (item.id.clone(), true)).collect(),
        in_progress: ids(PlanState::InProgress).map(|item| item.id.clone()).collect(),
        evidence,
    }
}

fn facts<'a>(inputs: &ViewInputs<'a>) -> BTreeMap<&'a str, Fact<'a>> {
    let mut facts = BTreeMap::new();
    for (key, (_, update)) in &inputs.semantics.facts {
        if let Update::Fact { value, evidence, depends_on, .. } = update {
            let is_valid = depends_on.iter().all(|dependency| inputs.holds(dependency));
            let status = if is_valid { "VALID" } else { "SUSPECT" };
            facts.insert(key.as_str(), Fact { value, evidence, depends_on, status });
        }
    }
    facts
}
