//! Transcript files: identity, cursor, and the folded state.

use std::collections::HashMap;

use longhaul_core::digest::Digest128;
use longhaul_core::fold::{Source, ThreadHead};
use sqlx::sqlite::SqliteRow;
use sqlx::{QueryBuilder, Sqlite};

use crate::error::StoreError;
use crate::row::{digest, get, named, unsigned};
use crate::store::Store;
use crate::thread;

/// Number of a file in this database; stable while the database lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileId(pub i64);

/// What the file system says of a file: the gate that lets an unchanged one cost no read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FileStat {
    pub dev: u64,
    /// Inode.
    pub ino: u64,
    /// Bytes on disk (compressed size for a `.zst`).
    pub size: u64,
    /// Modification time, Unix nanoseconds.
    pub mtime_ns: i64,
}

/// How far a file is folded, and by which digests the passed bytes are recognised.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cursor {
    /// Counts the times the file was found to be another one; pages carry it.
    pub generation: u64,
    /// First byte not folded, in the decompressed file.
    pub offset: u64,
    /// The last folded line had no newline yet; the next byte must be one.
    pub open_end: bool,
    /// Index in the thread's lineage of the next line.
    pub next_seq: u64,
    /// Bytes covered by `head_digest`.
    pub head_bytes: u64,
    /// Digest of the file's beginning.
    pub head_digest: Digest128,
    /// Bytes before `offset` covered by `tail_digest`.
    pub tail_bytes: u64,
    /// Digest of the bytes just before `offset`.
    pub tail_digest: Digest128,
    /// Digest chained over all folded lines.
    pub chain: Digest128,
}

/// Whether a file that continues another was folded on top of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, strum::IntoStaticStr, strum::EnumString)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum BaseState {
    #[default]
    None,
    /// It was folded on top of the state it names.
    Joined,
    /// The transcript it names was not there; to be folded again when it appears.
    Missing,
}

/// A file as the store knows it, without the folded state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileRow {
    pub file_id: FileId,
    pub source: Source,
    /// Where it is; unique.
    pub path: String,
    /// It lies in the agent's archive.
    pub archived: bool,
    /// When it was found missing, Unix milliseconds; its rows are kept.
    pub gone_at_ms: Option<i64>,
    /// What the file system said when it was last read.
    pub stat: FileStat,
    /// How far it is folded.
    pub cursor: Cursor,
    /// Whether it was folded on top of another.
    pub base: BaseState,
    pub thread_id: Option<String>,
    /// Version of the saved fold.
    pub fold_version: u32,
    /// Identity and totals; `None` when another version wrote them.
    pub head: Option<ThreadHead>,
}

/// What tells of a file whether there is something new in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileState {
    pub file_id: FileId,
    pub path: String,
    pub is_gone: bool,
    pub mtime_ns: i64,
    pub generation: u64,
    pub offset: u64,
    pub next_seq: u64,
}

/// Files that are read at once.
///
/// # Source
/// Chosen: some milliseconds, after which others get the connection, and a MiB of memory.
pub const FILES_AT_ONCE: u32 = 512;

impl Store {
    /// The next files after the one of that number, gone ones included, up to [`FILES_AT_ONCE`]; from number 0 on all
    /// of them, a piece at a time, with room for others between: there may be fifty thousand.
    ///
    /// # Errors
    /// Those of reading.
    pub async fn files_after(&self, last: FileId) -> Result<Vec<FileRow>, StoreError> {
        let pools = self.pools();
        sqlx::query(
            "SELECT file_id, source, path, archived, gone_at_ms, dev, ino, size, mtime_ns, \
             generation, offset, open_end, next_seq, head_bytes, head_digest, tail_bytes, tail_digest, \
             chain, base, thread_id, fold_version, head FROM source_file WHERE file_id > ?1 ORDER BY file_id LIMIT ?2",
        )
        .bind(last.0)
        .bind(FILES_AT_ONCE)
        .try_map(|row| file_row(&row))
        .fetch_all(pools.reader())
        .await
        .map_err(|error| pools.sorted(error))
    }

