//! Compactions: request, result, and data for undo.

use longhaul_core::job::Fence;
use sqlx::query::Query;
use sqlx::sqlite::{SqliteArguments, SqliteRow};
use sqlx::{QueryBuilder, Sqlite};

use crate::error::StoreError;
use crate::job::fenced;
use crate::pool::{Connections, Pools};
use crate::row::{get, unsigned};

// `preimage` is not used any more, and may not be NULL.
macro_rules! insertion {
    ($verb:literal, $conflict:literal) => {
        concat!(
            $verb,
            " INTO compaction (compaction_id, thread_id, created_at_ms, strategy_used, phase, cause, \
             tokens_before, tokens_after, seq, duration_ms, undone_at_ms, result, preimage, reason, \
             requests, tokens_spent) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, \
             x'', ?13, ?14, ?15)",
            $conflict
        )
    };
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompactionRow {
    pub compaction_id: String,
    /// Its thread; `None` for given items.
    pub thread_id: Option<String>,
    /// Unix milliseconds.
    pub created_at_ms: i64,
    pub strategy_used: String,
    pub phase: String,
    pub trigger: String,
    /// Empty in rows written before this column existed.
    pub reason: String,
    pub requests: u64,
    /// Tokens of these requests, input and output.
    pub tokens_spent: u64,
    /// Estimated tokens of the history before.
    pub tokens_before: u64,
    /// Estimated tokens of the replacement.
    pub tokens_after: u64,
    /// Last line of the thread it covers.
    pub seq: u64,
    pub duration_ms: u64,
    /// Time of undo, Unix milliseconds.
    pub undone_at_ms: Option<i64>,
}

/// Sums over the compactions of threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CompactionTotals {
    pub compactions: u64,
    /// Time of the oldest one, Unix milliseconds.
    pub since_ms: Option<i64>,
    /// Requests to models.
    pub requests: u64,
    /// Tokens of these requests, input and output.
    pub tokens_spent: u64,
    pub duration_ms: u64,
    /// Estimated tokens of the histories.
    pub tokens_before: u64,
}

/// The last compaction of a page: the next one starts after it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompactionCursor {
    /// Unix milliseconds.
    pub created_at_ms: i64,
    pub compaction_id: String,
}

/// Compactions with their receipts.
#[derive(Debug, Clone)]
pub struct CompactionTable(pub(crate) Connections);

impl CompactionTable {
    /// Stores a compaction unless its id exists, with its result, which is opaque to the store. With a `fence`, only
    /// while its run owns the job. Fails with `Fenced` if the run lost its job, and with `Erased` if its thread was erased.
    pub async fn insert(
        &self,
        row: &CompactionRow,
        result: &[u8],
        fence: Option<&Fence>,
    ) -> Result<(), StoreError> {
        let pools = self.0.pools();
        let Some(fence) = fence else {
            return store(row, result, KEPT_FIRST, &pools).await;
        };
        let mut transaction = pools.begin().await?;
        fenced(&mut transaction, Some(fence)).await?;
        if let Some(thread_id) = &row.thread_id {
            transaction.not_erased(thread_id).await?;
        }
        transaction.execute(insert(row, result, KEPT_FIRST)).await?;
        transaction.commit_durably().await
    }

    /// Stores a compaction, replacing the one with its id.
    pub async fn replace(&self, row: &CompactionRow, result: &[u8]) -> Result<(), StoreError> {
        store(row, result, KEPT_LAST, &self.0.pools()).await
    }

    /// Looks up a compaction and its result.
    pub async fn get(
        &self,
        compaction_id: &str,
    ) -> Result<Option<(CompactionRow, Vec<u8>)>, StoreError> {
        let found = sqlx::query("SELECT * FROM compaction WHERE compaction_id = ?1");
        let found = found.bind(compaction_id);
        let found = found.try_map(|row| Ok((compaction_row(&row)?, get(&row, "result")?)));
        self.0.pools().read(async |pool| found.fetch_optional(&pool).await).await
    }

