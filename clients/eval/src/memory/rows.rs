//! Worthless rows of a view: repeated, in the standing instructions, or without a known name.

use std::collections::{BTreeSet, HashSet};

use crate::tally::Tally;

/// Share of common words, in percent, from which two rows count as equal.
const SAME_PERCENT: usize = 80;

/// Share of a row's word runs, in percent, by which it restates the instructions. Same source.
const RESTATED_PERCENT: usize = 60;

/// Words per run.
const RUN: usize = 4;

/// Rows of views, and the worthless ones by their first reason.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct Junk {
    pub rows: u64,
    /// Those that restate the standing instructions.
    pub restated: u64,
    /// Those that repeat another row.
    pub repeated: u64,
    /// Those without any known name.
    pub unknown: u64,
}

impl Junk {
    pub(super) fn add(&mut self, other: Self) {
        self.rows += other.rows;
        self.restated += other.restated;
        self.repeated += other.repeated;
        self.unknown += other.unknown;
    }

    /// Share of worthless rows, in percent; zero without rows.
    pub fn percent(self) -> Option<f64> {
        let kept = self.restated + self.repeated + self.unknown;
        Tally { kept, asked: self.rows }.percent()
    }
}

/// Judges the rows of a view and lists the worthless ones, each after its reason. `knows` returns whether a row names
/// something known, `None` if it has no name.
pub(super) fn junk(
    text: &str,
    context: &str,
    knows: &dyn Fn(&str) -> Option<bool>,
) -> (Junk, Vec<String>) {
    let mut worthless = Vec::new();
    let shown = runs(context);
    let mut seen: Vec<BTreeSet<&str>> = Vec::new();
    let mut junk = Junk::default();
    for row in text.lines().filter(|line| line.starts_with("- ")) {
        let words: BTreeSet<&str> = row.split_whitespace().skip(1).collect();
        let is_same = |other: &BTreeSet<&str>| {
            let shared = words.intersection(other).count();
            shared * 100 > words.union(other).count() * SAME_PERCENT
        };
        let own = runs(row);
        let restated = own.iter().filter(|run| shown.contains(*run)).count();
        junk.rows += 1;
        let is_restated = !own.is_empty() && restated * 100 > own.len() * RESTATED_PERCENT;
        let (reason, count) = if is_restated {
            ("restated", &mut junk.restated)
        } else if seen.iter().any(is_same) {
            ("repeated", &mut junk.repeated)
        } else if knows(row) == Some(false) {
            ("unknown", &mut junk.unknown)
        } else {
            seen.push(words);
            continue;
        };
        *count += 1;
        worthless.push(format!("{reason} {row}"));
        seen.push(words);
    }
    (junk, worthless)
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
        let knows = |row: &str| row.contains(".rs").then(|| row.contains("real.rs"));
        let text = format!("{text}- src/real.rs\n- src/made_up.rs\n");
        let (junk, worthless) = junk(&text, "Rules: never push to main please", &knows);
        assert_eq!(junk, Junk { rows: 5, restated: 1, repeated: 1, unknown: 1 });
        assert_eq!(worthless[2], "unknown - src/made_up.rs");
    }
}
