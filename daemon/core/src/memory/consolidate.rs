//! Consolidates all extractions into the handbook and the files of the memory folder.
//!
//! # Theory of operation
//! Threads are selected by use and recency, then merged per project, using only the project's own threads.
//! Only rules that the person set in several projects become global: they form the profile. Learnings are merged
//! into entries (`merge`), maps into one map (`map`), repeated command sequences into skills (`skills`);
//! the files render the handbook (`files`). All orders are by times and ids, so the bytes do not depend on
//! the order of arrival.

mod claims;
mod files;
mod handbook;
mod lineage;
pub(in crate::memory) mod map;
mod merge;
mod select;
mod skills;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use super::Files;
use super::day::date;
use super::edits::Edits;
use super::extract::keywords;
use super::learning::{Evidence, Learning, LearningKind, RolloutMemory, TEXT_BYTES};
use super::place;
use super::plain::plain;
use crate::digest::Digest128;
use crate::redact::redact;
use crate::step::Origin;
use crate::{limits, quote, text};

pub(in crate::memory) use claims::{CLAIMS, claim_line};
pub use files::PROFILE_WORDS_MAX;
pub(in crate::memory) use files::rule_line;
pub use handbook::{
    EarlierValue, Entry, Handbook, MapEntry, Project, Skill, TaskEntry, UnconfirmedNote,
};

/// A thread's extraction and its usage.
#[derive(Debug, Clone, Copy)]
pub struct ExtractedThread<'a> {
    pub memory: &'a RolloutMemory,
    /// Number of citations and reads.
    pub uses: u64,
    /// Last time, Unix milliseconds.
    pub last_used_ms: Option<i64>,
}

/// A note to remember.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    pub id: String,
    pub text: String,
    pub origin: Origin,
    /// Project it is for; `None`: all.
    pub project: Option<String>,
    /// Unix milliseconds.
    pub at_ms: i64,
}

/// What the person excluded from memory.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Exclusions {
    pub threads: BTreeSet<String>,
    pub projects: BTreeSet<String>,
    /// Entries, by [`Entry::id`].
    pub entries: BTreeSet<String>,
}

#[derive(Debug, Clone, Copy)]
pub struct Inputs<'a> {
    pub threads: &'a [ExtractedThread<'a>],
    pub notes: &'a [Note],
    pub edits: &'a Edits,
    pub exclusions: &'a Exclusions,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Maximum threads to consolidate.
    pub max_threads: usize,
    /// Drop threads unused for this many milliseconds.
    pub max_unused_ms: i64,
    /// Maximum tokens of `memory_summary.md`.
    pub summary_tokens: u64,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { max_threads: 256, max_unused_ms: 30 * limits::DAY_MS, summary_tokens: 5_000 }
    }
}

/// The result of a consolidation.
#[derive(Debug, Clone, PartialEq)]
pub struct Consolidation {
    /// Files of the memory folder.
    pub files: Files,
    /// The same content as values, read by [`super::summary`].
    pub handbook: Handbook,
    /// Ids of the selected threads, sorted.
    pub selected: Vec<String>,
}

/// Consolidates. The same inputs and `now_ms` give the same bytes, in any order of inputs; threads of other
/// projects do not change a project's part.
pub fn consolidate(inputs: &Inputs<'_>, bounds: &Bounds, now_ms: i64) -> Consolidation {
    let chosen = select::select(inputs, bounds, now_ms);
    let mut handbook = Handbook { version: Handbook::VERSION, ..Handbook::default() };
    let mut forgotten_texts: Vec<String> = Vec::new();
    for (key, threads) in &chosen {
        let (mut entries, forgotten) = entries_of(key, threads, inputs);
        forgotten_texts.extend(forgotten);
        let newest = lineage::newest(threads);
        let tasks = tasks(&newest, inputs.edits);
        let unlisted = unlisted(threads, &tasks);
        let project = if key == place::NOWHERE {
            // These threads may be unrelated: keep only what the person said.
            entries.retain(|entry| entry.kind.is_rule());
            Project { entries, tasks, unlisted, ..Project::default() }
        } else {
            Project {
                folders: threads.iter().filter_map(|stored| stored.memory.cwd.clone()).collect(),
                entries,
                map: map::merge(&newest),
                tasks,
                unlisted,
                skills: skills::find(key, &newest),
                claims: Vec::new(),
            }
        };
        handbook.projects.insert(key.clone(), project);
    }
    add_notes(&mut handbook, inputs);
    claims::add(&mut handbook, inputs);
    for rule in shared_rules(&handbook.projects, &inputs.exclusions.entries) {
        // A global note may be the same rule in other punctuation.
        if handbook.profile.iter().all(|known| known.id != rule.id) {
            handbook.profile.push(rule);
        }
    }
    let mut selected: Vec<&RolloutMemory> =
        chosen.values().flatten().map(|stored| stored.memory).collect();
    selected.sort_by(|a, b| a.thread_id.cmp(&b.thread_id));
    let files = inputs.edits.apply(files::render(&handbook, (&selected, &forgotten_texts), bounds));
    let selected = selected.into_iter().map(|memory| memory.thread_id.clone()).collect();
    Consolidation { files, handbook, selected }
}

