//! The archived threads.

use super::ThreadAge;
use crate::error::StoreError;
use crate::pool::Pools;
use crate::row::get;

/// The threads that have archived texts.
#[derive(Debug, Clone)]
pub struct ArchiveThreadTable(pub(super) Pools);

impl ArchiveThreadTable {
    /// Ids of archived threads with this prefix, at most `limit`, in order.
    pub async fn with_prefix(&self, prefix: &str, limit: u32) -> Result<Vec<String>, StoreError> {
        let query = "SELECT DISTINCT thread_id FROM transcript \
             WHERE thread_id >= ?1 AND thread_id < ?1 || ?2 ORDER BY thread_id LIMIT ?3";
        let rows: Vec<(String,)> = self.0.with_prefix(query, prefix, limit).await?;
        Ok(rows.into_iter().map(|(id,)| id).collect())
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

    /// The archived threads, each with the bytes of the chunks that no other thread uses.
    pub async fn exclusive_bytes(&self) -> Result<Vec<(String, u64)>, StoreError> {
        let rows: Vec<(String, i64)> = sqlx::query_as(
            "SELECT t.thread_id, sum(CASE WHEN o.threads = 1 THEN o.bytes ELSE 0 END) FROM \
             (SELECT p.chunk, c.bytes, min(t.thread_id) AS thread_id, count(DISTINCT t.thread_id) AS threads \
              FROM piece p JOIN transcript t USING (transcript) JOIN chunk c USING (chunk) GROUP BY p.chunk) o \
             JOIN (SELECT DISTINCT thread_id FROM transcript) t ON t.thread_id = o.thread_id GROUP BY t.thread_id",
        )
        .fetch_all(self.0.reader())
        .await
        .map_err(|error| self.0.classify(error))?;
        Ok(rows.into_iter().map(|(thread, bytes)| (thread, bytes.cast_unsigned())).collect())
    }

    /// Removes the texts of threads to free space, and records their size, so that they are archived again only after they
    /// grow.
    pub async fn evict(&self, threads: &[String]) -> Result<(), StoreError> {
        let classify = |error| self.0.classify(error);
        let mut transaction = self.0.begin().await?;
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

    /// Evicted texts, with the bytes of their transcripts at that time.
    pub async fn evicted(&self) -> Result<Vec<(String, u64)>, StoreError> {
        let rows: Vec<(String, i64)> = sqlx::query_as("SELECT path, source_bytes FROM evicted")
            .fetch_all(self.0.reader())
            .await
            .map_err(|error| self.0.classify(error))?;
        Ok(rows.into_iter().map(|(path, bytes)| (path, bytes.cast_unsigned())).collect())
    }
}
