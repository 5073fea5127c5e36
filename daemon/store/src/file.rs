//! Transcript files: identity, cursor, and the folded state.

use std::collections::HashMap;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;

use longhaul_core::digest::Digest128;
use longhaul_core::fold::{Source, ThreadHead};
use sqlx::sqlite::SqliteRow;
use sqlx::{QueryBuilder, Sqlite};

use crate::error::StoreError;
use crate::pool::Connections;
use crate::row::{digest, get, named, push_list, unsigned};

/// Number of a file in this database; stable while the database lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileId(pub i64);

/// File metadata: a file with unchanged metadata is not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FileStat {
    pub dev: u64,
    pub ino: u64,
    /// Bytes on disk (compressed size for a `.zst`).
    pub size: u64,
    /// Modification time, Unix nanoseconds.
    pub mtime_ns: i64,
}

impl FileStat {
    pub fn of(meta: &Metadata) -> Self {
        Self {
            dev: meta.dev(),
            ino: meta.ino(),
            size: meta.size(),
            mtime_ns: meta.mtime().saturating_mul(1_000_000_000).saturating_add(meta.mtime_nsec()),
        }
    }
}

/// How far a file is folded, with digests of the folded bytes to recognize changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cursor {
    /// Counts rewrites of the file; pages carry it.
    pub generation: u64,
    /// First byte not folded, in the decompressed file.
    pub offset: u64,
    /// The last folded line has no newline yet; the next byte must be one.
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
    /// Folded on top of the state it names.
    Joined,
    /// The transcript it names was missing; fold again when it appears.
    Missing,
}

/// A file as the store knows it, without the folded state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileRow {
    pub file_id: FileId,
    pub source: Source,
    /// Unique.
    pub path: String,
    /// It is in the agent's archive.
    pub archived: bool,
    /// When it was found missing, Unix milliseconds; its rows are kept.
    pub gone_at_ms: Option<i64>,
    /// Metadata when it was last read.
    pub stat: FileStat,
    pub cursor: Cursor,
    pub base: BaseState,
    pub thread_id: Option<String>,
    pub fold_version: u32,
    /// Identity and totals; `None` if another version wrote them.
    pub head: Option<ThreadHead>,
}

/// The part of a file's row that shows whether it has new content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileState {
    pub file_id: FileId,
    pub path: String,
    pub is_gone: bool,
    /// Whether it is the current file of its thread.
    pub is_current: bool,
    pub mtime_ns: i64,
    pub generation: u64,
    pub offset: u64,
    pub chain: Digest128,
    pub next_seq: u64,
}

/// Maximum files per query.
///
/// # Source
/// Chosen: takes some milliseconds, after which others get the connection, and a MiB of memory.
pub const FILES_AT_ONCE: u32 = 512;

/// A query for [`file_row`].
macro_rules! select_files {
    ($condition:literal) => {
        concat!(
            "SELECT file_id, source, path, archived, gone_at_ms, dev, ino, size, mtime_ns, generation, offset, \
             open_end, next_seq, head_bytes, head_digest, tail_bytes, tail_digest, chain, base, thread_id, \
             fold_version, head FROM source_file ",
            $condition
        )
    };
}
pub(crate) use select_files;

/// Transcript files, for reading.
#[derive(Debug, Clone)]
pub struct FileTable(pub(crate) Connections);

impl FileTable {
    /// The next [`FILES_AT_ONCE`] files after number `last`, including missing ones; start with 0. Paged, so that other
    /// queries get a turn: there may be fifty thousand files.
    pub async fn after(&self, last: FileId) -> Result<Vec<FileRow>, StoreError> {
        let files = sqlx::query(select_files!("WHERE file_id > ?1 ORDER BY file_id LIMIT ?2"));
        let files = files.bind(last.0).bind(FILES_AT_ONCE).try_map(|row| file_row(&row));
        self.0.pools().read(async |pool| files.fetch_all(&pool).await).await
    }

