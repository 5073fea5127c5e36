//! Reads typed values from rows.

use std::str::FromStr;

use longhaul_core::digest::Digest128;
use serde::de::DeserializeOwned;
use sqlx::sqlite::SqliteRow;
use sqlx::{QueryBuilder, Row as _, Sqlite};

use crate::error::StoreError;

/// A column with a non-negative number. SQLite has only signed ones, so numbers of 2⁶³ and above are stored by
/// their bits.
pub(crate) fn unsigned(row: &SqliteRow, column: &str) -> Result<u64, sqlx::Error> {
    row.try_get::<i64, _>(column).map(i64::cast_unsigned)
}

/// A column with 16 digest bytes.
pub(crate) fn digest(row: &SqliteRow, column: &str) -> Result<Digest128, sqlx::Error> {
    Ok(Digest128(u128::from_be_bytes(digest_of(row, column)?)))
}

/// A column with the bytes of any digest.
pub(crate) fn digest_of<const N: usize>(
    row: &SqliteRow,
    column: &str,
) -> Result<[u8; N], sqlx::Error> {
    let bytes: Vec<u8> = row.try_get(column)?;
    bytes.try_into().map_err(|bytes: Vec<u8>| sqlx::Error::ColumnDecode {
        index: column.to_owned(),
        source: format!("a digest of {} bytes", bytes.len()).into(),
    })
}

/// A column with the name of a variant. An unknown name is an error, never a default: reading a transcript as that
/// of another agent would produce nonsense.
pub(crate) fn named<T: FromStr>(row: &SqliteRow, column: &str) -> Result<T, sqlx::Error> {
    let name: &str = get(row, column)?;
    name.parse().map_err(|_| sqlx::Error::ColumnDecode {
        index: column.to_owned(),
        source: format!("unknown name {name:?}").into(),
    })
}

pub(crate) fn digest_bytes(digest: Digest128) -> Vec<u8> {
    digest.0.to_be_bytes().to_vec()
}

pub(crate) fn get<'r, T>(row: &'r SqliteRow, column: &str) -> Result<T, sqlx::Error>
where
    T: sqlx::Decode<'r, Sqlite> + sqlx::Type<Sqlite>,
{
    row.try_get(column)
}

/// Parses rows that SQLite aggregated into one JSON array.
///
/// Each result row is a message from the connection's thread that wakes the receiver; for hundreds of short rows
/// that costs more than reading them.
pub(crate) fn parse_rows<T: DeserializeOwned>(
    what: &'static str,
    rows: &str,
) -> Result<Vec<T>, StoreError> {
    serde_json::from_str(rows)
        .map_err(|error| StoreError::Undecodable { what, detail: error.to_string() })
}

/// Appends `(?, ?, …)` with a value for each `?`.
pub(crate) fn push_list<'v, T>(
    query: &mut QueryBuilder<Sqlite>,
    values: impl IntoIterator<Item = T>,
) where
    T: sqlx::Encode<'v, Sqlite> + sqlx::Type<Sqlite>,
{
    query.push("(");
    let mut list = query.separated(", ");
    for value in values {
        list.push_bind(value);
    }
    query.push(")");
}
