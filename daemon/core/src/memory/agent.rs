//! Consolidation by a model: what it is given, what it may ask for, and what of its work is taken.
//!
//! # Theory of operation
//! The agent works on a *draft* that could be published as it is: the files that the rules make, in the wording
//! that the agent gave them before ([`carried`]). It may reword, drop, order and group what is known, write
//! the first page and skills. It is believed nothing: [`check`] holds every line against the handbook. A line
//! of memory keeps the mark of the entry it rests on, and an entry of that id must be known in that project;
//! rules of the person stay, word for word; names and numbers must stand in what the project's threads
//! taught; nothing may speak like an order that no person gave. So whatever a transcript talks the model
//! into, it cannot plant a rule, a fact or a command.
//!
//! *Baseline*: what the agent saw and made when it last succeeded. With one it is given what changed since
//! ([`Mode::Incremental`]), else everything ([`Mode::Init`]). What is forgotten takes the baseline along.

mod carry;
mod check;
mod known;
mod line;
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
pub use check::{Checked, check};
pub use step::{Step, ToolCall, ToolName, schema};
pub use task::{Task, task};

/// What the agent is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Everything.
    Init,
    /// What changed since the baseline.
    Incremental,
}

impl Mode {
    /// Stable name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Init => "init",
            Self::Incremental => "incremental",
        }
    }
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
    File {
        /// Its path.
        path: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A line that cannot be believed.
    #[error("{path}:{number}: {reason}: {line}")]
    Line {
        /// Its file.
        path: String,
        /// Its number, from 1.
        number: usize,
        /// What is wrong with it.
        reason: String,
        /// Its beginning, redacted.
        line: String,
    },
    /// A rule of the person is gone.
    #[error(
        "MEMORY.md: a rule of the person's is gone or stands in another project: {text} [id {id}]"
    )]
    RuleGone {
        /// Its words.
        text: String,
        /// Its id.
        id: String,
    },
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
