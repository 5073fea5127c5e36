//! The consolidation agent's baseline and the result of its last run: one row.

use longhaul_core::job::Fence;

use crate::error::StoreError;
use crate::job::fenced;
use crate::pool::Connections;
use crate::row::{get, unsigned};

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AgentRow {
    /// Its baseline, opaque to the store; `None` before its first success.
    pub baseline: Option<String>,
    /// Result of the last run: a stable name.
    pub outcome: String,
    /// The result for a person.
    pub detail: String,
    /// Input: `init` or `incremental`.
    pub mode: String,
    pub turns: u64,
    /// Tokens of the last run.
    pub tokens: u64,
    /// End, Unix milliseconds.
    pub at_ms: i64,
}

/// Statements that delete what may quote memory.
const QUOTES: [&str; 4] = [
    "UPDATE memory_agent SET baseline = NULL, detail = ''",
    "DELETE FROM model_answer",
    "UPDATE job_event SET detail = '' WHERE kind IN ('extract', 'consolidate', 'curate')",
    "UPDATE job SET body = json_replace(body, '$.failure.detail', '') \
     WHERE kind IN ('extract', 'consolidate', 'curate')",
];

/// The curator's last run.
#[derive(Debug, Clone)]
pub struct CurationTable(pub(crate) Connections);

impl CurationTable {
    /// The last run; `None` before the first.
    pub async fn get(&self) -> Result<Option<AgentRow>, StoreError> {
        let run = sqlx::query(
            "SELECT baseline, outcome, detail, mode, turns, tokens, at_ms FROM memory_agent",
        );
        let run = run.try_map(|row| {
            Ok(AgentRow {
                baseline: get(&row, "baseline")?,
                outcome: get(&row, "outcome")?,
                detail: get(&row, "detail")?,
                mode: get(&row, "mode")?,
                turns: unsigned(&row, "turns")?,
                tokens: unsigned(&row, "tokens")?,
                at_ms: get(&row, "at_ms")?,
            })
        });
        self.0.pools().read(async |pool| run.fetch_optional(&pool).await).await
    }

    /// Stores the result of a run. Without a baseline the previous one stays. Nothing is stored for a run that
    /// lost its job.
    /// Fails with `Fenced` if the run lost its job.
    pub async fn put(&self, run: &AgentRow, fence: &Fence) -> Result<(), StoreError> {
        let mut transaction = self.0.pools().begin().await?;
        fenced(&mut transaction, Some(fence)).await?;
        let result = sqlx::query(
            "INSERT INTO memory_agent (id, baseline, outcome, detail, mode, turns, tokens, at_ms) \
             VALUES (1, ?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (id) DO UPDATE SET \
             baseline = coalesce(excluded.baseline, memory_agent.baseline), \
             outcome = excluded.outcome, detail = excluded.detail, mode = excluded.mode, \
             turns = excluded.turns, tokens = excluded.tokens, at_ms = excluded.at_ms",
        )
        .bind(run.baseline.as_deref())
        .bind(run.outcome.as_str())
        .bind(run.detail.as_str())
        .bind(run.mode.as_str())
        .bind(run.turns.cast_signed())
        .bind(run.tokens.cast_signed())
        .bind(run.at_ms);
        transaction.execute(result).await?;
        transaction.commit().await
    }

    /// Deletes everything in which a model or a failure may quote memory: the baseline, so that the next run receives
    /// everything; cached answers; what is said of failed runs. Answers under way are not cached.
    pub async fn purge(&self) -> Result<(), StoreError> {
        let pools = self.0.pools();
        let mut transaction = pools.begin().await?;
        pools.erased.note();
        for statement in QUOTES {
            transaction.execute(sqlx::query(statement)).await?;
        }
        transaction.commit().await
    }
}
