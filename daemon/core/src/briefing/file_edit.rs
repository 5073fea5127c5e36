//! A change of one file, as the briefing reads it.

use serde::{Deserialize, Serialize};

use crate::rollout::patch::LineCounts;

/// A change of one file. Redacted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FileEdit {
    /// Relative to the thread's folder if inside it.
    pub path: String,
    pub added: String,
    pub removed: String,
    pub counts: LineCounts,
    /// `added` is the complete file.
    pub is_whole: bool,
    pub is_deleted: bool,
}
