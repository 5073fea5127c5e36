//! Deletes everything that the database has of one thread.

use crate::error::StoreError;
use crate::pool::Connections;

/// Deletes jobs or their events: those of the thread, of its compactions, and those whose input names it.
macro_rules! delete_jobs {
    ($table:literal) => {
        concat!(
            "DELETE FROM ",
            $table,
            " WHERE subject = ?1 OR subject IN (SELECT compaction_id FROM compaction WHERE thread_id = ?1 \
             UNION ALL SELECT subject FROM job \
             WHERE instr(json_extract(body, '$.payload'), json_quote(?1)) > 0)"
        )
    };
}

/// Statements that delete a thread's rows; `?1` is its id. Memory is deleted by [`crate::NoteTable::forget`], which also
/// records that it must not be learned again. Rows of `item_page` and `age` go with those that they belong to.
const STATEMENTS: [&str; 9] = [
    // In this order: the events are found by the jobs, and both by the compactions.
    delete_jobs!("job_event"),
    delete_jobs!("job"),
    "DELETE FROM semantic_update WHERE thread_id = ?1",
    "DELETE FROM file_observation WHERE thread_id = ?1",
    "DELETE FROM policy_decision WHERE thread_id = ?1",
    "DELETE FROM policy_watcher WHERE thread_id = ?1",
    "DELETE FROM agent_gauge WHERE thread_id = ?1",
    "DELETE FROM thread WHERE thread_id = ?1",
    "DELETE FROM source_file WHERE thread_id = ?1",
];

/// Deletes threads from all tables.
#[derive(Debug, Clone)]
pub struct ThreadEraser(pub(crate) Connections);

impl ThreadEraser {
    /// Deletes a thread in one transaction and returns the number of its compactions. Before this returns, the file is
    /// rewritten without the deleted rows, and the log is emptied.
    pub async fn erase(&self, thread_id: &str) -> Result<u64, StoreError> {
        let pools = self.0.pools();
        let mut transaction = pools.begin().await?;
        // From now on, what is under way cannot store it; if this fails, it is still stored, and may be written to.
        pools.erased.add(thread_id);
        for statement in STATEMENTS {
            transaction.execute(sqlx::query(statement).bind(thread_id)).await?;
        }
        // Any of these answers may quote the thread. Losing one costs at most a repeated request.
        transaction.execute(sqlx::query("DELETE FROM model_answer")).await?;
        let compactions = sqlx::query("DELETE FROM compaction WHERE thread_id = ?1");
        let compactions = transaction.execute(compactions.bind(thread_id)).await?;
        transaction.commit_durably().await?;
        pools.scrub().await?;
        Ok(compactions.rows_affected())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::Store;

    /// A new table with a thread's id must be erased, too.
    #[tokio::test]
    async fn every_table_that_names_a_thread_is_erased() {
        let folder = tempfile::tempdir().unwrap();
        let (store, _) = Store::open(&folder.path().join("x.db"), 1).await.unwrap();
        let pools = store.database.connections.pools();
        let naming: Vec<(String,)> = sqlx::query_as(
            "SELECT m.name FROM sqlite_schema AS m JOIN pragma_table_info(m.name) AS c \
             WHERE m.type = 'table' AND c.name = 'thread_id'",
        )
        .fetch_all(pools.reader())
        .await
        .unwrap();
        let naming: BTreeSet<&str> = naming.iter().map(|(name,)| name.as_str()).collect();
        let memory = BTreeSet::from(["memory_passage", "memory_thread"]);
        let of_threads = |name: &&&str| {
            **name == "compaction"
                || STATEMENTS.contains(&&*format!("DELETE FROM {name} WHERE thread_id = ?1"))
        };
        let erased: BTreeSet<&str> = naming.iter().filter(of_threads).copied().collect();
        assert_eq!(naming.difference(&erased).copied().collect::<BTreeSet<_>>(), memory);
        assert!(erased.len() >= 8, "{erased:?}");
    }
}
