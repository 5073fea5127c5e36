//! Items that match, newest first, never more than asked for.

use std::collections::HashMap;
use std::fmt::Write as _;

use longhaul_core::fold::Source;
use longhaul_core::item::ItemKind;
use longhaul_core::search::rank::Candidate;

use super::write::{AT_MS_MAX, COUNTER_BITS, IndexedFile, indexed_file};
use super::{SearchIndex, kind_of, scope};
use crate::error::StoreError;
use crate::row::{get, unsigned};

/// Which items are searched; `None` and an empty list mean any.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SearchFilter {
    /// Written by this agent.
    pub source: Option<Source>,
    /// In threads that work in exactly this folder.
    pub cwd: Option<String>,
    /// In this thread.
    pub thread_id: Option<String>,
    /// Of these kinds.
    pub kinds: Vec<ItemKind>,
    /// Not before, Unix milliseconds.
    pub since_ms: Option<i64>,
    /// Before, Unix milliseconds.
    pub until_ms: Option<i64>,
}

/// An item that matches, and its number in the index.
#[derive(Debug, Clone, PartialEq)]
pub struct Match {
    /// The number, which rises with time.
    pub item: i64,
    /// The item; its relevance is 0.
    pub candidate: Candidate,
}

impl SearchFilter {
    /// The expression with the filter's words added.
    fn narrowed(&self, expression: &str) -> String {
        let mut words: Vec<String> = Vec::new();
        words.extend(self.source.map(scope::source));
        words.extend(self.cwd.as_deref().map(scope::cwd));
        words.extend(self.thread_id.as_deref().map(scope::thread));
        let mut narrowed = format!("({expression})");
        for word in words {
            // Writing to a string cannot fail.
            write!(narrowed, " AND scope : \"{word}\"").unwrap_or_default();
        }
        if !self.kinds.is_empty() {
            let kinds: Vec<String> = self
                .kinds
                .iter()
                .map(|kind| format!("scope : \"{}\"", scope::kind(*kind)))
                .collect();
            write!(narrowed, " AND ({})", kinds.join(" OR ")).unwrap_or_default();
        }
        narrowed
    }

    /// Numbers of items in the time that is searched, both ends included.
    fn numbers(&self) -> (i64, i64) {
        let first = |at_ms: i64| at_ms.clamp(0, AT_MS_MAX) << COUNTER_BITS;
        (self.since_ms.map_or(0, first), self.until_ms.map_or(i64::MAX, |at| first(at) - 1))
    }
}

impl SearchIndex {
    /// The newest `limit` items that match `expression` (of [`longhaul_core::search::query`]) and the filter.
    ///
    /// # Errors
    /// Those of reading; `Internal` for an expression that is none.
    pub async fn matches(
        &self,
        expression: &str,
        filter: &SearchFilter,
        limit: usize,
    ) -> Result<Vec<Match>, StoreError> {
        let pools = self.pools();
        let (first, last) = filter.numbers();
        sqlx::query(
            "SELECT i.item, i.file, i.seq, i.kind, i.digest FROM \
             (SELECT rowid AS item FROM item_text WHERE item_text MATCH ?1 AND rowid BETWEEN ?2 AND ?3 \
              ORDER BY rowid DESC LIMIT ?4) AS m \
             CROSS JOIN indexed_item AS i ON i.item = m.item \
             CROSS JOIN indexed_file AS f ON f.number = i.file WHERE f.dropped = 0",
        )
        .bind(filter.narrowed(expression))
        .bind(first)
        .bind(last)
        .bind(i64::try_from(limit).unwrap_or(i64::MAX))
        .try_map(|row: sqlx::sqlite::SqliteRow| {
            let item: i64 = get(&row, "item")?;
            let candidate = Candidate {
                file: get(&row, "file")?,
                seq: unsigned(&row, "seq")?,
                kind: kind_of(get(&row, "kind")?),
                at_ms: item >> COUNTER_BITS,
                digest: get(&row, "digest")?,
                relevance: 0.0,
            };
            Ok(Match { item, candidate })
        })
        .fetch_all(pools.reader())
        .await
        .map_err(|error| pools.sorted(error))
    }

    /// How many items match, counted up to `limit`.
    ///
    /// # Errors
    /// As [`SearchIndex::matches`].
    pub async fn count(&self, expression: &str, limit: usize) -> Result<usize, StoreError> {
        let pools = self.pools();
        let (count,): (i64,) = sqlx::query_as(
            "SELECT count(*) FROM (SELECT 1 FROM item_text WHERE item_text MATCH ?1 LIMIT ?2)",
        )
        .bind(expression)
        .bind(i64::try_from(limit).unwrap_or(i64::MAX))
        .fetch_one(pools.reader())
        .await
        .map_err(|error| pools.sorted(error))?;
        Ok(usize::try_from(count).unwrap_or(0))
    }

    /// BM25 of items with numbers from `first` to `last`, larger is better, newest first, at most `limit`.
    /// Looks at every item that matches one of the words of `expression`: those should be few.
    ///
    /// # Errors
    /// As [`SearchIndex::matches`].
    pub async fn relevance(
        &self,
        expression: &str,
        (first, last): (i64, i64),
        limit: usize,
    ) -> Result<HashMap<i64, f64>, StoreError> {
        let pools = self.pools();
        let rows: Vec<(i64, f64)> = sqlx::query_as(
            "SELECT rowid, -bm25(item_text, 1.0, 1.0, 0.0) FROM item_text \
             WHERE item_text MATCH ?1 AND rowid BETWEEN ?2 AND ?3 ORDER BY rowid DESC LIMIT ?4",
        )
        .bind(expression)
        .bind(first)
        .bind(last)
        .bind(i64::try_from(limit).unwrap_or(i64::MAX))
        .fetch_all(pools.reader())
        .await
        .map_err(|error| pools.sorted(error))?;
        Ok(rows.into_iter().collect())
    }

    /// The indexed file of that number.
    ///
    /// # Errors
    /// Those of reading.
    pub async fn file(&self, number: i64) -> Result<Option<IndexedFile>, StoreError> {
        let pools = self.pools();
        sqlx::query(
            "SELECT path, thread_id, source, cwd, generation, next_seq, last_seq, last_digest, at_ms \
             FROM indexed_file WHERE number = ?1",
        )
        .bind(number)
        .try_map(|row| indexed_file(&row))
        .fetch_optional(pools.reader())
        .await
        .map_err(|error| pools.sorted(error))
    }
}
