//! Ranks candidates.
//!
//! The index returns the newest matches, at most [`CANDIDATES`], with a BM25 relevance for rare words. A
//! common word hardly distinguishes items, and counting it would scan all of them, so it filters but does
//! not score. In addition, text of the person or the model outranks tool output, and new outranks old.
//!
//! Items with the same text (a fork's copy, a replay, an archived duplicate, the same "ok" of a hundred
//! commands) become one hit with a count.

use std::collections::HashMap;

use crate::item::ItemKind;
use crate::limits::DAY_MS;

/// Maximum number of newest matches considered.
///
/// # Source
/// Measured: ranking all of 400,000 matches took 981 ms, the newest 2,000 of them 12 ms.
pub const CANDIDATES: usize = 2_000;

/// The same if no word scores: the order then depends on kind and age, and old items seldom win.
///
/// # Source
/// Chosen: a quarter; two common words as a phrase in a million items are found in a fifth of them or fewer.
pub const CANDIDATES_UNSCORED: usize = 500;

/// Matches from which a word counts as common: it filters and does not score.
///
/// # Source
/// Chosen: counting so far takes 1–2 ms; in a million items such a word weighs less than half of a rare one.
pub const COMMON: usize = 5_000;

/// An item that matches.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// Its file's number in the index.
    pub file: i64,
    pub seq: u64,
    pub kind: ItemKind,
    /// Timestamp in Unix milliseconds.
    pub at_ms: i64,
    pub digest: i64,
    /// BM25 of the rare words, larger is better; 0 without any.
    pub relevance: f64,
}

/// A candidate with its score.
#[derive(Debug, Clone, PartialEq)]
pub struct RankedItem {
    pub candidate: Candidate,
    /// Larger is better; comparable within one answer only.
    pub score: f64,
    /// Number of further candidates with the same text.
    pub copies: u64,
}

/// Sorts candidates, best first, merging those with the same text.
pub fn rank(candidates: Vec<Candidate>, now_ms: i64) -> Vec<RankedItem> {
    let mut ranked: Vec<RankedItem> = candidates
        .into_iter()
        .map(|candidate| RankedItem { score: score(&candidate, now_ms), candidate, copies: 0 })
        .collect();
    ranked.sort_by(|one, other| {
        let newer = other.candidate.at_ms.cmp(&one.candidate.at_ms);
        other
            .score
            .total_cmp(&one.score)
            .then(newer)
            .then(one.candidate.seq.cmp(&other.candidate.seq))
    });
    let mut first_of: HashMap<(ItemKind, i64), usize> = HashMap::new();
    let mut kept: Vec<RankedItem> = Vec::new();
    for hit in ranked {
        let words = (hit.candidate.kind, hit.candidate.digest);
        match first_of.get(&words).and_then(|at| kept.get_mut(*at)) {
            Some(first) => first.copies += 1,
            None => {
                first_of.insert(words, kept.len());
                kept.push(hit);
            }
        }
    }
    kept
}

fn score(candidate: &Candidate, now_ms: i64) -> f64 {
    (1.0 + candidate.relevance.max(0.0))
        * weight(candidate.kind)
        * freshness(candidate.at_ms, now_ms)
}

fn weight(kind: ItemKind) -> f64 {
    match kind {
        ItemKind::UserMessage => 1.5,
        ItemKind::AssistantMessage | ItemKind::Compaction => 1.2,
        ItemKind::ToolCall => 1.0,
        ItemKind::ToolOutput | ItemKind::Other => 0.8,
        ItemKind::Context | ItemKind::Reasoning | ItemKind::Oversized => 0.4,
    }
}

/// From 1 for now down to a half; a month is halfway.
fn freshness(at_ms: i64, now_ms: i64) -> f64 {
    let days = (now_ms.saturating_sub(at_ms) / DAY_MS).clamp(0, 36_500);
    let days = f64::from(u32::try_from(days).unwrap_or(u32::MAX));
    0.5 + 0.5 / (1.0 + days / 30.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(seq: u64, kind: ItemKind, at_ms: i64, relevance: f64) -> Candidate {
        Candidate { file: 1, seq, kind, at_ms, digest: seq.cast_signed(), relevance }
    }

    fn order(candidates: Vec<Candidate>) -> Vec<u64> {
        rank(candidates, 100 * DAY_MS).into_iter().map(|hit| hit.candidate.seq).collect()
    }

    #[test]
    fn hits_are_ordered_by_relevance_then_kind_then_age() {
        let (user, output) = (ItemKind::UserMessage, ItemKind::ToolOutput);
        let now = 100 * DAY_MS;
        assert_eq!(
            order(vec![candidate(1, output, now, 0.0), candidate(2, output, now, 3.0)]),
            [2, 1]
        );
        assert_eq!(
            order(vec![candidate(1, output, now, 0.0), candidate(2, user, now, 0.0)]),
            [2, 1]
        );
        assert_eq!(order(vec![candidate(1, user, 0, 0.0), candidate(2, user, now, 0.0)]), [2, 1]);
        assert_eq!(order(vec![candidate(1, user, now, f64::NAN)]), [1]);
        // A better match of an output ranks below the person's own words, a much better one above.
        for (relevance, expected) in [(2.0, [2, 1]), (3.0, [1, 2])] {
            let both = vec![candidate(1, output, now, relevance), candidate(2, user, now, 1.0)];
            assert_eq!(order(both), expected, "{relevance}");
        }
    }

    #[test]
    fn a_hit_loses_at_most_half_of_its_score_with_age() {
        let now = 50_000 * DAY_MS;
        for (days, expected) in
            [(-1, 1.0), (0, 1.0), (30, 0.75), (90, 0.625), (270, 0.55), (50_000, 0.5)]
        {
            let found = freshness(now - days * DAY_MS, now);
            assert!((found - expected).abs() < 0.001, "{days} days: {found}");
        }
    }

    #[test]
    fn identical_texts_are_one_hit() {
        let copy = |seq| Candidate { digest: 7, ..candidate(seq, ItemKind::ToolCall, 0, 1.0) };
        let ranked = rank(vec![copy(1), copy(2), candidate(3, ItemKind::ToolCall, 0, 0.5)], 0);
        let shown: Vec<_> = ranked.iter().map(|hit| (hit.candidate.seq, hit.copies)).collect();
        assert_eq!(shown, [(1, 1), (3, 0)]);
    }
}
