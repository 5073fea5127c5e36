//! The kinds of evidence, with the share of a view that each may fill first and the weights of its lines.
//!
//! The values were tuned on eight sessions whose answers were labeled by hand (two thirds were in the agent's reports, the
//! person's words and the lines that edits added), then on the words of 320 answers about 32 sessions. Change them
//! freely.

/// What kind of line a piece of evidence is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EvidenceKind {
    /// Typed by the person.
    Request,
    /// A step of the last prompt template.
    Template,
    /// The agent's message at the end of a turn.
    Report,
    /// The agent's message between calls, or a sub-agent's report.
    Remark,
    /// A decision or a fact with its evidence, accepted by the host.
    Accepted,
    /// From a document that was read.
    Document,
    /// From a document with rules for this work, or one that the person named.
    Rule,
    /// A changed file and its state.
    File,
    /// Added by an edit.
    Added,
    FailedCommand,
    /// A test, build or lint run.
    Check,
    /// Branch, commits, uncommitted files.
    Git,
    /// An item of a task list in a file.
    TaskItem,
    /// A command with an effect.
    Ran,
    /// A file that was read or searched.
    Look,
    /// Output of a recent command.
    Seen,
    /// A step of the agent's plan.
    Plan,
    /// The current state of the work.
    Now,
}

/// The limits and weights of a kind.
pub(super) struct KindRule {
    pub kind: EvidenceKind,
    pub title: &'static str,
    /// Percentage of the view it may fill before other kinds get their turn.
    pub share_percent: u32,
    /// Percentage of the view it may fill with what other kinds leave.
    pub max_percent: u32,
    /// Weight of a line of the last turn, the turn before, and earlier turns.
    pub weights: [f64; 3],
    /// Maximum bytes of evidence to keep.
    pub bytes_max: usize,
}

const fn rule(
    kind: EvidenceKind,
    title: &'static str,
    (share_percent, max_percent): (u32, u32),
    weights: [f64; 3],
    bytes_max: usize,
) -> KindRule {
    KindRule { kind, title, share_percent, max_percent, weights, bytes_max }
}

/// All kinds, in the order of a view.
pub(super) const RULES: [KindRule; 18] = [
    rule(EvidenceKind::Request, "PERSON", (27, 100), [2.2, 2.2, 2.2], 40 << 10),
    rule(EvidenceKind::Template, "TEMPLATE_STEPS", (9, 100), [0.9, 0.9, 0.4], 10 << 10),
    rule(EvidenceKind::Report, "REPORTS", (38, 100), [3.2, 2.2, 2.0], 64 << 10),
    rule(EvidenceKind::Remark, "REMARKS", (14, 100), [1.2, 0.7, 0.7], 20 << 10),
    rule(EvidenceKind::Accepted, "RECORDED", (12, 100), [3.0, 3.0, 2.4], 0),
    rule(EvidenceKind::Document, "DOCUMENTS", (6, 20), [3.0, 0.5, 0.2], 40 << 10),
    rule(EvidenceKind::Rule, "RULES", (9, 100), [1.6, 1.6, 1.6], 8 << 10),
    rule(EvidenceKind::File, "CHANGED_FILES", (11, 100), [2.4, 1.8, 1.0], 0),
    rule(EvidenceKind::Added, "ADDED_LINES", (16, 100), [1.3, 1.1, 0.7], 40 << 10),
    rule(EvidenceKind::FailedCommand, "FAILED", (5, 100), [1.6, 1.2, 0.9], 8 << 10),
    rule(EvidenceKind::Check, "CHECKS", (8, 100), [3.0, 2.4, 1.6], 12 << 10),
    rule(EvidenceKind::Git, "GIT", (6, 100), [2.0, 1.6, 1.2], 6 << 10),
    rule(EvidenceKind::TaskItem, "TASK_LIST", (6, 100), [2.0, 1.6, 1.2], 0),
    rule(EvidenceKind::Ran, "RAN", (4, 40), [0.6, 0.6, 0.5], 16 << 10),
    rule(EvidenceKind::Look, "LOOKED_AT", (1, 4), [0.25, 0.25, 0.25], 0),
    rule(EvidenceKind::Seen, "SEEN", (5, 30), [1.0, 0.5, 0.03], 0),
    rule(EvidenceKind::Plan, "PLAN", (5, 100), [2.0, 2.0, 2.0], 0),
    rule(EvidenceKind::Now, "NOW", (12, 100), [6.0, 6.0, 6.0], 0),
];

impl EvidenceKind {
    /// How to read the lines below the title; appended to it.
    pub(super) fn legend(self) -> &'static str {
        match self {
            Self::Report => " as told then, oldest first: later ones overrule earlier ones",
            Self::Remark => " on the way, oldest first",
            Self::Document => " lines chosen from what was read",
            Self::Rule => " quoted from what was read on how to work here",
            Self::Git => " oldest first",
            Self::Seen => " what the last commands printed, lines chosen",
            Self::Ran => " with what came of it then, oldest first, chosen",
            _ => "",
        }
    }

    pub(super) fn rule(self) -> &'static KindRule {
        &RULES[self as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_each_kind_once_in_its_order() {
        for (index, rule) in RULES.iter().enumerate() {
            assert_eq!(rule.kind as usize, index, "{}", rule.title);
        }
    }
}
