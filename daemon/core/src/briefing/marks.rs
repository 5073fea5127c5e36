//! Words that mark the lines of a document which say most.

use crate::phrases::Phrases;

/// Markers of a decision with its reasons.
static DECISIONS: Phrases =
    Phrases::new(&["**Decision", "Decision**", "Decision:", "- Decision", "**Scope", "**Goal"]);

/// Markers of an empty section.
pub(super) static EMPTY: Phrases = Phrases::new(&["N/A", "None", "left empty", "not applicable"]);

pub(super) static REASONS: Phrases = Phrases::new(&["Rationale"]);

/// Markers of a rejected option.
pub(super) static REJECTIONS: Phrases = Phrases::new(&["Alternatives", "rejected"]);

pub(super) static RULES: Phrases =
    Phrases::new(&["must", "MUST", "never", "always", "only", "do not", "don't"]);

/// Markers of a list of permitted values.
pub(super) static VALUES: Phrases = Phrases::new(&["enum:", "enum ", "one of "]);

/// Whether a line of a document states a decision.
pub(super) fn decides(line: &str) -> bool {
    !line.is_empty() && DECISIONS.is_in(line)
}
