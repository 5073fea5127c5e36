//! Copies data that exists only in the store from a database that is damaged or of an older version into its replacement.
//!
//! # Theory of operation
//!
//! Threads and items are rebuilt from the transcripts; what exists only here cannot be. A new
//! database is created *pending*, in the transaction that creates its tables. While it is pending, opening it
//! looks for the newest file that was moved aside, copies what is readable, and then clears the mark. A kill
//! at any point repeats this at the next start: existing rows stay unchanged.
//!
//! The old file is only read. SQLite rejects a statement that reads a damaged page, so rows are copied by ranges of
//! row ids, and a rejected range is halved down to single rows; each range has its own transaction, since an error
//! aborts the whole transaction. Tables without row ids are read from both ends, up to the first error (`keyed`). Rows
//! from damaged pages are not trusted: column types and JSON are checked.

mod keyed;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use sqlx::pool::PoolConnection;
use sqlx::{AssertSqlSafe, Sqlite, SqliteConnection};

use crate::error::{StoreError, primary_code};
use crate::path::{newest_aside, percent_encode};
use crate::pool::Pools;

/// Failed statements after which the rest of a table is skipped. Each costs some 20 µs.
const FAILURES_MAX: u32 = 20_000;

/// Largest row id to try if the table's maximum cannot be read.
const ROW_ID_GUESS: i64 = 1 << 24;

/// What was salvaged from a database that was moved aside.
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

/// A table that cannot be rebuilt.
struct Table {
    name: &'static str,
    is_sound: &'static str,
    reading: Reading,
}

