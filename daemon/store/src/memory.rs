//! Long-term memory: extractions, notes, exclusions and published generations.
//!
//! Extractions can be rebuilt from transcripts; notes, exclusions, edits and usage cannot.

mod agent;
mod generation;
mod lost;
mod note;
mod passage;
mod usage;

use longhaul_core::job::Fence;
use longhaul_core::memory::{Engine, RolloutMemory};

use crate::error::StoreError;
use crate::job::fenced;
use crate::pool::Connections;
use crate::row::{get, named, unsigned};

pub use agent::{AgentRow, CurationTable};
pub use generation::{GENERATIONS_KEPT, Generation, GenerationTable, NewGeneration};
pub use note::{CLAIMS_MAX, Exclusion, NOTES_MAX, NoteOutcome, NoteRow, NoteTable};
pub use passage::{Passage, PassageMatch, PassageScope};
pub use usage::{UseRow, UseTable};

#[derive(Debug, Clone, PartialEq)]
pub struct ExtractionRow {
    pub thread_id: String,
    /// Line after the last one read.
    pub next_seq: u64,
    pub version: u32,
    /// Unix milliseconds.
    pub extracted_at_ms: i64,
    /// Number of citations and reads.
    pub uses: u64,
    /// Last time, Unix milliseconds.
    pub last_used_ms: Option<i64>,
    /// The learnings; `None` if there are none.
    pub memory: Option<RolloutMemory>,
    pub engine: Engine,
    /// Why another engine than requested was used.
    pub reason: Option<String>,
}

/// Extraction progress of a thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Watermark {
    pub thread_id: String,
    /// Line after the last one read.
    pub next_seq: u64,
    pub version: u32,
    pub learnings: u64,
    /// Unix milliseconds.
    pub extracted_at_ms: i64,
    pub project: Option<String>,
    pub engine: Engine,
    /// Why another engine than requested was used.
    pub reason: Option<String>,
}

/// A query for [`extraction`].
macro_rules! select_extractions {
    ($condition:literal) => {
        concat!(
            "SELECT thread_id, next_seq, version, extracted_at_ms, uses, last_used_ms, body, engine, reason \
             FROM memory_thread ",
            $condition
        )
    };
}

/// What memory extracted from each thread.
#[derive(Debug, Clone)]
pub struct ExtractionTable(pub(crate) Connections);

impl ExtractionTable {
    /// Stores an extraction, unless the stored one of the same version read more lines: so a run that was taken over cannot
    /// undo later work. An extraction without a model does not replace a model's extraction of the same lines. Nothing is
    /// stored for an excluded thread or, with a `fence`, for a run that lost its job.
    /// Fails with `Fenced` if the run lost its job.
    pub async fn put(
        &self,
        row: &ExtractionRow,
        fence: Option<&Fence>,
    ) -> Result<bool, StoreError> {
        let pools = self.0.pools();
        let memory = row.memory.as_ref();
        let body = memory.map(generation::encoded).transpose();
        let body = body.map_err(|error| pools.classify(error))?;
        let mut transaction = pools.begin().await?;
        fenced(&mut transaction, fence).await?;
        let extraction = sqlx::query(
            "INSERT INTO memory_thread (thread_id, next_seq, version, extracted_at_ms, updated_at_ms, \
             project, outcome, learnings, uses, body, engine, reason) \
             SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, 0, ?9, ?10, ?11 \
             WHERE NOT EXISTS (SELECT 1 FROM memory_exclusion WHERE (kind = 'thread' AND subject = ?1) \
             OR (kind = 'project' AND subject = ?6)) \
             ON CONFLICT (thread_id) DO UPDATE SET next_seq = excluded.next_seq, \
             version = excluded.version, extracted_at_ms = excluded.extracted_at_ms, \
             updated_at_ms = excluded.updated_at_ms, project = excluded.project, \
             outcome = excluded.outcome, learnings = excluded.learnings, body = excluded.body, \
             engine = excluded.engine, reason = excluded.reason \
             WHERE excluded.version <> memory_thread.version \
             OR excluded.next_seq > memory_thread.next_seq \
             OR excluded.next_seq = memory_thread.next_seq \
             AND NOT (excluded.reason IS NOT NULL AND memory_thread.engine = 'model')",
        )
        .bind(row.thread_id.as_str())
        .bind(row.next_seq.cast_signed())
        .bind(row.version)
        .bind(row.extracted_at_ms)
        .bind(memory.map_or(0, |memory| memory.updated_at_ms))
        .bind(memory.and_then(|memory| memory.project.as_deref()))
        .bind(memory.map_or("uncertain", |memory| memory.outcome.into_str()))
        .bind(i64::try_from(memory.map_or(0, |memory| memory.learnings.len())).unwrap_or(i64::MAX))
        .bind(body)
        .bind(row.engine.into_str())
        .bind(row.reason.as_deref());
        let stored = transaction.execute(extraction).await?;
        transaction.commit().await?;
        Ok(stored.rows_affected() > 0)
    }

