//! The thread to decide on.

use std::sync::Arc;

use longhaul_core::context::window::Window;
use longhaul_core::fold::Fold;

/// A thread whose last line is older than this is not live.
const LIVE_MS: i64 = 600_000;

#[derive(Debug, Clone, Default)]
pub struct Subject {
    pub thread_id: String,
    /// As it was after this line.
    pub as_of: Option<u64>,
    pub model: Option<String>,
    /// Tokens in its whole window.
    pub context_window: Option<u64>,
}

pub(super) struct ThreadState {
    pub(super) thread_id: String,
    pub(super) fold: Arc<Fold>,
    pub(super) window: Window,
    /// Tokens in it.
    pub(super) used: u64,
}

/// Whether a thread with a last line of `updated_ms` is live.
pub(super) fn is_live(updated_ms: i64, now_ms: i64) -> bool {
    now_ms.abs_diff(updated_ms) <= LIVE_MS.unsigned_abs()
}
