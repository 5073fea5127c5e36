//! All extractions → the handbook and the files of the memory folder.

mod handbook;

use std::collections::BTreeSet;

use super::Files;
use super::edits::Edits;
use super::learning::RolloutMemory;

pub use handbook::{Entry, Handbook, MapEntry, Project, Skill, Superseded, Task};

/// What was extracted from a thread, and what became of it since.
#[derive(Debug, Clone, Copy)]
pub struct Stored<'a> {
    /// The extraction.
    pub memory: &'a RolloutMemory,
    /// Times it was cited or read.
    pub uses: u64,
    /// Unix milliseconds of the last time.
    pub last_used_ms: Option<i64>,
}

/// A note that was asked to be remembered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// Its id.
    pub id: String,
    /// Its words.
    pub text: String,
    /// Project it is for; `None`: all.
    pub project: Option<String>,
    /// Unix milliseconds.
    pub at_ms: i64,
}

/// What is not to be remembered, from now on.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Exclusions {
    /// Threads.
    pub threads: BTreeSet<String>,
    /// Projects.
    pub projects: BTreeSet<String>,
    /// Entries, by [`Entry::id`].
    pub entries: BTreeSet<String>,
}

/// Everything that memory is made of.
#[derive(Debug, Clone, Copy)]
pub struct Inputs<'a> {
    /// Extractions, in any order.
    pub threads: &'a [Stored<'a>],
    /// Notes, in any order.
    pub notes: &'a [Note],
    /// Changes of the person.
    pub edits: &'a Edits,
    /// What is left out.
    pub exclusions: &'a Exclusions,
}

/// How much is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Threads that memory is made of. Default 256 (document 000).
    pub max_threads: usize,
    /// Milliseconds after which a thread that nobody used, or that was last used then, goes. Default
    /// 30 days (document 000).
    pub max_unused_ms: i64,
    /// Tokens of `memory_summary.md`. Default 5,000 (document 000).
    pub summary_tokens: u64,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { max_threads: 256, max_unused_ms: 30 * 86_400_000, summary_tokens: 5_000 }
    }
}

/// The memory as it is to be published.
#[derive(Debug, Clone, PartialEq)]
pub struct Consolidated {
    /// Files of the memory folder.
    pub files: Files,
    /// The same as values: what [`super::summary`] reads. Not a file for people.
    pub handbook: Handbook,
    /// Threads it was made of, in the order of their ids.
    pub selected: Vec<String>,
}

/// Consolidates. The order of the inputs does not matter; the same inputs and `now_ms` give the same
/// bytes; a thread of another project changes no file of this one's but the index.
pub fn consolidate(inputs: &Inputs<'_>, bounds: &Bounds, now_ms: i64) -> Consolidated {
    let _ = (inputs, bounds, now_ms);
    Consolidated { files: Files::new(), handbook: Handbook::default(), selected: Vec::new() }
}

/// The day of a moment in UTC, as `2026-11-21`.
pub fn date(at_ms: i64) -> String {
    let at = jiff::Timestamp::from_millisecond(at_ms).unwrap_or_default();
    at.to_zoned(jiff::tz::TimeZone::UTC).date().to_string()
}
