//! Stores watchers and policy decisions within bounds. The core defines their content.

use sqlx::sqlite::SqliteRow;

use crate::error::StoreError;
use crate::pool::Connections;
use crate::row::{get, unsigned};

/// Maximum decisions per thread; the oldest are deleted first.
pub const DECISIONS_PER_THREAD_MAX: u32 = 500;

/// Maximum decisions in total.
pub const DECISIONS_MAX: u32 = 20_000;

/// Maximum watchers; the least recently changed are deleted first.
pub const WATCHERS_MAX: u32 = 5_000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecisionRow {
    /// 0 before it is stored.
    pub decision_id: i64,
    pub thread_id: String,
    pub policy: String,
    pub settings: String,
    /// Whether the policy was a shadow policy, which does not act.
    pub shadow: bool,
    /// Unix milliseconds.
    pub at_ms: i64,
    pub seq: u64,
    pub turn: u64,
    pub action: String,
    pub tier: Option<String>,
    /// Situation and decision, as JSON.
    pub body: String,
    /// The compaction it led to.
    pub compaction_id: Option<String>,
    /// Why the client did not make the requested compaction.
    pub not_made: Option<String>,
}

/// A decision's place in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogEntry {
    pub decision_id: i64,
    /// It does not repeat an earlier decision.
    pub is_new: bool,
}

