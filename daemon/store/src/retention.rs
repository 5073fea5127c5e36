//! Deletes compactions that are too old or too many.

use std::collections::HashSet;

use sqlx::{QueryBuilder, Sqlite};

use crate::compaction::CompactionTable;
use crate::error::StoreError;
use crate::row::push_list;

/// Maximum rows deleted per transaction, so that other writers get a turn.
const ROWS_PER_TURN: u32 = 64;

const IDS_PER_STATEMENT: usize = 500;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetentionRules {
    /// Keep compactions made at this age of the database or later.
    pub since_age_ms: i64,
    /// Number of newest compactions to keep per thread.
    pub per_thread: u64,
    /// Number of newest compactions of given items to keep.
    pub of_items: u64,
}

impl CompactionTable {
    /// Deletes some compactions beyond the rules and returns their ids; empty when done.
    pub async fn prune(&self, keep: RetentionRules) -> Result<Vec<String>, StoreError> {
        // Rank by indexes alone, without reading results. The age of the database comes first: the clock may have been ahead.
        let pruned = sqlx::query_scalar(
            "DELETE FROM compaction WHERE compaction_id IN (SELECT compaction_id FROM \
             (SELECT compaction_id, thread_id, row_number() OVER (PARTITION BY thread_id \
             ORDER BY lived_ms DESC, created_at_ms DESC, compaction_id DESC) AS place \
             FROM compaction LEFT JOIN age ON age.kind = 'compaction' AND subject = compaction_id) \
             WHERE compaction_id IN (SELECT subject FROM age \
             WHERE kind = 'compaction' AND lived_ms < ?1) OR place > CASE WHEN thread_id IS NULL THEN ?3 ELSE ?2 END LIMIT ?4) \
             RETURNING compaction_id",
        )
        .bind(keep.since_age_ms)
        .bind(keep.per_thread.cast_signed())
        .bind(keep.of_items.cast_signed())
        .bind(ROWS_PER_TURN);
        self.0.pools().write(async |pool| pruned.fetch_all(&pool).await).await
    }

    /// Deletes these compactions; ignores unknown ids.
    pub async fn delete(&self, ids: &[String]) -> Result<(), StoreError> {
        let pools = self.0.pools();
        for chunk in ids.chunks(IDS_PER_STATEMENT) {
            let mut query =
                QueryBuilder::<Sqlite>::new("DELETE FROM compaction WHERE compaction_id IN ");
            push_list(&mut query, chunk);
            pools.execute(query.build()).await?;
        }
        Ok(())
    }

    /// Which of these compactions exist.
    pub async fn existing(&self, ids: &[String]) -> Result<HashSet<String>, StoreError> {
        let pools = self.0.pools();
        let mut known = HashSet::new();
        for chunk in ids.chunks(IDS_PER_STATEMENT) {
            let mut query = QueryBuilder::<Sqlite>::new(
                "SELECT compaction_id FROM compaction WHERE compaction_id IN ",
            );
            push_list(&mut query, chunk);
            let ids = query.build_query_scalar::<String>();
            known.extend(pools.read(async |pool| ids.fetch_all(&pool).await).await?);
        }
        Ok(known)
    }
}
