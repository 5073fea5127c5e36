//! Adds items to the index and removes them.

use longhaul_core::digest::Digest128;
use longhaul_core::fold::Source;
use longhaul_core::item::ItemKind;
use sqlx::sqlite::{SqlitePool, SqliteRow};
use sqlx::{QueryBuilder, Sqlite, SqliteConnection};

use super::{SearchIndex, kind_number, scope};
use crate::error::StoreError;
use crate::file::FILES_AT_ONCE;
use crate::pool::is_cached;
use crate::row::{digest, digest_bytes, get, named, push_list, unsigned};

/// Rows per statement, below SQLite's limit of 32,766 values.
const ROWS_PER_STATEMENT: usize = 500;

/// Item numbers per second. Few, because FTS5 stores differences of numbers: with a number per millisecond the index
/// was four times as large.
const NUMBERS_PER_SECOND: i64 = 256;

/// Items to delete, and pages to merge, in one transaction.
const SWEEP_ITEMS: u32 = 1_000;
const MERGE_PAGES: i64 = 500;

/// Latest time with a number, Unix milliseconds: the year 2248. Later times count as this one.
const AT_MS_MAX: i64 = 1 << 43;

/// The first number for items of that time. If a second has more items than numbers (copies of a whole session, written
/// at once), they take the next numbers.
pub(super) fn first_number(at_ms: i64) -> i64 {
    at_ms.clamp(0, AT_MS_MAX) * NUMBERS_PER_SECOND / 1_000
}

/// A transcript and its index progress.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexedFile {
    pub path: String,
    pub thread_id: String,
    pub source: Source,
    /// Working folder of the thread.
    pub cwd: Option<String>,
    /// Generation of the file in the main database.
    pub generation: u64,
    /// Next line to index.
    pub next_seq: u64,
    /// Line of the last indexed item; 0 if none.
    pub last_seq: u64,
    /// Digest of that line; zero if none.
    pub last_digest: Digest128,
    /// Time of the last dated item, Unix milliseconds; undated items after it get this time.
    pub at_ms: i64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexItem {
    pub seq: u64,
    pub kind: ItemKind,
    /// Unix milliseconds.
    pub at_ms: i64,
    pub digest: i64,
    /// Words, redacted and split.
    pub pieces: String,
    /// Split names, whole.
    pub names: String,
}

/// New items of one file with the cursor after them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexPart {
    /// The file after these items.
    pub file: IndexedFile,
    /// May be empty.
    pub items: Vec<IndexItem>,
}

/// A query for [`indexed_file`].
macro_rules! select_indexed {
    ($condition:literal) => {
        concat!(
            "SELECT number, path, thread_id, source, cwd, generation, next_seq, last_seq, last_digest, at_ms \
             FROM indexed_file ",
            $condition
        )
    };
}
pub(super) use select_indexed;

impl SearchIndex {
    /// The next [`FILES_AT_ONCE`] indexed files after number `last`, with their numbers; start with 0.
    pub async fn files_after(&self, last: i64) -> Result<Vec<(i64, IndexedFile)>, StoreError> {
        let files = sqlx::query(select_indexed!(
            "WHERE dropped = 0 AND number > ?1 ORDER BY number LIMIT ?2"
        ));
        let files = files.bind(last).bind(FILES_AT_ONCE);
        let files = files.try_map(|row| Ok((get(&row, "number")?, indexed_file(&row)?)));
        self.pools().read(async |pool| files.fetch_all(&pool).await).await
    }

    pub async fn file_by_path(&self, path: &str) -> Result<Option<IndexedFile>, StoreError> {
        let found = sqlx::query(select_indexed!("WHERE path = ?1 AND dropped = 0")).bind(path);
        let found = found.try_map(|row| indexed_file(&row));
        self.pools().read(async |pool| found.fetch_optional(&pool).await).await
    }

    pub async fn items(&self) -> Result<u64, StoreError> {
        let items = "SELECT coalesce(sum(items), 0) FROM indexed_file WHERE dropped = 0";
        let items = sqlx::query_scalar(items);
        let items: i64 = self.pools().read(async |pool| items.fetch_one(&pool).await).await?;
        Ok(items.cast_unsigned())
    }

    /// Stores words and cursors in one transaction. On an error nothing was stored.
    pub async fn commit(&self, parts: &[IndexPart]) -> Result<(), StoreError> {
        let mut transaction = self.pools().begin().await?;
        transaction.run(async |it| write(it, parts).await).await?;
        transaction.commit().await
    }

    /// Changes the path of an indexed file that was moved or compressed.
    pub async fn move_file(&self, from: &str, to: &str) -> Result<(), StoreError> {
        let file = sqlx::query("UPDATE indexed_file SET path = ?2 WHERE path = ?1 AND dropped = 0");
        self.pools().execute(file.bind(from).bind(to)).await.map(drop)
    }

