//! Finds items with some of a question's words, ranked after those with all of them.

use std::collections::HashSet;

use longhaul_core::search::loose;
use longhaul_core::search::query::{Query, Scorer};
use longhaul_core::search::rank::{RankedItem, rank};
use longhaul_store::SearchIndex;

use super::query::SearchQuery;
use super::rare::rarest;
use crate::service::error::ServiceError;

/// Minimum distinctive words in a question; shorter queries are taken literally, unless no item has all words.
const QUESTION_WORDS: usize = 3;

const CANDIDATES: usize = 400;

pub(super) struct PartialMatches {
    /// Best first, all ranked below items with all words.
    pub(super) ranked: Vec<RankedItem>,
    /// Its words, to locate matches.
    pub(super) query: Query,
}

/// Items with some of the words, without those in `strict`; `None` if the query is not a question.
pub(super) async fn partial_matches(
    index: &SearchIndex,
    search: &SearchQuery,
    strict: &[RankedItem],
    now_ms: i64,
) -> Result<Option<PartialMatches>, ServiceError> {
    let words = loose::loosened(&search.query);
    let is_question = words.len() >= QUESTION_WORDS || (strict.is_empty() && words.len() > 1);
    if !is_question {
        return Ok(None);
    }
    let whole = |word: &Query| {
        let expression = word.expression();
        vec![Scorer { word: expression.clone(), expression }]
    };
    let rare = rarest(index, words.iter().map(whole).collect()).await?;
    if rare.is_empty() {
        return Ok(None);
    }
    let found = index.best(&rare.join(" OR "), &search.filter, CANDIDATES).await?;
    // Compare by words: a copy of a hit in another transcript is the same hit.
    let content = |ranked: &RankedItem| (ranked.candidate.kind, ranked.candidate.digest);
    let known: HashSet<_> = strict.iter().map(content).collect();
    let candidates = found.into_iter().map(|found| found.candidate).collect();
    let mut ranked = rank(candidates, now_ms);
    ranked.retain(|one| !known.contains(&content(one)));
    // Scores in one answer are comparable: items with all words rank above the others.
    let lowest = strict.last().map_or(f64::INFINITY, |last| last.score);
    for one in &mut ranked {
        one.score = one.score.min(lowest);
    }
    Ok(Some(PartialMatches { ranked, query: Query::union(&words) }))
}
