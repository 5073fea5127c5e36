//! Items that have some of the words of a question, after those that have all of them.

use std::collections::HashSet;

use longhaul_core::search::loose;
use longhaul_core::search::query::{Query, Scorer};
use longhaul_core::search::rank::{RankedItem, rank};
use longhaul_store::SearchIndex;

use super::query::SearchQuery;
use super::rare::rarest;
use crate::service::error::ServiceError;

/// Telling words from which a query is a question: fewer are meant as they stand, unless nothing has them all.
const QUESTION_WORDS: usize = 3;

/// Items that are ranked.
const CANDIDATES: usize = 400;

/// What a question finds besides.
pub(super) struct Loosened {
    /// Best first, each below those with all words.
    pub(super) ranked: Vec<RankedItem>,
    /// Its words, for showing where.
    pub(super) query: Query,
}

/// What has some of the words, `strict` left out; `None` where the query is not meant so.
pub(super) async fn loosened(
    index: &SearchIndex,
    search: &SearchQuery,
    strict: &[RankedItem],
    now_ms: i64,
) -> Result<Option<Loosened>, ServiceError> {
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
    // By their words: a copy of a hit in another transcript is that hit.
    let said = |ranked: &RankedItem| (ranked.candidate.kind, ranked.candidate.digest);
    let known: HashSet<_> = strict.iter().map(said).collect();
    let candidates = found.into_iter().map(|found| found.candidate).collect();
    let mut ranked = rank(candidates, now_ms);
    ranked.retain(|one| !known.contains(&said(one)));
    // Scores of one answer are comparable: what has all words stands before what has some.
    let lowest = strict.last().map_or(f64::INFINITY, |last| last.score);
    for one in &mut ranked {
        one.score = one.score.min(lowest);
    }
    Ok(Some(Loosened { ranked, query: Query::union(&words) }))
}
