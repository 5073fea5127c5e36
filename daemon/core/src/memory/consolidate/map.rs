//! Merges the maps of many threads into what the project's next thread will need.

use std::collections::BTreeMap;

use super::ExtractedThread;
use super::handbook::MapEntry;
use crate::memory::learning::{Name, NameKind};

/// Maximum names per project.
const MAP_MAX: usize = 2_000;

/// Half-life of a use, in threads: people continue where they left off.
const HALF_LIFE_THREADS: u64 = 2;

/// Weight of one use among the first calls of the newest thread.
const WHOLE: u64 = 1_000;

/// Merges the maps of a project's threads, given oldest first; most needed names first.
pub(super) fn merge(threads: &[ExtractedThread<'_>]) -> Vec<MapEntry> {
    let mut all: BTreeMap<(NameKind, &str), NameDraft<'_>> = BTreeMap::new();
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
struct NameDraft<'a> {
    threads: u32,
    users: u32,
    openings: u32,
    done: u32,
    is_look: bool,
    file: Option<&'a str>,
    age: u64,
    weight: u64,
}

impl<'a> NameDraft<'a> {
    fn add(&mut self, name: &'a Name, age: u64) {
        self.threads += 1;
        self.users += u32::from(name.uses > 0);
        self.openings += u32::from(name.is_opening);
        self.done += u32::from(name.is_done);
        self.is_look = name.is_look;
        self.file = name.file.as_deref().or(self.file);
        self.age = age;
        self.weight += weight(name) * HALF_LIFE_THREADS / (HALF_LIFE_THREADS + age);
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
            gain: self.gain(kind, text),
        }
    }
}

impl NameDraft<'_> {
    fn gain(&self, kind: NameKind, text: &str) -> u64 {
        let gain = gain(kind, self.weight);
        match kind {
            NameKind::Command if self.users < 2 && is_particular(text) => gain / 30,
            // Printed in one thread it may be anything; in several it is a term of the project.
            NameKind::Identifier if self.users == 0 && self.threads > 1 => gain * 4,
            _ => gain,
        }
    }
}

/// A thread's weight for a name. A thread's beginning resembles the beginnings of others; names that were
/// only printed are hardly ever needed.
///
/// # Source
/// Shares of names that the next session needed, in 75 published sessions of 8 repositories (2026).
fn weight(name: &Name) -> u64 {
    match (name.is_opening, name.uses > 0, name.kind) {
        (true, ..) => WHOLE + if name.is_done && name.kind == NameKind::Path { 300 } else { 0 },
        (false, true, NameKind::Command) => 120,
        (false, true, _) => 40,
        (false, false, NameKind::Path) if !is_file(&name.text) => 15,
        (false, false, NameKind::Path) => 60 + 4 * u64::from(name.hits.min(15)),
        (false, false, _) => 20 + 2 * u64::from(name.hits.min(15)),
    }
}

/// Chance that the next thread needs the name, on an arbitrary scale: only the order counts. Commands and
/// identifiers that came back once come back again; a path that every thread reads is mostly shown to it by
/// something else.
///
/// # Source
/// As for [`weight`].
fn gain(kind: NameKind, weight: u64) -> u64 {
    let again = weight.clamp(300, 3 * WHOLE);
    match kind {
        NameKind::Command => 64 * weight * again / WHOLE,
        NameKind::Path => 15 * weight,
        NameKind::Identifier => 7 * weight * again / WHOLE,
        NameKind::Id => 5 * weight,
    }
}

/// Whether a printed name can be a file: prose also contains slashes.
pub(in crate::memory) fn is_file(path: &str) -> bool {
    let last = path.rsplit(['/', '\\']).next().unwrap_or(path);
    let is_suffix = |suffix: &str| {
        (1..=5).contains(&suffix.len()) && suffix.bytes().all(|b| b.is_ascii_alphanumeric())
    };
    let has_suffix = last.rsplit_once('.').is_some_and(|(_, suffix)| is_suffix(suffix));
    has_suffix && !path.contains("..") || path.contains("/.") || path.starts_with('.')
}

/// Whether a command searches one thing or place; a later thread searches another.
fn is_particular(line: &str) -> bool {
    const WORDS: &[&str] = &["curl", "wget", "grep", "rg", "awk", "python3", "python", "node"];
    let lists_files = line.contains("--files") && !line.contains("| rg");
    let is_range = line.split("sed -n ").skip(1).any(|rest| {
        let from = rest.trim_start_matches(['\'', '"']);
        !from.starts_with("1,")
    });
    let searches = line.split([' ', '|']).any(|word| WORDS.contains(&word));
    line.len() > 160 || is_range || searches && !lists_files
}
