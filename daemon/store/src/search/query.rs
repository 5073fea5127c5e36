//! Finds matching items, newest first and bounded.

use std::collections::HashMap;
use std::fmt::Write as _;

use longhaul_core::fold::Source;
use longhaul_core::item::ItemKind;
use longhaul_core::search::rank::Candidate;

use super::write::{IndexedFile, first_number, indexed_file, select_indexed};
use super::{SearchIndex, kind_of, scope};
use crate::error::StoreError;
use crate::row::parse_rows;

/// Selects items; `None` and an empty list mean any.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SearchFilter {
    /// Written by this agent.
    pub source: Option<Source>,
    /// In threads working in exactly one of these folders.
    pub folders: Option<Vec<String>>,
    pub thread_id: Option<String>,
    pub kinds: Vec<ItemKind>,
    /// Earliest time, inclusive, Unix milliseconds.
    pub since_ms: Option<i64>,
    /// Latest time, exclusive, Unix milliseconds.
    pub until_ms: Option<i64>,
}

/// A matching item and its number in the index.
#[derive(Debug, Clone, PartialEq)]
pub struct Match {
    /// Rises with time.
    pub item: i64,
    /// Its relevance is 0.
    pub candidate: Candidate,
}

impl SearchFilter {
    /// Adds the filter's words to the expression.
    fn narrowed(&self, expression: &str) -> String {
        let words = [self.source.map(scope::source), self.thread_id.as_deref().map(scope::thread)];
        let mut narrowed = format!("({expression})");
        for word in words.into_iter().flatten() {
            // Writing to a string cannot fail.
            write!(narrowed, " AND scope : \"{word}\"").unwrap_or_default();
        }
        if let Some(folders) = &self.folders {
            let folders: Vec<String> = folders.iter().map(|folder| scope::cwd(folder)).collect();
            write!(narrowed, " AND {}", any_of(&folders)).unwrap_or_default();
        }
        if !self.kinds.is_empty() {
            let kinds: Vec<String> = self.kinds.iter().map(|kind| scope::kind(*kind)).collect();
            write!(narrowed, " AND {}", any_of(&kinds)).unwrap_or_default();
        }
        narrowed
    }

    /// The range of item numbers in the filter's time, inclusive.
    fn numbers(&self) -> (i64, i64) {
        let last = |at_ms| first_number(at_ms) - 1;
        (self.since_ms.map_or(0, first_number), self.until_ms.map_or(i64::MAX, last))
    }
}

/// An expression for items with one of these scope words; without words, one that matches nothing.
fn any_of(words: &[String]) -> String {
    match words.is_empty() {
        true => "scope : \"nothing\"".to_owned(),
        false => format!("scope : (\"{}\")", words.join("\" OR \"")),
    }
}

impl SearchIndex {
    /// The newest `limit` items that match `expression` (of [`longhaul_core::search::query`]) and the filter.
    /// `Internal` means an invalid expression.
    pub async fn matches(
        &self,
        expression: &str,
        filter: &SearchFilter,
        limit: usize,
    ) -> Result<Vec<Match>, StoreError> {
        let narrowed = filter.narrowed(expression);
        let found = self.rows(
            "SELECT json_group_array(json_array(i.item, i.file, i.seq, i.kind, i.digest, i.at_ms)) FROM \
             (SELECT rowid AS item FROM item_text WHERE item_text MATCH ?1 AND rowid BETWEEN ?2 AND ?3 \
              ORDER BY rowid DESC LIMIT ?4) AS m \
             CROSS JOIN indexed_item AS i ON i.item = m.item \
             CROSS JOIN indexed_file AS f ON f.number = i.file WHERE f.dropped = 0",
            &narrowed,
            filter.numbers(),
            limit,
        );
        Ok(found.await?.into_iter().map(|row| matched(row, 0.0)).collect())
    }

