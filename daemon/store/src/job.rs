//! Background jobs and their events.
//!
//! The core decides: a caller passes a function from the stored to the new row, which runs inside the write
//! transaction, so that nothing changes between decision and write.

use longhaul_core::job::{self, Fence, Job, JobKey, Kind, State};
use sqlx::{SqliteConnection, SqliteExecutor};

use crate::error::StoreError;
use crate::pool::{Connections, WriteTransaction};
use crate::row::{get, unsigned};

/// Maximum events per job; the oldest are deleted first.
pub const EVENTS_PER_JOB_MAX: u32 = 32;

/// Maximum jobs scanned to find the next one of a kind.
pub const SCAN_MAX: u32 = 5_000;

/// Added to the column `priority` of an urgent job: above every priority.
const URGENT: i64 = 1 << 32;

/// Maximum jobs deleted per transaction, so that other writers get a turn.
const PRUNED_PER_TURN: u32 = 64;

/// A change of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobEvent {
    /// Unix milliseconds.
    pub at_ms: i64,
    pub epoch: u64,
    pub state: String,
    /// Description; may be empty.
    pub detail: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct JobFilter {
    pub kind: Option<Kind>,
    pub state: Option<State>,
}

/// Selects the first jobs of a kind in a state.
macro_rules! in_state {
    ($state:literal) => {
        concat!(
            "SELECT body FROM job WHERE kind = ?1 AND state = '",
            $state,
            "' ORDER BY priority DESC, updated_ms LIMIT ?2;"
        )
    };
}

/// Background jobs.
#[derive(Debug, Clone)]
pub struct JobTable(pub(crate) Connections);

impl JobTable {
    /// Decides on one job: `decide` receives the row, if any, and returns the row to store, or `None` to leave
    /// it, with a result for the caller.
    /// On an error nothing is stored.
    pub async fn decide<T: Send>(
        &self,
        key: &JobKey,
        decide: impl FnOnce(Option<Job>) -> (Option<Job>, T) + Send,
    ) -> Result<T, StoreError> {
        let mut transaction = self.0.pools().begin().await?;
        let found = transaction.run(async |it| read(it, key).await).await?;
        let (changed, answer) = decide(found.clone());
        if let Some(job) = changed.filter(|job| Some(job) != found.as_ref()) {
            write(&mut transaction, &job, found.as_ref()).await?;
            transaction.commit().await?;
        }
        Ok(answer)
    }

    /// Decides on the [first](Self::first) jobs of a kind together. `decide` returns the rows to store and a result.
    /// On an error nothing is stored.
    pub async fn decide_together<T: Send>(
        &self,
        kind: Kind,
        limit: u32,
        decide: impl FnOnce(&[Job]) -> (Vec<Job>, T) + Send,
    ) -> Result<T, StoreError> {
        let mut transaction = self.0.pools().begin().await?;
        let jobs = transaction.run(async |it| first(it, kind, limit).await).await?;
        let (changed, answer) = decide(&jobs);
        let changes = !changed.is_empty();
        for job in changed {
            let before = jobs.iter().find(|before| before.key == job.key);
            write(&mut transaction, &job, before).await?;
        }
        if changes {
            transaction.commit().await?;
        }
        Ok(answer)
    }

    /// Jobs of a kind: running, queued and failed, at most `limit` of each; urgent ones first, then by priority, then the
    /// longest waiting.
    pub async fn first(&self, kind: Kind, limit: u32) -> Result<Vec<Job>, StoreError> {
        self.0.pools().read(async |pool| first(&pool, kind, limit).await).await
    }

    /// Deletes some of the jobs that ended before this age of the database, with their events; returns their number, 0
    /// when done. Keeps pending jobs.
    pub async fn prune(&self, since_age_ms: i64) -> Result<u64, StoreError> {
        let mut transaction = self.0.pools().begin().await?;
        let gone = sqlx::query_as(
            "DELETE FROM job WHERE (kind, subject) IN (SELECT kind, subject FROM job \
             WHERE state IN ('done', 'dead') AND kind || '/' || subject IN (SELECT subject FROM age \
             WHERE age.kind = 'job' AND lived_ms < ?1) LIMIT ?2) RETURNING kind, subject",
        )
        .bind(since_age_ms)
        .bind(PRUNED_PER_TURN);
        let gone: Vec<(String, String)> =
            transaction.run(async |it| gone.fetch_all(it).await).await?;
        for (kind, subject) in &gone {
            let events = sqlx::query("DELETE FROM job_event WHERE kind = ?1 AND subject = ?2");
            transaction.execute(events.bind(kind).bind(subject)).await?;
        }
        transaction.commit().await?;
        Ok(gone.len() as u64)
    }

    pub async fn get(&self, key: &JobKey) -> Result<Option<Job>, StoreError> {
        self.0.pools().read(async |pool| read(&pool, key).await).await
    }

    /// Jobs by last change, newest first, at most `limit`.
    pub async fn list(&self, filter: &JobFilter, limit: u32) -> Result<Vec<Job>, StoreError> {
        let jobs = sqlx::query_scalar(
            "SELECT body FROM job WHERE (?1 IS NULL OR kind = ?1) AND (?2 IS NULL OR state = ?2) \
             ORDER BY updated_ms DESC, kind, subject LIMIT ?3",
        )
        .bind(filter.kind.map(<&str>::from))
        .bind(filter.state.map(<&str>::from))
        .bind(limit);
        let jobs = self.0.pools().read(async |pool| jobs.fetch_all(&pool).await).await?;
        Ok(jobs.into_iter().filter_map(|body: Vec<u8>| decoded(&body)).collect())
    }

