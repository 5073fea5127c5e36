//! Builds the result of `memory/status`.

use std::collections::BTreeMap;
use std::sync::Arc;

use longhaul_core::job::{Kind, State};
use longhaul_store::{
    AgentRow, CurationTable, ExtractionTable, JobFilter, NoteTable, UseRow, UseTable,
};

use super::publications::Publications;
use super::scan::{RunRequest, Scanner, SkippedThreads};
use crate::jobs::Jobs;
use crate::service::error::ServiceError;

/// Maximum jobs of a kind to inspect for the number of pending ones.
const JOBS_MAX: u32 = 5_000;

#[derive(Debug)]
pub struct MemoryStatus {
    pub path: String,
    /// Number of the current generation, 0 for none.
    pub generation: u64,
    /// When it was published, Unix milliseconds.
    pub at_ms: i64,
    /// Threads in the current generation.
    pub threads: u64,
    pub extracted: u64,
    pub learnings: u64,
    pub notes: u64,
    /// Notes that wait for a person's review.
    pub notes_pending: u64,
    pub due: u64,
    /// Jobs of memory that are not settled.
    pub pending: u64,
    pub skipped: Vec<SkippedThreads>,
    /// Uses by kind of file.
    pub uses: Vec<UseRow>,
    pub failure: Option<String>,
    /// Threads that were extracted without their model, by reason.
    pub fell_back: BTreeMap<String, u64>,
    /// The last run of the consolidation agent.
    pub agent: Option<AgentRow>,
    /// Why the requested thread is skipped.
    pub why: Option<SkippedThreads>,
}

pub struct MemoryOverview {
    pub(in crate::service) extractions: ExtractionTable,
    pub(in crate::service) notes: NoteTable,
    pub(in crate::service) curation: CurationTable,
    pub(in crate::service) uses: UseTable,
    pub(in crate::service) jobs: Jobs,
    pub(in crate::service) publications: Arc<Publications>,
    pub(in crate::service) scanner: Arc<Scanner>,
}

impl MemoryOverview {
    /// The status; with `thread_id`, also why that thread is skipped.
    pub async fn status(&self, thread_id: Option<String>) -> Result<MemoryStatus, ServiceError> {
        let why = match thread_id {
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
        let mut fell_back = BTreeMap::new();
        for reason in marks.iter().filter_map(|mark| mark.reason.clone()) {
            *fell_back.entry(reason).or_default() += 1;
        }
        Ok(MemoryStatus {
            fell_back,
            agent: self.curation.get().await?,
            path: self.publications.folder().path().display().to_string(),
            generation: published.generation,
            at_ms: published.at_ms,
            threads: published.threads,
            extracted: marks.len() as u64,
            learnings: marks.iter().map(|mark| mark.learnings).sum(),
            notes: notes.len() as u64,
            notes_pending: notes.iter().filter(|note| !note.origin.is_person()).count() as u64,
            due: scan.due.len() as u64,
            pending,
            skipped: scan.skipped.into_values().collect(),
            uses: self.uses.list().await?,
            failure,
            why,
        })
    }
}
