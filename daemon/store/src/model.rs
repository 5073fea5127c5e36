//! Model usage, and cached answers by digest of the request.

use crate::error::StoreError;
use crate::pool::Connections;
use crate::row::get;

/// Maximum cached answers; the oldest are deleted first. They only need to outlive the job that asked.
pub const ANSWERS_MAX: u32 = 64;

/// Maximum days with usage that are kept; the earliest are deleted first.
pub const USAGE_DAYS_MAX: u32 = 400;

/// Usage for one purpose with one model in one UTC day. As an argument, the amount to add; may be negative
/// to correct an earlier one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UsageRow {
    pub day: i64,
    /// Name of the provider in the configuration.
    pub provider: String,
    pub model: String,
    /// Purpose: `compaction`, `extract` …
    pub purpose: String,
    /// Requests sent, including failed ones.
    pub requests: i64,
    /// The part of `requests` that failed.
    pub failures: i64,
    /// Input tokens, including cached ones.
    pub input: i64,
    /// The part read from the provider's cache.
    pub cached_input: i64,
    pub output: i64,
}

/// Usage of models, and their cached answers.
#[derive(Debug, Clone)]
pub struct ModelTable(pub(crate) Connections);

impl ModelTable {
    /// Adds usage, and deletes the earliest other days beyond [`USAGE_DAYS_MAX`]. None is deleted for its date: the clock may
    /// have been set ahead.
    pub async fn usage_add(&self, added: &UsageRow) -> Result<(), StoreError> {
        let mut transaction = self.0.pools().begin().await?;
        let usage = sqlx::query(
            "INSERT INTO model_usage (day, provider, model, purpose, requests, failures, input, \
             cached_input, output) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) \
             ON CONFLICT DO UPDATE SET requests = requests + ?5, failures = failures + ?6, \
             input = input + ?7, cached_input = cached_input + ?8, output = output + ?9",
        )
        .bind(added.day)
        .bind(added.provider.as_str())
        .bind(added.model.as_str())
        .bind(added.purpose.as_str())
        .bind(added.requests)
        .bind(added.failures)
        .bind(added.input)
        .bind(added.cached_input)
        .bind(added.output);
        transaction.execute(usage).await?;
        let earliest = sqlx::query(
            "DELETE FROM model_usage WHERE day <> ?1 AND day <= \
             (SELECT DISTINCT day FROM model_usage ORDER BY day DESC LIMIT 1 OFFSET ?2)",
        );
        transaction.execute(earliest.bind(added.day).bind(USAGE_DAYS_MAX)).await?;
        transaction.commit().await
    }

    /// Usage from `first_day` on, by day, provider, model and purpose.
    pub async fn usage_since(&self, first_day: i64) -> Result<Vec<UsageRow>, StoreError> {
        let usage = sqlx::query(
            "SELECT * FROM model_usage WHERE day >= ?1 ORDER BY day, provider, model, purpose",
        );
        let usage = usage.bind(first_day).try_map(|row| {
            Ok(UsageRow {
                day: get(&row, "day")?,
                provider: get(&row, "provider")?,
                model: get(&row, "model")?,
                purpose: get(&row, "purpose")?,
                requests: get(&row, "requests")?,
                failures: get(&row, "failures")?,
                input: get(&row, "input")?,
                cached_input: get(&row, "cached_input")?,
                output: get(&row, "output")?,
            })
        });
        self.0.pools().read(async |pool| usage.fetch_all(&pool).await).await
    }

    /// The cached answer to the request with this digest.
    pub async fn answer_get(&self, digest: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let answer = sqlx::query_scalar("SELECT body FROM model_answer WHERE digest = ?1");
        let answer = answer.bind(digest);
        self.0.pools().read(async |pool| answer.fetch_optional(&pool).await).await
    }

    /// Deletes the cached answer to the request with this digest.
    pub async fn answer_delete(&self, digest: &str) -> Result<(), StoreError> {
        let answer = sqlx::query("DELETE FROM model_answer WHERE digest = ?1").bind(digest);
        self.0.pools().execute(answer).await.map(drop)
    }

    /// The number of erasures so far, of threads or from memory. Each deletes all answers.
    pub fn erasures(&self) -> u64 {
        self.0.pools().erased.count()
    }

    /// Caches the answer to a request whose text was gathered after `erasures`, and deletes the oldest beyond
    /// [`ANSWERS_MAX`]: those of the future, from when the clock was ahead, before all others. After another erasure nothing is stored: the answer may quote what is gone.
    pub async fn answer_put(
        &self,
        (digest, erasures): (&str, u64),
        created_at_ms: i64,
        body: &[u8],
    ) -> Result<(), StoreError> {
        let pools = self.0.pools();
        let mut transaction = pools.begin().await?;
        if pools.erased.count() != erasures {
            return Ok(());
        }
        let answer = sqlx::query(
            "INSERT OR REPLACE INTO model_answer (digest, created_at_ms, body) VALUES (?1, ?2, ?3)",
        );
        transaction.execute(answer.bind(digest).bind(created_at_ms).bind(body)).await?;
        let oldest = sqlx::query(
            "DELETE FROM model_answer WHERE digest NOT IN (SELECT digest FROM model_answer \
             ORDER BY created_at_ms > ?2, created_at_ms DESC, digest LIMIT ?1)",
        );
        transaction.execute(oldest.bind(ANSWERS_MAX).bind(created_at_ms)).await?;
        transaction.commit().await
    }
}
