//! Memory as values, from which the files are rendered.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::memory::learning::{Evidence, LearningKind, NameKind, Outcome};
use crate::step::Origin;

/// The whole memory. Saved next to the published files.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Handbook {
    /// Format version, see [`Handbook::VERSION`].
    pub version: u32,
    /// Global entries: notes without a project, and rules that the person set in several projects.
    pub profile: Vec<Entry>,
    pub projects: BTreeMap<String, Project>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Project {
    /// Working folders of its threads.
    pub folders: BTreeSet<String>,
    /// Learnings by kind, then by value.
    pub entries: Vec<Entry>,
    /// Names used by its threads, most often needed first.
    pub map: Vec<MapEntry>,
    /// Its threads, newest first.
    pub tasks: Vec<TaskEntry>,
    /// Its threads that are not listed, newest first: copies that a task repeats, and those whose lines a person removed.
    /// Their summaries are files as well, and belong to this project alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unlisted: Vec<TaskEntry>,
    pub skills: Vec<Skill>,
    /// Notes that no person confirmed, newest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<UnconfirmedNote>,
}

/// A learning merged over threads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Stable id from project, kind and text.
    pub id: String,
    pub kind: LearningKind,
    pub text: String,
    /// Who wrote the text.
    pub origin: Origin,
    /// Sources, newest first, at most four.
    pub evidence: Vec<Evidence>,
    pub threads: u32,
    /// First time, Unix milliseconds.
    pub first_ms: i64,
    /// Last time, Unix milliseconds.
    pub last_ms: i64,
    /// Earlier values, newest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub superseded: Vec<EarlierValue>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keywords: Vec<String>,
}

impl Entry {
    /// Whether it is a rule for later threads. A correction counts only for its own thread until a second one repeats it.
    pub fn is_standing_rule(&self) -> bool {
        self.kind.is_rule() && (self.kind != LearningKind::Correction || self.threads > 1)
    }
}

/// A note of an agent or a program that no person confirmed: only quoted, in its own project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnconfirmedNote {
    pub note_id: String,
    pub text: String,
    pub origin: Origin,
    /// Unix milliseconds.
    pub at_ms: i64,
}

/// A value that was superseded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EarlierValue {
    pub text: String,
    /// Last time it was valid, Unix milliseconds.
    pub until_ms: i64,
}

/// A name used by threads of a project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MapEntry {
    pub text: String,
    pub kind: NameKind,
    /// File that contains the identifier.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    pub threads: u32,
    /// Number of threads that used it.
    pub users: u32,
    /// Number of threads that used it among their first calls.
    pub openings: u32,
    /// Number of threads that changed the file or in which the command worked.
    pub done: u32,
    /// A read-only command.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_look: bool,
    /// Threads of the project since the last use.
    pub age_threads: u32,
    /// Value for the next thread, higher first.
    pub gain: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskEntry {
    pub thread_id: String,
    /// The request, in one line.
    pub title: String,
    pub outcome: Outcome,
    /// Time of its newest line, Unix milliseconds.
    pub updated_at_ms: i64,
    /// Path of its summary in the memory folder.
    pub summary_path: String,
    pub keywords: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skill {
    /// Folder below `skills/`.
    pub name: String,
    pub steps: Vec<String>,
    /// Number of threads that ran them in this order.
    pub threads: u32,
    /// Last time, Unix milliseconds.
    pub last_ms: i64,
}

impl Project {
    /// All threads that have a summary, listed or not.
    pub fn threads(&self) -> impl Iterator<Item = &TaskEntry> {
        self.tasks.iter().chain(&self.unlisted)
    }
}

impl Handbook {
    pub const VERSION: u32 = 2;

    /// Whether an entry has this id.
    pub fn has_entry(&self, id: &str) -> bool {
        let of_projects = self.projects.values().flat_map(|project| &project.entries);
        self.profile.iter().chain(of_projects).any(|entry| entry.id == id)
    }

    /// The inverse of [`Handbook::read`].
    pub fn to_json(&self) -> String {
        // Strings, numbers and maps with string keys: serializing them to memory cannot fail.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Parses it; `None` if damaged or of another version, in which case consolidation rebuilds it.
    pub fn read(json: &str) -> Option<Self> {
        serde_json::from_str::<Self>(json).ok().filter(|book| book.version == Self::VERSION)
    }
}
