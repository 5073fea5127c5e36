//! The database's age, which no change of a clock affects.

use longhaul_store::{AgeTable, StoreError};

use crate::clock::Clock;

/// Advances the age of the database by the time that the machine saw pass; see `core::job::DatabaseAge`.
#[derive(Debug, Clone)]
pub struct AgeClock {
    pub(super) table: AgeTable,
    pub(super) clock: Clock,
}

impl AgeClock {
    pub async fn lived_ms(&self) -> Result<i64, StoreError> {
        self.table.advance(self.clock.moment()).await
    }
}
