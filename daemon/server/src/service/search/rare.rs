//! Selects the words of a query that distinguish items, limited to what can be scored in time.
//!
//! Scoring visits every item that has one of the words. So very common words do not score, and of the others the
//! rarest do, until their items reach [`SCORED`] in total: the words left out would have weighed least.

use longhaul_core::search::query::Scorer;
use longhaul_core::search::rank::COMMON;
use longhaul_store::SearchIndex;

use crate::service::error::ServiceError;

/// Maximum items to score, over all words.
///
/// # Source
/// Measured: scoring an item takes some 3 µs; eight words of 3,600 items each took 117 ms. A collection of a
/// hundred thousand items seldom reaches it.
const SCORED: usize = 8_000;

/// A single scoring word always fits.
const _: () = assert!(COMMON <= SCORED);

/// The expressions rare enough to score: for each of `terms`, given as alternatives, the first that is.
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

/// The rarest expressions with at most `items_max` items together.
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
    fn the_rarest_words_score_up_to_the_limit() {
        let rare = |counts: &[usize]| -> Vec<(usize, String)> {
            counts.iter().map(|count| (*count, count.to_string())).collect()
        };
        assert_eq!(within(rare(&[40, 7, 20]), 100), ["7", "20", "40"]);
        assert_eq!(within(rare(&[40, 70, 20]), 100), ["20", "40"]);
        assert_eq!(within(rare(&[0, 0]), 100), ["0", "0"]);
        assert_eq!(within(rare(&[40, 61, 20]), 60), ["20", "40"], "exactly the limit");
    }
}
