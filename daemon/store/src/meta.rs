//! Totals for status.

use crate::error::StoreError;
use crate::row::unsigned;
use crate::store::Store;

/// How much the store holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Totals {
    /// Transcript files, gone ones included.
    pub files: u64,
    /// Files that are no longer there.
    pub files_gone: u64,
    pub threads: u64,
    /// Bytes of the files on disk.
    pub bytes: u64,
    pub compactions: u64,
}

impl Store {
    /// Counts what the store holds.
    ///
    /// # Errors
    /// Those of reading.
    pub async fn totals(&self) -> Result<Totals, StoreError> {
        let pools = self.pools();
        sqlx::query(
            "SELECT count(*) AS files, count(gone_at_ms) AS gone, \
             coalesce(sum(size), 0) AS bytes, (SELECT count(*) FROM thread) AS threads, \
             (SELECT count(*) FROM compaction) AS compactions FROM source_file",
        )
        .try_map(|row| {
            Ok(Totals {
                files: unsigned(&row, "files")?,
                files_gone: unsigned(&row, "gone")?,
                threads: unsigned(&row, "threads")?,
                bytes: unsigned(&row, "bytes")?,
                compactions: unsigned(&row, "compactions")?,
            })
        })
        .fetch_one(pools.reader())
        .await
        .map_err(|error| pools.sorted(error))
    }
}
