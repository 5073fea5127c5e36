//! Deletes compactions that are too old or too many, and tells how old things are.
//!
//! Triggers note for each row that is removed by age how long the database had been in use (table `age`). Times in
//! the rows themselves are for people: the clock they were taken from may have been wrong.

use std::collections::HashSet;

use longhaul_core::job::{Lived, Moment};
use sqlx::{QueryBuilder, Sqlite};

use crate::error::StoreError;
use crate::store::Store;

/// Rows deleted in one transaction, so that the writer is released in between.
const ROWS_PER_TURN: u32 = 64;

const IDS_PER_STATEMENT: usize = 500;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Keep {
    /// Keep those made when the database had been in use for this long, or later.
    pub since_lived_ms: i64,
    /// Keep this many newest of each thread.
    pub per_thread: u64,
    /// Keep this many newest of given items.
    pub of_items: u64,
}

/// Key of the time lived in `meta`, as JSON; the number alone stands beside it for the triggers.
const LIVED: &str = "lived";

impl Store {
    /// Notes how long the database has been in use by `now`, and answers it in milliseconds.
    ///
    /// # Errors
    /// Those of writing.
    pub async fn lived_ms(&self, now: Moment) -> Result<i64, StoreError> {
        let pools = self.pools();
        let sorted = |error| pools.sorted(error);
        let mut transaction = pools.begin().await?;
        let known: Option<(String,)> = sqlx::query_as("SELECT value FROM meta WHERE key = ?1")
            .bind(LIVED)
            .fetch_optional(&mut *transaction)
            .await
            .map_err(sorted)?;
        let known = known.and_then(|row| serde_json::from_str::<Lived>(&row.0).ok());
        let lived = match known {
            Some(known) => known.carried_on(now),
            None => Lived::begin(now),
        };
        let json = serde_json::to_string(&lived).unwrap_or_default();
        for (key, value) in [(LIVED, json), ("lived_ms", lived.ms.to_string())] {
            sqlx::query("INSERT OR REPLACE INTO meta (key, value) VALUES (?1, ?2)")
                .bind(key)
                .bind(value)
                .execute(&mut *transaction)
                .await
                .map_err(sorted)?;
        }
        transaction.commit().await.map_err(sorted)?;
        Ok(i64::try_from(lived.ms).unwrap_or(i64::MAX))
    }

    /// Deletes some compactions that are not kept and returns their ids; empty when done.
    ///
    /// # Errors
    /// Those of writing.
    pub async fn compaction_prune(&self, keep: Keep) -> Result<Vec<String>, StoreError> {
        let pools = self.pools();
        // Ranked by the index alone, without reading results.
        let rows: Vec<(String,)> = sqlx::query_as(
            "DELETE FROM compaction WHERE compaction_id IN (SELECT compaction_id FROM \
             (SELECT compaction_id, thread_id, created_at_ms, row_number() OVER \
             (PARTITION BY thread_id ORDER BY created_at_ms DESC, compaction_id DESC) AS place \
             FROM compaction) WHERE compaction_id IN (SELECT subject FROM age \
             WHERE kind = 'compaction' AND lived_ms < ?1) OR place > CASE WHEN thread_id IS NULL THEN ?3 ELSE ?2 END LIMIT ?4) \
             RETURNING compaction_id",
        )
        .bind(keep.since_lived_ms)
        .bind(keep.per_thread.cast_signed())
        .bind(keep.of_items.cast_signed())
        .bind(ROWS_PER_TURN)
        .fetch_all(pools.writer())
        .await
        .map_err(|error| pools.sorted(error))?;
        Ok(rows.into_iter().map(|row| row.0).collect())
    }

    /// Deletes these compactions; unknown ids are passed over.
    ///
    /// # Errors
    /// Those of writing.
    pub async fn compaction_delete(&self, ids: &[String]) -> Result<(), StoreError> {
        let pools = self.pools();
        for chunk in ids.chunks(IDS_PER_STATEMENT) {
            let mut query =
                QueryBuilder::<Sqlite>::new("DELETE FROM compaction WHERE compaction_id IN (");
            let mut list = query.separated(", ");
            for id in chunk {
                list.push_bind(id);
            }
            query.push(")");
            query.build().execute(pools.writer()).await.map_err(|error| pools.sorted(error))?;
        }
        Ok(())
    }

    /// Which of these compactions exist.
    ///
    /// # Errors
    /// Those of reading.
    pub async fn compactions_known(&self, ids: &[String]) -> Result<HashSet<String>, StoreError> {
        let pools = self.pools();
        let mut known = HashSet::new();
        for chunk in ids.chunks(IDS_PER_STATEMENT) {
            let mut query = QueryBuilder::<Sqlite>::new(
                "SELECT compaction_id FROM compaction WHERE compaction_id IN (",
            );
            let mut list = query.separated(", ");
            for id in chunk {
                list.push_bind(id);
            }
            query.push(")");
            let rows: Vec<(String,)> = query
                .build_query_as()
                .fetch_all(pools.reader())
                .await
                .map_err(|error| pools.sorted(error))?;
            known.extend(rows.into_iter().map(|row| row.0));
        }
        Ok(known)
    }
}
