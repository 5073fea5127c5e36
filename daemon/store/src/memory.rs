//! Long-term memory: what was extracted, what a person asked to remember or to forget, and what was
//! published.
//!
//! Extractions can be made again from the transcripts; notes, exclusions, edits and use cannot.

mod agent;
mod generation;
mod note;
mod passage;

use longhaul_core::memory::{Engine, RolloutMemory};
use sqlx::Row as _;

use crate::error::StoreError;
use crate::row::{get, unsigned};
use crate::store::Store;

pub use agent::AgentRow;
pub use generation::{GENERATIONS_KEPT, Generation, NewGeneration};
pub use note::{Exclusion, NOTES_MAX, NoteRow, UseRow};
pub use passage::{Passage, PassageMatch};

/// A thread that extraction looked at.
#[derive(Debug, Clone, PartialEq)]
pub struct ExtractionRow {
    /// Thread.
    pub thread_id: String,
    /// Line after the last one that was read.
    pub next_seq: u64,
    /// Version of the extraction that read it.
    pub version: u32,
    /// When, Unix milliseconds.
    pub extracted_at_ms: i64,
    /// Times it was cited or read.
    pub uses: u64,
    /// The last time, Unix milliseconds.
    pub last_used_ms: Option<i64>,
    /// What was learned; `None` when there was nothing.
    pub memory: Option<RolloutMemory>,
    /// Who read it.
    pub engine: Engine,
    /// Why it was not the engine that was asked for.
    pub reason: Option<String>,
}

/// How far a thread is extracted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Watermark {
    /// Thread.
    pub thread_id: String,
    /// Line after the last one that was read.
    pub next_seq: u64,
    /// Version of the extraction that read it.
    pub version: u32,
    /// Things that were learned.
    pub learnings: u64,
    /// When, Unix milliseconds.
    pub extracted_at_ms: i64,
    /// Project it belongs to.
    pub project: Option<String>,
    /// Who read it.
    pub engine: Engine,
    /// Why it was not the engine that was asked for.
    pub reason: Option<String>,
}

impl Store {
    /// Stores what was extracted from a thread. An extraction that read less than the stored one, by the
    /// same version, changes nothing: a run that was taken over cannot undo what came after it; nor does one that had
    /// to do without a model take the place of what a model read as far. Nothing is stored of a thread that is
    /// excluded.
    ///
    /// # Errors
    /// Those of writing.
    pub async fn extraction_put(&self, row: &ExtractionRow) -> Result<bool, StoreError> {
        let pools = self.pools();
        let memory = row.memory.as_ref();
        let body = memory
            .map(serde_json::to_string)
            .transpose()
            .map_err(|error| pools.sorted(sqlx::Error::Encode(error.into())))?;
        let stored = sqlx::query(
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
        .bind(memory.map_or("uncertain", |memory| memory.outcome.name()))
        .bind(i64::try_from(memory.map_or(0, |memory| memory.learnings.len())).unwrap_or(i64::MAX))
        .bind(body)
        .bind(row.engine.name())
        .bind(row.reason.as_deref())
        .execute(pools.writer())
        .await
        .map_err(|error| pools.sorted(error))?;
        Ok(stored.rows_affected() > 0)
    }

    /// How far every thread is extracted.
    ///
    /// # Errors
    /// Those of reading.
    pub async fn watermarks(&self) -> Result<Vec<Watermark>, StoreError> {
        let pools = self.pools();
        sqlx::query(
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
                engine: engine(&row)?,
                reason: get(&row, "reason")?,
            })
        })
        .fetch_all(pools.reader())
        .await
        .map_err(|error| pools.sorted(error))
    }

    /// Extractions with something in them, by use and then by recency, at most `limit`.
    ///
    /// # Errors
    /// Those of reading.
    pub async fn extractions(&self, limit: u32) -> Result<Vec<ExtractionRow>, StoreError> {
        let pools = self.pools();
        let rows = sqlx::query(
            "SELECT thread_id, next_seq, version, extracted_at_ms, uses, last_used_ms, body, \
             engine, reason \
             FROM memory_thread WHERE body IS NOT NULL \
             ORDER BY uses DESC, updated_at_ms DESC, thread_id LIMIT ?1",
        )
        .bind(limit)
        .fetch_all(pools.reader())
        .await
        .map_err(|error| pools.sorted(error))?;
        let rows: Result<Vec<_>, sqlx::Error> = rows.iter().map(extraction).collect();
        rows.map_err(|error| pools.sorted(error))
    }

    /// Threads whose extraction says that they used the network, or tools that reach outside.
    ///
    /// # Errors
    /// Those of reading.
    pub async fn extractions_outside(&self) -> Result<Vec<String>, StoreError> {
        let pools = self.pools();
        sqlx::query_scalar(
            "SELECT thread_id FROM memory_thread \
             WHERE json_extract(body, '$.reached_outside') = 1 ORDER BY thread_id",
        )
        .fetch_all(pools.reader())
        .await
        .map_err(|error| pools.sorted(error))
    }

    /// What was extracted from one thread.
    ///
    /// # Errors
    /// Those of reading.
    pub async fn extraction_get(
        &self,
        thread_id: &str,
    ) -> Result<Option<ExtractionRow>, StoreError> {
        let pools = self.pools();
        let row = sqlx::query(
            "SELECT thread_id, next_seq, version, extracted_at_ms, uses, last_used_ms, body, \
             engine, reason \
             FROM memory_thread WHERE thread_id = ?1",
        )
        .bind(thread_id)
        .fetch_optional(pools.reader())
        .await
        .map_err(|error| pools.sorted(error))?;
        row.as_ref().map(extraction).transpose().map_err(|error| pools.sorted(error))
    }
}

/// An extraction that another version wrote counts as none: its thread is read again.
fn extraction(row: &sqlx::sqlite::SqliteRow) -> Result<ExtractionRow, sqlx::Error> {
    let body: Option<String> = row.try_get("body")?;
    Ok(ExtractionRow {
        thread_id: get(row, "thread_id")?,
        next_seq: unsigned(row, "next_seq")?,
        version: get(row, "version")?,
        extracted_at_ms: get(row, "extracted_at_ms")?,
        uses: unsigned(row, "uses")?,
        last_used_ms: get(row, "last_used_ms")?,
        memory: body.and_then(|body| serde_json::from_str(&body).ok()),
        engine: engine(row)?,
        reason: get(row, "reason")?,
    })
}

/// An engine of a newer version counts as the one that costs nothing to run again.
fn engine(row: &sqlx::sqlite::SqliteRow) -> Result<Engine, sqlx::Error> {
    let name: String = get(row, "engine")?;
    Ok(Engine::named(&name).unwrap_or_default())
}