    /// Extraction progress of every thread.
    pub async fn watermarks(&self) -> Result<Vec<Watermark>, StoreError> {
        let watermarks = sqlx::query(
            "SELECT thread_id, next_seq, version, learnings, extracted_at_ms, project, \
             engine, reason \
             FROM memory_thread ORDER BY thread_id",
        )
        .try_map(|row| {
            Ok(Watermark {
                thread_id: get(&row, "thread_id")?,
                next_seq: unsigned(&row, "next_seq")?,
                version: get(&row, "version")?,
                learnings: unsigned(&row, "learnings")?,
                extracted_at_ms: get(&row, "extracted_at_ms")?,
                project: get(&row, "project")?,
                engine: named(&row, "engine")?,
                reason: get(&row, "reason")?,
            })
        });
        self.0.pools().read(async |pool| watermarks.fetch_all(&pool).await).await
    }

    /// Non-empty extractions by use, then by recency, at most `limit`.
    pub async fn list(&self, limit: u32) -> Result<Vec<ExtractionRow>, StoreError> {
        let found = sqlx::query(select_extractions!(
            "WHERE body IS NOT NULL ORDER BY uses DESC, updated_at_ms DESC, thread_id LIMIT ?1"
        ));
        let found = found.bind(limit).try_map(|row| extraction(&row));
        self.0.pools().read(async |pool| found.fetch_all(&pool).await).await
    }

    /// Threads that used the network or external tools, by their extraction.
    pub async fn outside(&self) -> Result<Vec<String>, StoreError> {
        let threads = sqlx::query_scalar(
            "SELECT thread_id FROM memory_thread \
             WHERE json_extract(body, '$.reached_outside') = 1 ORDER BY thread_id",
        );
        self.0.pools().read(async |pool| threads.fetch_all(&pool).await).await
    }

    pub async fn get(&self, thread_id: &str) -> Result<Option<ExtractionRow>, StoreError> {
        let found = sqlx::query(select_extractions!("WHERE thread_id = ?1")).bind(thread_id);
        let found = found.try_map(|row| extraction(&row));
        self.0.pools().read(async |pool| found.fetch_optional(&pool).await).await
    }
}

/// An extraction of another version counts as absent, and the thread is read again.
fn extraction(row: &sqlx::sqlite::SqliteRow) -> Result<ExtractionRow, sqlx::Error> {
    let body: Option<String> = get(row, "body")?;
    Ok(ExtractionRow {
        thread_id: get(row, "thread_id")?,
        next_seq: unsigned(row, "next_seq")?,
        version: get(row, "version")?,
        extracted_at_ms: get(row, "extracted_at_ms")?,
        uses: unsigned(row, "uses")?,
        last_used_ms: get(row, "last_used_ms")?,
        memory: body.and_then(|body| serde_json::from_str(&body).ok()).map(RolloutMemory::quoted),
        engine: named(row, "engine")?,
        reason: get(row, "reason")?,
    })
}
