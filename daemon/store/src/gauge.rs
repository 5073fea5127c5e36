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
        let report = sqlx::query_scalar("SELECT body FROM agent_gauge WHERE thread_id = ?1");
        let report = report.bind(thread_id);
        self.0.pools().read(async |pool| report.fetch_optional(&pool).await).await
    }

    /// Replaces a thread's report, and deletes the oldest beyond `GAUGES_MAX`: those of the future, from when the clock was
    /// ahead, before all others.
    pub async fn set(&self, thread_id: &str, at_ms: i64, body: &str) -> Result<(), StoreError> {
        let mut transaction = self.0.pools().begin().await?;
        transaction.not_erased(thread_id).await?;
        let report = sqlx::query(
            "INSERT INTO agent_gauge (thread_id, at_ms, body) VALUES (?1, ?2, ?3) \
             ON CONFLICT (thread_id) DO UPDATE SET at_ms = excluded.at_ms, body = excluded.body",
        );
        transaction.execute(report.bind(thread_id).bind(at_ms).bind(body)).await?;
        let oldest = sqlx::query(
            "DELETE FROM agent_gauge WHERE thread_id IN (SELECT thread_id FROM agent_gauge \
             ORDER BY at_ms > ?2, at_ms DESC, thread_id LIMIT -1 OFFSET ?1)",
        );
        transaction.execute(oldest.bind(GAUGES_MAX).bind(at_ms)).await?;
        transaction.commit().await
    }
}
