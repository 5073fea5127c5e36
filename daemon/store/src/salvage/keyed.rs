//! Tables without row ids: read in key order from the first row forward and from the last row backward, each up to the
//! first unreadable row.
//!
//! These tables are small (a row per day and model, per job, per note), so a single damaged range is the expected case;
//! rows between two damaged ranges are lost.

use sqlx::{AssertSqlSafe, SqliteConnection};

use super::{TableCopy, columns, count, is_of_the_file};

const STEP_ROWS: i64 = 256;

pub(super) struct KeyedTable {
    name: &'static str,
    /// Order by key, forward and backward.
    orders: [&'static str; 2],
    is_sound: &'static str,
}

/// Model usage. Implausible days are dropped: they would never expire.
pub(super) const USAGE: KeyedTable = KeyedTable {
    name: "model_usage",
    orders: ["day, provider, model, purpose", "day DESC, provider DESC, model DESC, purpose DESC"],
    is_sound: "day BETWEEN 0 AND 3000000 AND requests >= 0 AND failures >= 0 \
               AND input >= 0 AND cached_input >= 0 AND output >= 0",
};

/// Jobs. A lease that was active expires as after a crash.
pub(super) const JOBS: KeyedTable = KeyedTable {
    name: "job",
    orders: ["kind, subject", "kind DESC, subject DESC"],
    is_sound: "json_valid(body)",
};

/// A person's notes, which exist nowhere else.
pub(super) const NOTES: KeyedTable = KeyedTable {
    name: "memory_note",
    orders: ["note_id", "note_id DESC"],
    is_sound: "length(text) > 0",
};

/// Exclusions, so that forgotten data stays forgotten.
pub(super) const EXCLUSIONS: KeyedTable = KeyedTable {
    name: "memory_exclusion",
    orders: ["kind, subject", "kind DESC, subject DESC"],
    is_sound: "kind IN ('thread', 'project', 'entry')",
};

/// Settings of past decisions, needed to reproduce them.
pub(super) const POLICY_SETTINGS: KeyedTable = KeyedTable {
    name: "policy_settings",
    orders: ["digest", "digest DESC"],
    is_sound: "json_valid(body)",
};

/// Watchers: the state of a running compaction and its packet.
pub(super) const WATCHERS: KeyedTable = KeyedTable {
    name: "policy_watcher",
    orders: ["thread_id", "thread_id DESC"],
    is_sound: "json_valid(body)",
};

/// Copies all rows readable from either end.
pub(super) async fn copy(
    connection: &mut SqliteConnection,
    table: &KeyedTable,
) -> Result<TableCopy, sqlx::Error> {
    let name = table.name;
    // An older database without the table loses nothing.
    if !exists(connection, name).await? {
        return Ok(TableCopy { rows: 0, complete: true });
    }
    let Some(columns) = columns(connection, name).await? else { return Ok(TableCopy::default()) };
    let mut complete = true;
    for order in table.orders {
        let insert = format!(
            "INSERT OR IGNORE INTO main.{name} ({columns}) SELECT {columns} FROM \
             (SELECT {columns} FROM old.{name} ORDER BY {order} LIMIT ?1 OFFSET ?2) \
             WHERE {}",
            table.is_sound
        );
        let probe = format!(
            "SELECT count(*) FROM (SELECT 1 FROM old.{name} ORDER BY {order} LIMIT ?1 OFFSET ?2)"
        );
        if advance(connection, &insert, &probe).await? {
            break;
        }
        complete = false;
    }
    Ok(TableCopy { rows: count(connection, name).await?, complete })
}

/// Copies from one end until no row is left (`true`) or a single row is unreadable.
async fn advance(
    connection: &mut SqliteConnection,
    insert: &str,
    probe: &str,
) -> Result<bool, sqlx::Error> {
    let (mut at, mut step) = (0, STEP_ROWS);
    loop {
        let query = sqlx::query(AssertSqlSafe(insert)).bind(step).bind(at);
        let probed: Result<(i64,), sqlx::Error> = match query.execute(&mut *connection).await {
            Ok(_) => {
                let probe = sqlx::query_as(AssertSqlSafe(probe)).bind(step).bind(at);
                probe.fetch_one(&mut *connection).await
            }
            Err(error) => Err(error),
        };
        match probed {
            Ok((rows,)) if rows < step => return Ok(true),
            Ok((_,)) => at += step,
            Err(error) if is_of_the_file(&error) && step > 1 => step = (step / 2).max(1),
            Err(error) if is_of_the_file(&error) => return Ok(false),
            Err(error) => return Err(error),
        }
    }
}

/// Whether the old database has a table, if its schema is readable.
pub(super) async fn exists(
    connection: &mut SqliteConnection,
    name: &str,
) -> Result<bool, sqlx::Error> {
    let found: Result<Option<(i64,)>, _> =
        sqlx::query_as("SELECT 1 FROM old.sqlite_schema WHERE type = 'table' AND name = ?1")
            .bind(name)
            .fetch_optional(connection)
            .await;
    match found {
        Ok(found) => Ok(found.is_some()),
        Err(error) if is_of_the_file(&error) => Ok(true),
        Err(error) => Err(error),
    }
}
