//! The archived threads.

use std::collections::HashMap;

use longhaul_core::archive::eviction::{Bounds, ChunkGroup};
use sqlx::{SqliteConnection, SqliteExecutor};

use super::{LIVED_UNKNOWN, ThreadAge};
use crate::error::StoreError;
use crate::pool::Pools;
use crate::row::get;

/// Drops the record of an evicted text.
pub(super) async fn drop_eviction(
    executor: impl SqliteExecutor<'_>,
    path: &str,
) -> Result<(), sqlx::Error> {
    sqlx::query("DELETE FROM evicted WHERE path = ?1").bind(path).execute(executor).await.map(drop)
}

/// The threads that have archived texts.
#[derive(Debug, Clone)]
pub struct ArchiveThreadTable(pub(super) Pools);

impl ArchiveThreadTable {
    /// Ids of archived threads with this prefix, at most `limit`, in order.
    pub async fn with_prefix(&self, prefix: &str, limit: u32) -> Result<Vec<String>, StoreError> {
        let query = "SELECT DISTINCT thread_id FROM transcript \
             WHERE thread_id >= ?1 AND thread_id < ?1 || ?2 ORDER BY thread_id LIMIT ?3";
        let rows: Vec<(String,)> = self.0.with_prefix(query, (prefix, "", limit)).await?;
        Ok(rows.into_iter().map(|(id,)| id).collect())
    }

    /// Lets texts whose age is not known, or is that of a database which was lost, count as archived now.
    pub async fn begin_ages(&self, lived_ms: i64) -> Result<(), StoreError> {
        sqlx::query("UPDATE transcript SET lived_ms = ?1 WHERE lived_ms = ?2 OR lived_ms > ?1")
            .bind(lived_ms)
            .bind(LIVED_UNKNOWN)
            .execute(self.0.writer())
            .await
            .map(drop)
            .map_err(|error| self.0.classify(error))
    }

    /// Ages of all archived threads.
    pub async fn ages(&self) -> Result<Vec<ThreadAge>, StoreError> {
        sqlx::query(
            "SELECT thread_id, max(updated_ms) AS updated_ms, max(lived_ms) AS lived_ms FROM transcript \
             GROUP BY thread_id",
        )
        .try_map(|row| {
            let (updated_ms, lived_ms) = (get(&row, "updated_ms")?, get(&row, "lived_ms")?);
            Ok(ThreadAge { thread_id: get(&row, "thread_id")?, updated_ms, lived_ms })
        })
        .fetch_all(self.0.reader())
        .await
        .map_err(|error| self.0.classify(error))
    }

    /// The chunks in use, grouped by the threads that use them, with their shares of the packs on disk. Reads every piece,
    /// which takes a second for a million chunks.
    pub async fn chunk_groups(&self) -> Result<Vec<ChunkGroup>, StoreError> {
        let classify = |error| self.0.classify(error);
        let owners: Vec<(i64, String)> =
            sqlx::query_as("SELECT transcript, thread_id FROM transcript")
                .fetch_all(self.0.reader())
                .await
                .map_err(classify)?;
        let owners: HashMap<i64, String> = owners.into_iter().collect();
        // `CROSS JOIN` keeps the order of the tables: the pieces are read in the order of their chunks.
        let rows: Vec<(String, i64)> = sqlx::query_as(
            "SELECT users, CAST(sum(bytes) AS INTEGER) FROM \
             (SELECT group_concat(DISTINCT p.transcript) AS users, \
              CAST(c.bytes AS REAL) * k.bytes / max(k.text_bytes, 1) AS bytes \
              FROM piece p CROSS JOIN chunk c USING (chunk) CROSS JOIN pack k USING (pack) GROUP BY p.chunk) \
             GROUP BY users",
        )
        .fetch_all(self.0.reader())
        .await
        .map_err(classify)?;
        let group = |(users, bytes): (String, i64)| {
            let users = users.split(',').filter_map(|user| user.parse::<i64>().ok());
            let mut threads: Vec<String> =
                users.filter_map(|user| owners.get(&user).cloned()).collect();
            threads.sort_unstable();
            threads.dedup();
            ChunkGroup { threads, bytes: bytes.cast_unsigned() }
        };
        Ok(rows.into_iter().map(group).collect())
    }

