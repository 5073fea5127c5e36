//! `thread/forget`: removes everything the daemon has of a thread.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `thread/forget`: removes a thread from the database, the archive, memory, the search index, the prompts and the
/// transcripts that the daemon records.
///
/// When the answer comes, no file of the state folder has text of the thread. It is neither archived nor learned again; of
/// the thread, only its id stays, for that. Copies in other threads are kept. After an error or a crash, the same call
/// finishes the work.
///
/// # Errors
/// `thread_not_found`; `illegal_transition` while another program's transcript of the thread exists: it would be read
/// again, and the daemon does not delete it.
pub struct ThreadForget;

/// Which thread.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ThreadForgetParams {
    /// Id of the thread, or a unique prefix of it.
    pub thread_id: String,
}

/// What was removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ThreadForgetResult {
    /// Id of the thread.
    pub thread_id: String,
    /// Bytes of its archived texts.
    pub archived_bytes: u64,
    /// Number of its compactions.
    pub compactions: u64,
    /// Number of its prompts in the daemon's file.
    pub prompts: u64,
}
