//! The gateway's counters, for `longhaul doctor`. They are not written to a file and contain no text of requests.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use longhaul_client::clock;
use longhaul_client::gateway::{GatewayCompaction, GatewayStatus};

#[derive(Default)]
pub(crate) struct Record {
    passed: AtomicU64,
    answered: AtomicU64,
    left: AtomicU64,
    last: Mutex<Option<GatewayCompaction>>,
}

impl Record {
    pub(crate) fn passed(&self) {
        self.passed.fetch_add(1, Ordering::Relaxed);
    }

    /// Records a compaction that took `ms` milliseconds; `reason` says why it was left to the provider.
    pub(crate) fn compaction(&self, ms: u64, reason: Option<String>) {
        let count = if reason.is_none() { &self.answered } else { &self.left };
        count.fetch_add(1, Ordering::Relaxed);
        let last = GatewayCompaction { at_ms: clock::now_ms(), ms, reason };
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(last);
    }

    pub(crate) fn status(&self) -> GatewayStatus {
        GatewayStatus {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            pid: std::process::id(),
            passed: self.passed.load(Ordering::Relaxed),
            answered: self.answered.load(Ordering::Relaxed),
            left: self.left.load(Ordering::Relaxed),
            last: self.last.lock().unwrap_or_else(PoisonError::into_inner).clone(),
        }
    }
}
