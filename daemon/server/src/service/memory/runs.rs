//! Builds memory once: extracts the due threads, then consolidates.

use std::sync::Arc;
use std::time::Duration;

use longhaul_protocol::memory::{RunResult, RunState};

use super::publications::Publications;
use super::scan::{RunRequest, Scanner};
use super::waves::Waves;
use crate::clock::Clock;
use crate::ingest::Ingest;
use crate::service::error::ServiceError;

/// Maximum wait for transcripts that are still unread after a start.
const READ_WITHIN: Duration = Duration::from_secs(30);

/// Builds memory, for a client or in the background.
pub struct MemoryRuns {
    pub(in crate::service) scanner: Arc<Scanner>,
    pub(in crate::service) waves: Waves,
    pub(in crate::service) publications: Arc<Publications>,
    pub(in crate::service) ingest: Arc<Ingest>,
    pub(in crate::service) clock: Clock,
}

impl MemoryRuns {
    pub async fn run(&self, request: RunRequest) -> Result<RunResult, ServiceError> {
        let began = self.clock.elapsed();
        // After a start, wait for unread transcripts; those still unread after the timeout wait for the next run.
        if let Ok(read) = tokio::time::timeout(READ_WITHIN, self.ingest.first_read()).await {
            read?;
        }
        let before = self.publications.newest().await?.generation;
        let scan = self.scanner.scan(&request).await?;
        let mut ran = RunResult {
            state: if request.waits { RunState::Done } else { RunState::Started },
            threads: scan.threads,
            extracted: 0,
            empty: 0,
            failed: 0,
            fallbacks: 0,
            skipped: Vec::new(),
            generation: before,
            changed: false,
            editing: false,
            duration_ms: 0,
        };
        self.waves.extract(&scan, &request, &mut ran).await?;
        ran.skipped = scan.skipped.into_values().collect();
        self.waves.consolidate(&request).await?;
        ran.generation = self.publications.newest().await?.generation;
        ran.changed = ran.generation != before;
        ran.editing = self.waves.is_being_edited().await?;
        let duration = self.clock.elapsed().saturating_sub(began);
        ran.duration_ms = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        Ok(ran)
    }
}
