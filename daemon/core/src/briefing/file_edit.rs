//! A change of one file, as the briefing reads it.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use super::documents;
use crate::rollout::patch::{FileOp, LineCounts, Op};
use crate::rollout::shell::Command;
use crate::step::{Change, ChangeKind};

/// A change of one file. Redacted.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct FileEdit {
    /// Relative to the thread's folder if inside it.
    pub path: String,
    pub added: String,
    pub removed: String,
    pub counts: LineCounts,
    /// `added` is the complete file.
    pub is_whole: bool,
    pub is_deleted: bool,
    /// Lines of a document that were neighbors until it added others between them.
    pub parted: Vec<(String, String)>,
    /// What its front matter says now of how far the document is.
    pub state: Option<String>,
}

impl FileEdit {
    pub(super) fn of_change(change: &Change, path: String, is_document: bool) -> Self {
        Self {
            parted: parted_of(is_document, &change.lines, &change.added),
            state: state_of(is_document, [&change.lines, &change.added, &change.removed]),
            path,
            added: change.added.clone(),
            removed: change.removed.clone(),
            counts: change.counts,
            is_whole: change.kind == ChangeKind::Created,
            is_deleted: change.kind == ChangeKind::Deleted,
        }
    }

    /// A file that an inline program writes.
    pub(super) fn of_write(op: &FileOp, path: String, is_document: bool) -> Self {
        Self {
            parted: parted_of(is_document, &op.changed, &op.added),
            state: state_of(is_document, [&op.changed, &op.added, &op.removed]),
            path,
            added: op.added.clone(),
            removed: op.removed.clone(),
            counts: op.counts,
            is_whole: matches!(op.op, Op::Created { .. }),
            is_deleted: false,
        }
    }

    pub(super) fn heredoc(command: &Command, path: String) -> Self {
        let added = command.input.clone();
        let is_cat = command.words.first().is_some_and(|program| program == "cat");
        let counts = LineCounts { added: added.lines().count() as u64, removed: 0 };
        let is_whole = is_cat && !command.is_appending;
        Self { path, added, counts, is_whole, ..Self::default() }
    }

    pub(super) fn removal(path: String) -> Self {
        Self { path, is_deleted: true, ..Self::default() }
    }
}

fn parted_of(is_document: bool, changed: &str, added: &str) -> Vec<(String, String)> {
    if is_document { parted(changed, added) } else { Vec::new() }
}

fn state_of(is_document: bool, [changed, added, removed]: [&str; 3]) -> Option<String> {
    is_document.then(|| documents::grown_state(changed, added, removed)).flatten()
}

/// Maximum pairs of parted lines to keep.
const PARTED_MAX: usize = 16;

/// The lines of `changed`, an edit with its context, that were neighbors until lines of `added` came between.
fn parted(changed: &str, added: &str) -> Vec<(String, String)> {
    let added: HashSet<&str> = added.lines().map(str::trim).collect();
    let (mut before, mut is_parted, mut pairs) = ("", false, Vec::new());
    for line in changed.lines() {
        if line.starts_with("@@") {
            (before, is_parted) = ("", false);
            continue;
        }
        let is_removed = line.starts_with('-');
        let line = line.trim();
        if line.is_empty() || is_removed {
            continue;
        }
        if added.contains(line) {
            is_parted = true;
            continue;
        }
        if is_parted && !before.is_empty() && pairs.len() < PARTED_MAX {
            pairs.push((before.to_owned(), line.to_owned()));
        }
        (before, is_parted) = (line, false);
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_parted_by_those_that_come_between() {
        let of = |changed: &str, added: &str| parted(changed, added);
        let pair = |one: &str, next: &str| vec![(one.to_owned(), next.to_owned())];
        assert_eq!(of("@@\n [deps]\n a = 1\nb = 2\n [dev]\n", "b = 2\n"), pair("a = 1", "[dev]"));
        assert_eq!(of("a = 1\n[dev]\n\na = 1\nb = 2\n[dev]\n", "b = 2\n"), pair("a = 1", "[dev]"));
        assert!(of("@@\n a = 1\n-b = 1\n c = 1\n", "").is_empty());
        assert!(of("@@\n a = 1\nb = 2\n@@\n c = 1\n", "b = 2\n").is_empty());
    }
}
