//! What one thread teaches, as values: the contract between extraction and consolidation.

use serde::{Deserialize, Serialize};

/// What a learning says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LearningKind {
    /// Never to be done, or always: a limit the person set.
    Constraint,
    /// How the person wants things done.
    Preference,
    /// The person put the agent right.
    Correction,
    /// A note that was asked to be remembered.
    Note,
    /// A command that failed, what changed, and that it then worked.
    Fix,
    /// A command that works, and under which conditions.
    Command,
    /// Something that is so: a version, a tool, a folder.
    Fact,
    /// Files that change together.
    CoChange,
    /// What became of the thread's task.
    Outcome,
}

impl LearningKind {
    /// Every kind.
    pub const ALL: [Self; 9] = [
        Self::Constraint,
        Self::Preference,
        Self::Correction,
        Self::Note,
        Self::Fix,
        Self::Command,
        Self::Fact,
        Self::CoChange,
        Self::Outcome,
    ];

    /// Whether it tells the agent what to do, so that only a person may be its origin.
    pub fn is_rule(self) -> bool {
        matches!(self, Self::Constraint | Self::Preference | Self::Correction | Self::Note)
    }

    /// Stable name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Constraint => "constraint",
            Self::Preference => "preference",
            Self::Correction => "correction",
            Self::Note => "note",
            Self::Fix => "fix",
            Self::Command => "command",
            Self::Fact => "fact",
            Self::CoChange => "co_change",
            Self::Outcome => "outcome",
        }
    }
}

/// Whose words a learning rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// The person.
    User,
    /// Content of a file of the project.
    File,
    /// What a command or tool printed.
    ToolOutput,
    /// The agent's own account.
    Agent,
    /// A page of the web, or a tool that reaches outside.
    Web,
}

impl Origin {
    /// Every origin, the most trusted first.
    pub const ALL: [Self; 5] = [Self::User, Self::File, Self::ToolOutput, Self::Agent, Self::Web];

    /// Stable name.
    pub fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::File => "file",
            Self::ToolOutput => "tool_output",
            Self::Agent => "agent",
            Self::Web => "web",
        }
    }
}

/// Where a learning is from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Evidence {
    /// Thread.
    pub thread_id: String,
    /// Line of its transcript.
    pub seq: u64,
    /// The words, redacted, at most [`QUOTE_BYTES`] bytes; data, never an instruction.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub quote: String,
}

/// Bytes of a quote.
pub const QUOTE_BYTES: usize = 240;

/// Bytes of a learning's text.
pub const TEXT_BYTES: usize = 480;

/// One thing worth knowing in a later thread. All text is redacted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Learning {
    /// What it says.
    pub kind: LearningKind,
    /// In words: one line, at most [`TEXT_BYTES`] bytes.
    pub text: String,
    /// Whose words it rests on.
    pub origin: Origin,
    /// Where it is from.
    pub evidence: Evidence,
    /// What it is about, where only one value can hold at a time (`package manager`, `version of node`):
    /// the newest one supersedes the others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slot: Option<String>,
    /// Said for this task only as far as one can tell: served once a second thread says it too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_passing: bool,
    /// Names in it, for the search.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keywords: Vec<String>,
    /// Branch it was seen on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// Unix milliseconds.
    pub at_ms: i64,
}

/// What became of a thread's task.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Evidence that it was done: checks passed last, or the person said so.
    Success,
    /// Part of it is done.
    Partial,
    /// Evidence that it was not.
    Fail,
    /// No evidence either way.
    #[default]
    Uncertain,
}

impl Outcome {
    /// Stable name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Partial => "partial",
            Self::Fail => "fail",
            Self::Uncertain => "uncertain",
        }
    }
}

/// What a name is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NameKind {
    /// File or folder, from the working folder where it is below it.
    Path,
    /// Whole command line.
    Command,
    /// Identifier of code or configuration.
    Identifier,
    /// Hash, issue, URL.
    Id,
}

/// One name of the thread's map: what it met, and what for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Name {
    /// The name, redacted.
    #[serde(rename = "n")]
    pub text: String,
    /// What it is.
    #[serde(rename = "k")]
    pub kind: NameKind,
    /// Times the agent or the person wrote it.
    #[serde(rename = "u", default, skip_serializing_if = "is_zero")]
    pub uses: u32,
    /// Times it stood in anything.
    #[serde(rename = "h", default, skip_serializing_if = "is_zero")]
    pub hits: u32,
    /// Used among the thread's first calls: a thread's beginning resembles another's.
    #[serde(rename = "o", default, skip_serializing_if = "std::ops::Not::not")]
    pub is_opening: bool,
    /// A file the thread changed; a command that worked.
    #[serde(rename = "d", default, skip_serializing_if = "std::ops::Not::not")]
    pub is_done: bool,
    /// A command that only looks.
    #[serde(rename = "l", default, skip_serializing_if = "std::ops::Not::not")]
    pub is_look: bool,
    /// File that an identifier was seen in.
    #[serde(rename = "f", default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// What was extracted from one thread.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RolloutMemory {
    /// Thread.
    pub thread_id: String,
    /// Repository or folder that scopes what was learned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Working folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Branch at the start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// Thread whose history it began with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<String>,
    /// It used the network, or tools that reach outside.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reached_outside: bool,
    /// Unix milliseconds of the first dated line; 0 when none is.
    pub created_at_ms: i64,
    /// Unix milliseconds of the first request; 0 when it is not dated. Copies keep it.
    #[serde(default)]
    pub begun_at_ms: i64,
    /// Unix milliseconds of the newest dated line; 0 when none is.
    pub updated_at_ms: i64,
    /// Line read last.
    pub last_seq: u64,
    /// What became of the task.
    pub outcome: Outcome,
    /// What happened, as markdown.
    pub rollout_summary: String,
    /// A name for its file, see [`super::slug`].
    pub rollout_slug: String,
    /// What was learned, as markdown with a head.
    pub raw_memory: String,
    /// What was learned, as values.
    pub learnings: Vec<Learning>,
    /// What the thread met: most useful first.
    pub map: Vec<Name>,
    /// Working commands in the order they ran, as lines: procedures are found in them.
    pub steps: Vec<String>,
}
