//! Renders a thread's memory: the account of what happened, and the record of the learnings.

use super::super::day::date;
use super::super::learning::{Learning, LearningKind, NameKind, RolloutMemory};
use super::gather::AccountParts;
use crate::paths;
use crate::text::{self, push};

const FILES_MAX: usize = 24;

const KEYWORDS_MAX: usize = 16;

/// Heading of the account's last section.
const LAST_WORDS: &str = "## The agent's last words (its own account)";

/// The agent's last message in an account rendered by [`rollout_summary`].
pub fn last_words(account: &str) -> Option<&str> {
    let (_, words) = account.rsplit_once(LAST_WORDS)?;
    Some(words.trim().trim_start_matches('>').trim()).filter(|words| !words.is_empty())
}

/// The account of what happened, for people and agents who want details.
pub(super) fn rollout_summary(memory: &RolloutMemory, parts: &AccountParts) -> String {
    let title = &parts.title;
    let mut out = format!("# {}\n\n", text::one_line_cut(title, 120));
    push(&mut out, format_args!("Outcome: {}\n", memory.outcome.into_str()));
    section(&mut out, "What the person asked", parts.requests.iter().cloned());
    let rules = of(memory, LearningKind::is_rule);
    section(&mut out, "Preference signals", rules.map(with_evidence));
    let changed = parts.changed.iter().take(FILES_MAX);
    section(
        &mut out,
        "Files changed",
        changed.map(|(path, times)| match times {
            1 => format!("`{path}`"),
            times => format!("`{path}` ({times} times)"),
        }),
    );
    let commands = of(memory, |kind| kind == LearningKind::Command);
    section(&mut out, "Commands that worked", commands.map(with_evidence));
    let fixes = of(memory, |kind| kind == LearningKind::Fix);
    section(&mut out, "Failures and what fixed them", fixes.map(with_evidence));
    let facts = of(memory, |kind| kind == LearningKind::Fact);
    section(&mut out, "Reusable knowledge", facts.map(with_evidence));
    if let Some(report) = &parts.report {
        push(&mut out, format_args!("\n{LAST_WORDS}\n\n> {report}\n"));
    }
    out
}

/// The record of the learnings, in the form that consolidation and models read.
pub(super) fn raw_memory(memory: &RolloutMemory, parts: &AccountParts) -> String {
    let title = &parts.title;
    let mut out = String::from("---\n");
    let quoted = |words: &str| serde_json::to_string(words).unwrap_or_default();
    push(&mut out, format_args!("description: {}\n", quoted(&text::one_line_cut(title, 160))));
    push(&mut out, format_args!("task_outcome: {}\n", memory.outcome.into_str()));
    if let Some(cwd) = &memory.cwd {
        push(&mut out, format_args!("cwd: {}\n", quoted(cwd)));
    }
    if let Some(branch) = &memory.branch {
        push(&mut out, format_args!("branch: {}\n", quoted(branch)));
    }
    push(&mut out, format_args!("updated: {}\n", date(memory.updated_at_ms)));
    push(&mut out, format_args!("keywords: {}\n---\n", keywords(memory).join(", ")));
    for (heading, wanted) in SECTIONS {
        section(&mut out, heading, of(memory, wanted).map(with_evidence));
    }
    out
}

/// Whether a section has learnings of a kind.
type Wanted = fn(LearningKind) -> bool;

/// The headings of a record, and of a project's part of `MEMORY.md`, with the kinds of learnings below each.
pub(in crate::memory) const SECTIONS: [(&str, Wanted); 4] = [
    ("User preferences", LearningKind::is_rule),
    ("Reusable knowledge", |kind| {
        matches!(kind, LearningKind::Command | LearningKind::Fact | LearningKind::CoChange)
    }),
    ("Failures and how to do differently", |kind| kind == LearningKind::Fix),
    ("Outcome", |kind| kind == LearningKind::Outcome),
];

/// Names by which the thread can be found.
pub(crate) fn keywords(memory: &RolloutMemory) -> Vec<String> {
    let names = memory.map.iter().filter(|name| name.uses > 0 && name.text.len() <= 80);
    let searchable = names.filter(|name| match name.kind {
        NameKind::Path => !paths::is_temporary_or_unresolved(&name.text),
        NameKind::Identifier => true,
        NameKind::Command | NameKind::Id => false,
    });
    searchable.take(KEYWORDS_MAX).map(|name| name.text.clone()).collect()
}

fn of(
    memory: &RolloutMemory,
    wanted: impl Fn(LearningKind) -> bool,
) -> impl Iterator<Item = &Learning> {
    memory.learnings.iter().filter(move |learning| wanted(learning.kind))
}

fn with_evidence(learning: &Learning) -> String {
    let passing = if learning.is_passing { ", once" } else { "" };
    format!("{} [{} #{}{passing}]", learning.text, learning.origin.name(), learning.evidence.seq)
}

/// Adds a heading with its rows, if there are any.
pub(in crate::memory) fn section(
    out: &mut String,
    heading: &str,
    rows: impl Iterator<Item = String>,
) {
    let mut rows = rows.peekable();
    if rows.peek().is_some() {
        push(out, format_args!("\n## {heading}\n\n"));
        rows.for_each(|row| push(out, format_args!("- {row}\n")));
    }
}
