//! Maps of many threads → what the next thread of the project will need.

use std::collections::BTreeMap;

use super::Stored;
use super::handbook::MapEntry;
use crate::memory::learning::{Name, NameKind};

/// Names kept of a project.
const MAP_MAX: usize = 2_000;

/// Threads after which having been met counts half.
const HALF_LIFE_THREADS: u64 = 6;

/// Merges the maps of a project's threads, given oldest first; those that are needed most first.
pub(super) fn merge(threads: &[Stored<'_>]) -> Vec<MapEntry> {
    let mut all: BTreeMap<(NameKind, &str), Draft<'_>> = BTreeMap::new();
    for (number, stored) in threads.iter().enumerate() {
        let age = (threads.len() - 1 - number) as u64;
        for name in &stored.memory.map {
            all.entry((name.kind, &name.text)).or_default().add(name, age);
        }
    }
    let mut entries: Vec<MapEntry> =
        all.into_iter().map(|((kind, text), draft)| draft.finish(kind, text)).collect();
    entries.sort_by(|a, b| {
        b.gain.cmp(&a.gain).then_with(|| (a.kind, &a.text).cmp(&(b.kind, &b.text)))
    });
    entries.truncate(MAP_MAX);
    entries
}

#[derive(Default)]
struct Draft<'a> {
    threads: u32,
    users: u32,
    openings: u32,
    done: u32,
    is_look: bool,
    file: Option<&'a str>,
    age: u64,
    gain: u64,
}

impl<'a> Draft<'a> {
    fn add(&mut self, name: &'a Name, age: u64) {
        self.threads += 1;
        self.users += u32::from(name.uses > 0);
        self.openings += u32::from(name.is_opening);
        self.done += u32::from(name.is_done);
        self.is_look = name.is_look;
        self.file = name.file.as_deref().or(self.file);
        self.age = age;
        self.gain += gain(name) * 1_000 * HALF_LIFE_THREADS / (HALF_LIFE_THREADS + age);
    }

    fn finish(self, kind: NameKind, text: &str) -> MapEntry {
        MapEntry {
            text: text.to_owned(),
            kind,
            file: self.file.map(str::to_owned),
            threads: self.threads,
            users: self.users,
            openings: self.openings,
            done: self.done,
            is_look: self.is_look,
            age_threads: u32::try_from(self.age).unwrap_or(u32::MAX),
            // What several threads needed is needed by more: the second one counts most.
            gain: self.gain * if self.users > 1 { 2 } else { 1 },
        }
    }
}

/// Chance that the next thread needs the name, from what one thread did with it.
fn gain(name: &Name) -> u64 {
    let uses = u64::from(name.uses.min(6));
    let hits = u64::from(name.hits.min(16));
    let opening = if name.is_opening { 2 } else { 1 };
    match (name.kind, name.uses > 0) {
        (NameKind::Path, true) => (60 + 12 * uses + 2 * hits) * opening,
        (NameKind::Path, false) => 6 + 2 * hits,
        (NameKind::Command, _) => (20 + 8 * uses) * opening,
        (NameKind::Identifier, true) => (16 + 8 * uses + 2 * hits) * opening,
        (NameKind::Identifier, false) => 2 + hits / 2,
        (NameKind::Id, true) => 8 * opening,
        (NameKind::Id, false) => 1,
    }
}
