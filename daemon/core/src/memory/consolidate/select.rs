//! Which threads memory is made of: those used, then those recent.

use std::collections::BTreeMap;

use super::{Bounds, Inputs, Stored};
use crate::memory::place;

/// The chosen threads by project, oldest first. Excluded ones are gone at once, whoever used them. A
/// moment in the future (a clock was wrong) counts as now.
pub(super) fn select<'a>(
    inputs: &Inputs<'a>,
    bounds: &Bounds,
    now_ms: i64,
) -> BTreeMap<String, Vec<Stored<'a>>> {
    let mut chosen: Vec<Stored<'a>> = inputs
        .threads
        .iter()
        .copied()
        .filter(|stored| {
            let memory = stored.memory;
            let alive_ms = stored.last_used_ms.unwrap_or(memory.updated_at_ms);
            let excluded = inputs.exclusions.threads.contains(&memory.thread_id)
                || inputs.exclusions.projects.contains(&project(stored));
            !excluded && now_ms.saturating_sub(alive_ms) <= bounds.max_unused_ms
        })
        .collect();
    chosen.sort_by(|a, b| {
        let rank = |s: &Stored<'_>| {
            let alive_ms = s.last_used_ms.unwrap_or(s.memory.updated_at_ms);
            (s.uses, alive_ms.min(now_ms), s.memory.updated_at_ms)
        };
        rank(b).cmp(&rank(a)).then_with(|| b.memory.thread_id.cmp(&a.memory.thread_id))
    });
    chosen.dedup_by(|a, b| a.memory.thread_id == b.memory.thread_id);
    chosen.truncate(bounds.max_threads);
    let mut projects: BTreeMap<String, Vec<Stored<'a>>> = BTreeMap::new();
    for stored in chosen {
        projects.entry(project(&stored)).or_default().push(stored);
    }
    for threads in projects.values_mut() {
        threads.sort_by(|a, b| {
            let key = |s: &Stored<'a>| (s.memory.updated_at_ms, s.memory.thread_id.as_str());
            key(a).cmp(&key(b))
        });
    }
    projects
}

/// What scopes a thread, in the form of today: what was extracted before it had one is scoped alike.
fn project(stored: &Stored<'_>) -> String {
    let memory = stored.memory;
    let folder = memory.project.as_deref().or(memory.cwd.as_deref());
    folder.map_or_else(|| place::NOWHERE.to_owned(), place::project)
}
