//! Tables without row ids: read in the order of their keys from the first row on and from the last one
//! back, each time up to the row that is refused.
//!
//! They are short (rows of days and models, one row a job or note), so one damaged stretch is what is to be
//! expected of them; between two of them rows are lost.

use sqlx::{AssertSqlSafe, SqliteConnection};

use super::{TableCopy, columns, count, is_of_the_file};

const STEP_ROWS: i64 = 256;

pub(super) struct KeyedTable {
    name: &'static str,
    /// Its key, and the key from the last row back.
    orders: [&'static str; 2],
    is_sound: &'static str,
}

/// What models cost. A day beyond the calendar would be in force for ever.
pub(super) const USAGE: KeyedTable = KeyedTable {
    name: "model_usage",
    orders: ["day, provider, model, purpose", "day DESC, provider DESC, model DESC, purpose DESC"],
    is_sound: "day BETWEEN 0 AND 3000000 AND requests >= 0 AND failures >= 0 \
               AND input >= 0 AND cached_input >= 0 AND output >= 0",
};

/// Jobs: a lease that ran when the damage was met runs out as after a crash.
pub(super) const JOBS: KeyedTable = KeyedTable {
    name: "job",
    orders: ["kind, subject", "kind DESC, subject DESC"],
    is_sound: "json_valid(body)",
};

/// Notes of a person: nobody else knows them.
pub(super) const NOTES: KeyedTable = KeyedTable {
    name: "memory_note",
    orders: ["note_id", "note_id DESC"],
    is_sound: "length(text) > 0",
};

/// What is to be forgotten stays forgotten.
pub(super) const EXCLUSIONS: KeyedTable = KeyedTable {
    name: "memory_exclusion",
    orders: ["kind, subject", "kind DESC, subject DESC"],
    is_sound: "kind IN ('thread', 'project', 'entry')",
};

/// Policies as they were when they decided: without them a decision cannot be made again.
pub(super) const POLICY_SETTINGS: KeyedTable = KeyedTable {
    name: "policy_settings",
    orders: ["digest", "digest DESC"],
    is_sound: "json_valid(body)",
};

/// Watchers: where a compaction was under way, and the packet that was written for it.
pub(super) const WATCHERS: KeyedTable = KeyedTable {
    name: "policy_watcher",
    orders: ["thread_id", "thread_id DESC"],
    is_sound: "json_valid(body)",
};

/// Copies what can be read from both ends.
pub(super) async fn copy(
    connection: &mut SqliteConnection,
    table: &KeyedTable,
) -> Result<TableCopy, sqlx::Error> {
    let name = table.name;
    // A database from before the table knew nothing of it: nothing is lost.
    if !is_there(connection, name).await? {
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

/// Goes on from one end until nothing is left (`true`) or a single row is refused.
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

/// Whether the old database has a table, as far as it can say.
pub(super) async fn is_there(
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
