//! `thread/search`: finds items by their words.
//!
//! The index returns matching items, newest first and bounded; the core ranks them; the best are read from
//! their transcripts or the archive, verified, redacted, and shown with the words around the match. Items that changed on
//! disk since they were indexed are omitted.

mod full_text;
mod indexer;
mod loose;
mod progress;
mod query;
mod rare;
mod reading;
mod reindex;

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use longhaul_core::item::ItemRow;
use longhaul_core::search::item;
use longhaul_core::search::query::{Query, Term};
use longhaul_core::search::rank::{
    CANDIDATES, CANDIDATES_UNSCORED, COMMON, Candidate, RankedItem, rank,
};
use longhaul_core::search::snippet::{Snippet, snippet};
use longhaul_core::tokens;
use longhaul_protocol::thread::IndexStatus;
use longhaul_store::{FileRow, FileTable, IndexedFile, Match, PageTable, SearchIndex};

use super::error::ServiceError;
use crate::archive::Archive;
use crate::clock::Clock;
use crate::transcript::{Fallback, LineReader};
use loose::partial_matches;
use rare::rarest;

pub use full_text::FullText;
pub use progress::IndexProgress;
pub use query::SearchQuery;

/// Ranked items tried per wanted hit: some may have changed on disk.
const TRIES_PER_HIT: usize = 4;

/// Maximum bytes unpacked from a compressed transcript to show an item; for a later item, its stored beginning is
/// shown.
const UNPACKED_BYTES_MAX: u64 = 8 << 20;

/// Maximum time of a search: a prefix of many words must be searched in all of them.
///
/// # Source
/// Chosen: a hundred times the expected time of a search over a million items.
const SEARCH_TIME_MAX: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub struct SearchPage {
    /// Best first.
    pub hits: Vec<Hit>,
    /// There are older matches that were not ranked.
    pub is_truncated: bool,
}

#[derive(Debug)]
pub struct Hit {
    pub found: FoundRow,
    pub snippet: Snippet,
}

#[derive(Debug)]
pub struct FoundRow {
    pub ranked: RankedItem,
    /// Its transcript in the store.
    pub file: Arc<FileRow>,
    pub row: ItemRow,
    pub thread_id: String,
}

pub struct Searcher {
    pub(super) files: FileTable,
    pub(super) pages: PageTable,
    pub(super) archive: Arc<Archive>,
    pub(super) full_text: Arc<FullText>,
    pub(super) clock: Clock,
}

impl Searcher {
    pub fn index_state(&self) -> IndexStatus {
        self.full_text.progress.state()
    }

    pub async fn search(&self, search: SearchQuery) -> Result<SearchPage, ServiceError> {
        let found = tokio::time::timeout(SEARCH_TIME_MAX, self.search_untimed(search)).await;
        found.unwrap_or(Err(ServiceError::SearchDeadline))
    }

    async fn search_untimed(&self, search: SearchQuery) -> Result<SearchPage, ServiceError> {
        let query = Query::parse(&search.query)?;
        let index = self.full_text.index().ok_or(ServiceError::IndexNotOpen)?;
        let scorers = rarest(index, query.wanted().map(Term::scorers).collect()).await?;
        let limit = if scorers.is_empty() { CANDIDATES_UNSCORED } else { CANDIDATES };
        let mut matches = index.matches(&query.expression(), &search.filter, limit + 1).await?;
        let is_truncated = matches.len() > limit;
        matches.truncate(limit);
        let candidates = weighed(index, &scorers, matches).await?;
        let mut ranked = rank(candidates, self.clock.now_ms());
        let mut shown = query;
        if ranked.len() < search.hits_max
            && let Some(more) =
                partial_matches(index, &search, &ranked, self.clock.now_ms()).await?
        {
            ranked.extend(more.ranked);
            shown = more.query;
        }
        let hits = self.show(index, &shown, ranked, &search).await?;
        Ok(SearchPage { hits, is_truncated })
    }

