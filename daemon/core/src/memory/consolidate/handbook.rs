//! Memory as values: what the files say in words.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::memory::learning::{Evidence, LearningKind, NameKind, Origin, Outcome};

/// All that is remembered. Saved beside the published files.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Handbook {
    /// Version of this form, see [`Handbook::VERSION`].
    pub version: u32,
    /// What holds in every project: notes without one, and what the person said in several.
    pub profile: Vec<Entry>,
    /// Projects by their key.
    pub projects: BTreeMap<String, Project>,
}

/// What is remembered of one project.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Project {
    /// Working folders of its threads.
    pub folders: BTreeSet<String>,
    /// What was learned: by kind, then by worth.
    pub entries: Vec<Entry>,
    /// What its threads met, most often needed first.
    pub map: Vec<MapEntry>,
    /// Its threads, newest first.
    pub tasks: Vec<Task>,
    /// Procedures that were repeated.
    pub skills: Vec<Skill>,
}

/// One learning, merged over threads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Stable id, of project, kind and words.
    pub id: String,
    /// What it says.
    pub kind: LearningKind,
    /// In words.
    pub text: String,
    /// The most trusted of its origins.
    pub origin: Origin,
    /// Where it is from, newest first, at most four.
    pub evidence: Vec<Evidence>,
    /// Threads that say it.
    pub threads: u32,
    /// Unix milliseconds of the first time.
    pub first_ms: i64,
    /// Unix milliseconds of the last time.
    pub last_ms: i64,
    /// What held before, newest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub superseded: Vec<Superseded>,
    /// Names in it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keywords: Vec<String>,
}

/// What held before another thing did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Superseded {
    /// In words.
    pub text: String,
    /// Unix milliseconds of the last time it held.
    pub until_ms: i64,
}

/// A name that threads of a project met.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MapEntry {
    /// The name.
    pub text: String,
    /// What it is.
    pub kind: NameKind,
    /// File an identifier stands in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Threads that met it.
    pub threads: u32,
    /// Threads that used it.
    pub users: u32,
    /// Threads that used it among their first calls.
    pub openings: u32,
    /// Threads that changed the file, or in which the command worked.
    pub done: u32,
    /// A command that only looks.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_look: bool,
    /// Threads of the project since the last one that met it.
    pub age_threads: u32,
    /// Worth of telling it to the next thread, higher first.
    pub gain: u64,
}

/// One thread.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// Thread.
    pub thread_id: String,
    /// What was asked, in one line.
    pub title: String,
    /// What became of it.
    pub outcome: Outcome,
    /// Unix milliseconds of its newest line.
    pub updated_at_ms: i64,
    /// File with its summary, below the memory folder.
    pub summary_path: String,
    /// Names to find it by.
    pub keywords: Vec<String>,
}

/// A procedure that was repeated.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skill {
    /// Folder below `skills/`.
    pub name: String,
    /// Its commands, in order.
    pub steps: Vec<String>,
    /// Threads in which they ran in this order.
    pub threads: u32,
    /// Unix milliseconds of the last time.
    pub last_ms: i64,
}

impl Handbook {
    /// Version of the form.
    pub const VERSION: u32 = 1;

    /// Renders it; [`Handbook::read`] gives an equal one back.
    pub fn to_json(&self) -> String {
        // Strings, numbers and maps with string keys: serialising them to memory cannot fail.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Reads it; `None` when it is of another version or damaged: consolidation makes it anew.
    pub fn read(json: &str) -> Option<Self> {
        serde_json::from_str::<Self>(json).ok().filter(|book| book.version == Self::VERSION)
    }
}
