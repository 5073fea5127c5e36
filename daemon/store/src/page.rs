//! Pages of item rows.

use longhaul_core::digest::Digest128;
use longhaul_core::item::{ItemRow, decode_page, encode_page};
use sqlx::{QueryBuilder, Sqlite, SqliteConnection};

use crate::error::StoreError;
use crate::file::FileId;
use crate::pool::{Connections, is_cached};
use crate::row::{digest_bytes, parse_rows, push_list};

/// Pages per statement: 10 values each, below SQLite's limit of 32,766.
const PAGES_PER_STATEMENT: usize = 500;

/// Header of a page, without its rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageHead {
    /// Line of its first item.
    pub first_seq: u64,
    /// Line of its last item.
    pub last_seq: u64,
    /// Items in it, at most [`longhaul_core::item::PAGE_ITEMS`].
    pub items: u64,
    /// Their estimated tokens together.
    pub tokens: u64,
    /// First byte of the first item in the (decompressed) file.
    pub byte_start: u64,
    /// First byte after the last item's line, excluding its newline.
    pub byte_end: u64,
    /// Digest of the first item's line; handles of the page contain its first digits.
    pub first_digest: Digest128,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ItemPage {
    pub head: PageHead,
    /// Its rows as [`encode_page`] renders them.
    pub rows: Vec<u8>,
}

impl ItemPage {
    /// Builds a page of consecutive rows; `None` for no rows.
    pub fn of(rows: &[ItemRow]) -> Option<Self> {
        let (first, last) = (rows.first()?, rows.last()?);
        let head = PageHead {
            first_seq: first.seq,
            last_seq: last.seq,
            items: rows.len() as u64,
            tokens: rows.iter().map(|row| row.tokens).sum(),
            byte_start: first.offset,
            byte_end: last.offset + last.bytes,
            first_digest: first.digest,
        };
        Some(Self { head, rows: encode_page(rows) })
    }
}

/// The item index, in pages.
#[derive(Debug, Clone)]
pub struct PageTable(pub(crate) Connections);

impl PageTable {
    /// The heads of all pages of a file's generation, in order.
    pub async fn heads(&self, file: FileId, generation: u64) -> Result<Vec<PageHead>, StoreError> {
        let heads = sqlx::query_scalar(
            "SELECT json_group_array(json_array(first_seq, last_seq, items, tokens, byte_start, \
             byte_end, hex(first_digest)) ORDER BY first_seq) FROM item_page \
             WHERE file_id = ?1 AND generation = ?2",
        );
        let heads = heads.bind(file.0).bind(generation.cast_signed());
        let heads: String = self.0.pools().read(async |pool| heads.fetch_one(&pool).await).await?;
        let heads: Vec<Head> = parse_rows("page heads", &heads)?;
        Ok(heads.into_iter().map(page_head).collect())
    }

    /// The rows of the page that starts at `first_seq`.
    /// `Undecodable` means that another version wrote the page.
    pub async fn get(
        &self,
        file: FileId,
        generation: u64,
        first_seq: u64,
    ) -> Result<Option<Vec<ItemRow>>, StoreError> {
        let rows = self.page_before(file, generation, first_seq).await?;
        Ok(rows.filter(|rows| rows.first().is_some_and(|row| row.seq == first_seq)))
    }

    /// The rows of the last page, which may still grow.
    pub async fn last(
        &self,
        file: FileId,
        generation: u64,
    ) -> Result<Option<Vec<ItemRow>>, StoreError> {
        self.page_before(file, generation, i64::MAX.cast_unsigned()).await
    }

    /// The rows from line `seq` on, in the first `pages` pages that have any.
    pub async fn rows_from(
        &self,
        file: FileId,
        generation: u64,
        seq: u64,
        pages: u32,
    ) -> Result<Vec<ItemRow>, StoreError> {
        let found = sqlx::query_scalar(
            "SELECT rows FROM item_page WHERE file_id = ?1 AND generation = ?2 AND first_seq >= \
             coalesce((SELECT max(first_seq) FROM item_page WHERE file_id = ?1 AND generation = ?2 \
             AND first_seq <= ?3), 0) AND last_seq >= ?3 ORDER BY first_seq LIMIT ?4",
        );
        let found = found.bind(file.0).bind(generation.cast_signed());
        let found = found.bind(seq.cast_signed()).bind(pages);
        let found = self.0.pools().read(async |pool| found.fetch_all(&pool).await).await?;
        let mut rows = rows_of(found)?;
        rows.retain(|row| row.seq >= seq);
        Ok(rows)
    }

    /// The rows of the pages that begin with these lines, in order.
    pub async fn rows_of_pages(
        &self,
        file: FileId,
        generation: u64,
        first_seqs: &[u64],
    ) -> Result<Vec<ItemRow>, StoreError> {
        if first_seqs.is_empty() {
            return Ok(Vec::new());
        }
        let mut query = QueryBuilder::<Sqlite>::new("SELECT rows FROM item_page WHERE file_id = ");
        query.push_bind(file.0).push(" AND generation = ").push_bind(generation.cast_signed());
        query.push(" AND first_seq IN ");
        push_list(&mut query, first_seqs.iter().map(|seq| seq.cast_signed()));
        query.push(" ORDER BY first_seq");
        let found = query.build_query_scalar().persistent(is_cached(first_seqs.len()));
        rows_of(self.0.pools().read(async |pool| found.fetch_all(&pool).await).await?)
    }

