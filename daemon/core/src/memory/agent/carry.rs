//! Carries the agent's earlier work over to the current entries.

use std::collections::{BTreeMap, BTreeSet};

use super::check::{CheckInputs, check};
use super::line::{Bullet, group};
use super::{Baseline, is_skill};
use crate::memory::Files;
use crate::memory::consolidate::Handbook;
use crate::memory::plain::plain;

const MEMORY: &str = "MEMORY.md";

/// The files made by the rules, in the agent's wording, without what it dropped, with its skills. Text that
/// no longer passes [`check`] is replaced by the rules' text. Without changes, these are the agent's files.
pub fn carry_over(baseline: &Baseline, on: CheckInputs<'_>) -> Files {
    if super::input_of(on.draft, on.book) == baseline.input
        && let Ok(files) = check(&baseline.files, on)
    {
        return files;
    }
    let before = baseline.files.get(MEMORY).map_or("", String::as_str);
    let wording: BTreeMap<&str, &str> = before
        .lines()
        .filter_map(Bullet::read)
        .filter_map(|bullet| Some((bullet.ids().next()?, bullet.words)))
        .collect();
    let mut files = on.draft.clone();
    if let Some(draft) = on.draft.get(MEMORY) {
        let book = reword_page(draft, &wording, (baseline, on));
        files.insert(MEMORY.to_owned(), book);
        if check(&files, on).is_err() {
            files.insert(MEMORY.to_owned(), draft.clone());
        }
    }
    let is_dropped =
        |path: &str| baseline.seen.contains(path) && !baseline.files.contains_key(path);
    files.retain(|path, _| !is_dropped(path));
    for (path, text) in baseline.files.iter().filter(|(path, _)| is_skill(path)) {
        let mut with = files.clone();
        with.insert(path.clone(), text.clone());
        if check(&with, on).is_ok() {
            files = with;
        }
    }
    files
}

/// The rules' `MEMORY.md` in the agent's wording, line by line.
fn reword_page(
    draft: &str,
    wording: &BTreeMap<&str, &str>,
    (baseline, on): (&Baseline, CheckInputs<'_>),
) -> String {
    let mut out = String::with_capacity(draft.len());
    let (mut key, mut drops) = (None, false);
    for line in draft.lines() {
        if line.starts_with("# ") {
            key = group(line);
        }
        let bullet = Bullet::read(line);
        let id = bullet.and_then(|bullet| bullet.ids().next());
        // An earlier value is dropped with its line.
        if drops && line.starts_with("  - ") {
            continue;
        }
        drops = false;
        if let (Some(bullet), Some(id)) = (bullet, id) {
            let entries = match key {
                Some(key) => on.book.projects.get(key).map(|project| &project.entries),
                None => Some(&on.book.profile),
            };
            let entry = entries.and_then(|all| all.iter().find(|entry| entry.id == id));
            let is_rule = entry.is_none_or(|entry| entry.kind.is_rule());
            match wording.get(id) {
                Some(words) if !is_rule => {
                    let before = format!("- {words} [{}]\n", bullet.mark);
                    out.push_str(&before);
                    continue;
                }
                None if !is_rule && baseline.seen.contains(id) => {
                    drops = true;
                    continue;
                }
                _ => {}
            }
        }
        out.push_str(line);
        out.push('\n');
    }
    out
}

/// The handbook without the entries that the agent dropped from `files`.
pub fn without_dropped(mut book: Handbook, files: &Files) -> Handbook {
    let text = files.get(MEMORY).map_or("", String::as_str);
    let kept_ids: BTreeSet<&str> =
        text.lines().filter_map(Bullet::read).filter_map(|bullet| bullet.ids().next()).collect();
    for project in book.projects.values_mut() {
        project
            .entries
            .retain(|entry| entry.kind.is_rule() || kept_ids.contains(entry.id.as_str()));
    }
    book
}

/// Texts of entries whose lines a person removed or rewrote. The agent's wording differs from the entry's:
/// neither is written again.
pub fn removed_texts(published: &Files, found: &Files, book: &Handbook) -> Vec<String> {
    let (Some(before), Some(now)) = (published.get(MEMORY), found.get(MEMORY)) else {
        return Vec::new();
    };
    let words = |line| match Bullet::read(line) {
        Some(bullet) => plain(bullet.words),
        None => plain(line.trim_start_matches(['-', '*', ' '])),
    };
    let present: BTreeSet<String> = now.lines().map(words).collect();
    let missing: BTreeSet<&str> = before
        .lines()
        .filter_map(Bullet::read)
        .filter(|bullet| !present.contains(&plain(bullet.words)))
        .filter_map(|bullet| bullet.ids().next())
        .collect();
    let entries = book.projects.values().flat_map(|project| &project.entries);
    let entries = entries.chain(&book.profile).filter(|entry| missing.contains(entry.id.as_str()));
    entries.map(|entry| entry.text.clone()).collect()
}