    /// The same, with what tells whether there is something new in a file.
    ///
    /// # Errors
    /// Those of reading.
    pub async fn file_states_after(&self, last: FileId) -> Result<Vec<FileState>, StoreError> {
        let pools = self.pools();
        sqlx::query(
            "SELECT file_id, path, gone_at_ms IS NOT NULL AS is_gone, mtime_ns, generation, offset, next_seq \
             FROM source_file WHERE file_id > ?1 ORDER BY file_id LIMIT ?2",
        )
        .bind(last.0)
        .bind(FILES_AT_ONCE)
        .try_map(|row| file_state(&row))
        .fetch_all(pools.reader())
        .await
        .map_err(|error| pools.sorted(error))
    }

    /// The file of that number.
    ///
    /// # Errors
    /// Those of reading.
    pub async fn file(&self, file: FileId) -> Result<Option<FileRow>, StoreError> {
        let pools = self.pools();
        sqlx::query(
            "SELECT file_id, source, path, archived, gone_at_ms, dev, ino, size, mtime_ns, \
             generation, offset, open_end, next_seq, head_bytes, head_digest, tail_bytes, tail_digest, \
             chain, base, thread_id, fold_version, head FROM source_file WHERE file_id = ?1",
        )
        .bind(file.0)
        .try_map(|row| file_row(&row))
        .fetch_optional(pools.reader())
        .await
        .map_err(|error| pools.sorted(error))
    }

    /// The file at `path`.
    ///
    /// # Errors
    /// Those of reading.
    pub async fn file_by_path(&self, path: &str) -> Result<Option<FileRow>, StoreError> {
        let pools = self.pools();
        sqlx::query(
            "SELECT file_id, source, path, archived, gone_at_ms, dev, ino, size, mtime_ns, \
             generation, offset, open_end, next_seq, head_bytes, head_digest, tail_bytes, tail_digest, \
             chain, base, thread_id, fold_version, head FROM source_file WHERE path = ?1",
        )
        .bind(path)
        .try_map(|row| file_row(&row))
        .fetch_optional(pools.reader())
        .await
        .map_err(|error| pools.sorted(error))
    }

    /// Those of the files at `paths` that are marked as gone, in no particular order.
    ///
    /// # Errors
    /// Those of reading.
    pub async fn gone_files(&self, paths: &[String]) -> Result<Vec<FileRow>, StoreError> {
        let pools = self.pools();
        let mut found = Vec::new();
        for chunk in paths.chunks(500) {
            let mut query = QueryBuilder::<Sqlite>::new(
                "SELECT file_id, source, path, archived, gone_at_ms, dev, ino, size, mtime_ns, \
             generation, offset, open_end, next_seq, head_bytes, head_digest, tail_bytes, tail_digest, \
             chain, base, thread_id, fold_version, head FROM source_file WHERE gone_at_ms IS NOT NULL AND path IN (",
            );
            let mut list = query.separated(", ");
            for path in chunk {
                list.push_bind(path);
            }
            query.push(")");
            let rows = query.build().try_map(|row| file_row(&row)).fetch_all(pools.reader()).await;
            found.extend(rows.map_err(|error| pools.sorted(error))?);
        }
        Ok(found)
    }

    /// The threads of the files at `paths`, and their titles, by path.
    ///
    /// # Errors
    /// Those of reading.
    pub async fn titles(
        &self,
        paths: &[String],
    ) -> Result<HashMap<String, (String, Option<String>)>, StoreError> {
        let pools = self.pools();
        let mut found = HashMap::new();
        for chunk in paths.chunks(500) {
            let mut query = QueryBuilder::<Sqlite>::new(
                "SELECT path, coalesce(thread_id, '') AS thread_id, json_extract(head, '$.title') AS title \
                 FROM source_file WHERE path IN (",
            );
            let mut list = query.separated(", ");
            for path in chunk {
                list.push_bind(path);
            }
            query.push(")");
            let read = |row: SqliteRow| {
                Ok((get(&row, "path")?, (get(&row, "thread_id")?, get(&row, "title")?)))
            };
            let rows = query.build().try_map(read).fetch_all(pools.reader()).await;
            found.extend(rows.map_err(|error| pools.sorted(error))?);
        }
        Ok(found)
    }