    /// The rows of the last `pages` pages, in order.
    pub async fn last_rows(
        &self,
        file: FileId,
        generation: u64,
        pages: u32,
    ) -> Result<Vec<ItemRow>, StoreError> {
        let found = sqlx::query_scalar(
            "SELECT rows FROM item_page WHERE file_id = ?1 AND generation = ?2 \
             ORDER BY first_seq DESC LIMIT ?3",
        );
        let found = found.bind(file.0).bind(generation.cast_signed()).bind(pages);
        let mut found = self.0.pools().read(async |pool| found.fetch_all(&pool).await).await?;
        found.reverse();
        rows_of(found)
    }

    /// The item on line `seq`; `None` if that line has none.
    pub async fn item_at(
        &self,
        file: FileId,
        generation: u64,
        seq: u64,
    ) -> Result<Option<ItemRow>, StoreError> {
        let rows = self.page_before(file, generation, seq).await?;
        Ok(rows.and_then(|rows| rows.into_iter().find(|row| row.seq == seq)))
    }

    /// The rows of the last page that starts at or before `seq`.
    async fn page_before(
        &self,
        file: FileId,
        generation: u64,
        seq: u64,
    ) -> Result<Option<Vec<ItemRow>>, StoreError> {
        let page = sqlx::query_scalar(
            "SELECT rows FROM item_page WHERE file_id = ?1 AND generation = ?2 \
             AND first_seq <= ?3 ORDER BY first_seq DESC LIMIT 1",
        );
        let page = page.bind(file.0).bind(generation.cast_signed()).bind(seq.cast_signed());
        let page = self.0.pools().read(async |pool| page.fetch_optional(&pool).await).await?;
        page.map(|page: Vec<u8>| decoded(&page)).transpose()
    }
}

fn rows_of(pages: Vec<Vec<u8>>) -> Result<Vec<ItemRow>, StoreError> {
    let mut rows = Vec::new();
    for page in pages {
        rows.extend(decoded(&page)?);
    }
    Ok(rows)
}

fn decoded(page: &[u8]) -> Result<Vec<ItemRow>, StoreError> {
    decode_page(page)
        .map_err(|error| StoreError::Undecodable { what: "page", detail: error.to_string() })
}

type Head = (i64, i64, i64, i64, i64, i64, Digest128);

fn page_head((first, last, items, tokens, start, end, first_digest): Head) -> PageHead {
    PageHead {
        first_seq: first.cast_unsigned(),
        last_seq: last.cast_unsigned(),
        items: items.cast_unsigned(),
        tokens: tokens.cast_unsigned(),
        byte_start: start.cast_unsigned(),
        byte_end: end.cast_unsigned(),
        first_digest,
    }
}

/// Writes pages; an existing one (the growing last page) is replaced.
pub(crate) async fn write(
    connection: &mut SqliteConnection,
    pages: &[(FileId, u64, &ItemPage)],
) -> Result<(), sqlx::Error> {
    for chunk in pages.chunks(PAGES_PER_STATEMENT) {
        let mut query = QueryBuilder::<Sqlite>::new(
            "INSERT INTO item_page (file_id, generation, first_seq, last_seq, items, tokens, \
             byte_start, byte_end, first_digest, rows) ",
        );
        query.push_values(chunk, |mut row, (file, generation, page)| {
            row.push_bind(file.0)
                .push_bind(generation.cast_signed())
                .push_bind(page.head.first_seq.cast_signed())
                .push_bind(page.head.last_seq.cast_signed())
                .push_bind(page.head.items.cast_signed())
                .push_bind(page.head.tokens.cast_signed())
                .push_bind(page.head.byte_start.cast_signed())
                .push_bind(page.head.byte_end.cast_signed())
                .push_bind(digest_bytes(page.head.first_digest))
                .push_bind(page.rows.as_slice());
        });
        query.push(
            " ON CONFLICT (file_id, generation, first_seq) DO UPDATE SET \
             last_seq = excluded.last_seq, items = excluded.items, tokens = excluded.tokens, \
             byte_start = excluded.byte_start, byte_end = excluded.byte_end, \
             first_digest = excluded.first_digest, rows = excluded.rows",
        );
        query.build().persistent(is_cached(chunk.len())).execute(&mut *connection).await?;
    }
    Ok(())
}

/// Deletes the pages of every generation of `file` but this one.
pub(crate) async fn keep_only(
    connection: &mut SqliteConnection,
    file: FileId,
    generation: u64,
) -> Result<(), sqlx::Error> {
    sqlx::query("DELETE FROM item_page WHERE file_id = ?1 AND generation <> ?2")
        .bind(file.0)
        .bind(generation.cast_signed())
        .execute(connection)
        .await?;
    Ok(())
}