    /// The `limit` items that best match `expression` (BM25), and the filter. Reads every item that matches a word of
    /// `expression`, so these should be few.
    pub async fn best(
        &self,
        expression: &str,
        filter: &SearchFilter,
        limit: usize,
    ) -> Result<Vec<Match>, StoreError> {
        let found: Vec<(Row, f64)> = self
            .rows(
                "SELECT json_group_array(json_array(json_array(i.item, i.file, i.seq, i.kind, i.digest, \
                  i.at_ms), m.relevance)) FROM (SELECT rowid AS item, -bm25(item_text, 1.0, 1.0, 0.0) AS relevance \
                  FROM item_text WHERE item_text MATCH ?1 AND rowid BETWEEN ?2 AND ?3 \
                  ORDER BY relevance DESC, rowid DESC LIMIT ?4) AS m \
                 CROSS JOIN indexed_item AS i ON i.item = m.item \
                 CROSS JOIN indexed_file AS f ON f.number = i.file WHERE f.dropped = 0",
                &filter.narrowed(expression),
                filter.numbers(),
                limit,
            )
            .await?;
        Ok(found.into_iter().map(|(row, relevance)| matched(row, relevance)).collect())
    }

    /// Number of matching items, counted up to `limit`.
    pub async fn count(&self, expression: &str, limit: usize) -> Result<usize, StoreError> {
        let count = sqlx::query_scalar(
            "SELECT count(*) FROM (SELECT 1 FROM item_text WHERE item_text MATCH ?1 LIMIT ?2)",
        );
        let count = count.bind(expression).bind(i64::try_from(limit).unwrap_or(i64::MAX));
        let count: i64 = self.pools().read(async |pool| count.fetch_one(&pool).await).await?;
        Ok(usize::try_from(count).unwrap_or(0))
    }

    /// BM25 of items in the inclusive range `numbers`, larger is better, newest first, at most `limit`. Reads every item
    /// that matches a word of `expression`, so these should be few.
    pub async fn relevance(
        &self,
        expression: &str,
        numbers: (i64, i64),
        limit: usize,
    ) -> Result<HashMap<i64, f64>, StoreError> {
        let found: Vec<(i64, f64)> = self
            .rows(
                "SELECT json_group_array(json_array(item, relevance)) FROM \
                 (SELECT rowid AS item, -bm25(item_text, 1.0, 1.0, 0.0) AS relevance FROM item_text \
                  WHERE item_text MATCH ?1 AND rowid BETWEEN ?2 AND ?3 ORDER BY rowid DESC LIMIT ?4)",
                expression,
                numbers,
                limit,
            )
            .await?;
        Ok(found.into_iter().collect())
    }

    /// At most `limit` matching items with numbers from `first` to `last`, in one value: thousands of separate rows would
    /// take most of the time.
    async fn rows<T: serde::de::DeserializeOwned>(
        &self,
        sql: &'static str,
        expression: &str,
        (first, last): (i64, i64),
        limit: usize,
    ) -> Result<Vec<T>, StoreError> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let found = sqlx::query_scalar(sql).bind(expression).bind(first).bind(last).bind(limit);
        let found: String = self.pools().read(async |pool| found.fetch_one(&pool).await).await?;
        parse_rows("search result", &found)
    }

    pub async fn file(&self, number: i64) -> Result<Option<IndexedFile>, StoreError> {
        let found = sqlx::query(select_indexed!("WHERE number = ?1")).bind(number);
        let found = found.try_map(|row| indexed_file(&row));
        self.pools().read(async |pool| found.fetch_optional(&pool).await).await
    }
}

/// Number, file, seq, kind, digest and time of an item.
type Row = (i64, i64, i64, i64, i64, i64);

fn matched((item, file, seq, kind, digest, at_ms): Row, relevance: f64) -> Match {
    let (seq, kind) = (seq.cast_unsigned(), kind_of(kind));
    Match { item, candidate: Candidate { file, seq, kind, at_ms, digest, relevance } }
}
