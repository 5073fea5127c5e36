//! The database's age.
//!
//! For each row that is deleted by age, triggers record the database's age when it was written (table `age`). Times in
//! the rows themselves are only for people: their clock may have been wrong.

use longhaul_core::job::{DatabaseAge, Moment};

use crate::error::StoreError;
use crate::pool::Connections;

/// Key of the age in `meta`, as JSON. The triggers read the number alone, under `lived_ms`.
const AGE_KEY: &str = "lived";

/// The time that the database has existed, as far as the clocks can be trusted.
#[derive(Debug, Clone)]
pub struct AgeTable(pub(crate) Connections);

impl AgeTable {
    /// Advances the database's age to `now` and returns it in milliseconds.
    pub async fn advance(&self, now: Moment) -> Result<i64, StoreError> {
        let pools = self.0.pools();
        let classify = |error| pools.classify(error);
        let mut transaction = pools.begin().await?;
        let known: Option<(String,)> = sqlx::query_as("SELECT value FROM meta WHERE key = ?1")
            .bind(AGE_KEY)
            .fetch_optional(&mut *transaction)
            .await
            .map_err(classify)?;
        let known = known.and_then(|row| serde_json::from_str::<DatabaseAge>(&row.0).ok());
        let age = match known {
            Some(known) => known.advanced_to(now),
            None => DatabaseAge::begin(now),
        };
        let json = serde_json::to_string(&age).unwrap_or_default();
        for (key, value) in [(AGE_KEY, json), ("lived_ms", age.ms.to_string())] {
            sqlx::query("INSERT OR REPLACE INTO meta (key, value) VALUES (?1, ?2)")
                .bind(key)
                .bind(value)
                .execute(&mut *transaction)
                .await
                .map_err(classify)?;
        }
        transaction.commit().await.map_err(classify)?;
        Ok(i64::try_from(age.ms).unwrap_or(i64::MAX))
    }
}
