//! What a person changed in the published files: never overwritten, never taken for our own words.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::Files;

/// All changes of a person so far. Kept by the store, as JSON.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Edits {
    /// Lines written into files of ours, in the order they were found.
    pub added: Vec<AddedLine>,
    /// Lines taken out of files of ours: what they say is not said again.
    pub removed: BTreeSet<RemovedLine>,
    /// Files that are the person's now, whole: those they made, and those of ours that are kept by
    /// whole (skills, rollout summaries). `None`: taken away.
    pub files: BTreeMap<String, Option<String>>,
}

/// A line that a person wrote into a file of ours.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AddedLine {
    /// File.
    pub path: String,
    /// Headings above it, outermost first.
    pub section: Vec<String>,
    /// Its words, as written.
    pub text: String,
    /// Unix milliseconds when it was found.
    pub at_ms: i64,
}

/// A line that a person took out of a file of ours.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RemovedLine {
    /// File.
    pub path: String,
    /// Its words, list mark and white space apart.
    pub text: String,
}

impl Edits {
    /// Takes up what differs between the files as they were published and as they are found now.
    pub fn merge(&mut self, published: &Files, found: &Files, now_ms: i64) {
        let _ = (published, found, now_ms);
    }
}
