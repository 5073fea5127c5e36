//! `job/ask`: the daemon's model, for a worker that has none: it needs no key and no network.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::text::Raw;

/// `job/ask`: asks the model for the next step of a claimed `curate` job.
///
/// The daemon adds the instructions, replaces secrets, counts requests and tokens, and keeps the answer for a run
/// that repeats it.
///
/// # Errors
/// `job_not_found`; `lease_lost`; `stale_base`: memory changed, the work is useless; `limit_exceeded`: the job has no
/// requests left; `model_unavailable`, `model_rate_limited`, `model_output_invalid`, `deadline_exceeded`.
pub struct Ask;

/// Which claim, and the conversation so far.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "JobAskParams")]
pub struct AskParams {
    /// `KIND/SUBJECT` of the claimed job.
    pub job: String,
    /// The token of the claim.
    pub token: String,
    /// The oldest first.
    pub messages: Vec<AskMessage>,
}

/// One message of the conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AskMessage {
    /// Whether the worker or the model wrote it.
    pub role: AskRole,
    /// The message as it was sent.
    pub text: Raw<String>,
}

/// Who says a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AskRole {
    /// The worker.
    User,
    /// The model.
    Assistant,
}

/// The model's answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "JobAskResult")]
pub struct AskResult {
    /// The answer as the model gave it: the next message of the conversation.
    pub text: Raw<String>,
    /// The same as a step.
    pub step: AskStep,
}

/// What the model wants done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum AskStep {
    /// Tools to run in order.
    Calls {
        /// In the order in which to run them.
        calls: Vec<FileCall>,
        /// Whether the files are finished after them.
        done: bool,
    },
    /// The answer is not a step: tell the model why, and ask again.
    Unreadable {
        /// What is wrong with the answer, in a sentence for the model.
        reason: String,
    },
}

/// One call of a file tool; unused arguments are empty or 0.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileCall {
    /// The tool to run.
    pub tool: FileTool,
    /// File or folder below the folder of memory, with `/`.
    pub path: Raw<String>,
    /// Text to write, to find, or to be replaced.
    pub text: Raw<String>,
    /// Text in its place.
    pub new_text: Raw<String>,
    /// First line, from 1.
    pub line: u64,
    /// Lines at most; 0: as many as fit.
    pub lines: u64,
}

/// A tool that works on the files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FileTool {
    /// Lists files below `path`.
    List,
    /// Reads `lines` lines of `path` from `line` on.
    Read,
    /// Writes `text` as the whole of `path`.
    Write,
    /// Replaces `text`, which must occur in `path` once, by `new_text`.
    Replace,
    /// Finds lines below `path` that contain `text`.
    Search,
    /// Deletes `path`.
    Delete,
}
