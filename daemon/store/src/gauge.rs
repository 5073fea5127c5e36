//! The newest context-window report of each thread's running agent.

use crate::error::StoreError;
use crate::pool::Connections;

/// Maximum threads with a report; the oldest reports are deleted first.
const GAUGES_MAX: u32 = 2_048;

/// Agents' reports of their context windows.
#[derive(Debug, Clone)]
pub struct GaugeTable(pub(crate) Connections);

impl GaugeTable {
    /// The newest report of a thread, as JSON.
    pub async fn get(&self, thread_id: &str) -> Result<Option<String>, StoreError> {
        let pools = self.0.pools();
        let row: Option<(String,)> =
            sqlx::query_as("SELECT body FROM agent_gauge WHERE thread_id = ?1")
                .bind(thread_id)
                .fetch_optional(pools.reader())
                .await
                .map_err(|error| pools.classify(error))?;
        Ok(row.map(|(body,)| body))
    }

    /// Replaces a thread's report, and deletes the oldest beyond `GAUGES_MAX`: those of the future, from when the clock was
    /// ahead, before all others.
    pub async fn set(&self, thread_id: &str, at_ms: i64, body: &str) -> Result<(), StoreError> {
        let pools = self.0.pools();
        let classify = |error| pools.classify(error);
        let mut transaction = pools.begin().await?;
        pools.not_erased(&mut transaction, thread_id).await?;
        sqlx::query(
            "INSERT INTO agent_gauge (thread_id, at_ms, body) VALUES (?1, ?2, ?3) \
             ON CONFLICT (thread_id) DO UPDATE SET at_ms = excluded.at_ms, body = excluded.body",
        )
        .bind(thread_id)
        .bind(at_ms)
        .bind(body)
        .execute(&mut *transaction)
        .await
        .map_err(classify)?;
        sqlx::query(
            "DELETE FROM agent_gauge WHERE thread_id IN (SELECT thread_id FROM agent_gauge \
             ORDER BY at_ms > ?2, at_ms DESC, thread_id LIMIT -1 OFFSET ?1)",
        )
        .bind(GAUGES_MAX)
        .bind(at_ms)
        .execute(&mut *transaction)
        .await
        .map_err(classify)?;
        transaction.commit().await.map_err(classify)
    }
}
