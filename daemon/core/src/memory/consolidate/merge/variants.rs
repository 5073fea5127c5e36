//! Merges commands that differ only in their target into one entry.

use std::collections::BTreeMap;

use super::EntryDraft;
use crate::memory::extract::line::family;
use crate::memory::learning::{LearningKind, TEXT_BYTES};
use crate::rollout::shell::Class;
use crate::text;

/// Maximum variants listed with a command.
const OTHERS_MAX: usize = 3;

/// Merges the drafts of commands by their common part. The one that most threads ran comes first, the
/// plainest of several.
pub(super) fn merge(drafts: Vec<EntryDraft>) -> Vec<EntryDraft> {
    let mut rest = Vec::with_capacity(drafts.len());
    let mut families: BTreeMap<String, Vec<EntryDraft>> = BTreeMap::new();
    for draft in drafts {
        match line_of(&draft)
            .map(|line| format!("{}: {}", Class::of(line).into_str(), family(line)))
        {
            Some(family) => families.entry(family).or_default().push(draft),
            None => rest.push(draft),
        }
    }
    rest.extend(families.into_iter().filter_map(|(family, drafts)| one(family, drafts)));
    rest
}

/// The command line of a draft.
fn line_of(draft: &EntryDraft) -> Option<&str> {
    let slot =
        draft.newest.slot.as_deref().filter(|_| draft.newest.kind == LearningKind::Command)?;
    slot.strip_prefix("command ")
}

fn one(family: String, mut drafts: Vec<EntryDraft>) -> Option<EntryDraft> {
    let rank = |draft: &EntryDraft| {
        let line = line_of(draft).unwrap_or_default();
        let at_ms = draft.newest.at_ms;
        (
            draft.is_passing,
            std::cmp::Reverse(draft.threads.len()),
            line.len(),
            -at_ms,
            line.to_owned(),
        )
    };
    drafts.sort_by_cached_key(rank);
    let mut others = drafts.into_iter();
    let mut first = others.next()?;
    let mut also = String::new();
    for (number, other) in others.enumerate() {
        if let Some(line) = line_of(&other).filter(|_| number < OTHERS_MAX) {
            also.push_str(if number == 0 { "; also `" } else { ", `" });
            also.push_str(line);
            also.push('`');
        }
        first.is_passing &= other.is_passing;
        first.first_ms = first.first_ms.min(other.first_ms);
        first.newest.at_ms = first.newest.at_ms.max(other.newest.at_ms);
        first.threads.extend(other.threads);
        first.texts.extend(other.texts);
    }
    first.newest.text = text::cut(&format!("{}{also}", first.newest.text), TEXT_BYTES).into_owned();
    first.family = Some(family);
    Some(first)
}
