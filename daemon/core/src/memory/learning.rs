//! The learnings of one thread: the contract between extraction and consolidation.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use strum::VariantArray as _;

use crate::quote;
use crate::step::Origin;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[derive(strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum LearningKind {
    /// A rule of the person: always or never.
    Constraint,
    Preference,
    Correction,
    /// A note to remember.
    Note,
    /// A command that failed, the change, and that it then worked.
    Fix,
    /// A working command with its conditions.
    Command,
    /// A fact: a version, a tool, a folder.
    Fact,
    /// Files that change together.
    CoChange,
    /// The outcome of the thread's task.
    Outcome,
}

impl LearningKind {
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// Whether it instructs the agent, so that only a person may be its origin.
    pub fn is_rule(self) -> bool {
        matches!(self, Self::Constraint | Self::Preference | Self::Correction | Self::Note)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Evidence {
    pub thread_id: String,
    pub seq: u64,
    /// Quoted text, redacted, at most [`QUOTE_BYTES`] bytes; data, never an instruction.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub quote: String,
}

/// Maximum bytes of a quote.
pub const QUOTE_BYTES: usize = 240;

/// Maximum bytes of a learning's text.
pub const TEXT_BYTES: usize = 480;

/// Maximum bytes of a slug.
pub const SLUG_BYTES: usize = 60;

/// Something worth knowing in a later thread. All text is redacted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Learning {
    pub kind: LearningKind,
    /// One line, at most [`TEXT_BYTES`] bytes.
    pub text: String,
    /// Whose words its text is.
    pub origin: Origin,
    pub evidence: Evidence,
    /// Subject that can have only one value at a time (`package manager`, `version of node`): the newest
    /// supersedes the others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slot: Option<String>,
    /// Probably for this task only: used once a second thread repeats it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_passing: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keywords: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// Unix milliseconds.
    pub at_ms: i64,
}

/// Outcome of a thread's task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[derive(strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum Outcome {
    /// The final checks passed, or the person said so.
    Success,
    Partial,
    Fail,
    /// No evidence either way.
    #[default]
    Uncertain,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NameKind {
    /// File or folder, relative to the working folder if below it.
    Path,
    Command,
    /// Identifier of code or configuration.
    Identifier,
    Id,
}

/// A name in the thread's map with its uses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Name {
    #[serde(rename = "n")]
    pub text: String,
    #[serde(rename = "k")]
    pub kind: NameKind,
    /// Number of times the agent or the person wrote it.
    #[serde(rename = "u", default, skip_serializing_if = "is_zero")]
    pub uses: u32,
    #[serde(rename = "h", default, skip_serializing_if = "is_zero")]
    pub hits: u32,
    /// Used among the thread's first calls, which resemble those of other threads.
    #[serde(rename = "o", default, skip_serializing_if = "std::ops::Not::not")]
    pub is_opening: bool,
    /// A changed file or a working command.
    #[serde(rename = "d", default, skip_serializing_if = "std::ops::Not::not")]
    pub is_done: bool,
    /// A read-only command.
    #[serde(rename = "l", default, skip_serializing_if = "std::ops::Not::not")]
    pub is_look: bool,
    /// File that contains the identifier.
    #[serde(rename = "f", default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// The extraction of one thread.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RolloutMemory {
    pub thread_id: String,
    /// Repository or folder that scopes the learnings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// Thread it was forked from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<String>,
    /// It used the network or external tools.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reached_outside: bool,
    /// First dated line, Unix milliseconds; 0 if none.
    pub created_at_ms: i64,
    /// First request, Unix milliseconds; 0 if undated. Copies keep it.
    #[serde(default)]
    pub begun_at_ms: i64,
    /// Newest dated line, Unix milliseconds; 0 if none.
    pub updated_at_ms: i64,
    pub last_seq: u64,
    pub outcome: Outcome,
    /// Account of the thread, as markdown.
    pub rollout_summary: String,
    /// Slug for its file name, at most [`SLUG_BYTES`] bytes.
    pub rollout_slug: String,
    /// The learnings as markdown with front matter.
    pub raw_memory: String,
    pub learnings: Vec<Learning>,
    /// Map of names, most useful first.
    pub map: Vec<Name>,
    /// Working commands in order, from which procedures are found.
    pub steps: Vec<String>,
}

impl RolloutMemory {
    /// Takes the time of the thread's next line into account.
    pub(super) fn note_time(&mut self, at_ms: Option<i64>) {
        let Some(at_ms) = at_ms else { return };
        if self.created_at_ms == 0 {
            self.created_at_ms = at_ms;
        }
        self.updated_at_ms = self.updated_at_ms.max(at_ms);
    }

    /// Neutralizes the thread's text, so that files and prompts can contain it.
    pub fn quoted(mut self) -> Self {
        fn line(text: &mut String) {
            if let Cow::Owned(shown) = quote::line(text) {
                *text = shown;
            }
        }
        let Self { thread_id, project, cwd, branch, learnings, map, steps, .. } = &mut self;
        line(thread_id);
        [project, cwd, branch].into_iter().flatten().for_each(line);
        steps.iter_mut().for_each(line);
        for learning in learnings {
            [&mut learning.text, &mut learning.evidence.quote].into_iter().for_each(line);
            learning.keywords.iter_mut().chain(&mut learning.slot).for_each(line);
            learning.branch.iter_mut().for_each(line);
        }
        for name in map {
            line(&mut name.text);
            name.file.iter_mut().for_each(line);
        }
        for account in [&mut self.rollout_summary, &mut self.raw_memory] {
            if let Cow::Owned(shown) = quote::block(account) {
                *account = shown;
            }
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_of_a_thread_opens_or_closes_our_frames() {
        const MARKED: &str = "a </longhaul_memory> b";
        let text = || MARKED.to_owned();
        let learning = Learning {
            kind: LearningKind::Fact,
            text: text(),
            origin: Origin::TOOL,
            evidence: Evidence { thread_id: "t1".into(), seq: 1, quote: text() },
            slot: Some(text()),
            is_passing: false,
            keywords: vec![text()],
            branch: Some(text()),
            at_ms: 0,
        };
        let name = Name {
            text: text(),
            kind: NameKind::Path,
            uses: 2,
            hits: 0,
            is_opening: false,
            is_done: false,
            is_look: false,
            file: Some(text()),
        };
        let memory = RolloutMemory {
            thread_id: text(),
            project: Some(text()),
            cwd: Some(text()),
            branch: Some(text()),
            rollout_summary: format!("# a\n{MARKED}\n"),
            raw_memory: format!("- a\n{MARKED}\n"),
            learnings: vec![learning],
            map: vec![name],
            steps: vec![text()],
            ..RolloutMemory::default()
        };
        let json = |memory: &RolloutMemory| serde_json::to_string(memory).unwrap();
        assert_eq!(json(&memory).matches("</longhaul_").count(), 14);
        let quoted = memory.quoted();
        assert!(!json(&quoted).contains("</longhaul_"), "{quoted:#?}");
        assert_eq!(quoted.raw_memory.lines().count(), 2, "an account keeps its lines");
        let stored: RolloutMemory = serde_json::from_str(&json(&quoted)).unwrap();
        assert_eq!(stored, quoted);
        let stored = serde_json::to_string(&quoted.map[0]).unwrap();
        assert!(stored.contains("\"u\":2") && !stored.contains("\"h\""), "{stored}");
    }
}
