//! `thread/continue`: a new transcript of an agent that continues a compacted thread.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

use super::ResumePrice;
use crate::compaction::{RunResult, Strategy, TemplateOverrides};

/// `thread/continue`: compacts a thread and starts a new one with the result.
///
/// The new thread is a transcript in the agent's own folder, for `codex resume` or `claude --resume`; the old one is only
/// read. Its checkpoint continues in the new thread, and its handles stay valid.
///
/// # Errors
/// `thread_not_found`; `invalid_params` if `to` cannot resume a transcript of ours; `thread_busy` if Codex has the
/// thread open and is to continue it; `disk_full`, `permission_denied`.
pub struct Continue;

/// Which thread, and how it is compacted.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ThreadContinueParams")]
pub struct ContinueParams {
    /// The thread, of any source.
    pub thread_id: String,
    /// The agent that continues it, `codex` or `claude`; absent: the thread's own where it is one of them, else `codex`.
    pub to: Option<String>,
    /// As it was after the item of this seq; absent: as it is now.
    pub as_of: Option<u64>,
    /// How; absent: `auto`. `remote` is refused: a history that only its provider can read cannot be
    /// continued.
    pub strategy: Option<Strategy>,
    /// Bound of the view, as in `compaction/run`.
    pub max_tokens: Option<u64>,
    /// Milliseconds a model may take, as in `compaction/run`.
    pub deadline_ms: Option<u64>,
    /// Texts of this call alone, as in `compaction/run`.
    pub templates: Option<TemplateOverrides>,
}

/// The new thread.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ThreadContinueResult")]
pub struct ContinueResult {
    /// Id of the new thread.
    pub thread_id: String,
    /// The new transcript, an absolute path.
    pub path: String,
    /// The command that resumes it, as arguments.
    pub command: Vec<String>,
    /// The compaction it begins with.
    pub compaction: RunResult,
    /// The old thread's knowledge of the working tree, compared with the disk now; absent with `as_of`.
    pub checked: Option<CheckedTree>,
    /// The saving: cost of resuming the old thread and the new one.
    pub resume: Option<ResumePrice>,
}

/// Files and facts of a thread, each compared with the disk.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CheckedTree {
    /// Files unchanged since the thread read or left them.
    pub unchanged: u64,
    /// The first 32 of those with other content, the latest touched first, as the agent wrote them.
    pub changed: Vec<String>,
    /// The first 32 of those that are gone.
    pub gone: Vec<String>,
    /// Files that could not be checked: outside the thread's folder, too large, or not observed in time.
    pub unverified: u64,
    /// Facts whose files are unchanged.
    pub facts_valid: u64,
    /// Names of the first 32 facts whose files changed or could not be checked.
    pub facts_suspect: Vec<String>,
}
