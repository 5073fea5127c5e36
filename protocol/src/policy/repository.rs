//! The repository a thread works in, as a decision saw it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// State of a repository.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RepositoryState {
    /// When, Unix milliseconds.
    pub observed_at: i64,
    /// The commit that is checked out; absent before the first one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<String>,
    /// Its branch; absent: none is checked out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The branch it tracks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upstream: Option<String>,
    /// Commits the upstream lacks; absent without an upstream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ahead: Option<u64>,
    /// Commits of the upstream the branch lacks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub behind: Option<u64>,
    /// Files with staged changes.
    pub staged: u64,
    /// Files changed but not staged.
    pub unstaged: u64,
    /// Untracked files and folders.
    pub untracked: u64,
    /// Files in conflict.
    pub conflicts: u64,
    /// Whether counting stopped at a limit.
    pub is_truncated: bool,
    /// Commits made in this work tree, newest first, at most 20, by its reflog.
    pub commits: Vec<RepositoryCommit>,
    /// How many of them since the turn or the last compaction in it.
    pub commits_in_turn: u64,
    /// Whether another session works in the same folder, so these commits do not count as boundaries.
    pub is_shared: bool,
    /// The branch's place in a Graphite stack.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stack: Option<RepositoryStack>,
    /// The same in one line.
    pub summary: String,
}

/// A commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RepositoryCommit {
    /// Its id.
    pub id: String,
    /// When, Unix milliseconds, to the second.
    pub at: i64,
    /// Its subject, redacted.
    pub subject: String,
}

/// A branch's place in a stack.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RepositoryStack {
    /// The branch below it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// The branch at the bottom of the stack.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trunk: Option<String>,
    /// Number of its pull request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pull_request: Option<u64>,
}
