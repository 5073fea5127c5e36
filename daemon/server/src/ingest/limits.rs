//! Bounds and periods of ingestion.

use std::time::Duration;

use crate::transcript::LINE_BYTES_MAX;

/// Bounds and periods. The defaults are for production; tests lower them.
#[derive(Debug, Clone)]
pub struct Limits {
    /// See [`LINE_BYTES_MAX`].
    pub line_bytes_max: usize,
    /// Bytes of text folded before a batch is stored.
    pub batch_bytes: u64,
    /// Full item pages before a batch is stored.
    pub batch_pages: usize,
    /// Interval between full listings.
    pub scan_period: Duration,
    /// Time in which several hints are merged into one pass.
    pub debounce: Duration,
    /// Time without growth before the lines of a long file are compared.
    pub rest: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            line_bytes_max: LINE_BYTES_MAX,
            batch_bytes: 4 << 20,
            batch_pages: 128,
            scan_period: Duration::from_secs(60),
            debounce: Duration::from_millis(20),
            rest: Duration::from_secs(30),
        }
    }
}
