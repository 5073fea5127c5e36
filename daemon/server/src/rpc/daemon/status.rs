//! Builds the results of `daemon/status` and `daemon/metrics` from the services' values.

use std::sync::atomic::{AtomicU64, Ordering};

use longhaul_core::compaction::account::AgentAccount;
use longhaul_protocol::PROTOCOL_REVISION;
use longhaul_protocol::daemon::{
    CompactionsStatus, IngestError, IngestState, IngestStatus, MethodMetrics, MetricsResult,
    ModelStatus, ProcessMetrics, SalvageStatus, SourceStatus, StatusResult, StoreStatus,
    TaskModelStatus,
};
use longhaul_protocol::warning::Warning;
use longhaul_store::{CompactionTotals, RebuildReport};

use super::super::convert;
use super::VERSION;
use crate::ingest::Progress;
use crate::link::Counters;
use crate::metering::ProcessUse;
use crate::service::context::bill::Bills;
use crate::service::status::{DaemonWarning, ModelUse, Status, StoreState};

pub(super) async fn status(daemon: &Status, bills: &Bills, counters: &Counters) -> StatusResult {
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
        store: store(daemon.store()),
        sources: sources(&progress),
        ingest: ingest(&progress),
        search: convert::index_status(daemon.index()),
        connections: count(&counters.connections),
        requests: count(&counters.requests),
        panics: count(&counters.panics),
        model: daemon.model().map(model),
        compactions: compactions(daemon.compactions().await, agents(bills).await),
        warnings: daemon.warnings(&progress).into_iter().map(warning).collect(),
    }
}

pub(super) fn metrics(daemon: &Status, counters: &Counters) -> MetricsResult {
    let Counters { connections, in_flight, panics, refused, calls, .. } = counters;
    let methods = calls.summaries().into_iter().map(|times| MethodMetrics {
        method: times.method.to_owned(),
        calls: times.calls,
        errors: times.errors,
        p50_us: times.p50_us,
        p99_us: times.p99_us,
        max_us: times.max_us,
    });
    MetricsResult {
        uptime_ms: daemon.instance.uptime_ms(),
        methods: methods.collect(),
        in_flight: count(in_flight),
        connections: count(connections),
        connections_refused: count(refused),
        panics: count(panics),
        ingested_bytes: daemon.ingest().bytes_done,
        stored_bytes: daemon.store().bytes,
        process: ProcessUse::now().map(|taken| ProcessMetrics {
            resident_bytes: taken.resident_bytes,
            resident_peak_bytes: taken.resident_peak_bytes,
            cpu_ms: taken.processor_ms,
            threads: taken.threads,
        }),
    }
}

fn compactions(totals: CompactionTotals, agents: Option<AgentAccount>) -> CompactionsStatus {
    CompactionsStatus {
        compactions: totals.compactions,
        since: totals.since_ms,
        requests: totals.requests,
        tokens: totals.tokens_spent,
        duration_ms: totals.duration_ms,
        history_tokens: totals.tokens_before,
        agent_compactions: agents.map_or(0, |account| account.compactions),
        agent_tokens: agents.and_then(|account| {
            Some(account.input_tokens? + account.output_tokens.unwrap_or_default())
        }),
        agent_duration_ms: agents.and_then(|account| account.duration_ms),
    }
}

/// `None` if the store cannot be read, which other fields report.
async fn agents(bills: &Bills) -> Option<AgentAccount> {
    let account = bills.of_agents().await;
    account
        .inspect_err(|error| tracing::warn!(%error, "cannot read the compactions of agents"))
        .unwrap_or_default()
}

fn count(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}

fn store(state: StoreState) -> StoreStatus {
    let salvaged = state.rebuilt.as_ref().and_then(|rebuilt| rebuilt.salvaged.as_ref());
    StoreStatus {
        path: state.path.display().to_string(),
        schema_version: state.schema_version,
        older_version: state.rebuilt.as_ref().is_some_and(RebuildReport::is_of_older_version),
        salvaged: salvaged.map(|salvaged| SalvageStatus {
            updates: salvaged.updates,
            compactions: salvaged.compactions,
            model_usage: salvaged.usage,
            jobs: salvaged.jobs,
            complete: salvaged.complete,
        }),
        rebuilt_from: state.rebuilt.map(|rebuilt| rebuilt.moved_to.display().to_string()),
    }
}

fn sources(progress: &Progress) -> Vec<SourceStatus> {
    let source = |source: &crate::ingest::SourceProgress| SourceStatus {
        source: source.source.name().to_owned(),
        root: source.root.display().to_string(),
        exists: source.exists,
        files: source.files,
        threads: source.threads,
        bytes: source.bytes,
    };
    progress.sources.iter().map(source).collect()
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

fn model(model: ModelUse) -> ModelStatus {
    let ModelUse { choice, by_task, spent, budget } = model;
    let tasks = by_task.into_iter().map(|(task, own)| TaskModelStatus {
        task: task.into_str().to_owned(),
        provider: own.provider,
        name: own.model,
        effort: own.effort,
    });
    ModelStatus {
        provider: choice.provider,
        name: choice.model,
        tasks: tasks.collect(),
        requests_today: spent.requests,
        tokens_today: spent.tokens,
        requests_per_day: budget.requests_per_day,
        tokens_per_day: budget.tokens_per_day,
        requests_per_job: budget.requests_per_job,
        tokens_per_job: budget.tokens_per_job,
    }
}

fn warning(warning: DaemonWarning) -> Warning {
    let DaemonWarning { kind, message, hint } = warning;
    Warning { kind: kind.to_owned(), message, hint: Some(hint.to_owned()) }
}
