//! How often memory is used.

use crate::error::StoreError;
use crate::pool::Connections;
use crate::row::{get, unsigned};

/// Usage of a kind of memory file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UseRow {
    pub kind: String,
    pub uses: u64,
    /// Last use, Unix milliseconds.
    pub last_ms: i64,
}

/// Counts of uses, by kind of memory file and by thread.
#[derive(Debug, Clone)]
pub struct UseTable(pub(crate) Connections);

impl UseTable {
    /// Counts a use of a kind of file and of its threads; ignores unknown threads.
    pub async fn add(
        &self,
        kinds: &[&str],
        thread_ids: &[String],
        at_ms: i64,
    ) -> Result<(), StoreError> {
        let mut transaction = self.0.pools().begin().await?;
        for kind in kinds {
            let used = sqlx::query(
                "INSERT INTO memory_usage (kind, uses, last_ms) VALUES (?1, 1, ?2) \
                 ON CONFLICT (kind) DO UPDATE SET uses = uses + 1, last_ms = excluded.last_ms",
            );
            transaction.execute(used.bind(*kind).bind(at_ms)).await?;
        }
        for thread_id in thread_ids {
            let used = sqlx::query(
                "UPDATE memory_thread SET uses = uses + 1, last_used_ms = ?2 WHERE thread_id = ?1",
            );
            transaction.execute(used.bind(thread_id.as_str()).bind(at_ms)).await?;
        }
        transaction.commit().await
    }

    /// Usage of each kind of file.
    pub async fn list(&self) -> Result<Vec<UseRow>, StoreError> {
        let uses = sqlx::query("SELECT kind, uses, last_ms FROM memory_usage ORDER BY kind");
        let uses = uses.try_map(|row| {
            Ok(UseRow {
                kind: get(&row, "kind")?,
                uses: unsigned(&row, "uses")?,
                last_ms: get(&row, "last_ms")?,
            })
        });
        self.0.pools().read(async |pool| uses.fetch_all(&pool).await).await
    }
}
