//! Accepted semantic updates: facts and decisions reported by a person or a model, and what a person pinned or
//! dropped.

use crate::error::StoreError;
use crate::pool::Connections;
use crate::row::{get, unsigned};

/// Maximum updates per thread. The checkpoint's own limits are far lower. The oldest are deleted first, a person's
/// choices never.
pub const UPDATES_PER_THREAD_MAX: u32 = 4_096;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpdateRow {
    /// Rises in order of acceptance.
    pub update_id: i64,
    /// Line of the thread after which it was accepted.
    pub seq: u64,
    /// Unix milliseconds.
    pub created_at_ms: i64,
    /// The update as JSON text, redacted by the caller.
    pub body: String,
}

/// Accepted updates of checkpoints, pins and drops.
#[derive(Debug, Clone)]
pub struct UpdateTable(pub(crate) Connections);

impl UpdateTable {
    /// The updates of a thread in order of acceptance.
    pub async fn of_thread(&self, thread_id: &str) -> Result<Vec<UpdateRow>, StoreError> {
        let pools = self.0.pools();
        sqlx::query(
            "SELECT update_id, seq, created_at_ms, body FROM semantic_update \
             WHERE thread_id = ?1 ORDER BY update_id",
        )
        .bind(thread_id)
        .try_map(|row| {
            Ok(UpdateRow {
                update_id: get(&row, "update_id")?,
                seq: unsigned(&row, "seq")?,
                created_at_ms: get(&row, "created_at_ms")?,
                body: get(&row, "body")?,
            })
        })
        .fetch_all(pools.reader())
        .await
        .map_err(|error| pools.classify(error))
    }

    /// Stores an accepted update and returns its number.
    ///
    /// `last_known` is the number of the newest update the caller validated against (0 for none). If another was accepted
    /// since, nothing is stored and the result is `None`: the caller must validate again.
    pub async fn insert(
        &self,
        thread_id: &str,
        last_known: i64,
        update: &UpdateRow,
    ) -> Result<Option<i64>, StoreError> {
        let pools = self.0.pools();
        let classify = |error| pools.classify(error);
        let mut transaction = pools.begin().await?;
        pools.not_erased(&mut transaction, thread_id).await?;
        let inserted: Option<(i64,)> = sqlx::query_as(
            "INSERT INTO semantic_update (thread_id, seq, created_at_ms, body) \
             SELECT ?1, ?2, ?3, ?4 WHERE ?5 = \
             (SELECT coalesce(max(update_id), 0) FROM semantic_update WHERE thread_id = ?1) \
             RETURNING update_id",
        )
        .bind(thread_id)
        .bind(update.seq.cast_signed())
        .bind(update.created_at_ms)
        .bind(update.body.as_str())
        .bind(last_known)
        .fetch_optional(&mut *transaction)
        .await
        .map_err(classify)?;
        let (rows,): (i64,) =
            sqlx::query_as("SELECT count(*) FROM semantic_update WHERE thread_id = ?1")
                .bind(thread_id)
                .fetch_one(&mut *transaction)
                .await
                .map_err(classify)?;
        if rows > i64::from(UPDATES_PER_THREAD_MAX) {
            sqlx::query(
                "DELETE FROM semantic_update WHERE update_id IN (SELECT update_id \
                 FROM semantic_update WHERE thread_id = ?1 \
                 AND coalesce(CASE WHEN json_valid(body) THEN json_extract(body, '$.kind') END, '') \
                 NOT IN ('pin', 'drop') ORDER BY update_id DESC LIMIT -1 OFFSET ?2)",
            )
            .bind(thread_id)
            .bind(UPDATES_PER_THREAD_MAX)
            .execute(&mut *transaction)
            .await
            .map_err(classify)?;
        }
        pools.commit_durably(transaction).await?;
        Ok(inserted.map(|row| row.0))
    }

    /// Waits until the updates that can be read are on disk: another call may have stored one, and failed to.
    pub async fn sync(&self) -> Result<(), StoreError> {
        self.0.pools().sync().await
    }

    /// Removes an update; `false` if it does not exist.
    pub async fn remove(&self, update_id: i64) -> Result<bool, StoreError> {
        let pools = self.0.pools();
        let mut transaction = pools.begin().await?;
        let removed = sqlx::query("DELETE FROM semantic_update WHERE update_id = ?1")
            .bind(update_id)
            .execute(&mut *transaction)
            .await
            .map_err(|error| pools.classify(error))?;
        pools.commit_durably(transaction).await?;
        Ok(removed.rows_affected() > 0)
    }

    /// The threads with a pinned text.
    pub async fn pinned_threads(&self) -> Result<Vec<String>, StoreError> {
        let pools = self.0.pools();
        let rows: Vec<(String,)> = sqlx::query_as(
            "SELECT DISTINCT thread_id FROM semantic_update \
             WHERE CASE WHEN json_valid(body) THEN json_extract(body, '$.kind') END = 'pin'",
        )
        .fetch_all(pools.reader())
        .await
        .map_err(|error| pools.classify(error))?;
        Ok(rows.into_iter().map(|row| row.0).collect())
    }
}
