//! Packs names and commands into a budget by chance of being needed per byte.

use std::collections::{BTreeMap, BTreeSet};

use crate::memory::consolidate::{MapEntry, Project, map};
use crate::memory::learning::NameKind;
use crate::rollout::shell::{self, Joint};
use crate::text::push;

/// Overhead of a row in bytes: marker, quotes, description.
const ROW_BYTES: u64 = 8;

/// Overhead of a name within a row in bytes.
const JOIN_BYTES: usize = 2;

/// Percent of the bytes reserved for identifiers.
const NAMES_PERCENT: usize = 15;

/// Budget in bytes below which nothing is reserved for identifiers.
const NARROW_BYTES: usize = 4_000;

/// Maximum bytes of the section headings.
const HEADINGS_BYTES: usize = 150;

/// Rounds in which room saved by nested names is redistributed.
const ROUNDS: usize = 2;

#[derive(Debug, Default)]
pub(super) struct SummaryRows<'a> {
    commands: Vec<&'a MapEntry>,
    paths: Vec<&'a MapEntry>,
    /// Identifiers by their file; `None` without a file.
    names: BTreeMap<Option<&'a str>, Vec<&'a str>>,
}

impl<'a> SummaryRows<'a> {
    /// Chooses rows for `bytes` bytes. Skips names that occur in `text_before` or inside another chosen name: `src`
    /// next to `src/main.rs`, `git status` next to `git status --short`.
    pub(super) fn choose(project: &'a Project, bytes: usize, text_before: &str) -> Self {
        let mut order: Vec<&MapEntry> = project.map.iter().collect();
        let density = |entry: &MapEntry| entry.gain * 100 / (entry.text.len() as u64 + ROW_BYTES);
        order.sort_by(|a, b| density(b).cmp(&density(a)).then_with(|| a.text.cmp(&b.text)));
        let mut seen: BTreeSet<&str> = BTreeSet::new();
        order.retain(|entry| !entry.text.is_empty() && seen.insert(&entry.text));
        let room = bytes.saturating_sub(HEADINGS_BYTES);
        let mut rounds = vec![Round { text: text_before.to_owned(), own: BTreeSet::new() }];
        for _ in 0..ROUNDS {
            let chosen = choose_fitting(&order, room, &rounds);
            rounds.push(Round::of(&chosen));
        }
        let mut packed = Self::default();
        for entry in choose_fitting(&order, room, &rounds) {
            match entry.kind {
                NameKind::Command => packed.commands.push(entry),
                NameKind::Path => packed.paths.push(entry),
                NameKind::Identifier | NameKind::Id => {
                    packed.names.entry(None).or_default().push(&entry.text);
                }
            }
        }
        packed.place(project);
        packed
    }

    /// Puts identifiers after their file if the file is listed.
    fn place(&mut self, project: &'a Project) {
        let listed: BTreeSet<&str> = self.paths.iter().map(|entry| entry.text.as_str()).collect();
        let homes: BTreeMap<&str, &str> = project
            .map
            .iter()
            .filter_map(|entry| Some((entry.text.as_str(), entry.file.as_deref()?)))
            .filter(|(_, file)| listed.contains(file))
            .collect();
        for name in self.names.remove(&None).unwrap_or_default() {
            self.names.entry(homes.get(name).copied()).or_default().push(name);
        }
    }

    /// What helps to work comes first, what only helps to search last.
    pub(super) fn render(&self) -> String {
        let mut out = String::new();
        let works = |entry: &MapEntry| entry.done > 0 && !entry.is_look && !is_of_git(&entry.text);
        let is_read =
            |entry: &MapEntry| entry.done == 0 && entry.users > 0 && is_place(&entry.text);
        self.part(&mut out, "Commands that work", &self.commands, works);
        self.part(&mut out, "Files changed", &self.paths, |entry| entry.done > 0);
        self.part(&mut out, "Files read or named", &self.paths, is_read);
        self.part(&mut out, "Also run", &self.commands, |entry| !works(entry));
        let others = self.paths.iter().filter(|entry| entry.done == 0 && !is_read(entry));
        let others = others.map(|entry| entry.text.as_str());
        let named: Vec<&str> =
            others.chain(self.names.get(&None).into_iter().flatten().copied()).collect();
        if !named.is_empty() {
            push(&mut out, format_args!("## Also named\n{}\n", named.join(", ")));
        }
        out
    }

