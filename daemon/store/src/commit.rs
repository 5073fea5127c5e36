//! Stores rows read from transcripts together with the cursor.

use std::collections::{BTreeSet, HashMap};

use longhaul_core::fold::{Fold, Source, ThreadHead};
use sqlx::{QueryBuilder, Sqlite, SqliteConnection};

use crate::error::StoreError;
use crate::file::{BaseState, Cursor, FileId, FileStat};
use crate::observation::{self, Observation};
use crate::page::{self, ItemPage};
use crate::pool::{Connections, is_cached};
use crate::row::{digest_bytes, push_list};
use crate::thread;

/// Files per statement: 22 values each, below SQLite's limit of 32,766.
const FILES_PER_STATEMENT: usize = 500;

/// Content read from one file.
#[derive(Debug, Clone)]
pub struct FileCommit {
    pub source: Source,
    pub path: String,
    /// Its previous path in the store, if it was moved.
    pub moved_from: Option<String>,
    /// It is in the agent's archive.
    pub archived: bool,
    /// When it was found missing; its text was read from the archive.
    pub gone_at_ms: Option<i64>,
    /// File metadata before it was read.
    pub stat: FileStat,
    /// Cursor after this batch.
    pub cursor: Cursor,
    /// Whether it was folded on top of another file's fold.
    pub base: BaseState,
    pub thread_id: Option<String>,
    /// Identity and totals after this batch.
    pub head: ThreadHead,
    /// The saved fold after this batch.
    pub fold: Vec<u8>,
    /// New pages, and the grown last page.
    pub pages: Vec<ItemPage>,
    /// Observations of files that this batch touched.
    pub observations: Vec<Observation>,
}

impl FileCommit {
    /// Size of the fold and the pages.
    pub fn saved_bytes(&self) -> usize {
        self.fold.len() + self.pages.iter().map(|page| page.rows.len()).sum::<usize>()
    }

    /// A new file of a thread, with a fold of so many bytes.
    #[cfg(test)]
    pub(crate) fn example(path: &str, thread_id: &str, fold_bytes: usize) -> Self {
        Self {
            source: Source::Codex,
            path: path.to_owned(),
            moved_from: None,
            archived: false,
            gone_at_ms: None,
            stat: FileStat::default(),
            cursor: Cursor::default(),
            base: BaseState::None,
            thread_id: Some(thread_id.to_owned()),
            head: Fold::new(Source::Codex).head().clone(),
            fold: vec![7; fold_bytes],
            pages: Vec::new(),
            observations: Vec::new(),
        }
    }
}

/// Result for one file of a batch, in the batch's order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileOutcome {
    pub file_id: FileId,
    /// Whether it is the current file of its thread.
    pub is_current: bool,
}

/// The only writer of what is read from transcripts: files, pages, threads, observations.
#[derive(Debug, Clone)]
pub struct ProjectionWriter(pub(crate) Connections);

impl ProjectionWriter {
    /// Stores a batch, which has each file at most once, in one transaction: files, pages, observations, threads. Deletes pages of other generations.
    /// Idempotent. On an error nothing was stored, and the caller may retry the same batch.
    pub async fn commit(&self, batch: &[FileCommit]) -> Result<Vec<FileOutcome>, StoreError> {
        let mut transaction = self.0.pools().begin().await?;
        let committed = transaction.run(async |it| write(it, batch).await).await?;
        transaction.commit().await?;
        Ok(committed)
    }

    /// Marks files as missing since `at_ms`, or as present (`None`), and selects the current file of their threads again.
    /// Rows and pages stay.
    pub async fn mark_gone(&self, paths: &[String], at_ms: Option<i64>) -> Result<(), StoreError> {
        if paths.is_empty() {
            return Ok(());
        }
        let mut transaction = self.0.pools().begin().await?;
        let mut threads = Vec::new();
        for chunk in paths.chunks(500) {
            let mut query = QueryBuilder::<Sqlite>::new("UPDATE source_file SET gone_at_ms = ");
            query.push_bind(at_ms).push(" WHERE path IN ");
            push_list(&mut query, chunk);
            query.push(" RETURNING thread_id");
            let rows = query.build_query_scalar::<Option<String>>();
            let rows = transaction.run(async |it| rows.fetch_all(it).await).await?;
            threads.extend(rows.into_iter().flatten());
        }
        transaction.run(async |it| thread::choose(it, threads).await).await?;
        transaction.commit().await
    }