    /// Hides a file at once; [`SearchIndex::sweep`] deletes its words.
    pub async fn drop_file(&self, path: &str) -> Result<(), StoreError> {
        let file = "UPDATE indexed_file SET dropped = 1 WHERE path = ?1 AND dropped = 0";
        self.pools().execute(sqlx::query(file).bind(path)).await.map(drop)
    }

    /// Removes the words of a thread from the file, those of its items that were deleted earlier included.
    ///
    /// FTS5 only marks an item of a contentless table as deleted; its words go when the segments are merged.
    pub async fn erase_thread(&self, thread_id: &str) -> Result<(), StoreError> {
        let pools = self.pools();
        let files = sqlx::query("UPDATE indexed_file SET dropped = 1 WHERE thread_id = ?1");
        pools.execute(files.bind(thread_id)).await?;
        while self.sweep(SWEEP_ITEMS).await? {}
        // A negative number begins a merge of all segments into one; positive ones go on with it.
        let mut pages = -MERGE_PAGES;
        while pools.write(async |pool| merge(&pool, pages).await).await? {
            pages = MERGE_PAGES;
        }
        pools.scrub().await
    }

    /// Deletes at most `limit` items of dropped files; `false` when none are left.
    pub async fn sweep(&self, limit: u32) -> Result<bool, StoreError> {
        let mut transaction = self.pools().begin().await?;
        let file = sqlx::query_scalar("SELECT number FROM indexed_file WHERE dropped = 1 LIMIT 1");
        let file: Option<i64> = transaction.run(async |it| file.fetch_optional(it).await).await?;
        let Some(number) = file else { return Ok(false) };
        let items = "SELECT item FROM indexed_item WHERE file = ?1 ORDER BY item LIMIT ?2";
        let items = sqlx::query_scalar::<_, i64>(items).bind(number).bind(limit);
        let items = transaction.run(async |it| items.fetch_all(it).await).await?;
        for chunk in items.chunks(ROWS_PER_STATEMENT) {
            transaction.run(async |it| delete(it, chunk).await).await?;
        }
        if items.len() < limit as usize {
            let file = sqlx::query("DELETE FROM indexed_file WHERE number = ?1").bind(number);
            transaction.execute(file).await?;
        }
        transaction.commit().await?;
        Ok(true)
    }
}

pub(super) fn indexed_file(row: &SqliteRow) -> Result<IndexedFile, sqlx::Error> {
    Ok(IndexedFile {
        path: get(row, "path")?,
        thread_id: get(row, "thread_id")?,
        source: named(row, "source")?,
        cwd: get(row, "cwd")?,
        generation: unsigned(row, "generation")?,
        next_seq: unsigned(row, "next_seq")?,
        last_seq: unsigned(row, "last_seq")?,
        last_digest: digest(row, "last_digest")?,
        at_ms: get(row, "at_ms")?,
    })
}

/// An item to insert.
struct Row<'a> {
    item: i64,
    file: i64,
    scope: String,
    part: &'a IndexItem,
}

async fn write(connection: &mut SqliteConnection, parts: &[IndexPart]) -> Result<(), sqlx::Error> {
    let mut rows = Vec::new();
    for part in parts {
        let file = put_file(connection, part).await?;
        let source = scope::source(part.file.source);
        let thread = scope::thread(&part.file.thread_id);
        let cwd = part.file.cwd.as_deref().map(scope::cwd).unwrap_or_default();
        rows.extend(part.items.iter().map(|item| Row {
            item: first_number(item.at_ms),
            file,
            scope: format!("{source} {} {thread} {cwd}", scope::kind(item.kind)),
            part: item,
        }));
    }
    // FTS5 writes a segment each time the numbers decrease: sorted, there is only one.
    rows.sort_by_key(|row| (row.part.at_ms, row.file, row.part.seq));
    number(connection, &mut rows).await?;
    for chunk in rows.chunks(ROWS_PER_STATEMENT) {
        insert(connection, chunk).await?;
    }
    Ok(())
}

