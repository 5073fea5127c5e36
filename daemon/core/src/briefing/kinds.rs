//! The kinds of evidence, with the share of a view each may take first and the weight of its lines.
//!
//! The table is meant to be read and changed. It was set on eight sessions whose questions and answers were labelled
//! by hand: two thirds of what readers asked for stood in the agent's reports, the person's words and the
//! lines that edits added.

use serde::{Deserialize, Serialize};

/// What kind of line a piece of evidence is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EvidenceKind {
    /// Typed by the person.
    Request,
    /// A step of the prompt template that the person sent last.
    Template,
    /// Said by the agent at the end of a turn.
    Report,
    /// Said by the agent on the way, or reported by a sub-agent.
    Remark,
    /// Accepted by the host: a decision or a fact with its evidence.
    Accepted,
    /// Read in a document.
    Document,
    /// Read in a document that says how to work here, or that the person named.
    Rule,
    /// A changed file and what became of it.
    File,
    /// Added by an edit.
    Added,
    FailedCommand,
    /// A test, build or lint run.
    Check,
    /// Branch, commits, uncommitted files.
    Git,
    /// An item of a task list that is kept in a file.
    TaskItem,
    /// A command that did something.
    Ran,
    /// A file that was read or searched.
    Look,
    /// Printed by one of the last commands.
    Seen,
    /// A step of the agent's plan.
    Plan,
    /// Where the work stands now.
    Now,
}

/// How a kind is treated.
pub(super) struct KindRule {
    pub kind: EvidenceKind,
    pub title: &'static str,
    /// Percent of the view it may take before others had their turn.
    pub share_percent: u32,
    /// Weight of a line said in the last turn, in the turn before, and earlier.
    pub weights: [f64; 3],
    /// Bytes of evidence that are kept.
    pub bytes_max: usize,
}

const fn rule(
    kind: EvidenceKind,
    title: &'static str,
    share_percent: u32,
    weights: [f64; 3],
    bytes_max: usize,
) -> KindRule {
    KindRule { kind, title, share_percent, weights, bytes_max }
}

/// All kinds, in the order of a view.
pub(super) const RULES: [KindRule; 18] = [
    rule(EvidenceKind::Request, "PERSON", 27, [2.2, 2.2, 2.2], 40 << 10),
    rule(EvidenceKind::Template, "TEMPLATE_STEPS", 9, [0.9, 0.9, 0.4], 10 << 10),
    rule(EvidenceKind::Report, "REPORTS", 38, [3.2, 2.2, 2.0], 64 << 10),
    rule(EvidenceKind::Remark, "REMARKS", 5, [1.2, 0.7, 0.7], 20 << 10),
    rule(EvidenceKind::Accepted, "RECORDED", 12, [3.0, 3.0, 2.4], 0),
    rule(EvidenceKind::Document, "DOCUMENTS", 8, [3.0, 0.5, 0.2], 40 << 10),
    rule(EvidenceKind::Rule, "RULES", 7, [1.6, 1.6, 1.6], 8 << 10),
    rule(EvidenceKind::File, "CHANGED_FILES", 11, [2.4, 1.8, 1.0], 0),
    rule(EvidenceKind::Added, "ADDED_LINES", 16, [1.3, 1.1, 0.7], 40 << 10),
    rule(EvidenceKind::FailedCommand, "FAILED", 5, [1.6, 1.2, 0.9], 8 << 10),
    rule(EvidenceKind::Check, "CHECKS", 8, [3.0, 2.4, 1.6], 12 << 10),
    rule(EvidenceKind::Git, "GIT", 6, [2.0, 1.6, 1.2], 6 << 10),
    rule(EvidenceKind::TaskItem, "TASK_LIST", 6, [2.0, 1.6, 1.2], 0),
    rule(EvidenceKind::Ran, "RAN", 6, [1.2, 1.2, 1.2], 0),
    rule(EvidenceKind::Look, "LOOKED_AT", 4, [0.25, 0.25, 0.25], 0),
    rule(EvidenceKind::Seen, "SEEN", 5, [1.0, 0.5, 0.3], 0),
    rule(EvidenceKind::Plan, "PLAN", 5, [2.0, 2.0, 2.0], 0),
    rule(EvidenceKind::Now, "NOW", 6, [6.0, 6.0, 6.0], 0),
];

impl EvidenceKind {
    /// What stands behind the title: how to read the lines below it.
    pub(super) fn legend(self) -> &'static str {
        match self {
            Self::Report => " as told then, oldest first: later ones overrule earlier ones",
            Self::Remark => " on the way, oldest first",
            Self::Document => " lines chosen from what was read",
            Self::Rule => " quoted from what was read on how to work here",
            Self::Git => " oldest first",
            Self::Seen => " what the last commands printed, lines chosen",
            Self::Ran => " newest first, chosen",
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
