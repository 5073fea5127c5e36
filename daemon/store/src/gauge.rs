//! What running agents report of their windows: the newest report of each thread.

use crate::error::StoreError;
use crate::store::Store;

/// Threads whose report is kept; those of the oldest reports are deleted first.
const GAUGES_MAX: u32 = 2_048;

impl Store {
    /// The newest report on a thread, as JSON.
    ///
    /// # Errors
    /// Those of reading.
    pub async fn gauge_get(&self, thread_id: &str) -> Result<Option<String>, StoreError> {
        let pools = self.pools();
        let row: Option<(String,)> =
            sqlx::query_as("SELECT body FROM agent_gauge WHERE thread_id = ?1")
                .bind(thread_id)
                .fetch_optional(pools.reader())
                .await
                .map_err(|error| pools.sorted(error))?;
        Ok(row.map(|(body,)| body))
    }

    /// Stores a report in place of an earlier one.
    ///
    /// # Errors
    /// Those of writing.
    pub async fn gauge_set(
        &self,
        thread_id: &str,
        at_ms: i64,
        body: &str,
    ) -> Result<(), StoreError> {
        let pools = self.pools();
        let sorted = |error| pools.sorted(error);
        let mut transaction = pools.begin().await?;
        sqlx::query(
            "INSERT INTO agent_gauge (thread_id, at_ms, body) VALUES (?1, ?2, ?3) \
             ON CONFLICT (thread_id) DO UPDATE SET at_ms = excluded.at_ms, body = excluded.body",
        )
        .bind(thread_id)
        .bind(at_ms)
        .bind(body)
        .execute(&mut *transaction)
        .await
        .map_err(sorted)?;
        sqlx::query(
            "DELETE FROM agent_gauge WHERE thread_id IN (SELECT thread_id FROM agent_gauge \
             ORDER BY at_ms DESC, thread_id LIMIT -1 OFFSET ?1)",
        )
        .bind(GAUGES_MAX)
        .execute(&mut *transaction)
        .await
        .map_err(sorted)?;
        transaction.commit().await.map_err(sorted)
    }
}
