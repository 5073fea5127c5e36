//! How the daemon is, for `daemon/status`, and what it costs, for `daemon/metrics`.

use std::sync::atomic::{AtomicU64, Ordering};

use longhaul_protocol::daemon::{
    IngestError, IngestState, IngestStatus, MethodMetrics, MetricsResult, ModelStatus,
    ProcessMetrics, SalvageStatus, SourceStatus, StoreStatus,
};
use longhaul_protocol::thread::IndexStatus;
use longhaul_protocol::warning::Warning;

use super::Services;
use crate::ingest::Progress;
use crate::link::Counters;
use crate::metering::ProcessUse;

impl Services {
    /// The database, for `daemon/status`.
    #[must_use]
    pub fn store_status(&self) -> StoreStatus {
        let rebuilt = self.store.rebuilt();
        let salvaged = rebuilt.as_ref().and_then(|rebuilt| rebuilt.salvaged.as_ref());
        StoreStatus {
            path: self.store.path().display().to_string(),
            schema_version: self.opened.schema_version,
            salvaged: salvaged.map(|salvaged| SalvageStatus {
                updates: salvaged.updates,
                compactions: salvaged.compactions,
                model_usage: salvaged.usage,
                jobs: salvaged.jobs,
                complete: salvaged.complete,
            }),
            rebuilt_from: rebuilt.map(|rebuilt| rebuilt.moved_to.display().to_string()),
        }
    }

    /// How far the full-text index is.
    #[must_use]
    pub fn index_status(&self) -> IndexStatus {
        self.full_text.progress.status()
    }

    /// How far ingesting is.
    #[must_use]
    pub fn progress(&self) -> Progress {
        self.ingest.progress()
    }

    /// The folders of transcripts and how far they are read, for `daemon/status`.
    #[must_use]
    pub fn ingest_status(&self, progress: &Progress) -> (IngestStatus, Vec<SourceStatus>) {
        let sources = progress.sources.iter().map(|source| SourceStatus {
            source: source.source.name().to_owned(),
            root: source.root.display().to_string(),
            exists: source.exists,
            files: source.files,
            threads: source.threads,
            bytes: source.bytes,
        });
        let state =
            if progress.is_catching_up { IngestState::CatchingUp } else { IngestState::Idle };
        let errors = progress.errors.iter().map(|(path, message)| IngestError {
            path: path.clone(),
            message: message.clone(),
            at: progress.last_scan_at_ms,
        });
        let status = IngestStatus {
            state,
            queued_files: progress.queued_files,
            bytes_done: progress.bytes_done,
            bytes_total: progress.bytes_total,
            last_scan_at: (progress.last_scan_at_ms != 0).then_some(progress.last_scan_at_ms),
            lines: progress.counts.lines,
            malformed: progress.counts.malformed,
            oversized: progress.counts.oversized,
            unknown: progress.counts.unknown,
            errors: errors.collect(),
        };
        (status, sources.collect())
    }

    /// What the daemon costs and how long it takes to answer, for `daemon/metrics`.
    #[must_use]
    pub fn metrics(&self) -> MetricsResult {
        let Counters { connections, in_flight, panics, refused, calls, .. } = &*self.deps.counters;
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let methods = calls.summaries().into_iter().map(|times| MethodMetrics {
            method: times.method.to_owned(),
            calls: times.calls,
            errors: times.errors,
            p50_us: times.p50_us,
            p99_us: times.p99_us,
            max_us: times.max_us,
        });
        MetricsResult {
            uptime_ms: self.uptime_ms(),
            methods: methods.collect(),
            in_flight: count(in_flight),
            connections: count(connections),
            connections_refused: count(refused),
            panics: count(panics),
            ingested_bytes: self.ingest.progress().bytes_done,
            stored_bytes: self.store.bytes() + self.index_status().bytes,
            process: ProcessUse::now().map(|taken| ProcessMetrics {
                resident_bytes: taken.resident_bytes,
                resident_peak_bytes: taken.resident_peak_bytes,
                processor_ms: taken.processor_ms,
                threads: taken.threads,
            }),
        }
    }

    /// Milliseconds since the start, by a clock that does not jump.
    #[must_use]
    pub fn uptime_ms(&self) -> u64 {
        u64::try_from(self.deps.clock.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// The model that may be asked, for `daemon/status`.
    #[must_use]
    pub fn model_status(&self) -> Option<ModelStatus> {
        let settings = self.models.settings();
        let choice = settings.default.as_ref()?;
        let (spent, budget) = (self.models.spent_today(), self.deps.config.now().budget.bounds());
        Some(ModelStatus {
            provider: choice.provider.clone(),
            name: choice.model.clone(),
            requests_today: spent.requests,
            tokens_today: spent.tokens,
            requests_per_day: budget.requests_per_day,
            tokens_per_day: budget.tokens_per_day,
            requests_per_job: budget.requests_per_job,
            tokens_per_job: budget.tokens_per_job,
        })
    }

    /// What a person should know, for `daemon/status`.
    #[must_use]
    pub fn warnings(&self, progress: &Progress) -> Vec<Warning> {
        let mut warnings = Vec::new();
        let mut warn = |kind: &str, message: String, hint: &str| {
            warnings.push(Warning { kind: kind.to_owned(), message, hint: Some(hint.to_owned()) });
        };
        if let Some(why) = &progress.stalled {
            warn(
                "ingest_stalled",
                why.clone(),
                "free space on the disk or see the journal; reading goes on by itself",
            );
        }
        if progress.is_watch_degraded {
            let message = "changes are found by scanning only".to_owned();
            warn("watch_degraded", message, "raise fs.inotify.max_user_watches");
        }
        // While files wait to be read, the base may be one of them.
        if progress.bases_missing > 0 && !progress.is_catching_up {
            let message =
                format!("{} forks continue a transcript that is not there", progress.bases_missing);
            warn(
                "base_missing",
                message,
                "put the parent transcript back; it is taken up by itself",
            );
        }
        if let Some(bound) = self.models.refused_today() {
            let message = format!("a model was not asked: {bound}");
            warn(
                "budget_spent",
                message,
                "days end at midnight UTC; the bounds stand under [budget] in config.toml",
            );
        }
        warnings
    }
}
