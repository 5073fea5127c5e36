//! `message_history/*`: the person's earlier prompts, for recall.
//!
//! Prompts, not conversations. Ours are in a file of the daemon, those of Codex in its `history.jsonl`, which
//! is only read; a lookup returns both, ordered by time.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

use crate::text::Raw;

/// `message_history/append`: keeps one prompt.
///
/// Anything that looks like a credential is replaced before it is written. If the file exceeds its bound, the oldest
/// prompts are removed; the numbers of the others do not change.
///
/// # Errors
/// `limit_exceeded` for a text over `limit::MESSAGE_BYTES_MAX`; `store_busy` when another process holds
/// the file; `disk_full`.
pub struct Append;

/// The prompt.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "MessageHistoryAppendParams")]
pub struct AppendParams {
    /// The message, at most `limit::MESSAGE_BYTES_MAX` bytes.
    pub text: String,
    /// The thread it was sent in.
    pub thread_id: Option<String>,
    /// The folder that thread works in.
    pub cwd: Option<String>,
}

/// Where it was stored.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "MessageHistoryAppendResult")]
pub struct AppendResult {
    /// Whether it was stored; false if the configuration says `persistence = "none"`.
    pub persisted: bool,
    /// The log; present if it was stored.
    pub log_id: Option<String>,
    /// Its number in the log, which never changes; present if it was stored.
    pub offset: Option<u64>,
    /// Secrets replaced in it.
    pub redacted: u64,
    /// Old prompts that were removed for it.
    pub trimmed: u64,
}

/// `message_history/lookup`: prompts, the newest first; or the one at a place.
pub struct Lookup;

/// Which prompts.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "MessageHistoryLookupParams")]
pub struct LookupParams {
    /// Only of this log; a log that no longer exists has no prompts.
    pub log_id: Option<String>,
    /// The one prompt of this number; needs `log_id`.
    pub offset: Option<u64>,
    /// Only those that contain all these words, in any order, ignoring case.
    pub query: Option<String>,
    /// Only those of this program: `longhaul`, `codex`.
    pub source: Option<String>,
    /// Only those of this thread.
    pub thread_id: Option<String>,
    /// Only those sent in exactly this folder; Codex does not record it.
    pub cwd: Option<String>,
    /// Rows of the page, as in `thread/list`.
    pub limit: Option<u32>,
    /// `next_cursor` of the previous page.
    pub cursor: Option<String>,
}

/// A page of prompts.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "MessageHistoryLookupResult")]
pub struct LookupResult {
    /// The newest first.
    pub messages: Vec<Message>,
    /// The logs that were read.
    pub logs: Vec<Log>,
    /// Present when there are more.
    pub next_cursor: Option<String>,
}

/// A prompt.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Message {
    /// The program that kept it: `longhaul`, `codex`.
    pub source: String,
    /// The log that holds it.
    pub log_id: String,
    /// Number of the message in its log, from 0.
    pub offset: u64,
    /// When it was sent, Unix milliseconds; Codex records whole seconds.
    pub at: i64,
    /// Its words, secrets replaced.
    pub text: Raw<String>,
    /// The thread it was sent in.
    pub thread_id: Option<String>,
    /// The folder it was sent in.
    pub cwd: Option<String>,
}

/// A file of prompts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Log {
    /// The program that writes it.
    pub source: String,
    /// Its id, constant for one file.
    pub log_id: String,
    /// The log's file, an absolute path.
    pub path: String,
    /// Number of the oldest prompt it holds.
    pub first: u64,
    /// Number that the next prompt will have.
    pub next: u64,
}
