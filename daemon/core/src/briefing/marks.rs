//! Words that mark the lines of a document which say most.

use crate::phrases::Phrases;

/// Markers of a decision with its reasons.
const DECISION_MARKS: [&str; 6] =
    ["**Decision", "Decision**", "Decision:", "- Decision", "**Scope", "**Goal"];

/// Markers of an empty section.
const EMPTY_MARKS: [&str; 4] = ["N/A", "None", "left empty", "not applicable"];

const REASON_MARKS: [&str; 1] = ["Rationale"];

/// Markers of a rejected option.
const REJECTION_MARKS: [&str; 2] = ["Alternatives", "rejected"];

const RULE_MARKS: [&str; 7] = ["must", "MUST", "never", "always", "only", "do not", "don't"];

/// Markers of a list of permitted values.
const VALUES_MARKS: [&str; 3] = ["enum:", "enum ", "one of "];

/// A mark of a line that may state a version: `**Version**: 1.1.0`.
const VERSION_MARKS: [&str; 1] = ["ersion"];

static DECISIONS: Phrases = Phrases::new(&DECISION_MARKS);
pub(super) static EMPTY: Phrases = Phrases::new(&EMPTY_MARKS);
pub(super) static REASONS: Phrases = Phrases::new(&REASON_MARKS);
pub(super) static REJECTIONS: Phrases = Phrases::new(&REJECTION_MARKS);
pub(super) static RULES: Phrases = Phrases::new(&RULE_MARKS);
pub(super) static VALUES: Phrases = Phrases::new(&VALUES_MARKS);

/// All of them: most lines have none.
pub(super) static ANY: Phrases = Phrases::new(&ANY_MARKS);

const ANY_MARKS: [&str; 24] = {
    let lists: [&[&str]; 7] = [
        &DECISION_MARKS,
        &EMPTY_MARKS,
        &REASON_MARKS,
        &REJECTION_MARKS,
        &RULE_MARKS,
        &VALUES_MARKS,
        &VERSION_MARKS,
    ];
    let (mut all, mut count, mut list) = ([""; 24], 0, 0);
    while list < lists.len() {
        let mut mark = 0;
        while mark < lists[list].len() {
            all[count] = lists[list][mark];
            (count, mark) = (count + 1, mark + 1);
        }
        list += 1;
    }
    all
};

/// Whether a line of a document states a decision.
pub(super) fn decides(line: &str) -> bool {
    !line.is_empty() && DECISIONS.is_in(line)
}
