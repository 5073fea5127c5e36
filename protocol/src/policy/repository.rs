//! The repository a thread works in, as it was seen for a decision.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A repository as it was seen.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RepositorySeen {
    /// When, Unix milliseconds.
    pub seen_at: i64,
    /// The commit that is checked out; absent before the first one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<String>,
    /// Its branch; absent: none is checked out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The branch it follows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upstream: Option<String>,
    /// Commits that the upstream lacks; absent: there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ahead: Option<u64>,
    /// Commits of the upstream that are not here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub behind: Option<u64>,
    /// Files whose change is in the index.
    pub staged: u64,
    /// Files that changed beside the index.
    pub unstaged: u64,
    /// Files and folders that git does not know.
    pub untracked: u64,
    /// Files in conflict.
    pub conflicts: u64,
    /// There were more files than are counted.
    pub is_cut: bool,
    /// Commits made in this work tree, newest first, at most 20, by its reflog.
    pub commits: Vec<RepositoryCommit>,
    /// How many of them since the turn began, or since the last compaction in it.
    pub commits_in_turn: u64,
    /// Another session works in the same folder, so that these commits are no sign.
    pub is_shared: bool,
    /// The branch's place in a stack of Graphite's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stack: Option<RepositoryStack>,
    /// All of it in one line.
    pub words: String,
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
    /// The branch it stands on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// The branch all stand on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trunk: Option<String>,
    /// Number of its pull request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pull_request: Option<u64>,
}
