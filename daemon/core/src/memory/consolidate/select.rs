//! Selects the threads to consolidate: by use, then by recency.

use std::collections::BTreeMap;

use super::{Bounds, ExtractedThread, Inputs};
use crate::memory::place;

/// The selected threads by project, oldest first. Excluded threads disappear at once, regardless of use. A
/// time in the future (a wrong clock) counts as now.
pub(super) fn select<'a>(
    inputs: &Inputs<'a>,
    bounds: &Bounds,
    now_ms: i64,
) -> BTreeMap<String, Vec<ExtractedThread<'a>>> {
    let mut chosen: Vec<ExtractedThread<'a>> = inputs
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
        let rank = |s: &ExtractedThread<'_>| {
            let alive_ms = s.last_used_ms.unwrap_or(s.memory.updated_at_ms);
            (s.uses, alive_ms.min(now_ms), s.memory.updated_at_ms)
        };
        rank(b).cmp(&rank(a)).then_with(|| b.memory.thread_id.cmp(&a.memory.thread_id))
    });
    chosen.dedup_by(|a, b| a.memory.thread_id == b.memory.thread_id);
    chosen.truncate(bounds.max_threads);
    let mut projects: BTreeMap<String, Vec<ExtractedThread<'a>>> = BTreeMap::new();
    for stored in chosen {
        projects.entry(project(&stored)).or_default().push(stored);
    }
    for threads in projects.values_mut() {
        threads.sort_by(|a, b| {
            let key =
                |s: &ExtractedThread<'a>| (s.memory.updated_at_ms, s.memory.thread_id.as_str());
            key(a).cmp(&key(b))
        });
    }
    projects
}

/// A thread's scope in the current form; older extractions are converted.
fn project(stored: &ExtractedThread<'_>) -> String {
    let memory = stored.memory;
    let folder = memory.project.as_deref().or(memory.cwd.as_deref());
    folder.map_or_else(|| place::NOWHERE.to_owned(), place::project)
}
