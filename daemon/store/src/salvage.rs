//! Copies data that exists only in the store from a damaged database into its replacement.
//!
//! # Theory of operation
//!
//! Threads and items are rebuilt from the transcripts; what exists only here cannot be. A new
//! database is created *pending*, in the transaction that creates its tables. While it is pending, opening it
//! looks for the newest file that was moved aside, copies what is readable, and then clears the mark. A kill
//! at any point repeats this at the next start: existing rows stay unchanged.
//!
//! The damaged file is only read. SQLite rejects a statement that reads a damaged page, so rows are copied by ranges of
//! row ids, and a rejected range is halved down to single rows; each range has its own transaction, since an error
//! aborts the whole transaction. Tables without row ids are read from both ends, up to the first error (`keyed`). Rows
//! from damaged pages are not trusted: column types and JSON are checked.

mod keyed;

use std::path::{Path, PathBuf};

use sqlx::pool::PoolConnection;
use sqlx::{AssertSqlSafe, Sqlite, SqliteConnection};

use crate::error::{StoreError, primary_code};
use crate::path::percent_encode;
use crate::pool::Pools;

/// Failed statements after which the rest of a table is skipped. Each costs some 20 µs.
const FAILURES_MAX: u32 = 20_000;

/// Largest row id to try if the table's maximum cannot be read.
const ROW_ID_GUESS: i64 = 1 << 24;

/// What was salvaged from a damaged database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SalvageReport {
    pub from: PathBuf,
    pub updates: u64,
    pub compactions: u64,
    /// Rows of model usage: a spent budget stays spent.
    pub usage: u64,
    pub jobs: u64,
    pub memory: u64,
    pub decisions: u64,
    /// Whether every page of these tables was readable.
    pub complete: bool,
}

/// A table that cannot be rebuilt, with the condition for a sound row.
struct Table {
    name: &'static str,
    is_sound: &'static str,
}

const UPDATES: Table = Table { name: "semantic_update", is_sound: "json_valid(body)" };
/// Published memory contains a person's edits.
const GENERATIONS: Table = Table {
    name: "memory_generation",
    is_sound: "json_valid(edits) AND json_valid(files) AND json_valid(coalesce(found, '{}'))",
};
/// Decisions are kept for review; their threads are rebuilt from transcripts.
const DECISIONS: Table = Table { name: "policy_decision", is_sound: "json_valid(body)" };
const COMPACTIONS: Table =
    Table { name: "compaction", is_sound: "json_valid(CAST(result AS TEXT))" };

/// Fills a pending database from the newest one that was moved aside; `None` if there is none or nothing is
/// pending.
pub(crate) async fn salvage(pools: &Pools) -> Result<Option<SalvageReport>, StoreError> {
    let classify = |error| pools.classify(error);
    let pending: Option<(i64,)> =
        sqlx::query_as("SELECT 1 FROM meta WHERE key = 'salvage' AND value = 'pending'")
            .fetch_optional(pools.writer())
            .await
            .map_err(classify)?;
    if pending.is_none() {
        return Ok(None);
    }
    let mut connection = pools.writer().acquire().await.map_err(classify)?;
    let old = newest_aside(&pools.path);
    let is_attached = match &old {
        Some(old) => attach(&mut connection, old).await.map_err(classify)?,
        None => false,
    };
    let copied = copy_all(&mut connection, is_attached).await;
    if is_attached {
        // Close it completely, so that the damaged file is not held open.
        connection.close().await.map_err(classify)?;
    }
    let Tables { updates, compactions, usage, jobs, notes, exclusions, generations, policy } =
        copied.map_err(classify)?;
    Ok(old.map(|from| SalvageReport {
        from,
        updates: updates.rows,
        compactions: compactions.rows,
        usage: usage.rows,
        jobs: jobs.rows,
        memory: notes.rows + exclusions.rows,
        decisions: policy.decisions.rows,
        complete: [updates, compactions, usage, jobs, notes, exclusions, generations]
            .iter()
            .chain([&policy.decisions, &policy.watchers, &policy.settings])
            .all(|table| table.complete),
    }))
}

/// The last database that was moved aside: `<name>.corrupt-<ms>`.
fn newest_aside(path: &Path) -> Option<PathBuf> {
    let prefix = format!("{}.corrupt-", path.file_name()?.to_str()?);
    let names = std::fs::read_dir(path.parent()?).ok()?.flatten().map(|entry| entry.file_name());
    let stamped = names.filter_map(|name| {
        let stamp: i64 = name.to_str()?.strip_prefix(&prefix)?.parse().ok()?;
        Some((stamp, name))
    });
    let (_, name) = stamped.max()?;
    Some(path.with_file_name(name))
}

/// Attaches the damaged file; `false` if it is not a database at all.
async fn attach(connection: &mut PoolConnection<Sqlite>, old: &Path) -> Result<bool, sqlx::Error> {
    let mut log = old.as_os_str().to_owned();
    log.push("-wal");
    // Without a log the file can be read as immutable; with one, SQLite must read the log too.
    let has_log = std::fs::metadata(log).is_ok_and(|log| log.len() > 0);
    let mode = if has_log { "mode=ro" } else { "mode=ro&immutable=1" };
    let uri = format!("file:{}?{mode}", percent_encode(old));
    let attached = sqlx::query("ATTACH ?1 AS old").bind(uri).execute(&mut **connection).await;
    match attached {
        Ok(_) => Ok(true),
        Err(error) if is_of_the_file(&error) => Ok(false),
        Err(error) => Err(error),
    }
}