    /// Like [`FileTable::after`], with only the columns of [`FileState`].
    pub async fn states_after(&self, last: FileId) -> Result<Vec<FileState>, StoreError> {
        let files = sqlx::query(
            "SELECT file_id, path, gone_at_ms IS NOT NULL AS is_gone, mtime_ns, generation, offset, chain, next_seq, \
             file_id IS (SELECT t.file_id FROM thread AS t WHERE t.thread_id = source_file.thread_id) \
             AS is_current FROM source_file WHERE file_id > ?1 ORDER BY file_id LIMIT ?2",
        );
        let files = files.bind(last.0).bind(FILES_AT_ONCE).try_map(|row| file_state(&row));
        self.0.pools().read(async |pool| files.fetch_all(&pool).await).await
    }

    pub async fn get(&self, file: FileId) -> Result<Option<FileRow>, StoreError> {
        let found = sqlx::query(select_files!("WHERE file_id = ?1"));
        let found = found.bind(file.0).try_map(|row| file_row(&row));
        self.0.pools().read(async |pool| found.fetch_optional(&pool).await).await
    }

    pub async fn by_path(&self, path: &str) -> Result<Option<FileRow>, StoreError> {
        let found = sqlx::query(select_files!("WHERE path = ?1"));
        let found = found.bind(path).try_map(|row| file_row(&row));
        self.0.pools().read(async |pool| found.fetch_optional(&pool).await).await
    }

    /// The files at `paths` that are marked as missing, in no particular order.
    pub async fn gone(&self, paths: &[String]) -> Result<Vec<FileRow>, StoreError> {
        let pools = self.0.pools();
        let mut found = Vec::new();
        for chunk in paths.chunks(500) {
            let mut query = QueryBuilder::<Sqlite>::new(select_files!(
                "WHERE gone_at_ms IS NOT NULL AND path IN "
            ));
            push_list(&mut query, chunk);
            let rows = query.build().try_map(|row| file_row(&row));
            found.extend(pools.read(async |pool| rows.fetch_all(&pool).await).await?);
        }
        Ok(found)
    }

    /// Thread ids and titles of the files at `paths`, by path.
    pub async fn titles(
        &self,
        paths: &[String],
    ) -> Result<HashMap<String, (String, Option<String>)>, StoreError> {
        let pools = self.0.pools();
        let mut found = HashMap::new();
        for chunk in paths.chunks(500) {
            let mut query = QueryBuilder::<Sqlite>::new(
                "SELECT path, coalesce(thread_id, '') AS thread_id, json_extract(head, '$.title') AS title \
                 FROM source_file WHERE path IN ",
            );
            push_list(&mut query, chunk);
            let read = |row: SqliteRow| {
                Ok((get(&row, "path")?, (get(&row, "thread_id")?, get(&row, "title")?)))
            };
            let rows = query.build().try_map(read);
            found.extend(pools.read(async |pool| rows.fetch_all(&pool).await).await?);
        }
        Ok(found)
    }

    /// The saved fold of a file, from [`longhaul_core::fold::Fold::save`], with its cursor.
    pub async fn fold(&self, file: FileId) -> Result<Option<(Cursor, Vec<u8>)>, StoreError> {
        let fold = sqlx::query(
            "SELECT generation, offset, open_end, next_seq, head_bytes, head_digest, tail_bytes, \
             tail_digest, chain, fold FROM source_file WHERE file_id = ?1",
        );
        let fold = fold.bind(file.0);
        let fold = fold.try_map(|row| Ok((cursor(&row)?, get::<Vec<u8>>(&row, "fold")?)));
        self.0.pools().read(async |pool| fold.fetch_optional(&pool).await).await
    }
}

fn file_state(row: &SqliteRow) -> Result<FileState, sqlx::Error> {
    Ok(FileState {
        file_id: FileId(get(row, "file_id")?),
        path: get(row, "path")?,
        is_gone: get(row, "is_gone")?,
        is_current: get(row, "is_current")?,
        mtime_ns: get(row, "mtime_ns")?,
        generation: unsigned(row, "generation")?,
        offset: unsigned(row, "offset")?,
        chain: digest(row, "chain")?,
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