    /// Reads the best items that are unchanged, up to the limits.
    async fn show(
        &self,
        index: &SearchIndex,
        query: &Query,
        ranked: Vec<RankedItem>,
        search: &SearchQuery,
    ) -> Result<Vec<Hit>, ServiceError> {
        let mut files = HashMap::new();
        let mut ranked = ranked.into_iter().take(search.hits_max.saturating_mul(TRIES_PER_HIT));
        let (mut hits, mut tokens) = (Vec::new(), 0);
        while hits.len() < search.hits_max {
            let mut places = Vec::new();
            for ranked in ranked.by_ref().take(search.hits_max - hits.len()) {
                places.extend(self.place(index, ranked, &mut files).await?);
            }
            if places.is_empty() && ranked.len() == 0 {
                break;
            }
            let (query, archive) = (query.clone(), Arc::clone(&self.archive));
            let shown = tokio::task::spawn_blocking(move || {
                let shown = places.into_iter().filter_map(|place| place.show(&query, &archive));
                shown.collect::<Vec<_>>()
            });
            for hit in shown.await? {
                tokens += tokens::of_text(&hit.snippet.text);
                if search.tokens_max.is_some_and(|max| tokens > max) {
                    return Ok(hits);
                }
                hits.push(hit);
            }
        }
        Ok(hits)
    }

    /// Finds an indexed item in the store; `None` if it is gone.
    async fn place(
        &self,
        index: &SearchIndex,
        ranked: RankedItem,
        files: &mut HashMap<i64, Option<(IndexedFile, Arc<FileRow>)>>,
    ) -> Result<Option<FoundRow>, ServiceError> {
        let number = ranked.candidate.file;
        if let Entry::Vacant(place) = files.entry(number) {
            let found = match index.file(number).await? {
                Some(indexed) => {
                    let row = self.files.by_path(&indexed.path).await?;
                    row.map(|row| (indexed, Arc::new(row)))
                }
                None => None,
            };
            place.insert(found);
        }
        let Some(Some((indexed, file))) = files.get(&number) else { return Ok(None) };
        let row =
            self.pages.item_at(file.file_id, file.cursor.generation, ranked.candidate.seq).await?;
        let thread_id = file.thread_id.clone().unwrap_or_else(|| indexed.thread_id.clone());
        Ok(row.map(|row| FoundRow { ranked, file: Arc::clone(file), row, thread_id }))
    }
}

async fn weighed(
    index: &SearchIndex,
    scorers: &[String],
    matches: Vec<Match>,
) -> Result<Vec<Candidate>, ServiceError> {
    let (Some(newest), Some(oldest)) = (matches.first(), matches.last()) else {
        return Ok(Vec::new());
    };
    let span = (oldest.item, newest.item);
    let relevance = match scorers.is_empty() {
        true => HashMap::new(),
        false => index.relevance(&scorers.join(" OR "), span, COMMON * scorers.len()).await?,
    };
    let weigh = |found: Match| {
        let relevance = relevance.get(&found.item).copied().unwrap_or(0.0);
        Candidate { relevance, ..found.candidate }
    };
    Ok(matches.into_iter().map(weigh).collect())
}

impl FoundRow {
    /// Reads the item; `None` if it changed since it was indexed.
    fn show(self, query: &Query, archive: &Arc<Archive>) -> Option<Hit> {
        let path = PathBuf::from(&self.file.path);
        let is_packed = path.extension().is_some_and(|extension| extension == "zst");
        let snippet = match is_packed && self.row.offset > UNPACKED_BYTES_MAX {
            true => snippet(&self.row.excerpt, query),
            false => {
                let fallback = Some(Fallback::of(Arc::clone(archive), &self.file));
                let mut lines = LineReader::open(self.file.source, &path, fallback).ok()?;
                let line = lines.read(&self.row).ok()?;
                let searched = item::read(self.file.source, self.row.kind, &line)?;
                if searched.digest() != self.ranked.candidate.digest {
                    return None;
                }
                snippet(&searched.text, query)
            }
        };
        Some(Hit { found: self, snippet })
    }
}
