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
        let mut transaction = self.0.pools().begin().await?;
        let known = sqlx::query_scalar("SELECT value FROM meta WHERE key = ?1").bind(AGE_KEY);
        let known: Option<String> =
            transaction.run(async |it| known.fetch_optional(it).await).await?;
        let known = known.and_then(|age| serde_json::from_str::<DatabaseAge>(&age).ok());
        let age = match known {
            Some(known) => known.advanced_to(now),
            None => DatabaseAge::begin(now),
        };
        let json = serde_json::to_string(&age).unwrap_or_default();
        for (key, value) in [(AGE_KEY, json), ("lived_ms", age.ms.to_string())] {
            let put = sqlx::query("INSERT OR REPLACE INTO meta (key, value) VALUES (?1, ?2)");
            transaction.execute(put.bind(key).bind(value)).await?;
        }
        transaction.commit().await?;
        Ok(i64::try_from(age.ms).unwrap_or(i64::MAX))
    }
}
