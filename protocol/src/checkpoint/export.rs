//! `checkpoint_v1.json`: the checkpoint as a file that other programs keep and read.
//!
//! The document of `checkpoint/get` holds more, under the wire's own names. The file has exactly the names and members of
//! its proposal; `schema/checkpoint_v1.schema.json` is its schema.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_with_macros::skip_serializing_none;

use super::{Dependency, Evidence, PlanStep};

/// The file. Read from the document of `checkpoint/get`, written in its own form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all(serialize = "camelCase", deserialize = "snake_case"))]
#[schemars(deny_unknown_fields)]
pub struct CheckpointV1 {
    /// Always 1.
    #[schemars(extend("const" = 1))]
    pub schema_version: u32,
    /// Last line of the transcript that is folded into it.
    pub seq: u64,
    /// The person's last request.
    pub task: Option<ExportedTask>,
    /// Empty if the agent made none.
    pub plan: ExportedPlan,
    /// Decisions that are not superseded, oldest first.
    pub decisions: Vec<ExportedDecision>,
    /// Files and commands, by URI.
    pub artifacts: BTreeMap<String, ExportedArtifact>,
    /// Facts, by key.
    pub facts: BTreeMap<String, ExportedFact>,
    /// Keys of the artifacts that were touched last, newest first.
    pub recent_artifacts: Vec<String>,
}

/// The person's last request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct ExportedTask {
    /// The request, redacted.
    pub text: String,
    /// The message with the request.
    pub evidence: Evidence,
}

/// The plan.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct ExportedPlan {
    /// The steps, in order.
    pub steps: Vec<PlanStep>,
    /// Which steps are done, by id.
    pub done: BTreeMap<String, bool>,
    /// Where it comes from.
    pub evidence: Option<Evidence>,
}

/// A decision with its reason.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all(serialize = "camelCase", deserialize = "snake_case"))]
#[schemars(deny_unknown_fields)]
pub struct ExportedDecision {
    /// Unique in the checkpoint; chosen by who recorded it.
    pub decision_id: String,
    /// What it is about.
    pub topic: Option<String>,
    /// What was decided, in a sentence.
    pub decision: String,
    /// The reason, in a sentence.
    pub rationale: String,
    /// The decision it replaced.
    pub supersedes: Option<String>,
    /// Where it comes from.
    pub evidence: Evidence,
}

/// A file or a command that the thread touched.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all(serialize = "camelCase", deserialize = "snake_case"))]
#[schemars(deny_unknown_fields)]
pub struct ExportedArtifact {
    /// The path or the command line.
    pub uri: String,
    /// What `uri` names.
    pub kind: ArtifactKind,
    /// Its content as the host saw it.
    pub hash: Option<String>,
    /// The line that touched it last.
    pub last_observed_seq: u64,
}

/// What an artifact is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ArtifactKind {
    /// A file.
    File,
    /// What a tool printed.
    ToolOutput,
    /// A command.
    Command,
}

/// A fact and whether it still holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all(serialize = "camelCase", deserialize = "snake_case"))]
#[schemars(deny_unknown_fields)]
pub struct ExportedFact {
    /// The statement, redacted.
    pub value: String,
    /// Where it comes from.
    pub evidence: Evidence,
    /// The files it depends on.
    pub depends_on: Vec<Dependency>,
    /// Whether they are what they were.
    pub status: FactStatus,
}

/// Whether a fact still holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum FactStatus {
    /// Its files are what they were.
    Valid,
    /// A file changed, or cannot be checked.
    Suspect,
}

impl CheckpointV1 {
    /// Converts the document of `checkpoint/get`, whose artifacts have keys of the host.
    ///
    /// # Errors
    /// `document` is not one of `checkpoint/get`.
    pub fn read(document: Value) -> serde_json::Result<Self> {
        let mut read: Self = serde_json::from_value(document)?;
        for key in &mut read.recent_artifacts {
            if let Some(artifact) = read.artifacts.get(key) {
                key.clone_from(&artifact.uri);
            }
        }
        let artifacts = std::mem::take(&mut read.artifacts).into_values();
        read.artifacts = artifacts.map(|artifact| (artifact.uri.clone(), artifact)).collect();
        Ok(read)
    }

    /// The schema of the file, as it is committed.
    #[must_use]
    pub fn schema_text() -> String {
        let settings = SchemaSettings::draft2020_12().for_serialize();
        let schema = settings.into_generator().into_root_schema_for::<Self>();
        format!("{:#}\n", schema.to_value())
    }
}