/// Result of a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DecisionEnd<'a> {
    Compaction(&'a str),
    /// No compaction, with the reason.
    NotMade(&'a str),
}

const WATCHER: &str = "SELECT body FROM policy_watcher WHERE thread_id = ?1";

/// Watchers and the log of decisions.
#[derive(Debug, Clone)]
pub struct PolicyTable(pub(crate) Connections);

impl PolicyTable {
    /// A thread's watcher, as JSON.
    pub async fn watcher_get(&self, thread_id: &str) -> Result<Option<String>, StoreError> {
        let watcher = sqlx::query_scalar(WATCHER).bind(thread_id);
        self.0.pools().read(async |pool| watcher.fetch_optional(&pool).await).await
    }

    /// Changes a thread's watcher: `change` receives the stored one and returns the new one, the decisions made (each with
    /// its policy's JSON), and a result. Changes of one thread are serialized. A decision that repeats the policy's last
    /// one on the thread, or the one at the end of the same turn, gets the earlier number.
    /// On an error nothing is stored.
    pub async fn watcher_step<T: Send>(
        &self,
        (thread_id, now_ms): (&str, i64),
        change: impl FnOnce(Option<String>) -> (Option<String>, Vec<(DecisionRow, String)>, T) + Send,
    ) -> Result<(T, Vec<LogEntry>), StoreError> {
        let mut transaction = self.0.pools().begin().await?;
        transaction.not_erased(thread_id).await?;
        let watcher = sqlx::query_scalar(WATCHER).bind(thread_id);
        let found = transaction.run(async |it| watcher.fetch_optional(it).await).await?;
        let (body, decisions, answer) = change(found);
        if let Some(body) = body {
            let watcher = sqlx::query(
                "INSERT INTO policy_watcher (thread_id, updated_ms, body) VALUES (?1, ?2, ?3) \
                 ON CONFLICT DO UPDATE SET updated_ms = ?2, body = ?3",
            );
            transaction.execute(watcher.bind(thread_id).bind(now_ms).bind(body)).await?;
        }
        let mut ids = Vec::with_capacity(decisions.len());
        for (decision, settings) in &decisions {
            ids.push(transaction.run(async |it| insert(it, decision, settings).await).await?);
        }
        transaction.commit().await?;
        Ok((answer, ids))
    }

    /// Decisions, newest first, optionally of one thread, of one policy, or before a number.
    pub async fn decisions(
        &self,
        thread_id: Option<&str>,
        policy: Option<&str>,
        (before, limit): (Option<i64>, u32),
    ) -> Result<Vec<DecisionRow>, StoreError> {
        let decisions = sqlx::query(
            "SELECT * FROM policy_decision WHERE (?1 IS NULL OR thread_id = ?1) \
             AND (?2 IS NULL OR policy = ?2) AND (?3 IS NULL OR decision_id < ?3) \
             ORDER BY decision_id DESC LIMIT ?4",
        )
        .bind(thread_id)
        .bind(policy)
        .bind(before)
        .bind(limit)
        .try_map(|row| decision(&row));
        self.0.pools().read(async |pool| decisions.fetch_all(&pool).await).await
    }

    /// A decision and the JSON of its policy.
    pub async fn decision_get(
        &self,
        decision_id: i64,
    ) -> Result<Option<(DecisionRow, String)>, StoreError> {
        let found = sqlx::query(
            "SELECT policy_decision.*, policy_settings.body AS settings_body FROM policy_decision \
             JOIN policy_settings ON digest = settings WHERE decision_id = ?1",
        )
        .bind(decision_id)
        .try_map(|row| Ok((decision(&row)?, get(&row, "settings_body")?)));
        self.0.pools().read(async |pool| found.fetch_optional(&pool).await).await
    }

    /// The newest decision of the active policy for a compaction in this turn.
    pub async fn decision_of_turn(
        &self,
        thread_id: &str,
        turn: u64,
    ) -> Result<Option<i64>, StoreError> {
        let newest = sqlx::query_scalar(
            "SELECT max(decision_id) FROM policy_decision WHERE thread_id = ?1 AND turn = ?2 \
             AND shadow = 0 AND action <> 'wait'",
        )
        .bind(thread_id)
        .bind(turn.cast_signed());
        self.0.pools().read(async |pool| newest.fetch_one(&pool).await).await
    }

    pub async fn set_decision_end(
        &self,
        decision_id: i64,
        end: DecisionEnd<'_>,
    ) -> Result<(), StoreError> {
        let (compaction_id, not_made) = match end {
            DecisionEnd::Compaction(id) => (Some(id), None),
            DecisionEnd::NotMade(why) => (None, Some(why)),
        };
        let decision = sqlx::query(
            "UPDATE policy_decision SET compaction_id = ?2, not_made = ?3 WHERE decision_id = ?1",
        );
        let decision = decision.bind(decision_id).bind(compaction_id).bind(not_made);
        self.0.pools().execute(decision).await.map(drop)
    }

    /// Deletes what exceeds its bound or is older than `since_ms`, and policies without decisions. Returns the
    /// number of deleted decisions.
    pub async fn prune(&self, since_age_ms: i64) -> Result<u64, StoreError> {
        let mut transaction = self.0.pools().begin().await?;
        let decisions = sqlx::query(
            "DELETE FROM policy_decision WHERE CAST(decision_id AS TEXT) IN (SELECT subject FROM age \
             WHERE kind = 'policy_decision' AND lived_ms < ?1) OR decision_id <= \
             (SELECT max(decision_id) FROM policy_decision) - ?2 OR decision_id IN (\
             SELECT decision_id FROM (SELECT decision_id, row_number() OVER \
             (PARTITION BY thread_id ORDER BY decision_id DESC) AS place FROM policy_decision) \
             WHERE place > ?3)",
        )
        .bind(since_age_ms)
        .bind(DECISIONS_MAX)
        .bind(DECISIONS_PER_THREAD_MAX);
        let gone = transaction.execute(decisions).await?;
        let unnamed = "DELETE FROM policy_settings WHERE digest NOT IN \
                       (SELECT settings FROM policy_decision)";
        transaction.execute(sqlx::query(unnamed)).await?;
        let watchers = sqlx::query(
            "DELETE FROM policy_watcher WHERE thread_id IN (SELECT subject FROM age \
             WHERE kind = 'policy_watcher' AND lived_ms < ?1) OR thread_id NOT IN (SELECT thread_id \
             FROM policy_watcher ORDER BY updated_ms DESC, thread_id LIMIT ?2)",
        );
        transaction.execute(watchers.bind(since_age_ms).bind(WATCHERS_MAX)).await?;
        transaction.commit().await?;
        Ok(gone.rows_affected())
    }
}

async fn insert(
    connection: &mut sqlx::SqliteConnection,
    row: &DecisionRow,
    settings: &str,
) -> Result<LogEntry, sqlx::Error> {
    if let Some(decision_id) = same_as_last(connection, row).await? {
        return Ok(LogEntry { decision_id, is_new: false });
    }
    sqlx::query("INSERT OR IGNORE INTO policy_settings (digest, body) VALUES (?1, ?2)")
        .bind(&row.settings)
        .bind(settings)
        .execute(&mut *connection)
        .await?;
    let inserted = sqlx::query(
        "INSERT INTO policy_decision (thread_id, policy, settings, shadow, at_ms, seq, turn, action, \
         tier, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
    )
    .bind(&row.thread_id)
    .bind(&row.policy)
    .bind(&row.settings)
    .bind(row.shadow)
    .bind(row.at_ms)
    .bind(row.seq.cast_signed())
    .bind(row.turn.cast_signed())
    .bind(&row.action)
    .bind(&row.tier)
    .bind(&row.body)
    .execute(connection)
    .await?;
    Ok(LogEntry { decision_id: inserted.last_insert_rowid(), is_new: true })
}

/// The policy's newest decision on the thread, if this one repeats it: same line, same settings, same text. At the end
/// of a turn several callers ask (the daemon, a hook, an acting client), and later lines or other wording only change
/// figures. So the first decision at a tier is reused for the whole turn, unless it was to wait and the new one is not.
async fn same_as_last(
    connection: &mut sqlx::SqliteConnection,
    row: &DecisionRow,
) -> Result<Option<i64>, sqlx::Error> {
    sqlx::query_scalar(
        "SELECT decision_id FROM (SELECT * FROM policy_decision WHERE thread_id = ?1 AND policy = ?2 \
         ORDER BY decision_id DESC LIMIT 1) WHERE settings = ?3 AND shadow = ?4 AND ((seq = ?5 \
         AND json_extract(body, '$.decision') = json_extract(?6, '$.decision')) OR (turn = ?7 \
         AND tier IS ?8 AND (action = ?9 OR ?9 = 'wait') \
         AND json_extract(body, '$.situation.point') = 'turn_end' \
         AND json_extract(?6, '$.situation.point') = 'turn_end'))",
    )
    .bind(&row.thread_id)
    .bind(&row.policy)
    .bind(&row.settings)
    .bind(row.shadow)
    .bind(row.seq.cast_signed())
    .bind(&row.body)
    .bind(row.turn.cast_signed())
    .bind(&row.tier)
    .bind(&row.action)
    .fetch_optional(connection)
    .await
}

fn decision(row: &SqliteRow) -> Result<DecisionRow, sqlx::Error> {
    Ok(DecisionRow {
        decision_id: get(row, "decision_id")?,
        thread_id: get(row, "thread_id")?,
        policy: get(row, "policy")?,
        settings: get(row, "settings")?,
        shadow: get(row, "shadow")?,
        at_ms: get(row, "at_ms")?,
        seq: unsigned(row, "seq")?,
        turn: unsigned(row, "turn")?,
        action: get(row, "action")?,
        tier: get(row, "tier")?,
        body: get(row, "body")?,
        compaction_id: get(row, "compaction_id")?,
        not_made: get(row, "not_made")?,
    })
}
