//! Observations of files that a thread read or changed.

use longhaul_core::digest::ContentHash;
use sqlx::{QueryBuilder, Sqlite, SqliteConnection};

use crate::error::StoreError;
use crate::pool::is_cached;
use crate::row::parse_rows;
use crate::thread::ThreadTable;

/// Maximum observations per thread; those of the oldest touches are deleted first.
pub const OBSERVATIONS_PER_THREAD_MAX: u32 = 2_048;

/// The state of one file after a thread touched it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observation {
    /// Path as the agent wrote it.
    pub path: String,
    pub seq: u64,
    /// Time of that line, Unix milliseconds; 0 unknown.
    pub at_ms: i64,
    /// Time of the observation, Unix milliseconds.
    pub observed_at_ms: i64,
    /// SHA-256 of its content; `None` if it did not exist.
    pub hash: Option<ContentHash>,
    pub size: u64,
    /// Its modification time, Unix milliseconds.
    pub mtime_ms: i64,
    /// It changed between the line and the observation, so the hash is not what the agent saw.
    pub late: bool,
}

impl ThreadTable {
    /// The newest observation of each file the thread touched, in order of path.
    pub async fn observations(&self, thread_id: &str) -> Result<Vec<Observation>, StoreError> {
        let seen = sqlx::query_scalar(
            "SELECT json_group_array(json_array(path, seq, at_ms, observed_at_ms, hash, size, mtime_ms, \
             late) ORDER BY path) FROM file_observation WHERE thread_id = ?1",
        )
        .bind(thread_id);
        let seen: String = self.0.pools().read(async |pool| seen.fetch_one(&pool).await).await?;
        let seen: Vec<ObservationColumns> = parse_rows("observations", &seen)?;
        Ok(seen.into_iter().map(observation).collect())
    }
}

type ObservationColumns = (String, i64, i64, i64, Option<String>, i64, i64, i64);

fn observation(seen: ObservationColumns) -> Observation {
    let (path, seq, at_ms, observed_at_ms, hash, size, mtime_ms, late) = seen;
    Observation {
        path,
        seq: seq.cast_unsigned(),
        at_ms,
        observed_at_ms,
        hash: hash.and_then(|hash| ContentHash::parse(&hash).ok()),
        size: size.cast_unsigned(),
        mtime_ms,
        late: late != 0,
    }
}

/// Writes observations of a thread. A later touch replaces an earlier one; of two observations of the same
/// touch the first wins unless it was late and the second is not, so that rereading a transcript cannot
/// replace a timely one.
pub(crate) async fn write(
    connection: &mut SqliteConnection,
    thread_id: &str,
    observations: &[Observation],
) -> Result<(), sqlx::Error> {
    if observations.is_empty() {
        return Ok(());
    }
    for chunk in observations.chunks(500) {
        let mut query = QueryBuilder::<Sqlite>::new(
            "INSERT INTO file_observation \
             (thread_id, path, seq, at_ms, observed_at_ms, hash, size, mtime_ms, late) ",
        );
        query.push_values(chunk, |mut row, seen| {
            row.push_bind(thread_id)
                .push_bind(seen.path.as_str())
                .push_bind(seen.seq.cast_signed())
                .push_bind(seen.at_ms)
                .push_bind(seen.observed_at_ms)
                .push_bind(seen.hash.as_ref().map(ContentHash::as_str))
                .push_bind(seen.size.cast_signed())
                .push_bind(seen.mtime_ms)
                .push_bind(seen.late);
        });
        query.push(
            " ON CONFLICT (thread_id, path) DO UPDATE SET seq = excluded.seq, \
             at_ms = excluded.at_ms, observed_at_ms = excluded.observed_at_ms, \
             hash = excluded.hash, size = excluded.size, mtime_ms = excluded.mtime_ms, \
             late = excluded.late \
             WHERE (excluded.at_ms, excluded.seq) > (at_ms, seq) \
             OR ((excluded.at_ms, excluded.seq) = (at_ms, seq) AND late AND NOT excluded.late)",
        );
        query.build().persistent(is_cached(chunk.len())).execute(&mut *connection).await?;
    }
    sqlx::query(
        "DELETE FROM file_observation WHERE thread_id = ?1 AND path IN (\
         SELECT path FROM file_observation WHERE thread_id = ?1 \
         ORDER BY at_ms DESC, seq DESC, path LIMIT -1 OFFSET ?2)",
    )
    .bind(thread_id)
    .bind(OBSERVATIONS_PER_THREAD_MAX)
    .execute(connection)
    .await?;
    Ok(())
}
