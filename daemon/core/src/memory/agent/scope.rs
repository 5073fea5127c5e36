//! What is known in a project, for validation.

use std::collections::BTreeMap;

use crate::checkpoint::semantic::policy::behavior;
use crate::memory::Files;
use crate::memory::consolidate::{Entry, Handbook};
use crate::memory::extract::names_hazard;
use crate::memory::learning::TEXT_BYTES;
use crate::memory::plain::normalized;
use crate::memory::span::spans;

/// Entries and text of one scope: a project, or global.
#[derive(Debug)]
pub(super) struct Scope<'a> {
    pub(super) entries: BTreeMap<&'a str, &'a Entry>,
    /// Everything its threads taught, as one lower-case line.
    words: String,
}

impl<'a> Scope<'a> {
    /// The scope of project `key`, or the global one.
    pub(super) fn of(key: Option<&str>, book: &'a Handbook, files: &Files) -> Self {
        let project = key.and_then(|key| book.projects.get(key));
        let entries = match project {
            Some(project) => &project.entries,
            None => &book.profile,
        };
        let mut words = String::new();
        let mut add = |piece: &str| {
            words.push_str(&normalized(piece));
            words.push('\n');
        };
        for entry in entries {
            add(&entry.text);
            entry.evidence.iter().for_each(|evidence| add(&evidence.quote));
            entry.superseded.iter().for_each(|before| add(&before.text));
        }
        if let Some(project) = project {
            key.iter().for_each(|key| add(key));
            project.folders.iter().for_each(|folder| add(folder));
            project.map.iter().for_each(|name| add(&name.text));
            project.skills.iter().flat_map(|skill| &skill.steps).for_each(|step| add(step));
            for task in &project.tasks {
                add(&task.title);
                add(&task.summary_path);
                files.get(&task.summary_path).into_iter().for_each(|summary| add(summary));
            }
        }
        Self { entries: entries.iter().map(|entry| (entry.id.as_str(), entry)).collect(), words }
    }

    /// Why `words`, based on `entries`, are invalid; `None` if valid.
    pub(super) fn doubt(&self, words: &str, entries: &[&Entry]) -> Option<&'static str> {
        let is_backed = |piece: &str| {
            let piece = normalized(piece);
            self.words.contains(&piece)
                || entries.iter().any(|entry| normalized(&entry.text).contains(&piece))
        };
        let is_stated = |order: &str| {
            let rules = entries.iter().filter(|entry| entry.kind.is_rule());
            rules.into_iter().any(|rule| normalized(&rule.text).contains(&normalized(order)))
        };
        if words.len() > TEXT_BYTES {
            return Some("longer than a line of memory");
        }
        if behavior(words).is_some_and(|order| !is_stated(order)) {
            return Some("an order that no person gave");
        }
        if names_hazard(words) {
            return Some("a command that must not be recommended");
        }
        if !spans(words).all(is_backed) {
            return Some("names in code marks that no thread of this project used");
        }
        if !names(words).all(is_backed) {
            return Some("names or numbers that no thread of this project used");
        }
        None
    }
}

/// Words that look like names: paths, addresses, identifiers, versions, numbers.
fn names(words: &str) -> impl Iterator<Item = &str> {
    let edge = |c: char| !c.is_alphanumeric() && c != '/' && c != '_';
    words.split_whitespace().map(move |word| word.trim_matches(edge)).filter(|word| {
        let inside = word.trim_matches(['.', ',', ':']);
        !inside.is_empty()
            && (inside.contains(['/', '_']) && inside.len() > 1
                || inside.bytes().any(|byte| byte.is_ascii_digit())
                || inside.contains('.') && !inside.ends_with('.'))
    })
}
