//! Rows of a view that are worth nothing: said twice, or said by the standing instructions already.

use std::collections::{BTreeSet, HashSet};

use crate::tally::Tally;

/// Share of words, in percent, by which two rows say the same. Source: facts on peers (e3), 2026.
const SAME_PERCENT: usize = 80;

/// Share of a row's word runs, in percent, by which it restates the instructions. Same source.
const RESTATED_PERCENT: usize = 60;

/// Words of a run.
const RUN: usize = 4;

/// Rows that are worth nothing, of all rows.
pub(super) fn junk(text: &str, context: &str) -> Tally {
    let told = runs(context);
    let mut seen: Vec<BTreeSet<&str>> = Vec::new();
    let mut tally = Tally::default();
    for row in text.lines().filter(|line| line.starts_with("- ")) {
        let words: BTreeSet<&str> = row.split_whitespace().skip(1).collect();
        let is_same = |other: &BTreeSet<&str>| {
            let shared = words.intersection(other).count();
            shared * 100 > words.union(other).count() * SAME_PERCENT
        };
        let own = runs(row);
        let restated = own.iter().filter(|run| told.contains(*run)).count();
        let is_restated = !own.is_empty() && restated * 100 > own.len() * RESTATED_PERCENT;
        tally.note(is_restated || seen.iter().any(is_same));
        seen.push(words);
    }
    tally
}

fn runs(text: &str) -> HashSet<String> {
    let words: Vec<&str> = text.split_whitespace().filter(|word| *word != "-").collect();
    words.windows(RUN).map(|run| run.join(" ").to_lowercase()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repetitions_and_restatements_are_junk() {
        let text =
            "# A\n- run the tests with make\n- run the tests with make\n- never push to main\n";
        let tally = junk(text, "Rules: never push to main please");
        assert_eq!((tally.kept, tally.asked), (2, 3));
    }
}