enum Reading {
    /// By row ids.
    Ranges,
    /// By row ids; an older database without the table loses nothing.
    RangesIfThere,
    /// By key, in this order and backward; an older database without the table loses nothing.
    Keyed([&'static str; 2]),
}

/// In the order in which they are copied.
const TABLES: [Table; 10] = [
    Table { name: "semantic_update", is_sound: "json_valid(body)", reading: Reading::Ranges },
    Table {
        name: "compaction",
        is_sound: "json_valid(CAST(result AS TEXT))",
        reading: Reading::Ranges,
    },
    // Implausible days are dropped: they would never expire.
    Table {
        name: "model_usage",
        is_sound: "day BETWEEN 0 AND 3000000 AND requests >= 0 AND failures >= 0 \
                   AND input >= 0 AND cached_input >= 0 AND output >= 0",
        reading: Reading::Keyed([
            "day, provider, model, purpose",
            "day DESC, provider DESC, model DESC, purpose DESC",
        ]),
    },
    // A lease that was active expires as after a crash.
    Table {
        name: "job",
        is_sound: "json_valid(body)",
        reading: Reading::Keyed(["kind, subject", "kind DESC, subject DESC"]),
    },
    Table {
        name: "memory_note",
        is_sound: "length(text) > 0",
        reading: Reading::Keyed(["note_id", "note_id DESC"]),
    },
    // Forgotten data stays forgotten.
    Table {
        name: "memory_exclusion",
        is_sound: "kind IN ('thread', 'project', 'entry')",
        reading: Reading::Keyed(["kind, subject", "kind DESC, subject DESC"]),
    },
    // Published memory contains a person's edits.
    Table {
        name: "memory_generation",
        is_sound: "json_valid(edits) AND json_valid(files) AND json_valid(coalesce(found, '{}'))",
        reading: Reading::RangesIfThere,
    },
    // Past decisions are reproduced with their settings.
    Table {
        name: "policy_settings",
        is_sound: "json_valid(body)",
        reading: Reading::Keyed(["digest", "digest DESC"]),
    },
    // For review; their threads are rebuilt from transcripts.
    Table {
        name: "policy_decision",
        is_sound: "json_valid(body)",
        reading: Reading::RangesIfThere,
    },
    // The state of a running compaction and its packet.
    Table {
        name: "policy_watcher",
        is_sound: "json_valid(body)",
        reading: Reading::Keyed(["thread_id", "thread_id DESC"]),
    },
];

/// Fills a pending database from the newest one that was moved aside; `None` if there is none or nothing is
/// pending.
pub(crate) async fn salvage(pools: &Pools) -> Result<Option<SalvageReport>, StoreError> {
    let classify = |error| pools.classify(error);
    let pending = sqlx::query("SELECT 1 FROM meta WHERE key = 'salvage' AND value = 'pending'");
    if pools.write(async |pool| pending.fetch_optional(&pool).await).await?.is_none() {
        return Ok(None);
    }
    let mut connection = pools.writer().acquire().await.map_err(classify)?;
    let old = newest_aside(&pools.path).map(|(_, old)| old);
    let is_attached = match &old {
        Some(old) => attach(&mut connection, old).await.map_err(classify)?,
        None => false,
    };
    let copied = copy_all(&mut connection, is_attached).await;
    if is_attached {
        // Close it completely, so that the damaged file is not held open.
        connection.close().await.map_err(classify)?;
    }
    let copied = copied.map_err(classify)?;
    let rows = |name| copied.get(name).map_or(0, |table: &TableCopy| table.rows);
    Ok(old.map(|from| SalvageReport {
        from,
        updates: rows("semantic_update"),
        compactions: rows("compaction"),
        usage: rows("model_usage"),
        jobs: rows("job"),
        memory: rows("memory_note") + rows("memory_exclusion"),
        decisions: rows("policy_decision"),
        complete: is_attached && copied.values().all(|table| table.complete),
    }))
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
    Ok(readable(attached)?.is_some())
}

#[derive(Default)]
struct TableCopy {
    rows: u64,
    complete: bool,
}

async fn copy_all(
    connection: &mut SqliteConnection,
    is_attached: bool,
) -> Result<BTreeMap<&'static str, TableCopy>, sqlx::Error> {
    let mut copied = BTreeMap::new();
    for table in TABLES.iter().filter(|_| is_attached) {
        copied.insert(table.name, copy(connection, table).await?);
    }
    sqlx::query("DELETE FROM meta WHERE key = 'salvage'").execute(connection).await?;
    Ok(copied)
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
    let columns = sqlx::query_scalar(AssertSqlSafe(columns)).fetch_all(connection).await;
    let columns: Vec<String> = readable(columns)?.unwrap_or_default();
    Ok((!columns.is_empty()).then(|| columns.join(", ")))
}

async fn copy(connection: &mut SqliteConnection, table: &Table) -> Result<TableCopy, sqlx::Error> {
    let may_lack = !matches!(table.reading, Reading::Ranges);
    if may_lack && !exists(connection, table.name).await? {
        return Ok(TableCopy { rows: 0, complete: true });
    }
    let Some(columns) = columns(connection, table.name).await? else {
        return Ok(TableCopy::default());
    };
    let complete = match table.reading {
        Reading::Ranges | Reading::RangesIfThere => {
            copy_ranges(connection, table, &columns).await?
        }
        Reading::Keyed(orders) => keyed::copy(connection, table, &columns, orders).await?,
    };
    Ok(TableCopy { rows: count(connection, table.name).await?, complete })
}

/// Whether the old database has a table, if its schema is readable.
async fn exists(connection: &mut SqliteConnection, name: &str) -> Result<bool, sqlx::Error> {
    let table = "SELECT 1 FROM old.sqlite_schema WHERE type = 'table' AND name = ?1";
    let found = sqlx::query(table).bind(name).fetch_optional(connection).await;
    Ok(readable(found)?.is_none_or(|found| found.is_some()))
}

/// Copies by ranges of row ids; `false` if a row is unreadable.
async fn copy_ranges(
    connection: &mut SqliteConnection,
    Table { name, is_sound, .. }: &Table,
    columns: &str,
) -> Result<bool, sqlx::Error> {
    let insert = format!(
        "INSERT OR IGNORE INTO main.{name} ({columns}) SELECT {columns} FROM old.{name} \
         WHERE rowid BETWEEN ?1 AND ?2 AND {is_sound}"
    );
    let (mut complete, mut refusals) = (true, 0);
    let mut ranges = vec![(1, last_row(connection, name).await?)];
    while let Some((first, last)) = ranges.pop() {
        let query = sqlx::query(AssertSqlSafe(insert.as_str())).bind(first).bind(last);
        if readable(query.execute(&mut *connection).await)?.is_some() {
            continue;
        }
        complete = false;
        refusals += 1;
        if refusals > FAILURES_MAX {
            break;
        }
        if first < last {
            let middle = first + (last - first) / 2;
            ranges.extend([(middle + 1, last), (first, middle)]);
        }
    }
    Ok(complete)
}

async fn count(connection: &mut SqliteConnection, name: &str) -> Result<u64, sqlx::Error> {
    let count = format!("SELECT count(*) FROM main.{name}");
    let rows: i64 = sqlx::query_scalar(AssertSqlSafe(count)).fetch_one(connection).await?;
    Ok(rows.unsigned_abs())
}

async fn last_row(connection: &mut SqliteConnection, name: &str) -> Result<i64, sqlx::Error> {
    let query = format!("SELECT coalesce(max(rowid), 0) FROM old.{name}");
    let last = sqlx::query_scalar(AssertSqlSafe(query)).fetch_one(connection).await;
    Ok(readable(last)?.unwrap_or(ROW_ID_GUESS))
}

/// `None` for an error about reading the damaged file rather than writing the new one.
fn readable<T>(result: Result<T, sqlx::Error>) -> Result<Option<T>, sqlx::Error> {
    const ERROR: u32 = 1;
    const CORRUPT: u32 = 11;
    const CANNOT_OPEN: u32 = 14;
    const NOT_A_DATABASE: u32 = 26;
    match result {
        Err(error)
            if matches!(
                primary_code(&error),
                Some(ERROR | CORRUPT | CANNOT_OPEN | NOT_A_DATABASE)
            ) =>
        {
            Ok(None)
        }
        result => result.map(Some),
    }
}
