//! Migrations: numbered SQL files, applied in order, each in its own transaction.
//!
//! `PRAGMA user_version` is the number of the last one applied, written in the same transaction: a kill leaves a step
//! complete or absent. A released migration is never edited. The first one, version 13, creates the whole schema; databases
//! of versions before it are replaced as damaged ones are (`salvage`).

use std::path::Path;

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions as _, Connection as _};

use crate::error::StoreError;
use crate::pool::Pools;

/// Marks the file as ours (`application_id`): "lhDB".
const APPLICATION_ID: u32 = 0x6c68_4442;

/// Version reached when all migrations are applied.
pub const SCHEMA_VERSION: u32 = MIGRATIONS[MIGRATIONS.len() - 1].version;

/// Marks a database that has not yet salvaged its predecessor.
const MARK_PENDING: &str = "INSERT INTO meta (key, value) VALUES ('salvage', 'pending');";

struct Migration {
    version: u32,
    sql: &'static str,
}

const MIGRATIONS: &[Migration] = &[Migration { version: 13, sql: include_str!("../schema.sql") }];

/// Brings the database to [`SCHEMA_VERSION`]; returns the version it had.
///
/// # Errors
/// `SchemaTooNew` for a newer file, `SchemaTooOld` for one without a migration, `Corrupt` for one of another application.
pub(crate) async fn migrate(pools: &Pools) -> Result<u32, StoreError> {
    let (found, application) = versions(pools).await?;
    if application != 0 && application != APPLICATION_ID {
        let detail = format!("application_id {application:#x} is not longhaul's");
        return Err(StoreError::Corrupt { path: pools.path.clone(), detail });
    }
    if found > SCHEMA_VERSION {
        let path = pools.path.clone();
        return Err(StoreError::SchemaTooNew { path, found, known: SCHEMA_VERSION });
    }
    if (1..MIGRATIONS[0].version).contains(&found) {
        return Err(StoreError::SchemaTooOld { path: pools.path.clone(), found });
    }
    for migration in MIGRATIONS.iter().filter(|migration| migration.version > found) {
        apply(pools, migration).await?;
    }
    Ok(found)
}

async fn apply(pools: &Pools, migration: &Migration) -> Result<(), StoreError> {
    let mut transaction = pools.begin().await?;
    // Another daemon may have applied it before this one got the lock.
    let now = sqlx::query_scalar("SELECT user_version FROM pragma_user_version");
    let now: i64 = transaction.run(async |it| now.fetch_one(it).await).await?;
    if now >= i64::from(migration.version) {
        return Ok(());
    }
    let mark = if now == 0 { MARK_PENDING } else { "" };
    let stamp = format!(
        "{mark} PRAGMA user_version = {}; PRAGMA application_id = {APPLICATION_ID};",
        migration.version
    );
    transaction.run_script(migration.sql).await?;
    transaction.run_script(&stamp).await?;
    transaction.commit().await
}

/// The format of an index, which is a projection in a separate database file.
pub(crate) struct IndexFormat {
    /// Marks the file as ours.
    pub(crate) application_id: u32,
    pub(crate) version: u32,
    pub(crate) sql: &'static str,
}

/// Creates the tables of an empty index file; returns whether they existed. Another version counts as damage.
pub(crate) async fn prepare_index(pools: &Pools, format: &IndexFormat) -> Result<bool, StoreError> {
    let IndexFormat { application_id, version, sql } = format;
    match versions(pools).await? {
        found if found == (*version, *application_id) => return Ok(true),
        (0, 0) => {}
        (version, application) => {
            let detail = format!("version {version} of {application:#x}");
            return Err(StoreError::Corrupt { path: pools.path.clone(), detail });
        }
    }
    let stamp =
        format!("PRAGMA user_version = {version}; PRAGMA application_id = {application_id};");
    let mut transaction = pools.begin().await?;
    transaction.run_script(sql).await?;
    transaction.run_script(&stamp).await?;
    transaction.commit().await?;
    Ok(false)
}

/// Checks, without opening the database for writing, that its schema is not newer than this program's: a daemon must
/// fail before it takes over a socket. `SchemaTooNew` is the only error; opening the database reports others.
pub async fn check_version(path: &Path) -> Result<(), StoreError> {
    if !path.exists() {
        return Ok(());
    }
    let options = SqliteConnectOptions::new().filename(path).read_only(true);
    let found = async {
        let mut connection = options.connect().await?;
        let version: i64 = sqlx::query_scalar("SELECT user_version FROM pragma_user_version")
            .fetch_one(&mut connection)
            .await?;
        connection.close().await?;
        Ok::<_, sqlx::Error>(version)
    };
    match found.await.map(|found| u32::try_from(found).unwrap_or(u32::MAX)) {
        Ok(found) if found > SCHEMA_VERSION => {
            let path = path.to_owned();
            Err(StoreError::SchemaTooNew { path, found, known: SCHEMA_VERSION })
        }
        _ => Ok(()),
    }
}

async fn versions(pools: &Pools) -> Result<(u32, u32), StoreError> {
    let versions = sqlx::query_as::<_, (i64, i64)>(
        "SELECT v.user_version, a.application_id \
         FROM pragma_user_version v, pragma_application_id a",
    );
    let row = pools.write(async |pool| versions.fetch_one(&pool).await).await?;
    // Both are 32-bit header fields; map negative ones to a foreign value.
    Ok((u32::try_from(row.0).unwrap_or(u32::MAX), u32::try_from(row.1).unwrap_or(u32::MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn migrations_are_numbered_up_to_the_schema_version() {
        let numbers: Vec<u32> = MIGRATIONS.iter().map(|migration| migration.version).collect();
        assert!(numbers.is_sorted_by(|a, b| a < b), "{numbers:?}");
        assert_eq!(numbers.last(), Some(&SCHEMA_VERSION));
    }
}
