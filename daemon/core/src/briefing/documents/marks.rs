//! Words that mark the lines of a document which say most.

use std::sync::LazyLock;

use regex::RegexSet;

use crate::phrases::Phrases;

/// Markers of a decision with its reasons.
const DECISION_MARKS: [&str; 6] =
    ["**Decision", "Decision**", "Decision:", "- Decision", "**Scope", "**Goal"];

/// Markers of a rejected option.
const REJECTION_MARKS: [&str; 2] = ["Alternatives", "rejected"];

/// Markers of a list of permitted values.
pub(in crate::briefing) const VALUES_MARKS: [&str; 3] = ["enum:", "enum ", "one of "];

/// Markers of an empty section.
const EMPTY_MARKS: [&str; 4] = ["N/A", "None", "left empty", "not applicable"];

const RULE_MARKS: [&str; 7] = ["must", "MUST", "never", "always", "only", "do not", "don't"];

/// Whether a line of a document states a decision.
pub(in crate::briefing) fn decides(line: &str) -> bool {
    static DECISIONS: Phrases = Phrases::new(&DECISION_MARKS);
    !line.is_empty() && DECISIONS.is_in(line)
}

/// Sets of markers that determine a line's strength, each at its own index in the result of [`marks_of`].
const MARKS: [&[&str]; 6] =
    [&DECISION_MARKS, &EMPTY_MARKS, &["Rationale"], &REJECTION_MARKS, &RULE_MARKS, &VALUES_MARKS];

/// Matches all sets at once: searching for each marker separately took a tenth of the fold's time.
static MARK_SET: LazyLock<Option<RegexSet>> = LazyLock::new(|| {
    let set = |marks: &&[&str]| {
        let escaped: Vec<String> = marks.iter().map(|mark| regex::escape(mark)).collect();
        escaped.join("|")
    };
    RegexSet::new(MARKS.iter().map(set)).ok()
});

/// Which sets of markers occur in a line.
pub(super) fn marks_of(line: &str) -> [bool; MARKS.len()] {
    let found = MARK_SET.as_ref().map(|set| set.matches(line));
    std::array::from_fn(|set| found.as_ref().is_some_and(|found| found.matched(set)))
}
