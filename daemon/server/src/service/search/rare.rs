//! The words of a query that tell items apart, and no more of them than can be scored in time.
//!
//! Scoring looks at every item that has one of the words. So a word that very many items have does not score,
//! and of the others the rarest do, until the items of all of them are [`SCORED`]: what is left out would have
//! weighed least.

use longhaul_core::search::query::Scorer;
use longhaul_core::search::rank::COMMON;
use longhaul_store::SearchIndex;

use crate::service::error::ServiceError;

/// Items with one of the words that score, in all.
///
/// # Source
/// Measured: scoring an item takes some 3 µs; eight words of 3,600 items each took 117 ms. A collection of a
/// hundred thousand items seldom reaches it.
const SCORED: usize = 8_000;

/// One word that scores always fits.
const _: () = assert!(COMMON <= SCORED);

/// What is rare enough to score: of each of `terms`, given as its scorers, the first that is.
pub(super) async fn rarest(
    index: &SearchIndex,
    terms: Vec<Vec<Scorer>>,
) -> Result<Vec<String>, ServiceError> {
    let mut rare = Vec::new();
    for scorers in terms {
        for scorer in scorers {
            let items = index.count(&scorer.word, COMMON).await?;
            if items < COMMON {
                rare.push((items, scorer.expression));
                break;
            }
        }
    }
    Ok(within(rare, SCORED))
}

/// The rarest expressions with `items_max` items together.
fn within(mut rare: Vec<(usize, String)>, items_max: usize) -> Vec<String> {
    rare.sort_by_key(|(items, _)| *items);
    let mut left = items_max;
    let fits = rare.into_iter().map_while(|(items, expression)| {
        left = left.checked_sub(items)?;
        Some(expression)
    });
    fits.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rarest_score_until_it_would_take_too_long() {
        let rare = |counts: &[usize]| -> Vec<(usize, String)> {
            counts.iter().map(|count| (*count, count.to_string())).collect()
        };
        assert_eq!(within(rare(&[40, 7, 20]), 100), ["7", "20", "40"]);
        assert_eq!(within(rare(&[40, 70, 20]), 100), ["20", "40"]);
        assert_eq!(within(rare(&[0, 0]), 100), ["0", "0"]);
    }
}
