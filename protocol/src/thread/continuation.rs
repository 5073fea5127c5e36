//! `thread/continue`: a new Codex transcript that goes on from a compacted thread.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Method;
use crate::compaction::{OwnTexts, RunResult, Strategy};

/// `thread/continue`: compacts a thread, and begins a new one with what came of it.
///
/// The new thread is a transcript in Codex's own folder, for `codex resume`; the one gone on from is only
/// read. Its checkpoint goes on in the new thread, and handles of it stay valid.
///
/// # Errors
/// `thread_not_found`; `thread_busy` while the thread's own agent is at work; `disk_full`,
/// `permission_denied`.
#[derive(Debug, Clone, Copy)]
pub struct Continue;

impl Method for Continue {
    const NAME: &'static str = "thread/continue";
    type Params = ContinueParams;
    type Result = ContinueResult;
}

/// Which thread, and how it is compacted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ThreadContinueParams")]
pub struct ContinueParams {
    /// The thread, of any source.
    pub thread_id: String,
    /// As it was after the item of this seq; absent: as it is now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub as_of: Option<u64>,
    /// How; absent: `auto`. A history that only its provider can read is none to go on with: `remote` is
    /// refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strategy: Option<Strategy>,
    /// Bound of the view, as in `compaction/run`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// Milliseconds a model may take, as in `compaction/run`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_ms: Option<u64>,
    /// Texts of this call alone, as in `compaction/run`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub templates: Option<OwnTexts>,
}

/// The new thread.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ThreadContinueResult")]
pub struct ContinueResult {
    /// Its id.
    pub thread_id: String,
    /// Its transcript.
    pub path: String,
    /// The command that resumes it, word by word.
    pub command: Vec<String>,
    /// The compaction it begins with.
    pub compaction: RunResult,
}
