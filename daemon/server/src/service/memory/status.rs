//! Builds the result of `memory/status`.

use std::collections::BTreeMap;
use std::sync::Arc;

use longhaul_core::job::{Kind, State};
use longhaul_protocol::memory::{AgentRun, Fallback, MemoryUse, StatusResult};
use longhaul_store::{AgentRow, CurationTable, ExtractionTable, JobFilter, NoteTable, UseTable};

use super::publications::Publications;
use super::scan::{RunRequest, Scanner};
use crate::config::Live;
use crate::jobs::Jobs;
use crate::service::error::ServiceError;

/// Maximum jobs of a kind to inspect for the number of pending ones.
const JOBS_MAX: u32 = 5_000;

/// Maximum reasons in a status.
const REASONS_MAX: usize = 16;

pub struct MemoryOverview {
    pub(in crate::service) extractions: ExtractionTable,
    pub(in crate::service) notes: NoteTable,
    pub(in crate::service) curation: CurationTable,
    pub(in crate::service) uses: UseTable,
    pub(in crate::service) jobs: Jobs,
    pub(in crate::service) config: Live,
    pub(in crate::service) publications: Arc<Publications>,
    pub(in crate::service) scanner: Arc<Scanner>,
}

impl MemoryOverview {
    /// The status; with `thread_id`, also why that thread is skipped.
    pub async fn status(&self, thread_id: Option<String>) -> Result<StatusResult, ServiceError> {
        let skip_reason = match thread_id {
            Some(thread_id) => self.scanner.why_not_extracted(thread_id).await?,
            None => None,
        };
        let scan = self.scanner.scan(&RunRequest::default()).await?;
        let (mut pending, mut failure) = (0, None);
        for kind in [Kind::Extract, Kind::Consolidate] {
            let filter = JobFilter { kind: Some(kind), state: None };
            for job in self.jobs.list(&filter, JOBS_MAX).await? {
                pending += u64::from(!matches!(job.state, State::Done | State::Dead));
                if kind == Kind::Consolidate {
                    failure = job.failure.map(|failure| failure.detail);
                }
            }
        }
        let marks = self.extractions.watermarks().await?;
        let notes = self.notes.list().await?;
        let published = self.publications.newest().await?;
        let mut fallbacks: BTreeMap<String, u64> = BTreeMap::new();
        for reason in marks.iter().filter_map(|mark| mark.reason.clone()) {
            *fallbacks.entry(reason).or_default() += 1;
        }
        let fallbacks = fallbacks.into_iter().take(REASONS_MAX);
        let uses = self.uses.list().await?.into_iter();
        let settings = self.config.now().memory.clone();
        Ok(StatusResult {
            enabled: *settings.enabled,
            engine: settings.engine.into_str().to_owned(),
            fallbacks: fallbacks.map(|(reason, threads)| Fallback { reason, threads }).collect(),
            agent: self.curation.get().await?.map(agent_run),
            path: self.publications.folder().path().display().to_string(),
            generation: published.generation,
            published_at: (published.generation > 0).then_some(published.at_ms),
            threads: published.threads,
            extracted: marks.len() as u64,
            learnings: marks.iter().map(|mark| mark.learnings).sum(),
            notes: notes.len() as u64,
            notes_pending: notes.iter().filter(|note| !note.origin.is_person()).count() as u64,
            due: scan.due.len() as u64,
            pending,
            skipped: scan.skipped.into_values().collect(),
            uses: uses
                .map(|row| MemoryUse { kind: row.kind, uses: row.uses, last_at: row.last_ms })
                .collect(),
            failure,
            skip_reason,
        })
    }
}

fn agent_run(row: AgentRow) -> AgentRun {
    let AgentRow { outcome, detail, mode, turns, tokens, at_ms, .. } = row;
    AgentRun { outcome, detail, mode, turns, tokens, at: at_ms }
}
