//! Tables without row ids: read in key order from the first row forward and from the last row backward, each up to the
//! first unreadable row.
//!
//! These tables are small (a row per day and model, per job, per note), so a single damaged range is the expected case;
//! rows between two damaged ranges are lost.

use sqlx::{AssertSqlSafe, SqliteConnection};

use super::{Table, readable};

const STEP_ROWS: i64 = 256;

/// Copies all rows readable from either end; `false` if a row is unreadable.
pub(super) async fn copy(
    connection: &mut SqliteConnection,
    Table { name, is_sound, .. }: &Table,
    columns: &str,
    orders: [&str; 2],
) -> Result<bool, sqlx::Error> {
    let mut complete = true;
    for order in orders {
        let insert = format!(
            "INSERT OR IGNORE INTO main.{name} ({columns}) SELECT {columns} FROM \
             (SELECT {columns} FROM old.{name} ORDER BY {order} LIMIT ?1 OFFSET ?2) \
             WHERE {is_sound}"
        );
        let probe = format!(
            "SELECT count(*) FROM (SELECT 1 FROM old.{name} ORDER BY {order} LIMIT ?1 OFFSET ?2)"
        );
        if advance(connection, &insert, &probe).await? {
            break;
        }
        complete = false;
    }
    Ok(complete)
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
        let probed: Result<i64, sqlx::Error> = match query.execute(&mut *connection).await {
            Ok(_) => {
                let probe = sqlx::query_scalar(AssertSqlSafe(probe)).bind(step).bind(at);
                probe.fetch_one(&mut *connection).await
            }
            Err(error) => Err(error),
        };
        match readable(probed)? {
            Some(rows) if rows < step => return Ok(true),
            Some(_) => at += step,
            None if step > 1 => step = (step / 2).max(1),
            None => return Ok(false),
        }
    }
}