    /// Adds a heading with the wanted entries, if there are any.
    fn part(
        &self,
        out: &mut String,
        heading: &str,
        entries: &[&MapEntry],
        wanted: impl Fn(&MapEntry) -> bool,
    ) {
        let mut rows = entries.iter().filter(|entry| wanted(entry)).peekable();
        if rows.peek().is_some() {
            push(out, format_args!("## {heading}\n"));
        }
        for MapEntry { kind, text, .. } in rows {
            match self.names.get(&Some(text.as_str())) {
                _ if *kind == NameKind::Command => push(out, format_args!("- `{text}`\n")),
                Some(names) => push(out, format_args!("- {text}: {}\n", names.join(", "))),
                None => push(out, format_args!("- {text}\n")),
            }
        }
    }
}

/// Whether a line is of git alone: it asks for, or makes, a state that no later thread is in.
fn is_of_git(line: &str) -> bool {
    shell::parts(line).iter().all(|part| {
        let program = part.text.split_whitespace().next().unwrap_or_default();
        part.before == Some(Joint::Pipe) || matches!(program, "git" | "gh" | "cd")
    })
}

/// Whether a path is a file in a folder, and no route, package or pair of words.
fn is_place(path: &str) -> bool {
    path.contains('/') && !path.starts_with('/') && map::is_file(path)
}

/// A chosen text, and which of its names have rows of their own.
struct Round<'a> {
    text: String,
    own: BTreeSet<&'a str>,
}

impl<'a> Round<'a> {
    fn of(chosen: &[&'a MapEntry]) -> Self {
        Self {
            text: chosen.iter().flat_map(|entry| [entry.text.as_str(), "\n"]).collect(),
            own: chosen.iter().map(|entry| entry.text.as_str()).collect(),
        }
    }

    /// Whether it contains `name` as a word outside the name's own row.
    fn contains(&self, name: &str) -> bool {
        let is_inside = |c: char| c.is_alphanumeric() || "_-.".contains(c);
        let (text, end) = (&self.text, name.len());
        let mut places =
            memchr::memmem::find_iter(text.as_bytes(), name.as_bytes()).filter(|&at| {
                let before = text[..at].chars().next_back();
                let after = text[at + end..].chars().next();
                !before.is_some_and(is_inside) && !after.is_some_and(is_inside)
            });
        places.nth(usize::from(self.own.contains(name))).is_some()
    }
}

/// Chooses the first names that fit and are not in `rounds`. Only fitting names are searched for: a large project
/// has thousands that do not fit.
fn choose_fitting<'a>(
    order: &[&'a MapEntry],
    room: usize,
    rounds: &[Round<'_>],
) -> Vec<&'a MapEntry> {
    let reserved = room.saturating_sub(NARROW_BYTES) * NAMES_PERCENT / 100;
    let (mut left, mut left_for_names) = (room - reserved, reserved);
    let fits = |entry: &&&MapEntry| {
        let cost = cost(entry);
        let is_name = matches!(entry.kind, NameKind::Identifier | NameKind::Id);
        let pool = if is_name && cost > left { &mut left_for_names } else { &mut left };
        let fits = cost <= *pool && !rounds.iter().any(|round| round.contains(&entry.text));
        *pool -= if fits { cost } else { 0 };
        fits
    };
    order.iter().filter(fits).copied().collect()
}

fn cost(entry: &MapEntry) -> usize {
    entry.text.len()
        + match entry.kind {
            NameKind::Command => 5,
            NameKind::Path => 3 + JOIN_BYTES,
            NameKind::Identifier | NameKind::Id => JOIN_BYTES,
        }
}