    /// Ids with this prefix and their threads, at most `limit`, in order.
    pub async fn with_prefix(
        &self,
        prefix: &str,
        after: &str,
        limit: u32,
    ) -> Result<Vec<(String, Option<String>)>, StoreError> {
        let query = "SELECT compaction_id, thread_id FROM compaction \
             WHERE compaction_id >= ?1 AND compaction_id < ?1 || ?2 AND compaction_id > ?4 \
             ORDER BY compaction_id LIMIT ?3";
        self.0.pools().with_prefix(query, (prefix, after, limit)).await
    }

    /// Compactions, newest first, at most `limit`, and where the next page starts.
    pub async fn list(
        &self,
        thread_id: Option<&str>,
        limit: u32,
        after: Option<&CompactionCursor>,
    ) -> Result<(Vec<CompactionRow>, Option<CompactionCursor>), StoreError> {
        let mut query = QueryBuilder::<Sqlite>::new(
            "SELECT compaction_id, thread_id, created_at_ms, strategy_used, phase, cause, \
             tokens_before, tokens_after, seq, duration_ms, undone_at_ms, reason, requests, \
             tokens_spent FROM compaction WHERE true",
        );
        if let Some(thread_id) = thread_id {
            query.push(" AND thread_id = ").push_bind(thread_id);
        }
        if let Some(after) = after {
            query.push(" AND (created_at_ms, compaction_id) < (").push_bind(after.created_at_ms);
            query.push(", ").push_bind(&after.compaction_id).push(")");
        }
        query.push(" ORDER BY created_at_ms DESC, compaction_id DESC LIMIT ");
        query.push_bind(i64::from(limit) + 1);
        let rows = query.build().try_map(|row| compaction_row(&row));
        let mut rows = self.0.pools().read(async |pool| rows.fetch_all(&pool).await).await?;
        let more = rows.len() > limit as usize;
        rows.truncate(limit as usize);
        let next = rows.last().filter(|_| more).map(|row| CompactionCursor {
            created_at_ms: row.created_at_ms,
            compaction_id: row.compaction_id.clone(),
        });
        Ok((rows, next))
    }

    /// Totals over all stored compactions of threads.
    pub async fn totals(&self) -> Result<CompactionTotals, StoreError> {
        let totals = sqlx::query(
            "SELECT count(*) AS compactions, min(created_at_ms) AS since_ms, \
             coalesce(sum(requests), 0) AS requests, coalesce(sum(tokens_spent), 0) AS tokens_spent, \
             coalesce(sum(duration_ms), 0) AS duration_ms, \
             coalesce(sum(tokens_before), 0) AS tokens_before \
             FROM compaction WHERE thread_id IS NOT NULL",
        )
        .try_map(|row| {
            Ok(CompactionTotals {
                compactions: unsigned(&row, "compactions")?,
                since_ms: get(&row, "since_ms")?,
                requests: unsigned(&row, "requests")?,
                tokens_spent: unsigned(&row, "tokens_spent")?,
                duration_ms: unsigned(&row, "duration_ms")?,
                tokens_before: unsigned(&row, "tokens_before")?,
            })
        });
        self.0.pools().read(async |pool| totals.fetch_one(&pool).await).await
    }

    /// Threads with a compaction.
    pub async fn threads(&self) -> Result<Vec<String>, StoreError> {
        let threads = "SELECT DISTINCT thread_id FROM compaction WHERE thread_id IS NOT NULL";
        let threads = sqlx::query_scalar(threads);
        self.0.pools().read(async |pool| threads.fetch_all(&pool).await).await
    }

