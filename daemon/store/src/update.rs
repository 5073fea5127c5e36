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
        let updates = sqlx::query(
            "SELECT update_id, seq, created_at_ms, body FROM semantic_update \
             WHERE thread_id = ?1 ORDER BY update_id",
        );
        let updates = updates.bind(thread_id).try_map(|row| {
            Ok(UpdateRow {
                update_id: get(&row, "update_id")?,
                seq: unsigned(&row, "seq")?,
                created_at_ms: get(&row, "created_at_ms")?,
                body: get(&row, "body")?,
            })
        });
        self.0.pools().read(async |pool| updates.fetch_all(&pool).await).await
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
        let mut transaction = self.0.pools().begin().await?;
        transaction.not_erased(thread_id).await?;
        let inserted = sqlx::query_scalar(
            "INSERT INTO semantic_update (thread_id, seq, created_at_ms, body) \
             SELECT ?1, ?2, ?3, ?4 WHERE ?5 = \
             (SELECT coalesce(max(update_id), 0) FROM semantic_update WHERE thread_id = ?1) \
             RETURNING update_id",
        )
        .bind(thread_id)
        .bind(update.seq.cast_signed())
        .bind(update.created_at_ms)
        .bind(update.body.as_str())
        .bind(last_known);
        let inserted = transaction.run(async |it| inserted.fetch_optional(it).await).await?;
        let rows = sqlx::query_scalar("SELECT count(*) FROM semantic_update WHERE thread_id = ?1");
        let rows = rows.bind(thread_id);
        let rows: i64 = transaction.run(async |it| rows.fetch_one(it).await).await?;
        if rows > i64::from(UPDATES_PER_THREAD_MAX) {
            let oldest = sqlx::query(
                "DELETE FROM semantic_update WHERE update_id IN (SELECT update_id \
                 FROM semantic_update WHERE thread_id = ?1 \
                 AND coalesce(CASE WHEN json_valid(body) THEN json_extract(body, '$.kind') END, '') \
                 NOT IN ('pin', 'drop') ORDER BY update_id DESC LIMIT -1 OFFSET ?2)",
            );
            transaction.execute(oldest.bind(thread_id).bind(UPDATES_PER_THREAD_MAX)).await?;
        }
        transaction.commit_durably().await?;
        Ok(inserted)
    }

    /// Waits until the updates that can be read are on disk: another call may have stored one, and failed to.
    pub async fn sync(&self) -> Result<(), StoreError> {
        self.0.pools().sync().await
    }

    /// Removes an update; `false` if it does not exist.
    pub async fn remove(&self, update_id: i64) -> Result<bool, StoreError> {
        let mut transaction = self.0.pools().begin().await?;
        let update = sqlx::query("DELETE FROM semantic_update WHERE update_id = ?1");
        let removed = transaction.execute(update.bind(update_id)).await?;
        transaction.commit_durably().await?;
        Ok(removed.rows_affected() > 0)
    }

    pub async fn pinned_threads(&self) -> Result<Vec<String>, StoreError> {
        let threads = sqlx::query_scalar(
            "SELECT DISTINCT thread_id FROM semantic_update \
             WHERE CASE WHEN json_valid(body) THEN json_extract(body, '$.kind') END = 'pin'",
        );
        self.0.pools().read(async |pool| threads.fetch_all(&pool).await).await
    }
}