    /// Deletes the saved folds of the transcripts that continue a thread, or continue one that does: they began with its
    /// fold. Returns their paths; they must be read from their starts.
    pub async fn disown(&self, thread_id: &str) -> Result<Vec<String>, StoreError> {
        let paths = sqlx::query_scalar(
            "WITH RECURSIVE fork AS MATERIALIZED (SELECT file_id, thread_id, CASE WHEN json_valid(head) \
             THEN json_extract(head, '$.history_base.thread_id') END AS base FROM source_file), \
             heir (thread_id) AS (SELECT ?1 UNION SELECT fork.thread_id FROM heir JOIN fork \
             ON fork.base = heir.thread_id WHERE fork.thread_id IS NOT NULL) \
             UPDATE source_file SET fold_version = 0, fold = ?2 WHERE file_id IN \
             (SELECT fork.file_id FROM fork JOIN heir ON fork.base = heir.thread_id) RETURNING path",
        )
        .bind(thread_id)
        .bind(NO_FOLD);
        self.0.pools().write(async |pool| paths.fetch_all(&pool).await).await
    }
}

/// A saved fold that no version wrote.
const NO_FOLD: &[u8] = &[0];

async fn write(
    connection: &mut SqliteConnection,
    batch: &[FileCommit],
) -> Result<Vec<FileOutcome>, sqlx::Error> {
    for file in batch {
        if let Some(old) = &file.moved_from {
            rename(connection, old, &file.path).await?;
        }
    }
    let before = known(connection, batch).await?;
    let ids = upsert(connection, batch).await?;
    let id_of = |path: &str| FileId(ids.get(path).copied().unwrap_or_default());

    let mut pages = Vec::new();
    let mut threads: Vec<String> = Vec::new();
    for file in batch {
        let id = id_of(&file.path);
        if let Some((thread, generation)) = before.get(&file.path) {
            threads.extend(thread.clone());
            if *generation != file.cursor.generation.cast_signed() {
                page::keep_only(connection, id, file.cursor.generation).await?;
            }
        }
        pages.extend(file.pages.iter().map(|page| (id, file.cursor.generation, page)));
        threads.extend(file.thread_id.clone());
    }
    page::write(connection, &pages).await?;
    for file in batch {
        if let Some(thread_id) = &file.thread_id {
            observation::write(connection, thread_id, &file.observations).await?;
        }
    }
    let current: BTreeSet<i64> = thread::choose(connection, threads).await?;
    let committed = batch.iter().map(|file| {
        let file_id = id_of(&file.path);
        FileOutcome { file_id, is_current: current.contains(&file_id.0) }
    });
    Ok(committed.collect())
}

/// Gives a moved file its new path, replacing the row of a file deleted long ago.
async fn rename(
    connection: &mut SqliteConnection,
    old: &str,
    new: &str,
) -> Result<(), sqlx::Error> {
    let known: Option<(i64,)> = sqlx::query_as("SELECT file_id FROM source_file WHERE path = ?1")
        .bind(old)
        .fetch_optional(&mut *connection)
        .await?;
    let Some((file_id,)) = known else {
        return Ok(());
    };
    sqlx::query("DELETE FROM source_file WHERE path = ?1 AND file_id <> ?2")
        .bind(new)
        .bind(file_id)
        .execute(&mut *connection)
        .await?;
    sqlx::query("UPDATE source_file SET path = ?1, gone_at_ms = NULL WHERE file_id = ?2")
        .bind(new)
        .bind(file_id)
        .execute(connection)
        .await?;
    Ok(())
}

