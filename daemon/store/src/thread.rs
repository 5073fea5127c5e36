//! Threads, each with its current file, and lists of them.

use std::collections::{BTreeMap, BTreeSet};

use longhaul_core::fold::{Source, ThreadHead};
use sqlx::sqlite::SqliteRow;
use sqlx::{QueryBuilder, Sqlite, SqliteConnection};

use crate::current::{self, Candidate};
use crate::error::StoreError;
use crate::file::{FileRow, file_row, select_files};
use crate::pool::{Connections, is_cached};
use crate::row::{get, push_list};

const THREADS_PER_STATEMENT: usize = 500;

/// A thread and its current file, whose head has identity and totals.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadRow {
    pub thread_id: String,
    /// Its current file.
    pub file: FileRow,
}

/// Selects threads; `None` means any.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ThreadFilter {
    /// Written by this agent.
    pub source: Option<Source>,
    /// Working in exactly one of these folders.
    pub folders: Option<Vec<String>>,
    /// Blocked, and continued by no other thread.
    pub is_blocked: bool,
}

/// The last thread of a page: the next one starts after it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadCursor {
    /// Its newest line, Unix milliseconds.
    pub updated_at_ms: i64,
    pub thread_id: String,
}

// Not all columns: the saved fold has hundreds of KiB, and every request runs this.
macro_rules! select_threads {
    ($condition:literal) => {
        concat!(
            "SELECT t.thread_id AS tid, t.updated_at_ms AS updated, f.file_id, f.source, f.path, f.archived, \
             f.gone_at_ms, f.dev, f.ino, f.size, f.mtime_ns, f.generation, f.offset, f.open_end, f.next_seq, \
             f.head_bytes, f.head_digest, f.tail_bytes, f.tail_digest, f.chain, f.base, f.thread_id, \
             f.fold_version, f.head FROM thread t JOIN source_file f USING (file_id) ",
            $condition
        )
    };
}

/// Threads and the files that they touched, for reading.
#[derive(Debug, Clone)]
pub struct ThreadTable(pub(crate) Connections);

impl ThreadTable {
    /// A thread with its current file.
    pub async fn get(&self, thread_id: &str) -> Result<Option<ThreadRow>, StoreError> {
        let found = sqlx::query(select_threads!("WHERE t.thread_id = ?1")).bind(thread_id);
        let found = found.try_map(|row| thread_row(&row));
        self.0.pools().read(async |pool| found.fetch_optional(&pool).await).await
    }

    /// Threads, newest first, at most `limit`, and where the next page starts.
    pub async fn list(
        &self,
        filter: &ThreadFilter,
        limit: u32,
        after: Option<&ThreadCursor>,
    ) -> Result<(Vec<ThreadRow>, Option<ThreadCursor>), StoreError> {
        let mut query = QueryBuilder::<Sqlite>::new(select_threads!("WHERE true"));
        if let Some(source) = filter.source {
            query.push(" AND t.source = ").push_bind(source.name());
        }
        if let Some(folders) = &filter.folders {
            query.push(" AND t.cwd IN ");
            push_list(&mut query, folders);
        }
        if filter.is_blocked {
            query.push(
                " AND json_extract(f.head, '$.blocked') IS NOT NULL AND NOT EXISTS (\
                 SELECT 1 FROM source_file AS later \
                 WHERE json_extract(later.head, '$.history_base.thread_id') = t.thread_id)",
            );
        }
        if let Some(after) = after {
            query.push(" AND (t.updated_at_ms < ").push_bind(after.updated_at_ms);
            query.push(" OR (t.updated_at_ms = ").push_bind(after.updated_at_ms);
            query.push(" AND t.thread_id > ").push_bind(&after.thread_id).push("))");
        }
        query.push(" ORDER BY t.updated_at_ms DESC, t.thread_id LIMIT ");
        query.push_bind(i64::from(limit) + 1);
        let rows =
            query.build().try_map(|row| Ok((get::<i64>(&row, "updated")?, thread_row(&row)?)));
        let mut rows = self.0.pools().read(async |pool| rows.fetch_all(&pool).await).await?;
        let more = rows.len() > limit as usize;
        rows.truncate(limit as usize);
        let next = rows.last().filter(|_| more).map(|(updated_at_ms, thread)| ThreadCursor {
            updated_at_ms: *updated_at_ms,
            thread_id: thread.thread_id.clone(),
        });
        Ok((rows.into_iter().map(|(_, thread)| thread).collect(), next))
    }

    /// Threads that their agents compacted and how often, newest first, at most `limit`.
    pub async fn compacted(&self, limit: u32) -> Result<Vec<(String, u64)>, StoreError> {
        let found = sqlx::query_as(
            // An index has exactly this, since `daemon/status` asks for it after any write.
            "SELECT thread_id, compactions FROM thread WHERE compactions > 0 \
             ORDER BY updated_at_ms DESC, thread_id LIMIT ?1",
        )
        .bind(limit);
        let found: Vec<(String, i64)> =
            self.0.pools().read(async |pool| found.fetch_all(&pool).await).await?;
        Ok(found.into_iter().map(|(id, count)| (id, count.cast_unsigned())).collect())
    }