/// Assigns each item a unique number, at or after that of its time.
async fn number(
    connection: &mut SqliteConnection,
    rows: &mut [Row<'_>],
) -> Result<(), sqlx::Error> {
    let mut from = 0;
    loop {
        for at in from.max(1)..rows.len() {
            rows[at].item = rows[at].item.max(rows[at - 1].item + 1);
        }
        let Some((at, free)) = first_taken(connection, &rows[from..]).await? else { return Ok(()) };
        from += at;
        rows[from].item = free;
    }
}

/// The first item whose number is taken, and the next free number.
async fn first_taken(
    connection: &mut SqliteConnection,
    rows: &[Row<'_>],
) -> Result<Option<(usize, i64)>, sqlx::Error> {
    for (chunk, first) in rows.chunks(ROWS_PER_STATEMENT).zip((0..).step_by(ROWS_PER_STATEMENT)) {
        let mut query =
            QueryBuilder::<Sqlite>::new("SELECT min(item) FROM indexed_item WHERE item IN ");
        push_list(&mut query, chunk.iter().map(|row| row.item));
        let query = query.build_query_scalar().persistent(is_cached(chunk.len()));
        let taken: Option<i64> = query.fetch_one(&mut *connection).await?;
        let Some(taken) = taken else { continue };
        let at = chunk.iter().position(|row| row.item == taken).unwrap_or_default();
        let free: i64 = sqlx::query_scalar(
            "SELECT item + 1 FROM indexed_item AS i WHERE item >= ?1 AND NOT EXISTS \
             (SELECT 1 FROM indexed_item WHERE item = i.item + 1) ORDER BY item LIMIT 1",
        )
        .bind(taken)
        .fetch_one(connection)
        .await?;
        return Ok(Some((first + at, free)));
    }
    Ok(None)
}

/// Stores the cursor of a file; returns the file's number.
async fn put_file(connection: &mut SqliteConnection, part: &IndexPart) -> Result<i64, sqlx::Error> {
    let file = &part.file;
    sqlx::query_scalar(
        "INSERT INTO indexed_file (path, thread_id, source, cwd, generation, next_seq, last_seq, \
         last_digest, at_ms, items, dropped) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, 0) \
         ON CONFLICT (path) WHERE dropped = 0 DO UPDATE SET thread_id = excluded.thread_id, \
         source = excluded.source, cwd = excluded.cwd, generation = excluded.generation, \
         next_seq = excluded.next_seq, last_seq = excluded.last_seq, last_digest = excluded.last_digest, at_ms = excluded.at_ms, \
         items = items + excluded.items RETURNING number",
    )
    .bind(&file.path)
    .bind(&file.thread_id)
    .bind(file.source.name())
    .bind(file.cwd.as_deref())
    .bind(file.generation.cast_signed())
    .bind(file.next_seq.cast_signed())
    .bind(file.last_seq.cast_signed())
    .bind(digest_bytes(file.last_digest))
    .bind(file.at_ms)
    .bind((part.items.len() as u64).cast_signed())
    .fetch_one(connection)
    .await
}

async fn insert(connection: &mut SqliteConnection, rows: &[Row<'_>]) -> Result<(), sqlx::Error> {
    let mut query = QueryBuilder::<Sqlite>::new(
        "INSERT INTO indexed_item (item, file, seq, kind, digest, at_ms) ",
    );
    query.push_values(rows, |mut values, row| {
        values
            .push_bind(row.item)
            .push_bind(row.file)
            .push_bind(row.part.seq.cast_signed())
            .push_bind(kind_number(row.part.kind))
            .push_bind(row.part.digest)
            .push_bind(row.part.at_ms);
    });
    query.build().persistent(is_cached(rows.len())).execute(&mut *connection).await?;
    let mut query =
        QueryBuilder::<Sqlite>::new("INSERT INTO item_text (rowid, pieces, names, scope) ");
    query.push_values(rows, |mut values, row| {
        values
            .push_bind(row.item)
            .push_bind(row.part.pieces.as_str())
            .push_bind(row.part.names.as_str())
            .push_bind(row.scope.as_str());
    });
    query.build().persistent(is_cached(rows.len())).execute(connection).await?;
    Ok(())
}

async fn delete(connection: &mut SqliteConnection, items: &[i64]) -> Result<(), sqlx::Error> {
    for table in
        ["DELETE FROM item_text WHERE rowid IN ", "DELETE FROM indexed_item WHERE item IN "]
    {
        let mut query = QueryBuilder::<Sqlite>::new(table);
        push_list(&mut query, items);
        query.build().persistent(is_cached(items.len())).execute(&mut *connection).await?;
    }
    Ok(())
}

/// Merges segments of the index, writing about `pages` pages; `false` when there is nothing left to merge.
async fn merge(writer: &SqlitePool, pages: i64) -> Result<bool, sqlx::Error> {
    let mut connection = writer.acquire().await?;
    let changes = "SELECT total_changes()";
    let before: i64 = sqlx::query_scalar(changes).fetch_one(&mut *connection).await?;
    let merge = sqlx::query("INSERT INTO item_text (item_text, rank) VALUES ('merge', ?1)");
    merge.bind(pages).execute(&mut *connection).await?;
    let after: i64 = sqlx::query_scalar(changes).fetch_one(&mut *connection).await?;
    // The command itself counts as one change.
    Ok(after - before > 1)
}
