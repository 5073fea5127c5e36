//! The repository a thread works in, as a decision saw it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

/// State of a repository.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RepositoryState {
    /// When, Unix milliseconds.
    pub observed_at: i64,
    /// The commit that is checked out; absent before the first one.
    pub head: Option<String>,
    /// Its branch; absent: none is checked out.
    pub branch: Option<String>,
    /// The branch it tracks.
    pub upstream: Option<String>,
    /// Commits the upstream lacks; absent without an upstream.
    pub ahead: Option<u64>,
    /// Commits of the upstream the branch lacks.
    pub behind: Option<u64>,
    /// Files with staged changes.
    pub staged: u64,
    /// Files changed but not staged.
    pub unstaged: u64,
    /// Untracked files and folders.
    pub untracked: u64,
    /// Files with unmerged changes.
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
    pub stack: Option<RepositoryStack>,
    /// The same in one line.
    pub summary: String,
}

/// A commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RepositoryCommit {
    /// Hash of the commit, hexadecimal.
    pub id: String,
    /// When, Unix milliseconds, to the second.
    pub at: i64,
    /// Its subject, redacted.
    pub subject: String,
}

/// A branch's place in a stack.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RepositoryStack {
    /// The branch below it.
    pub parent: Option<String>,
    /// The branch at the bottom of the stack.
    pub trunk: Option<String>,
    /// Number of its pull request.
    pub pull_request: Option<u64>,
}