    /// Lines covered by a thread's newest compactions, newest first, at most `limit`, without undone ones.
    pub async fn seqs(&self, thread_id: &str, limit: u32) -> Result<Vec<u64>, StoreError> {
        let seqs = sqlx::query_scalar(
            // In the order of their storing: the clock may have been set back since.
            "SELECT seq FROM compaction WHERE thread_id = ?1 AND undone_at_ms IS NULL \
             ORDER BY rowid DESC LIMIT ?2",
        )
        .bind(thread_id)
        .bind(limit);
        let seqs: Vec<i64> = self.0.pools().read(async |pool| seqs.fetch_all(&pool).await).await?;
        Ok(seqs.into_iter().map(i64::cast_unsigned).collect())
    }

    /// Marks a compaction as undone at `at_ms`. Returns the time of its first undo; `None` if it does not exist.
    pub async fn mark_undone(
        &self,
        compaction_id: &str,
        at_ms: i64,
    ) -> Result<Option<i64>, StoreError> {
        let mut transaction = self.0.pools().begin().await?;
        let undone = sqlx::query_scalar(
            "UPDATE compaction SET undone_at_ms = coalesce(undone_at_ms, ?2) \
             WHERE compaction_id = ?1 RETURNING undone_at_ms",
        );
        let undone = undone.bind(compaction_id).bind(at_ms);
        let undone_at_ms = transaction.run(async |it| undone.fetch_optional(it).await).await?;
        transaction.commit_durably().await?;
        Ok(undone_at_ms)
    }
}

/// The two ways to store a row whose id exists.
const KEPT_FIRST: &str = insertion!("INSERT", " ON CONFLICT (compaction_id) DO NOTHING");
const KEPT_LAST: &str = insertion!("INSERT OR REPLACE", "");

/// Stores a row durably unless its thread was erased. A single statement is its own transaction: one call instead of three.
async fn store(
    row: &CompactionRow,
    result: &[u8],
    statement: &'static str,
    pools: &Pools,
) -> Result<(), StoreError> {
    let classify = |error| pools.classify(error);
    {
        let mut writer = pools.writer().acquire().await.map_err(classify)?;
        if let Some(thread_id) = &row.thread_id {
            pools.none_erased(&mut writer, |erased| erased == thread_id).await?;
        }
        insert(row, result, statement).execute(&mut *writer).await.map_err(classify)?;
    }
    pools.sync().await
}

fn insert<'q>(
    row: &'q CompactionRow,
    result: &'q [u8],
    statement: &'static str,
) -> Query<'q, Sqlite, SqliteArguments> {
    sqlx::query(statement)
        .bind(row.compaction_id.as_str())
        .bind(row.thread_id.as_deref())
        .bind(row.created_at_ms)
        .bind(row.strategy_used.as_str())
        .bind(row.phase.as_str())
        .bind(row.trigger.as_str())
        .bind(row.tokens_before.cast_signed())
        .bind(row.tokens_after.cast_signed())
        .bind(row.seq.cast_signed())
        .bind(row.duration_ms.cast_signed())
        .bind(row.undone_at_ms)
        .bind(result)
        .bind(row.reason.as_str())
        .bind(row.requests.cast_signed())
        .bind(row.tokens_spent.cast_signed())
}

fn compaction_row(row: &SqliteRow) -> Result<CompactionRow, sqlx::Error> {
    Ok(CompactionRow {
        compaction_id: get(row, "compaction_id")?,
        thread_id: get(row, "thread_id")?,
        created_at_ms: get(row, "created_at_ms")?,
        strategy_used: get(row, "strategy_used")?,
        phase: get(row, "phase")?,
        trigger: get(row, "cause")?,
        reason: get(row, "reason")?,
        requests: unsigned(row, "requests")?,
        tokens_spent: unsigned(row, "tokens_spent")?,
        tokens_before: unsigned(row, "tokens_before")?,
        tokens_after: unsigned(row, "tokens_after")?,
        seq: unsigned(row, "seq")?,
        duration_ms: unsigned(row, "duration_ms")?,
        undone_at_ms: get(row, "undone_at_ms")?,
    })
}
