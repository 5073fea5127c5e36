//! Limits how much one file, and one section of it, contributes: the first lines of many are worth more than all lines of one.

use std::collections::HashMap;
use std::hash::Hash;

use rustc_hash::FxBuildHasher;

use super::super::select::Quote;

/// Number of a file's lines that count in full, and of those that count once reduced; the rest count twice
/// reduced.
#[derive(Clone, Copy)]
pub(super) struct Ranks {
    full: usize,
    less: usize,
}

pub(super) const OF_DOCUMENT: Ranks = Ranks { full: 10, less: 24 };
/// While the running turn reads several documents, each has its place.
pub(super) const OF_DOCUMENTS_BEING_READ: Ranks = Ranks { full: 5, less: 10 };
pub(super) const OF_EDITS: Ranks = Ranks { full: 20, less: 40 };

/// The same for the lines below one heading, such as the rows of a table.
const OF_SECTION: Ranks = Ranks { full: 4, less: 8 };

/// Weight factor per reduction.
const RANK_WEIGHT: f64 = 0.6;

/// The first lines of a recently edited file describe its change, which says more than what was read.
const TOP_RANKS: usize = 3;
const TOP_WEIGHT: f64 = 1.6;

impl Ranks {
    /// Factor for the weight of a line.
    fn factor(self, rank: usize) -> f64 {
        match () {
            () if rank < self.full => 1.0,
            () if rank < self.less => RANK_WEIGHT,
            () => RANK_WEIGHT * RANK_WEIGHT,
        }
    }
}

/// The rank of each quote within its group or another part of the quotes, highest weight first.
fn ranks<'q, P: Eq + Hash>(
    quotes: &'q [Quote<'_>],
    part_of: impl Fn(&'q Quote<'_>) -> P,
) -> Vec<usize> {
    let mut order: Vec<usize> = (0..quotes.len()).collect();
    order.sort_by(|one, other| quotes[*other].weight.total_cmp(&quotes[*one].weight));
    let mut next: HashMap<P, usize, FxBuildHasher> = HashMap::default();
    let mut ranks = vec![0; quotes.len()];
    for index in order {
        let rank = next.entry(part_of(&quotes[index])).or_default();
        ranks[index] = *rank;
        *rank += 1;
    }
    ranks
}

/// Reduces the weight of a section's lower-ranked lines, then of a group's.
pub(super) fn lower_behind(quotes: &mut [Quote<'_>], of_group: Ranks) {
    let sections = ranks(quotes, |quote| (quote.group.as_ref(), quote.heading.as_ref()));
    for (quote, rank) in quotes.iter_mut().zip(sections) {
        if !quote.heading.is_empty() {
            quote.weight *= OF_SECTION.factor(rank);
        }
    }
    let groups = ranks(quotes, |quote| quote.group.as_ref());
    for (quote, rank) in quotes.iter_mut().zip(groups) {
        quote.weight *= of_group.factor(rank);
    }
}

/// Raises the highest-ranked lines of the selected quotes' groups.
pub(super) fn raise_first(quotes: &mut [Quote<'_>], is_selected: impl Fn(&Quote<'_>) -> bool) {
    let ranks = ranks(quotes, |quote| quote.group.as_ref());
    let first_ones = quotes.iter_mut().zip(ranks).filter(|(_, rank)| *rank < TOP_RANKS);
    for (quote, _) in first_ones.filter(|(quote, _)| is_selected(quote)) {
        quote.weight *= TOP_WEIGHT;
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::kinds::EvidenceKind;
    use super::*;

    #[test]
    fn the_rows_of_a_table_lose_weight_and_what_is_below_other_headings_does_not() {
        let quote = |heading: &'static str, text: &'static str| {
            let quote = Quote::new(EvidenceKind::Added, (0, 0), 1.0, text.into());
            Quote { group: "report.md".into(), heading: heading.into(), ..quote }
        };
        let mut quotes = vec![quote("Matrix", "a row"); 10];
        quotes.push(quote("Coverage", "100%"));
        quotes.extend(vec![quote("", "a line"); 10]);
        lower_behind(&mut quotes, Ranks { full: 99, less: 99 });
        let weights: Vec<f64> = quotes.iter().map(|quote| quote.weight).collect();
        let twice = RANK_WEIGHT * RANK_WEIGHT;
        assert_eq!(weights[..4], [1.0; 4]);
        assert_eq!(weights[4..8], [RANK_WEIGHT; 4]);
        assert_eq!(weights[8..10], [twice; 2]);
        assert_eq!(weights[10..], [1.0; 11]);
    }
}
