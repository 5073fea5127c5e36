//! Limits how much one file contributes: the first lines of many files are worth more than all lines of one.

use std::collections::HashMap;

use rustc_hash::FxBuildHasher;

use super::super::select::Quote;

/// Number of a file's lines that count in full, and of those that count once reduced; the rest count twice
/// reduced.
pub(super) struct Ranks {
    full: usize,
    less: usize,
}

pub(super) const OF_DOCUMENT: Ranks = Ranks { full: 10, less: 24 };
/// While the running turn reads several documents, each has its place.
pub(super) const OF_DOCUMENTS_BEING_READ: Ranks = Ranks { full: 5, less: 10 };
pub(super) const OF_EDITS: Ranks = Ranks { full: 20, less: 40 };

/// Weight factor per reduction.
const RANK_WEIGHT: f64 = 0.6;

/// The first lines of a recently edited file describe its change, which says more than what was read.
const TOP_RANKS: usize = 3;
const TOP_WEIGHT: f64 = 1.6;

/// The rank of each quote within its group, highest weight first.
fn ranks(quotes: &[Quote<'_>]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..quotes.len()).collect();
    order.sort_by(|one, other| quotes[*other].weight.total_cmp(&quotes[*one].weight));
    let mut next: HashMap<&str, usize, FxBuildHasher> = HashMap::default();
    let mut ranks = vec![0; quotes.len()];
    for index in order {
        let rank = next.entry(&quotes[index].group).or_default();
        ranks[index] = *rank;
        *rank += 1;
    }
    ranks
}

/// Reduces the weight of a group's lower-ranked lines.
pub(super) fn lower_behind(quotes: &mut [Quote<'_>], Ranks { full, less }: Ranks) {
    let ranks = ranks(quotes);
    for (quote, rank) in quotes.iter_mut().zip(ranks) {
        quote.weight *= match () {
            () if rank < full => 1.0,
            () if rank < less => RANK_WEIGHT,
            () => RANK_WEIGHT * RANK_WEIGHT,
        };
    }
}

/// Raises the highest-ranked lines of the selected quotes' groups.
pub(super) fn raise_first(quotes: &mut [Quote<'_>], is_selected: impl Fn(&Quote<'_>) -> bool) {
    let ranks = ranks(quotes);
    let first_ones = quotes.iter_mut().zip(ranks).filter(|(_, rank)| *rank < TOP_RANKS);
    for (quote, _) in first_ones.filter(|(quote, _)| is_selected(quote)) {
        quote.weight *= TOP_WEIGHT;
    }
}