#[derive(Default)]
struct TableCopy {
    rows: u64,
    complete: bool,
}

#[derive(Default)]
struct Tables {
    updates: TableCopy,
    compactions: TableCopy,
    usage: TableCopy,
    jobs: TableCopy,
    notes: TableCopy,
    exclusions: TableCopy,
    generations: TableCopy,
    policy: PolicyTables,
}

/// Results for the tables of policies.
#[derive(Default)]
struct PolicyTables {
    decisions: TableCopy,
    watchers: TableCopy,
    settings: TableCopy,
}

async fn copy_all(
    connection: &mut SqliteConnection,
    is_attached: bool,
) -> Result<Tables, sqlx::Error> {
    let mut tables = Tables::default();
    if is_attached {
        tables.updates = copy(connection, &UPDATES).await?;
        tables.compactions = copy(connection, &COMPACTIONS).await?;
        tables.usage = keyed::copy(connection, &keyed::USAGE).await?;
        tables.jobs = keyed::copy(connection, &keyed::JOBS).await?;
        tables.notes = keyed::copy(connection, &keyed::NOTES).await?;
        tables.exclusions = keyed::copy(connection, &keyed::EXCLUSIONS).await?;
        tables.generations = copy_if_exists(connection, &GENERATIONS).await?;
        tables.policy = PolicyTables {
            settings: keyed::copy(connection, &keyed::POLICY_SETTINGS).await?,
            decisions: copy_if_exists(connection, &DECISIONS).await?,
            watchers: keyed::copy(connection, &keyed::WATCHERS).await?,
        };
    }
    sqlx::query("DELETE FROM meta WHERE key = 'salvage'").execute(connection).await?;
    Ok(tables)
}

/// The columns of a table that both databases have, since their schemas may differ. `None` if the old one lacks the
/// table or cannot be read.
async fn columns(
    connection: &mut SqliteConnection,
    name: &str,
) -> Result<Option<String>, sqlx::Error> {
    let columns = format!(
        "SELECT name FROM pragma_table_info('{name}', 'main') \
         WHERE name IN (SELECT name FROM pragma_table_info('{name}', 'old'))"
    );
    let columns: Vec<(String,)> =
        match sqlx::query_as(AssertSqlSafe(columns)).fetch_all(&mut *connection).await {
            Ok(columns) => columns,
            Err(error) if is_of_the_file(&error) => Vec::new(),
            Err(error) => return Err(error),
        };
    let columns: Vec<String> = columns.into_iter().map(|column| column.0).collect();
    Ok((!columns.is_empty()).then(|| columns.join(", ")))
}

/// Copies a table that an older database may lack.
async fn copy_if_exists(
    connection: &mut SqliteConnection,
    table: &Table,
) -> Result<TableCopy, sqlx::Error> {
    match keyed::exists(connection, table.name).await? {
        true => copy(connection, table).await,
        false => Ok(TableCopy { rows: 0, complete: true }),
    }
}

async fn copy(connection: &mut SqliteConnection, table: &Table) -> Result<TableCopy, sqlx::Error> {
    let Table { name, is_sound } = table;
    let mut copied = TableCopy { rows: 0, complete: true };
    let Some(columns) = columns(connection, name).await? else { return Ok(TableCopy::default()) };
    let insert = format!(
        "INSERT OR IGNORE INTO main.{name} ({columns}) SELECT {columns} FROM old.{name} \
         WHERE rowid BETWEEN ?1 AND ?2 AND {is_sound}"
    );
    let mut refusals = 0;
    let mut ranges = vec![(1, last_row(connection, name).await?)];
    while let Some((first, last)) = ranges.pop() {
        let query = sqlx::query(AssertSqlSafe(insert.as_str())).bind(first).bind(last);
        match query.execute(&mut *connection).await {
            Ok(_) => {}
            Err(error) if is_of_the_file(&error) => {
                copied.complete = false;
                refusals += 1;
                if refusals > FAILURES_MAX {
                    break;
                }
                if first < last {
                    let middle = first + (last - first) / 2;
                    ranges.extend([(middle + 1, last), (first, middle)]);
                }
            }
            Err(error) => return Err(error),
        }
    }
    copied.rows = count(connection, name).await?;
    Ok(copied)
}

async fn count(connection: &mut SqliteConnection, name: &str) -> Result<u64, sqlx::Error> {
    let count = format!("SELECT count(*) FROM main.{name}");
    let (rows,): (i64,) = sqlx::query_as(AssertSqlSafe(count)).fetch_one(connection).await?;
    Ok(rows.unsigned_abs())
}

async fn last_row(connection: &mut SqliteConnection, name: &str) -> Result<i64, sqlx::Error> {
    let query = format!("SELECT coalesce(max(rowid), 0) FROM old.{name}");
    match sqlx::query_as(AssertSqlSafe(query)).fetch_one(connection).await {
        Ok((last,)) => Ok(last),
        Err(error) if is_of_the_file(&error) => Ok(ROW_ID_GUESS),
        Err(error) => Err(error),
    }
}

/// Whether an error is about reading the damaged file rather than writing the new one.
fn is_of_the_file(error: &sqlx::Error) -> bool {
    const ERROR: u32 = 1;
    const CORRUPT: u32 = 11;
    const CANNOT_OPEN: u32 = 14;
    const NOT_A_DATABASE: u32 = 26;
    primary_code(error)
        .is_some_and(|code| [ERROR, CORRUPT, CANNOT_OPEN, NOT_A_DATABASE].contains(&code))
}
