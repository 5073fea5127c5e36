//! Consolidation by a model: its input, its tools, and the validation of its output.
//!
//! # Theory of operation
//! The agent works on a *draft* that could be published unchanged: the files made by the rules, in the
//! agent's earlier wording ([`carried`]). It may reword, drop, order and group known entries, and write the
//! first page and skills. Nothing it writes is trusted: [`check`] compares every line with the handbook. A
//! memory line keeps the mark of its entry, which must exist in that project; a person's rules stay verbatim;
//! names and numbers must occur in what the project's threads taught; only a person may give orders. So
//! whatever a transcript talks the model into, it cannot plant a rule, a fact or a command.
//!
//! *Baseline*: the agent's input and output of its last success. With one it receives the changes since
//! ([`Mode::Incremental`]), else everything ([`Mode::Init`]). Forgetting deletes the baseline too.

mod carry;
mod check;
mod known;
pub(in crate::memory) mod line;
mod skill;
mod step;
mod task;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::Files;
use super::consolidate::Handbook;
use crate::digest::Digest128;

pub use carry::{carried, kept, taken_out};
pub use check::{CheckInputs, check};
pub use step::{AgentStep, ToolCall, ToolName, schema};
pub use task::{AgentTask, task};

/// What the agent is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[derive(strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum Mode {
    Init,
    /// What changed since the baseline.
    Incremental,
}

/// What the agent saw and made when it last succeeded. Kept by the store, as JSON.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Baseline {
    /// As of [`input_of`].
    pub input: String,
    /// The files that it published, inputs among them.
    pub files: Files,
    /// Ids of entries and paths of skills that it was shown: those not in its files it dropped.
    pub seen: BTreeSet<String>,
}

/// Why the agent's files are not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// A file that the agent may not make, or lacks.
    #[error("{path}: {reason}")]
    File { path: String, reason: String },
    /// A line that cannot be believed.
    #[error("{path}:{number}: {reason}: {line}")]
    Line {
        path: String,
        /// Its number, from 1.
        number: usize,
        reason: String,
        line: String,
    },
    #[error(
        "MEMORY.md: a rule of the person's is gone or stands in another project: {text} [id {id}]"
    )]
    RuleGone { text: String, id: String },
}

/// Digest of what the agent works from: it has nothing to do while this stays.
pub fn input_of(files: &Files, book: &Handbook) -> String {
    let mut words = String::new();
    for (path, text) in files.iter().filter(|(path, _)| is_input(path)) {
        words.push_str(&format!("{path}\n{text}\n"));
    }
    let projects = book.projects.iter().flat_map(|(key, project)| {
        project.entries.iter().map(move |entry| format!("{key} {} {}\n", entry.id, entry.text))
    });
    words.extend(projects);
    words.extend(book.profile.iter().map(|entry| format!("{} {}\n", entry.id, entry.text)));
    Digest128::of(words.as_bytes()).to_string()
}

/// Whether a file is what the agent works from, and not what it works on.
fn is_input(path: &str) -> bool {
    path == "raw_memories.md" || path.starts_with("rollout_summaries/")
}

fn is_skill(path: &str) -> bool {
    path.starts_with("skills/")
}
