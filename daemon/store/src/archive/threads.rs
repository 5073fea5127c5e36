//! The archived threads.

use std::collections::HashMap;

use longhaul_core::archive::eviction::{Bounds, ChunkGroup};
use sqlx::Sqlite;
use sqlx::query::Query;
use sqlx::sqlite::SqliteArguments;

use super::{LIVED_UNKNOWN, ThreadAge};
use crate::error::StoreError;
use crate::pool::{Pools, WriteTransaction};
use crate::row::{get, unsigned};

/// A statement that drops the record of an evicted text.
pub(super) fn drop_eviction(path: &str) -> Query<'_, Sqlite, SqliteArguments> {
    sqlx::query("DELETE FROM evicted WHERE path = ?1").bind(path)
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
        let ages = "UPDATE transcript SET lived_ms = ?1 WHERE lived_ms = ?2 OR lived_ms > ?1";
        let ages = sqlx::query(ages).bind(lived_ms).bind(LIVED_UNKNOWN);
        self.0.execute(ages).await.map(drop)
    }

    pub async fn ages(&self) -> Result<Vec<ThreadAge>, StoreError> {
        let ages = sqlx::query(
            "SELECT thread_id, max(updated_ms) AS updated_ms, max(lived_ms) AS lived_ms FROM transcript \
             GROUP BY thread_id",
        )
        .try_map(|row| {
            let (updated_ms, lived_ms) = (get(&row, "updated_ms")?, get(&row, "lived_ms")?);
            Ok(ThreadAge { thread_id: get(&row, "thread_id")?, updated_ms, lived_ms })
        });
        self.0.read(async |pool| ages.fetch_all(&pool).await).await
    }

    /// The chunks in use, grouped by the threads that use them, with their shares of the packs on disk. Reads every piece,
    /// which takes a second for a million chunks.
    pub async fn chunk_groups(&self) -> Result<Vec<ChunkGroup>, StoreError> {
        let owners = sqlx::query_as("SELECT transcript, thread_id FROM transcript");
        let owners = self.0.read(async |pool| owners.fetch_all(&pool).await).await?;
        let owners: HashMap<i64, String> = owners.into_iter().collect();
        // `CROSS JOIN` keeps the order of the tables: the pieces are read in the order of their chunks.
        let rows = sqlx::query_as(
            "SELECT users, CAST(sum(bytes) AS INTEGER) FROM \
             (SELECT group_concat(DISTINCT p.transcript) AS users, \
              CAST(c.bytes AS REAL) * k.bytes / max(k.text_bytes, 1) AS bytes \
              FROM piece p CROSS JOIN chunk c USING (chunk) CROSS JOIN pack k USING (pack) GROUP BY p.chunk) \
             GROUP BY users",
        );
        let rows = self.0.read(async |pool| rows.fetch_all(&pool).await).await?;
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
        let mut transaction = self.0.begin().await?;
        put_bounds(&mut transaction, bounds).await?;
        let unfinished = "INSERT OR IGNORE INTO unfinished_eviction (one) VALUES (1)";
        transaction.execute(sqlx::query(unfinished)).await?;
        for thread in threads {
            for sql in [
                "INSERT OR REPLACE INTO evicted (path, source_bytes) \
                 SELECT path, source_bytes FROM transcript WHERE thread_id = ?1 AND generation >= 0",
                "DELETE FROM transcript WHERE thread_id = ?1",
            ] {
                transaction.execute(sqlx::query(sql).bind(thread)).await?;
            }
        }
        transaction.commit().await
    }

    /// Whether packs may have text of evicted threads.
    pub async fn is_eviction_unfinished(&self) -> Result<bool, StoreError> {
        let mark = sqlx::query("SELECT one FROM unfinished_eviction");
        Ok(self.0.read(async |pool| mark.fetch_optional(&pool).await).await?.is_some())
    }

    /// Records that no pack has text of evicted threads any more.
    pub async fn finish_eviction(&self) -> Result<(), StoreError> {
        self.0.execute(sqlx::query("DELETE FROM unfinished_eviction")).await.map(drop)
    }

    /// The bounds of the last eviction or readmission.
    pub async fn eviction_bounds(&self) -> Result<Option<Bounds>, StoreError> {
        let bounds = sqlx::query("SELECT max_bytes, max_age_ms FROM eviction_bounds");
        let bounds = bounds.try_map(|row| {
            let (max_bytes, max_age_ms) = (unsigned(&row, "max_bytes")?, get(&row, "max_age_ms")?);
            Ok(Bounds { max_bytes, max_age_ms })
        });
        self.0.read(async |pool| bounds.fetch_optional(&pool).await).await
    }

    /// Drops the records of evicted texts, so that they are archived again under `bounds`; returns their number.
    pub async fn readmit(&self, bounds: Bounds) -> Result<u64, StoreError> {
        let mut transaction = self.0.begin().await?;
        put_bounds(&mut transaction, bounds).await?;
        let dropped = transaction.execute(sqlx::query("DELETE FROM evicted")).await?;
        transaction.commit().await?;
        Ok(dropped.rows_affected())
    }

    /// Drops the records of these evicted texts, durably.
    pub async fn drop_evicted(&self, paths: &[String]) -> Result<(), StoreError> {
        for path in paths {
            self.0.execute(drop_eviction(path)).await?;
        }
        self.0.sync().await
    }

    /// Evicted texts, with the bytes of their transcripts at that time.
    pub async fn evicted(&self) -> Result<Vec<(String, u64)>, StoreError> {
        let evicted = sqlx::query("SELECT path, source_bytes FROM evicted");
        let evicted =
            evicted.try_map(|row| Ok((get(&row, "path")?, unsigned(&row, "source_bytes")?)));
        self.0.read(async |pool| evicted.fetch_all(&pool).await).await
    }
}

async fn put_bounds(transaction: &mut WriteTransaction, bounds: Bounds) -> Result<(), StoreError> {
    let put = sqlx::query(
        "INSERT OR REPLACE INTO eviction_bounds (one, max_bytes, max_age_ms) VALUES (1, ?1, ?2)",
    );
    let put = put.bind(bounds.max_bytes.cast_signed()).bind(bounds.max_age_ms);
    transaction.execute(put).await.map(drop)
}
