//! Limits how much one file contributes: the first lines of many files are worth more than all lines of one.

use std::collections::HashMap;

use super::super::select::Quote;

/// Number of a file's lines that count in full, and of those that count once reduced; the rest count twice
/// reduced.
pub(super) struct Ranks {
    full: usize,
    less: usize,
}

pub(super) const OF_DOCUMENT: Ranks = Ranks { full: 10, less: 24 };
pub(super) const OF_EDITS: Ranks = Ranks { full: 20, less: 40 };

/// Weight factor per reduction.
const RANK_WEIGHT: f64 = 0.6;

/// The rank of each quote within its group, highest weight first.
pub(super) fn ranks(quotes: &[Quote]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..quotes.len()).collect();
    order.sort_by(|one, other| quotes[*other].weight.total_cmp(&quotes[*one].weight));
    let mut next: HashMap<&str, usize> = HashMap::new();
    let mut ranks = vec![0; quotes.len()];
    for index in order {
        let rank = next.entry(&quotes[index].group).or_default();
        ranks[index] = *rank;
        *rank += 1;
    }
    ranks
}

/// Reduces the weight of a group's lower-ranked lines.
pub(super) fn lower_behind(quotes: &mut [Quote], Ranks { full, less }: Ranks) {
    let ranks = ranks(quotes);
    for (quote, rank) in quotes.iter_mut().zip(ranks) {
        quote.weight *= match () {
            () if rank < full => 1.0,
            () if rank < less => RANK_WEIGHT,
            () => RANK_WEIGHT * RANK_WEIGHT,
        };
    }
}
