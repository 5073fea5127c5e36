//! Counts of the main tables, for tests and benchmarks.

use crate::error::StoreError;
use crate::row::unsigned;
use crate::store::Database;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Totals {
    /// Transcript files, including missing ones.
    pub files: u64,
    pub files_gone: u64,
    pub threads: u64,
    /// Bytes of the files on disk.
    pub bytes: u64,
    pub compactions: u64,
}

impl Database {
    pub async fn totals(&self) -> Result<Totals, StoreError> {
        let pools = self.connections.pools();
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
        .map_err(|error| pools.classify(error))
    }
}
