//! Finds copies and forks of a thread, which repeat its history.
//!
//! A program that forks a thread, or saves it under another id, copies its lines. Counting the copies as
//! separate threads would turn one occurrence into many.

use std::collections::{BTreeMap, BTreeSet};

use super::ExtractedThread;

/// The original thread of each of a project's threads, by thread id.
pub(super) fn roots<'a>(threads: &[ExtractedThread<'a>]) -> BTreeMap<&'a str, &'a str> {
    let mut begun: BTreeMap<i64, &str> = BTreeMap::new();
    let mut roots: BTreeMap<&str, &str> = BTreeMap::new();
    for stored in threads {
        let memory = stored.memory;
        let id = memory.thread_id.as_str();
        // One person sends one request at a time. An undated thread is never a copy.
        let at_ms = Some(memory.begun_at_ms).filter(|at_ms| *at_ms > 0);
        let copied = at_ms.and_then(|at_ms| begun.get(&at_ms).copied());
        begun.entry(memory.begun_at_ms).or_insert(id);
        let root = memory.forked_from.as_deref().or(copied).unwrap_or(id);
        roots.insert(id, root);
    }
    let ends = roots.keys().map(|id| (*id, end(&roots, id)));
    ends.collect()
}

/// The newest thread of each set of copies, in the given order: oldest first.
pub(super) fn newest<'a>(threads: &[ExtractedThread<'a>]) -> Vec<ExtractedThread<'a>> {
    let roots = roots(threads);
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    let mut newest: Vec<ExtractedThread<'a>> = threads
        .iter()
        .rev()
        .filter(|stored| {
            let id = stored.memory.thread_id.as_str();
            seen.insert(roots.get(id).copied().unwrap_or(id))
        })
        .copied()
        .collect();
    newest.reverse();
    newest
}

/// Follows forks of forks, visiting each root once, so that cycles end.
fn end<'a>(roots: &BTreeMap<&'a str, &'a str>, id: &'a str) -> &'a str {
    let (mut at, mut seen) = (id, BTreeSet::new());
    while seen.insert(at) {
        match roots.get(at) {
            Some(&root) if root != at => at = root,
            _ => break,
        }
    }
    at
}