    /// The saved fold of a file, as [`longhaul_core::fold::Fold::save`] rendered it, with the cursor
    /// it belongs to.
    ///
    /// # Errors
    /// Those of reading.
    pub async fn fold_blob(&self, file: FileId) -> Result<Option<(Cursor, Vec<u8>)>, StoreError> {
        let pools = self.pools();
        sqlx::query(
            "SELECT generation, offset, open_end, next_seq, head_bytes, head_digest, tail_bytes, \
             tail_digest, chain, fold FROM source_file WHERE file_id = ?1",
        )
        .bind(file.0)
        .try_map(|row| Ok((cursor(&row)?, get::<Vec<u8>>(&row, "fold")?)))
        .fetch_optional(pools.reader())
        .await
        .map_err(|error| pools.sorted(error))
    }

    /// Marks files as gone since `at_ms`, or as back (`None`), and lets their threads choose their
    /// current file anew. Rows and pages stay.
    ///
    /// # Errors
    /// Those of writing.
    pub async fn mark_gone(&self, paths: &[String], at_ms: Option<i64>) -> Result<(), StoreError> {
        if paths.is_empty() {
            return Ok(());
        }
        let pools = self.pools();
        let sorted = |error| pools.sorted(error);
        let mut transaction = pools.begin().await?;
        let mut threads = Vec::new();
        for chunk in paths.chunks(500) {
            let mut query = QueryBuilder::<Sqlite>::new("UPDATE source_file SET gone_at_ms = ");
            query.push_bind(at_ms).push(" WHERE path IN (");
            let mut list = query.separated(", ");
            for path in chunk {
                list.push_bind(path);
            }
            query.push(") RETURNING thread_id");
            let rows: Vec<(Option<String>,)> =
                query.build_query_as().fetch_all(&mut *transaction).await.map_err(sorted)?;
            threads.extend(rows.into_iter().filter_map(|row| row.0));
        }
        thread::choose(&mut transaction, threads).await.map_err(sorted)?;
        transaction.commit().await.map_err(sorted)
    }
}

fn file_state(row: &SqliteRow) -> Result<FileState, sqlx::Error> {
    Ok(FileState {
        file_id: FileId(get(row, "file_id")?),
        path: get(row, "path")?,
        is_gone: get(row, "is_gone")?,
        mtime_ns: get(row, "mtime_ns")?,
        generation: unsigned(row, "generation")?,
        offset: unsigned(row, "offset")?,
        next_seq: unsigned(row, "next_seq")?,
    })
}

/// Reads a row with all columns of [`FileRow`].
pub(crate) fn file_row(row: &SqliteRow) -> Result<FileRow, sqlx::Error> {
    Ok(FileRow {
        file_id: FileId(get(row, "file_id")?),
        source: named(row, "source")?,
        path: get(row, "path")?,
        archived: get(row, "archived")?,
        gone_at_ms: get(row, "gone_at_ms")?,
        stat: FileStat {
            dev: unsigned(row, "dev")?,
            ino: unsigned(row, "ino")?,
            size: unsigned(row, "size")?,
            mtime_ns: get(row, "mtime_ns")?,
        },
        cursor: cursor(row)?,
        base: named(row, "base")?,
        thread_id: get(row, "thread_id")?,
        fold_version: get(row, "fold_version")?,
        head: serde_json::from_str(get(row, "head")?).ok(),
    })
}

fn cursor(row: &SqliteRow) -> Result<Cursor, sqlx::Error> {
    Ok(Cursor {
        generation: unsigned(row, "generation")?,
        offset: unsigned(row, "offset")?,
        open_end: get(row, "open_end")?,
        next_seq: unsigned(row, "next_seq")?,
        head_bytes: unsigned(row, "head_bytes")?,
        head_digest: digest(row, "head_digest")?,
        tail_bytes: unsigned(row, "tail_bytes")?,
        tail_digest: digest(row, "tail_digest")?,
        chain: digest(row, "chain")?,
    })
}
