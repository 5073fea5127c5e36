//! Threads that are one: copies and forks, which repeat what the thread they began as had said and done.
//!
//! A program that forks a thread, or saves it again under another id, copies its lines. Counted as threads
//! of their own they would make once into often.

use std::collections::{BTreeMap, BTreeSet};

use super::Stored;

/// The thread that each of a project's threads began as, by thread id.
pub(super) fn roots<'a>(threads: &[Stored<'a>]) -> BTreeMap<&'a str, &'a str> {
    let mut begun: BTreeMap<i64, &str> = BTreeMap::new();
    let mut roots: BTreeMap<&str, &str> = BTreeMap::new();
    for stored in threads {
        let memory = stored.memory;
        let id = memory.thread_id.as_str();
        // One person asks for one thing at a moment. An undated thread is like no other.
        let at_ms = Some(memory.begun_at_ms).filter(|at_ms| *at_ms > 0);
        let copied = at_ms.and_then(|at_ms| begun.get(&at_ms).copied());
        begun.entry(memory.begun_at_ms).or_insert(id);
        let root = memory.forked_from.as_deref().or(copied).unwrap_or(id);
        roots.insert(id, root);
    }
    let ends = roots.keys().map(|id| (*id, end(&roots, id)));
    ends.collect()
}

/// The newest of each set of copies, in the order given: oldest first.
pub(super) fn newest<'a>(threads: &[Stored<'a>]) -> Vec<Stored<'a>> {
    let roots = roots(threads);
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    let mut newest: Vec<Stored<'a>> = threads
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

/// Follows forks of forks; each root once, so that no ring holds it up.
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
