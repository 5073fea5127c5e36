//! `daemon/metrics`: the daemon's resource use and response times.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

/// `daemon/metrics`: counts and times since the start of the daemon.
pub struct Metrics;

/// Counts and times since the start of the daemon.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MetricsResult {
    /// Milliseconds since the start, by a clock that does not jump.
    pub uptime_ms: u64,
    /// Every method that was called, sorted by name.
    pub methods: Vec<MethodMetrics>,
    /// Requests that are not answered yet.
    pub in_flight: u64,
    /// Open connections, this one included.
    pub connections: u64,
    /// Connections that were rejected, or closed in favor of another.
    pub connections_refused: u64,
    /// Requests or tasks that crashed.
    pub panics: u64,
    /// Bytes of transcript read.
    pub ingested_bytes: u64,
    /// Bytes of the database with its log, and of the search index.
    pub stored_bytes: u64,
    /// Resource use of the process; absent where the system does not report it.
    pub process: Option<ProcessMetrics>,
}

/// A method: how often, how long. Times are from the request's being read to its answer's being ready, in
/// microseconds, accurate to 1 %.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MethodMetrics {
    /// Name on the wire, `namespace/verb`.
    pub method: String,
    /// Calls that were answered.
    pub calls: u64,
    /// Those of them that were answered with an error.
    pub errors: u64,
    /// Median, in microseconds.
    pub p50_us: u64,
    /// 99th percentile, in microseconds.
    pub p99_us: u64,
    /// Maximum, in microseconds.
    pub max_us: u64,
}

/// Resource use of the daemon's process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProcessMetrics {
    /// Memory that the process holds now.
    pub resident_bytes: u64,
    /// Most memory that the process has held.
    pub resident_peak_bytes: u64,
    /// Processor time of all threads, in milliseconds.
    pub cpu_ms: u64,
    /// Threads of the process now.
    pub threads: u64,
}