    /// The folders that threads work in, those with the newest threads first.
    pub async fn folders(&self) -> Result<Vec<String>, StoreError> {
        let folders = sqlx::query_scalar(
            "SELECT cwd FROM thread WHERE cwd IS NOT NULL GROUP BY cwd ORDER BY max(updated_at_ms) DESC",
        );
        self.0.pools().read(async |pool| folders.fetch_all(&pool).await).await
    }

    /// Ids with this prefix and their folders, at most `limit`, in order.
    pub async fn with_prefix(
        &self,
        prefix: &str,
        after: &str,
        limit: u32,
    ) -> Result<Vec<(String, Option<String>)>, StoreError> {
        let query = "SELECT thread_id, cwd FROM thread WHERE thread_id >= ?1 AND thread_id < ?1 || ?2 \
             AND thread_id > ?4 ORDER BY thread_id LIMIT ?3";
        self.0.pools().with_prefix(query, (prefix, after, limit)).await
    }

    /// All files of a thread in order of path, including missing ones.
    pub async fn files(&self, thread_id: &str) -> Result<Vec<FileRow>, StoreError> {
        let files = sqlx::query(select_files!("WHERE thread_id = ?1 ORDER BY path"));
        let files = files.bind(thread_id).try_map(|row| file_row(&row));
        self.0.pools().read(async |pool| files.fetch_all(&pool).await).await
    }
}

fn thread_row(row: &SqliteRow) -> Result<ThreadRow, sqlx::Error> {
    Ok(ThreadRow { thread_id: get(row, "tid")?, file: file_row(row)? })
}

/// Selects the current file of each of `threads` and returns it; deletes threads without any file.
pub(crate) async fn choose(
    connection: &mut SqliteConnection,
    mut threads: Vec<String>,
) -> Result<BTreeSet<i64>, sqlx::Error> {
    threads.sort_unstable();
    threads.dedup();
    let mut chosen = BTreeSet::new();
    for chunk in threads.chunks(THREADS_PER_STATEMENT) {
        let by_thread = candidates(connection, chunk).await?;
        let orphans: Vec<&String> =
            chunk.iter().filter(|id| !by_thread.contains_key(*id)).collect();
        delete(connection, &orphans).await?;
        let current: Vec<(&String, &Candidate)> = by_thread
            .iter()
            .filter_map(|(thread, files)| Some((thread, current::pick(files)?)))
            .collect();
        upsert(connection, &current).await?;
        chosen.extend(current.iter().map(|(_, file)| file.file_id));
    }
    Ok(chosen)
}

async fn candidates(
    connection: &mut SqliteConnection,
    threads: &[String],
) -> Result<BTreeMap<String, Vec<Candidate>>, sqlx::Error> {
    let mut query = QueryBuilder::<Sqlite>::new(
        "SELECT thread_id, file_id, source, path, gone_at_ms, head FROM source_file WHERE thread_id IN ",
    );
    push_list(&mut query, threads);
    let rows: Vec<(String, i64, String, String, Option<i64>, String)> =
        query.build_query_as().persistent(is_cached(threads.len())).fetch_all(connection).await?;
    let mut by_thread: BTreeMap<String, Vec<Candidate>> = BTreeMap::new();
    for (thread, file_id, source, path, gone_at_ms, head) in rows {
        let head: Option<ThreadHead> = serde_json::from_str(&head).ok();
        let candidate = Candidate { file_id, source, path, gone: gone_at_ms.is_some(), head };
        by_thread.entry(thread).or_default().push(candidate);
    }
    Ok(by_thread)
}

async fn upsert(
    connection: &mut SqliteConnection,
    current: &[(&String, &Candidate)],
) -> Result<(), sqlx::Error> {
    if current.is_empty() {
        return Ok(());
    }
    let mut query = QueryBuilder::<Sqlite>::new(
        "INSERT INTO thread (thread_id, file_id, source, cwd, updated_at_ms, compactions) ",
    );
    query.push_values(current, |mut row, (thread, file)| {
        let head = file.head.as_ref();
        row.push_bind(*thread)
            .push_bind(file.file_id)
            .push_bind(&file.source)
            .push_bind(head.and_then(|head| head.cwd.as_deref()))
            .push_bind(head.map_or(0, |head| head.updated_at_ms))
            .push_bind(head.map_or(0, |head| head.compactions.cast_signed()));
    });
    query.push(
        " ON CONFLICT (thread_id) DO UPDATE SET file_id = excluded.file_id, \
         source = excluded.source, cwd = excluded.cwd, updated_at_ms = excluded.updated_at_ms, \
         compactions = excluded.compactions",
    );
    query.build().persistent(is_cached(current.len())).execute(connection).await?;
    Ok(())
}

async fn delete(connection: &mut SqliteConnection, threads: &[&String]) -> Result<(), sqlx::Error> {
    if threads.is_empty() {
        return Ok(());
    }
    let mut query = QueryBuilder::<Sqlite>::new("DELETE FROM thread WHERE thread_id IN ");
    push_list(&mut query, threads.iter().copied());
    query.build().persistent(is_cached(threads.len())).execute(connection).await?;
    Ok(())
}