/// Thread and generation of known files, by path.
async fn known(
    connection: &mut SqliteConnection,
    files: &[FileCommit],
) -> Result<HashMap<String, (Option<String>, i64)>, sqlx::Error> {
    let mut known = HashMap::new();
    for chunk in files.chunks(FILES_PER_STATEMENT) {
        let mut query = QueryBuilder::<Sqlite>::new(
            "SELECT path, thread_id, generation FROM source_file WHERE path IN ",
        );
        push_list(&mut query, chunk.iter().map(|file| file.path.as_str()));
        let rows: Vec<(String, Option<String>, i64)> = query
            .build_query_as()
            .persistent(is_cached(chunk.len()))
            .fetch_all(&mut *connection)
            .await?;
        known.extend(rows.into_iter().map(|(path, thread, at)| (path, (thread, at))));
    }
    Ok(known)
}

/// Writes the file rows; returns their numbers by path.
async fn upsert(
    connection: &mut SqliteConnection,
    files: &[FileCommit],
) -> Result<HashMap<String, i64>, sqlx::Error> {
    let mut ids = HashMap::new();
    for chunk in files.chunks(FILES_PER_STATEMENT) {
        let mut query = QueryBuilder::<Sqlite>::new(
            "INSERT INTO source_file (source, path, archived, gone_at_ms, dev, ino, size, mtime_ns, \
             generation, offset, open_end, next_seq, head_bytes, head_digest, tail_bytes, tail_digest, \
             chain, base, thread_id, fold_version, head, fold) ",
        );
        query.push_values(chunk, bind_file);
        query.push(
            " ON CONFLICT (path) DO UPDATE SET source = excluded.source, \
             archived = excluded.archived, gone_at_ms = excluded.gone_at_ms, dev = excluded.dev, \
             ino = excluded.ino, size = excluded.size, mtime_ns = excluded.mtime_ns, \
             generation = excluded.generation, offset = excluded.offset, \
             open_end = excluded.open_end, next_seq = excluded.next_seq, \
             head_bytes = excluded.head_bytes, \
             head_digest = excluded.head_digest, tail_bytes = excluded.tail_bytes, \
             tail_digest = excluded.tail_digest, chain = excluded.chain, base = excluded.base, \
             thread_id = excluded.thread_id, fold_version = excluded.fold_version, \
             head = excluded.head, fold = excluded.fold RETURNING path, file_id",
        );
        let query = query.build_query_as().persistent(is_cached(chunk.len()));
        let rows: Vec<(String, i64)> = query.fetch_all(&mut *connection).await?;
        ids.extend(rows);
    }
    Ok(ids)
}

fn bind_file(mut row: sqlx::query_builder::Separated<'_, Sqlite, &'static str>, file: &FileCommit) {
    // A head has only numbers and strings: serializing it to memory cannot fail.
    let head = serde_json::to_string(&file.head).unwrap_or_default();
    row.push_bind(file.source.name())
        .push_bind(file.path.clone())
        .push_bind(file.archived)
        .push_bind(file.gone_at_ms)
        .push_bind(file.stat.dev.cast_signed())
        .push_bind(file.stat.ino.cast_signed())
        .push_bind(file.stat.size.cast_signed())
        .push_bind(file.stat.mtime_ns)
        .push_bind(file.cursor.generation.cast_signed())
        .push_bind(file.cursor.offset.cast_signed())
        .push_bind(file.cursor.open_end)
        .push_bind(file.cursor.next_seq.cast_signed())
        .push_bind(file.cursor.head_bytes.cast_signed())
        .push_bind(digest_bytes(file.cursor.head_digest))
        .push_bind(file.cursor.tail_bytes.cast_signed())
        .push_bind(digest_bytes(file.cursor.tail_digest))
        .push_bind(digest_bytes(file.cursor.chain))
        .push_bind(file.base.into_str())
        .push_bind(file.thread_id.clone())
        .push_bind(Fold::VERSION)
        .push_bind(head)
        .push_bind(file.fold.clone());
}
