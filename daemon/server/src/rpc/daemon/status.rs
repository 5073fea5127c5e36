//! Builds the results of `daemon/status` and `daemon/metrics` from the services' values.

use std::sync::atomic::{AtomicU64, Ordering};

use longhaul_protocol::PROTOCOL_REVISION;
use longhaul_protocol::daemon::{
    IngestError, IngestState, IngestStatus, MetricsResult, StatusResult,
};

use super::VERSION;
use crate::ingest::Progress;
use crate::metering;
use crate::peer::Counters;
use crate::service::status::Status;

pub(super) async fn status(daemon: &Status, counters: &Counters) -> StatusResult {
    let (progress, instance) = (daemon.ingest(), &daemon.instance);
    StatusResult {
        version: VERSION.to_owned(),
        protocol: PROTOCOL_REVISION,
        pid: instance.pid,
        instance_id: instance.id.clone(),
        started_at: instance.started_at,
        uptime_ms: daemon.instance.uptime_ms(),
        socket: instance.socket.display().to_string(),
        state_dir: daemon.config.now().state_dir.display().to_string(),
        store: daemon.store(),
        sources: progress.sources.clone(),
        ingest: ingest(&progress),
        search: daemon.index(),
        connections: count(&counters.connections),
        requests: count(&counters.requests),
        panics: count(&counters.panics),
        model: daemon.model(),
        compactions: daemon.compaction_costs().await,
        warnings: daemon.warnings(&progress).await,
    }
}

pub(super) fn metrics(daemon: &Status, counters: &Counters) -> MetricsResult {
    let Counters { connections, in_flight, panics, refused, calls, .. } = counters;
    MetricsResult {
        uptime_ms: daemon.instance.uptime_ms(),
        methods: calls.summaries(),
        in_flight: count(in_flight),
        connections: count(connections),
        connections_refused: count(refused),
        panics: count(panics),
        ingested_bytes: daemon.ingest().bytes_done,
        stored_bytes: daemon.stored_bytes(),
        process: metering::process(),
    }
}

fn count(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}

fn ingest(progress: &Progress) -> IngestStatus {
    let errors = progress.errors.iter().map(|(path, message)| IngestError {
        path: path.clone(),
        message: message.clone(),
        at: progress.last_scan_at_ms,
    });
    IngestStatus {
        state: if progress.is_catching_up { IngestState::CatchingUp } else { IngestState::Idle },
        queued_files: progress.queued_files,
        bytes_done: progress.bytes_done,
        bytes_total: progress.bytes_total,
        last_scan_at: (progress.last_scan_at_ms != 0).then_some(progress.last_scan_at_ms),
        lines: progress.counts.lines,
        malformed: progress.counts.malformed,
        oversized: progress.counts.oversized,
        unknown: progress.counts.unknown,
        errors: errors.collect(),
    }
}
