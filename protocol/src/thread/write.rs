//! `thread/open`, `thread/append`, `thread/close`: threads of clients without a transcript of their own.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_with_macros::skip_serializing_none;

use super::ThreadKind;

/// `thread/open`: starts a thread, or returns the one opened under the same key.
///
/// The daemon writes its transcript; from then on it is a thread like any other, of the source `longhaul`.
/// Opening a thread again does not change it.
///
/// # Errors
/// `thread_not_found` for a `thread_id` that `thread/open` has not created; `disk_full`, `permission_denied`.
pub struct Open;

/// Which thread, and how it begins. At most one of `thread_id` and `client_thread_id` is given; with
/// neither, every call begins a new thread.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ThreadOpenParams")]
pub struct OpenParams {
    /// A thread opened before.
    pub thread_id: Option<String>,
    /// The client's own key of the thread: one `originator` has one thread under one key. At most
    /// `limit::CLIENT_ID_BYTES_MAX` bytes, no control characters.
    pub client_thread_id: Option<String>,
    /// The folder it works in, an absolute path.
    pub cwd: String,
    /// The program that opens it, at most `limit::CLIENT_ID_BYTES_MAX` bytes.
    pub originator: String,
    /// The version of that program.
    pub version: Option<String>,
    /// Its title; absent: its first request.
    pub title: Option<String>,
    /// The model it begins with.
    pub model: Option<String>,
    /// Tokens of its context window; absent: from the configuration or the model.
    pub context_window: Option<u64>,
    /// Who drives it; absent: `interactive`, or `subagent` with a `parent_thread_id`.
    pub kind: Option<ThreadKind>,
    /// The thread that started this one.
    pub parent_thread_id: Option<String>,
}

/// The thread.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ThreadOpenResult")]
pub struct OpenResult {
    /// Id of the thread, for `thread/append`.
    pub thread_id: String,
    /// Its transcript, written by the daemon alone.
    pub path: String,
    /// Seq of its last line.
    pub seq: u64,
    /// Whether this call created it.
    pub created: bool,
}

/// `thread/append`: adds items to a thread, all or none.
///
/// It answers once they are on disk. An item is identified by its `client_item_id`: one that the thread already
/// has is skipped, so the same request may be sent again, even after a crash of either end. Anything that looks
/// like a credential is replaced before it is written. Appends of several clients to one thread run one after
/// another; use `expected_seq` for items that must directly follow what they answer.
///
/// # Errors
/// `stale_base` if others have appended since `expected_seq`: the detail holds `present`.
/// `invalid_params` for an item that no reader would understand, or whose `client_item_id` the thread holds
/// with other content; `limit_exceeded` for one over the
/// bound: the detail holds its `index`, `client_item_id` and the `reason`; nothing was written.
/// `thread_not_found`; `disk_full`: nothing was written, and the same request works when there is space.
pub struct Append;

/// What to add.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ThreadAppendParams")]
pub struct AppendParams {
    /// A thread of `thread/open`.
    pub thread_id: String,
    /// In their order, at most `limit::APPEND_ITEMS_MAX`.
    pub items: Vec<AppendItem>,
    /// The seq the caller expects the thread to have; absent: any.
    pub expected_seq: Option<u64>,
}

/// One addition. Exactly one of `item` and `marker` is given.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AppendItem {
    /// The client's own id of it, unique in the thread. At most `limit::CLIENT_ID_BYTES_MAX` bytes, no
    /// control characters.
    pub client_item_id: String,
    /// A history item in the Responses API form, at most `limit::APPEND_ITEM_BYTES_MAX` bytes.
    pub item: Option<Value>,
    /// An event other than an item.
    pub marker: Option<Marker>,
}

/// An event of a thread other than an item.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum Marker {
    /// The folder or model changes from here on.
    Settings {
        /// The folder, an absolute path.
        cwd: Option<String>,
        /// Name of the model; absent: as before.
        model: Option<String>,
    },
    /// A turn begins.
    TurnStarted,
    /// A turn ended by itself.
    TurnComplete,
    /// A turn was interrupted.
    TurnAborted,
    /// The person rolled back the last turns.
    RolledBack {
        /// How many turns are taken back, from the newest.
        turns: u32,
    },
    /// The client replaced the history before by `replacement_history`.
    Compacted {
        /// The summary; may be empty.
        #[serde(default)]
        message: String,
        /// The items that replace it.
        replacement_history: Vec<Value>,
    },
}

/// What was added.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ThreadAppendResult")]
pub struct AppendResult {
    /// Id of the thread.
    pub thread_id: String,
    /// Seq of its last line now.
    pub seq: u64,
    /// Bytes of its transcript now: a `min_offset` of `thread/sync`.
    pub offset: u64,
    /// Additions that were written.
    pub appended: u64,
    /// Additions that the thread already had.
    pub duplicates: u64,
    /// Secrets replaced in what was written.
    pub redacted: u64,
}

/// `thread/close`: ends appending for now. It answers once everything appended is ingested; a later `thread/append`
/// reopens the thread.
///
/// # Errors
/// `thread_not_found`.
pub struct Close;

/// Which thread.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ThreadCloseParams")]
pub struct CloseParams {
    /// A thread of `thread/open`.
    pub thread_id: String,
}

/// The closed thread.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ThreadCloseResult")]
pub struct CloseResult {
    /// Id of the thread.
    pub thread_id: String,
    /// The transcript, an absolute path.
    pub path: String,
    /// Seq of its last line.
    pub seq: u64,
}
