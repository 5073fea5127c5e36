//! Consolidation by a model: its input, its tools, and the validation of its output.
//!
//! # Theory of operation
//! The agent works on a *draft* that could be published unchanged: the files made by the rules, in the
//! agent's earlier wording ([`carry_over`]). It may reword, drop, order and group known entries, and write the
//! first page and skills. Nothing it writes is trusted: [`check`] compares every line with the handbook. A
//! memory line keeps the mark of its entry, which must exist in that project; a person's rules stay verbatim;
//! names and numbers must occur in what the project's threads taught; only a person may give orders. So
//! whatever a transcript talks the model into, it cannot plant a rule, a fact or a command.
//!
//! *Baseline*: the agent's input and output of its last success. With one it receives the changes since
//! ([`Mode::Incremental`]), else everything ([`Mode::Init`]). Forgetting deletes the baseline too.

mod carry;
mod check;
pub(in crate::memory) mod line;
mod scope;
mod skill;
mod task;
#[cfg(test)]
mod tests;
mod tool_calls;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::Files;
use super::consolidate::Handbook;
use crate::digest::Digest128;

pub use carry::{carry_over, removed_texts, without_dropped};
pub use check::{CheckInputs, check};
pub use line::group;
pub use task::{AgentTask, task};
pub use tool_calls::{AgentAnswer, ToolCall, ToolName, schema};

/// What the agent receives as input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[derive(strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum Mode {
    Init,
    /// What changed since the baseline.
    Incremental,
}

/// Input and output of the agent's last success. Stored as JSON.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Baseline {
    /// From [`input_of`].
    pub input: String,
    /// The files it published, including its inputs.
    pub files: Files,
    /// Entry ids and skill paths in its input: those missing from `files` were dropped.
    pub seen: BTreeSet<String>,
}

/// Why the agent's files were rejected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// A file that is not allowed, invalid or missing.
    #[error("{path}: {reason}")]
    File { path: String, reason: String },
    /// A line without valid evidence.
    #[error("{path}:{number}: {reason}: {line}")]
    Line {
        path: String,
        /// From 1.
        number: usize,
        reason: String,
        line: String,
    },
    #[error("MEMORY.md: a rule of the person is missing or in another project: {text} [id {id}]")]
    RuleGone { text: String, id: String },
}

/// Digest of the agent's input. While it is unchanged, the agent has nothing to do.
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

/// Whether a file is read-only input of the agent.
fn is_input(path: &str) -> bool {
    path == "raw_memories.md" || path.starts_with("rollout_summaries/")
}

fn is_skill(path: &str) -> bool {
    path.starts_with("skills/")
}