/// The entries of a project, and the texts of forgotten ones.
fn entries_of(
    key: &str,
    threads: &[ExtractedThread<'_>],
    inputs: &Inputs<'_>,
) -> (Vec<Entry>, Vec<String>) {
    let mut learnings: Vec<&Learning> =
        threads.iter().flat_map(|stored| &stored.memory.learnings).collect();
    learnings.sort_by(|a, b| (a.at_ms, &a.evidence).cmp(&(b.at_ms, &b.evidence)));
    let forgotten = &inputs.exclusions.entries;
    merge::merge(key, (learnings.into_iter(), &lineage::roots(threads)), |id, text| {
        forgotten.contains(id) || inputs.edits.removes(text)
    })
}

/// Adds the person's notes and the lines they wrote into the files. These keep their wording: they are not
/// merged with extracted learnings.
fn add_notes(handbook: &mut Handbook, inputs: &Inputs<'_>) {
    let mut notes: Vec<(Option<&str>, &str, &str, i64, Origin)> = inputs
        .notes
        .iter()
        .filter(|note| note.origin.is_person())
        .map(|note| (note.project.as_deref(), &*note.text, &*note.id, note.at_ms, note.origin))
        .collect();
    let added = inputs.edits.added.iter();
    notes.extend(
        added.map(|line| {
            (line.project(), &*line.text, "memory edit", line.at_ms, Origin::of_edit())
        }),
    );
    notes.sort_by(|a, b| (a.3, a.2, a.1).cmp(&(b.3, b.2, b.1)));
    for (project, words, source, at_ms, origin) in notes {
        // A person's heading names the project and may contain anything.
        let project = project.map(|key| redact(key).text);
        let project = project.as_deref();
        // Redact twice: a secret may span lines, and joining lines may form one.
        let redacted = redact(words);
        let redacted = redact(&quote::line(&redacted.text)).text.into_owned();
        let text = text::one_line_cut(&redacted, TEXT_BYTES);
        let id = merge::id(project.unwrap_or_default(), LearningKind::Note, &text);
        if inputs.exclusions.entries.contains(&id)
            || project.is_some_and(|project| inputs.exclusions.projects.contains(project))
        {
            continue;
        }
        let entries = match project {
            Some(key) => &mut handbook.projects.entry(key.to_owned()).or_default().entries,
            None => &mut handbook.profile,
        };
        if entries.iter().any(|known| known.id == id) {
            continue;
        }
        let evidence = Evidence { thread_id: source.to_owned(), seq: 0, quote: String::new() };
        let note = Entry {
            id,
            kind: LearningKind::Note,
            text,
            origin,
            evidence: vec![evidence],
            threads: 0,
            first_ms: at_ms,
            last_ms: at_ms,
            superseded: Vec::new(),
            keywords: Vec::new(),
        };
        entries.insert(0, note);
    }
}

/// Rules that the person set in several projects: they apply everywhere.
fn shared_rules(projects: &BTreeMap<String, Project>, forgotten: &BTreeSet<String>) -> Vec<Entry> {
    let mut by_text: BTreeMap<String, Vec<&Entry>> = BTreeMap::new();
    for project in projects.values() {
        for entry in project.entries.iter().filter(|entry| entry.kind.is_rule()) {
            by_text.entry(plain(&entry.text)).or_default().push(entry);
        }
    }
    let shared = by_text.into_values().filter(|entries| entries.len() > 1);
    let mut rules: Vec<Entry> = shared
        .filter_map(|entries| {
            let newest = entries.iter().max_by_key(|entry| (entry.last_ms, &entry.id))?;
            let mut entry = Entry::clone(newest);
            entry.id = merge::id("", entry.kind, &entry.text);
            entry.threads = entries.iter().map(|entry| entry.threads).sum();
            Some(entry)
        })
        .filter(|entry| !forgotten.contains(&entry.id))
        .collect();
    rules.sort_by(|a, b| b.last_ms.cmp(&a.last_ms).then_with(|| a.id.cmp(&b.id)));
    rules
}

/// Threads, newest first, without those whose lines a person removed.
fn tasks(threads: &[ExtractedThread<'_>], edits: &Edits) -> Vec<TaskEntry> {
    let is_out = |task: &TaskEntry| edits.removed.iter().any(|l| l.text.contains(&task.thread_id));
    threads.iter().rev().map(task).filter(|task| !is_out(task)).collect()
}

/// The threads that are not among `tasks`, newest first.
fn unlisted(threads: &[ExtractedThread<'_>], tasks: &[TaskEntry]) -> Vec<TaskEntry> {
    let listed: BTreeSet<&str> = tasks.iter().map(|task| task.thread_id.as_str()).collect();
    let is_unlisted =
        |stored: &&ExtractedThread<'_>| !listed.contains(stored.memory.thread_id.as_str());
    threads.iter().rev().filter(is_unlisted).map(task).collect()
}

/// The thread's original purpose, in one line.
fn title(memory: &RolloutMemory) -> &str {
    let outcome = memory.learnings.iter().find(|learning| learning.kind == LearningKind::Outcome);
    let heading = || memory.rollout_summary.lines().next().unwrap_or_default();
    outcome.map_or_else(heading, |learning| &learning.evidence.quote)
}

fn task(stored: &ExtractedThread<'_>) -> TaskEntry {
    let memory = stored.memory;
    let title = title(memory);
    TaskEntry {
        thread_id: memory.thread_id.clone(),
        title: text::cut_words(&text::one_line(title.trim_start_matches('#').trim()), 160)
            .into_owned(),
        outcome: memory.outcome,
        updated_at_ms: memory.updated_at_ms,
        summary_path: summary_path(memory),
        keywords: keywords(memory),
    }
}

/// File with a thread's summary below the memory folder: its date, the slug, and eight digits of its id's digest for
/// uniqueness. It is stable as long as the slug is.
fn summary_path(memory: &RolloutMemory) -> String {
    let digest = Digest128::of(memory.thread_id.as_bytes()).to_string();
    let (date, mark) = (date(memory.created_at_ms), &digest[..8]);
    match memory.rollout_slug.as_str() {
        "" => format!("rollout_summaries/{date}-{mark}.md"),
        slug => format!("rollout_summaries/{date}-{slug}-{mark}.md"),
    }
}