    /// Events of a job, oldest first, at most [`EVENTS_PER_JOB_MAX`].
    pub async fn events(&self, key: &JobKey) -> Result<Vec<JobEvent>, StoreError> {
        let events = sqlx::query(
            "SELECT at_ms, epoch, state, detail FROM job_event WHERE kind = ?1 AND subject = ?2 \
             ORDER BY event_id",
        )
        .bind(key.kind.into_str())
        .bind(key.subject.as_str())
        .try_map(|row| {
            Ok(JobEvent {
                at_ms: get(&row, "at_ms")?,
                epoch: unsigned(&row, "epoch")?,
                state: get(&row, "state")?,
                detail: get(&row, "detail")?,
            })
        });
        self.0.pools().read(async |pool| events.fetch_all(&pool).await).await
    }
}

/// Checks inside a transaction that the run still owns its job, and records its success if the fence says that this
/// effect completes it.
pub(crate) async fn fenced(
    transaction: &mut WriteTransaction,
    fence: Option<&Fence>,
) -> Result<(), StoreError> {
    let Some(fence) = fence else { return Ok(()) };
    let job = transaction.run(async |it| read(it, &fence.key).await).await?;
    fence.check(job.as_ref()).map_err(StoreError::Fenced)?;
    if let (Some(rules), Some(job)) = (fence.finishes, job) {
        let done = job::finish(job.clone(), &fence.token, &rules, &fence.now);
        let done = done.map_err(StoreError::Fenced)?;
        write(transaction, &done, Some(&job)).await?;
    }
    Ok(())
}

async fn first(
    executor: impl SqliteExecutor<'_>,
    kind: Kind,
    limit: u32,
) -> Result<Vec<Job>, sqlx::Error> {
    // One state at a time: the index has this order, so SQLite does not sort. One call, which costs more than the
    // statements.
    let query = concat!(in_state!("running"), in_state!("queued"), in_state!("failed"));
    let jobs = sqlx::query_scalar(query).bind(kind.into_str()).bind(limit);
    Ok(jobs
        .fetch_all(executor)
        .await?
        .into_iter()
        .filter_map(|body: Vec<u8>| decoded(&body))
        .collect())
}

async fn read(executor: impl SqliteExecutor<'_>, key: &JobKey) -> Result<Option<Job>, sqlx::Error> {
    let job = sqlx::query_scalar("SELECT body FROM job WHERE kind = ?1 AND subject = ?2");
    let job = job.bind(key.kind.into_str()).bind(key.subject.as_str());
    let body: Option<Vec<u8>> = job.fetch_optional(executor).await?;
    Ok(body.and_then(|body| decoded(&body)))
}

/// An unreadable job counts as absent and is requested again, under a new epoch.
fn decoded(body: &[u8]) -> Option<Job> {
    serde_json::from_slice(body)
        .inspect_err(|error| tracing::warn!(%error, "a stored job is unreadable and will be requested again"))
        .ok()
}

/// Stores a job, and an event if its state or epoch changed. Fails with `Erased` if a new one names an erased thread.
async fn write(
    transaction: &mut WriteTransaction,
    job: &Job,
    before: Option<&Job>,
) -> Result<(), StoreError> {
    if before.is_none() {
        let names = |thread_id: &str| {
            job.key.subject == thread_id || job.payload.contains(&format!("\"{thread_id}\""))
        };
        transaction.none_erased(names).await?;
    }
    transaction.run(async |it| write_row(it, job, before).await).await
}

async fn write_row(
    connection: &mut SqliteConnection,
    job: &Job,
    before: Option<&Job>,
) -> Result<(), sqlx::Error> {
    let body = serde_json::to_string(job).map_err(|error| sqlx::Error::Encode(error.into()))?;
    let is_event =
        before.is_none_or(|before| (before.state, before.epoch) != (job.state, job.epoch));
    let detail = match (&job.lease, &job.failure) {
        (Some(lease), _) => lease.holder.as_str(),
        (None, Some(failure)) => failure.detail.as_str(),
        (None, None) => "",
    };
    let (kind, subject) = (job.key.kind.into_str(), job.key.subject.as_str());
    let (state, at_ms) = (job.state.into_str(), job.updated_at.wall_ms);
    // One call, which costs more than the statements. The driver binds `?` in order over all of them.
    sqlx::query(
        "INSERT OR REPLACE INTO job (kind, subject, state, priority, updated_ms, body) \
         VALUES (?, ?, ?, ?, ?, ?); \
         INSERT INTO job_event (kind, subject, at_ms, epoch, state, detail) \
         SELECT ?, ?, ?, ?, ?, ? WHERE ?; \
         DELETE FROM job_event WHERE event_id IN (SELECT event_id FROM job_event \
         WHERE kind = ? AND subject = ? ORDER BY event_id DESC LIMIT -1 OFFSET ?)",
    )
    .bind(kind)
    .bind(subject)
    .bind(state)
    .bind(i64::from(job.priority) + if job.urgent { URGENT } else { 0 })
    .bind(at_ms)
    .bind(body)
    .bind(kind)
    .bind(subject)
    .bind(at_ms)
    .bind(job.epoch.cast_signed())
    .bind(state)
    .bind(detail)
    .bind(is_event)
    .bind(kind)
    .bind(subject)
    .bind(EVENTS_PER_JOB_MAX)
    .execute(&mut *connection)
    .await?;
    Ok(())
}
