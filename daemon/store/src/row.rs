//! Reading typed values out of rows.

use std::str::FromStr;

use longhaul_core::digest::Digest128;
use serde::de::DeserializeOwned;
use sqlx::sqlite::SqliteRow;
use sqlx::{Row as _, Sqlite};

use crate::error::StoreError;

/// A column that holds a non-negative number. SQLite has only signed ones; a device number or an
/// offset over 2⁶³ goes in and comes out bit for bit.
pub(crate) fn unsigned(row: &SqliteRow, column: &str) -> Result<u64, sqlx::Error> {
    row.try_get::<i64, _>(column).map(i64::cast_unsigned)
}

/// A column that holds 16 digest bytes.
pub(crate) fn digest(row: &SqliteRow, column: &str) -> Result<Digest128, sqlx::Error> {
    let bytes: Vec<u8> = row.try_get(column)?;
    let bytes = <[u8; 16]>::try_from(bytes).map_err(|bytes| sqlx::Error::ColumnDecode {
        index: column.to_owned(),
        source: format!("{} bytes are no digest", bytes.len()).into(),
    })?;
    Ok(Digest128(u128::from_be_bytes(bytes)))
}

/// A column that holds the name of a variant. A name that this version does not know is an error, never a
/// default: another agent's reader would make nonsense of a transcript.
pub(crate) fn named<T: FromStr>(row: &SqliteRow, column: &str) -> Result<T, sqlx::Error> {
    let name: &str = get(row, column)?;
    name.parse().map_err(|_| sqlx::Error::ColumnDecode {
        index: column.to_owned(),
        source: format!("unknown name {name:?}").into(),
    })
}

/// The bytes a digest is stored as.
pub(crate) fn digest_bytes(digest: Digest128) -> Vec<u8> {
    digest.0.to_be_bytes().to_vec()
}

pub(crate) fn get<'r, T>(row: &'r SqliteRow, column: &str) -> Result<T, sqlx::Error>
where
    T: sqlx::Decode<'r, Sqlite> + sqlx::Type<Sqlite>,
{
    row.try_get(column)
}

/// Rows aggregated into one by SQLite, as a JSON list of lists.
///
/// Each result row is a message from the connection's thread that wakes the receiver: for hundreds of short
/// rows this costs more than reading them.
pub(crate) fn gathered<T: DeserializeOwned>(
    what: &'static str,
    rows: &str,
) -> Result<Vec<T>, StoreError> {
    serde_json::from_str(rows)
        .map_err(|error| StoreError::Undecodable { what, detail: error.to_string() })
}