    /// Removes the texts of threads to keep `bounds`. Records these and the size of the texts, so that they are archived
    /// again only after they grow, or under wider bounds. Their chunks stay in the packs until
    /// [`ArchiveThreadTable::finish_eviction`] is called.
    pub async fn evict(&self, threads: &[String], bounds: Bounds) -> Result<(), StoreError> {
        let classify = |error| self.0.classify(error);
        let mut transaction = self.0.begin().await?;
        put_bounds(&mut transaction, bounds).await.map_err(classify)?;
        sqlx::query("INSERT OR IGNORE INTO unfinished_eviction (one) VALUES (1)")
            .execute(&mut *transaction)
            .await
            .map_err(classify)?;
        for thread in threads {
            for sql in [
                "INSERT OR REPLACE INTO evicted (path, source_bytes) \
                 SELECT path, source_bytes FROM transcript WHERE thread_id = ?1 AND generation >= 0",
                "DELETE FROM transcript WHERE thread_id = ?1",
            ] {
                sqlx::query(sql).bind(thread).execute(&mut *transaction).await.map_err(classify)?;
            }
        }
        transaction.commit().await.map_err(classify)
    }

    /// Whether packs may have text of evicted threads.
    pub async fn is_eviction_unfinished(&self) -> Result<bool, StoreError> {
        let row =
            sqlx::query("SELECT one FROM unfinished_eviction").fetch_optional(self.0.reader());
        Ok(row.await.map_err(|error| self.0.classify(error))?.is_some())
    }

    /// Records that no pack has text of evicted threads any more.
    pub async fn finish_eviction(&self) -> Result<(), StoreError> {
        let deleting = sqlx::query("DELETE FROM unfinished_eviction").execute(self.0.writer());
        deleting.await.map(drop).map_err(|error| self.0.classify(error))
    }

    /// The bounds of the last eviction or readmission.
    pub async fn eviction_bounds(&self) -> Result<Option<Bounds>, StoreError> {
        let row: Option<(i64, Option<i64>)> =
            sqlx::query_as("SELECT max_bytes, max_age_ms FROM eviction_bounds")
                .fetch_optional(self.0.reader())
                .await
                .map_err(|error| self.0.classify(error))?;
        Ok(row.map(|(max_bytes, max_age_ms)| Bounds {
            max_bytes: max_bytes.cast_unsigned(),
            max_age_ms,
        }))
    }

    /// Drops the records of evicted texts, so that they are archived again under `bounds`; returns their number.
    pub async fn readmit(&self, bounds: Bounds) -> Result<u64, StoreError> {
        let classify = |error| self.0.classify(error);
        let mut transaction = self.0.begin().await?;
        put_bounds(&mut transaction, bounds).await.map_err(classify)?;
        let dropped = sqlx::query("DELETE FROM evicted").execute(&mut *transaction).await;
        let dropped = dropped.map_err(classify)?.rows_affected();
        transaction.commit().await.map_err(classify)?;
        Ok(dropped)
    }

    /// Drops the records of these evicted texts, durably.
    pub async fn drop_evicted(&self, paths: &[String]) -> Result<(), StoreError> {
        for path in paths {
            let dropped = drop_eviction(self.0.writer(), path).await;
            dropped.map_err(|error| self.0.classify(error))?;
        }
        self.0.sync().await
    }

    /// Evicted texts, with the bytes of their transcripts at that time.
    pub async fn evicted(&self) -> Result<Vec<(String, u64)>, StoreError> {
        let rows: Vec<(String, i64)> = sqlx::query_as("SELECT path, source_bytes FROM evicted")
            .fetch_all(self.0.reader())
            .await
            .map_err(|error| self.0.classify(error))?;
        Ok(rows.into_iter().map(|(path, bytes)| (path, bytes.cast_unsigned())).collect())
    }
}

async fn put_bounds(connection: &mut SqliteConnection, bounds: Bounds) -> Result<(), sqlx::Error> {
    sqlx::query(
        "INSERT OR REPLACE INTO eviction_bounds (one, max_bytes, max_age_ms) VALUES (1, ?1, ?2)",
    )
    .bind(bounds.max_bytes.cast_signed())
    .bind(bounds.max_age_ms)
    .execute(connection)
    .await?;
    Ok(())
}
