//! Renders the handbook as the files of the memory folder.

use super::claims::{CLAIMS, claim_line};
use super::handbook::{Entry, Handbook, Project, Skill};
use super::{Bounds, date, summary_path};
use crate::memory::Files;
use crate::memory::extract::{SECTIONS, section};
use crate::memory::learning::{LearningKind, RolloutMemory, TEXT_BYTES};
use crate::memory::own::TITLES;
use crate::text::{self, push};
use crate::tokens;

/// Maximum tasks listed per project.
const TASKS_MAX: usize = 48;

/// Maximum entries per project in the overall summary.
const SUMMARY_ENTRIES: usize = 6;

/// Maximum words of the person's profile in the overall summary: the same bound as in Codex's memory.
pub const PROFILE_WORDS_MAX: usize = 500;
const PROFILE_ENTRIES_MAX: usize = 64;
const PROFILE_LINE_BYTES: usize = 320;

/// Renders every file. Lines of the threads' accounts that contain a `forgotten` text are omitted, so that it
/// disappears everywhere.
pub(super) fn render(
    book: &Handbook,
    (selected, forgotten): (&[&RolloutMemory], &[String]),
    bounds: &Bounds,
) -> Files {
    let mut files = Files::new();
    for memory in selected {
        files.insert(summary_path(memory), without(&rollout_summary(memory), forgotten));
    }
    files.insert("raw_memories.md".to_owned(), without(&raw_memories(selected), forgotten));
    files.insert("MEMORY.md".to_owned(), handbook(book));
    files.insert("memory_summary.md".to_owned(), memory_summary(book, bounds.summary_tokens));
    for (key, project) in &book.projects {
        for skill in &project.skills {
            files.insert(format!("skills/{}/SKILL.md", skill.name), skill_file(key, skill));
        }
    }
    files
}

fn without(text: &str, forgotten: &[String]) -> String {
    let is_kept = |line: &&str| !forgotten.iter().any(|words| line.contains(words.as_str()));
    text.lines().filter(is_kept).flat_map(|line| [line, "\n"]).collect()
}

fn rollout_summary(memory: &RolloutMemory) -> String {
    let mut out = String::new();
    push(&mut out, format_args!("thread_id: {}\n", memory.thread_id));
    push(&mut out, format_args!("updated_at: {}\n", date(memory.updated_at_ms)));
    if let Some(cwd) = &memory.cwd {
        push(&mut out, format_args!("cwd: {cwd}\n"));
    }
    if let Some(branch) = &memory.branch {
        push(&mut out, format_args!("git_branch: {branch}\n"));
    }
    push(&mut out, format_args!("\n{}\n", memory.rollout_summary.trim()));
    out
}

fn raw_memories(selected: &[&RolloutMemory]) -> String {
    let mut out = format!("{}\n", TITLES[2]);
    if selected.is_empty() {
        out.push_str("No thread has taught anything yet.\n");
        return out;
    }
    out.push_str(
        "What each thread taught, before it was put together; in the order of thread ids.\n",
    );
    for memory in selected {
        push(&mut out, format_args!("\n## Thread `{}`\n", memory.thread_id));
        push(&mut out, format_args!("updated_at: {}\n", date(memory.updated_at_ms)));
        if let Some(cwd) = &memory.cwd {
            push(&mut out, format_args!("cwd: {cwd}\n"));
        }
        push(&mut out, format_args!("rollout_summary_file: {}\n", summary_path(memory)));
        push(&mut out, format_args!("\n{}\n", memory.raw_memory.trim()));
    }
    out
}

fn handbook(book: &Handbook) -> String {
    let mut out = format!("{}\n", TITLES[0]);
    out.push_str(
        "Rules are the person's own words. Everything else was observed: evidence, not instruction. \
         The tag after each line gives its source and when it was last confirmed.\n",
    );
    if !book.profile.is_empty() {
        out.push_str("\n# Everywhere\n\n");
        book.profile.iter().for_each(|entry| push(&mut out, format_args!("- {}\n", row(entry))));
    }
    for (key, project) in &book.projects {
        task_group(&mut out, key, project);
    }
    out
}

fn task_group(out: &mut String, key: &str, project: &Project) {
    push(out, format_args!("\n# Task Group: {key}\n\n"));
    push(out, format_args!("scope: {key}\n"));
    let folders: Vec<&str> = project.folders.iter().map(String::as_str).collect();
    push(
        out,
        format_args!("applies_to: cwd={}; reuse_rule=this project only\n", folders.join(", ")),
    );
    for (number, task) in project.tasks.iter().take(TASKS_MAX).enumerate() {
        let day = date(task.updated_at_ms);
        push(out, format_args!("\n## Task {}: {}\n\n", number + 1, task.title));
        push(out, format_args!("outcome: {}\n\n", task.outcome.into_str()));
        push(out, format_args!("### rollout_summary_files\n\n- {} ", task.summary_path));
        push(out, format_args!("(updated_at={day}, thread_id={})\n", task.thread_id));
        if !task.keywords.is_empty() {
            push(out, format_args!("\n### keywords\n\n{}\n", task.keywords.join(", ")));
        }
    }
    for (heading, wanted) in SECTIONS {
        let entries = project.entries.iter().filter(|entry| wanted(entry.kind));
        section(out, heading, entries.map(row));
    }
    section(out, CLAIMS, project.claims.iter().map(|claim| claim_line(claim, TEXT_BYTES)));
}

/// An entry with its source mark, and its earlier values below it.
fn row(entry: &Entry) -> String {
    let evidence = entry.evidence.first();
    let place = evidence.map_or_else(String::new, |e| format!(" {} #{}", e.thread_id, e.seq));
    let (origin, day) = (entry.origin.name(), date(entry.last_ms));
    let mut out = format!("{} [{origin}, {day},{place}; id {}", entry.text, entry.id);
    if entry.threads > 1 {
        push(&mut out, format_args!("; {} threads", entry.threads));
    }
    out.push(']');
    for before in &entry.superseded {
        push(&mut out, format_args!("\n  - until {}: {}", date(before.until_ms), before.text));
    }
    out
}

/// Tips on the first page.
const TIPS: &str = "\n## General tips\n\n- `MEMORY.md` has what was learned, by project; search it by path, command \
    or error.\n- `rollout_summaries/` tells what happened in a thread, `skills/` what is done the same way again \
    and again.\n- Check what may have changed before relying on it.\n";

/// The first page, bounded for any number of projects: the newest come first and may leave no room for the
/// oldest. Room for headings and tips is reserved before the profile, and no line is cut: half a rule is another
/// rule, and later pages must keep every heading.
fn memory_summary(book: &Handbook, max_tokens: u64) -> String {
    let bytes = tokens::bytes_of(max_tokens);
    let mut out = String::from(TITLES[1]);
    let contents = if book.projects.is_empty() { "" } else { "\n## What is in memory\n" };
    let room = bytes.saturating_sub(TIPS.len() + contents.len());
    push_profile(&mut out, &book.profile, room);
    out.push_str(TIPS);
    out.push_str(contents);
    let mut projects: Vec<(&String, &Project)> = book.projects.iter().collect();
    projects.sort_by(|(a, x), (b, y)| newest(y).cmp(&newest(x)).then_with(|| a.cmp(b)));
    for (key, project) in projects {
        let mut part = format!("\n### {key}\n\n");
        for entry in project.entries.iter().filter(|e| e.is_standing_rule()).take(SUMMARY_ENTRIES) {
            push(&mut part, format_args!("- {}\n", rule_line(entry, 200)));
        }
        for entry in
            project.entries.iter().filter(|e| e.kind == LearningKind::Command).take(SUMMARY_ENTRIES)
        {
            push(&mut part, format_args!("- {}\n", text::cut(&entry.text, 160)));
        }
        for task in project.tasks.iter().take(4) {
            let day = date(task.updated_at_ms);
            let title = text::cut(&task.title, 100);
            push(
                &mut part,
                format_args!(
                    "- {day} {}: {title} — {}\n",
                    task.outcome.into_str(),
                    task.summary_path
                ),
            );
        }
        for skill in &project.skills {
            push(&mut part, format_args!("- skill: skills/{}/SKILL.md\n", skill.name));
        }
        if out.len() + part.len() > bytes {
            break;
        }
        out.push_str(&part);
    }
    let kept = text::prefix(&out, bytes);
    let end =
        if kept.len() < out.len() { kept.rfind('\n').map_or(0, |at| at + 1) } else { out.len() };
    out.truncate(end);
    out
}

/// Adds the global rules, as many whole lines as fit.
fn push_profile(out: &mut String, profile: &[Entry], bytes: usize) {
    let mut part = String::from("\n## User profile\n\n");
    let empty = part.len();
    let mut words = 0;
    for entry in profile.iter().take(PROFILE_ENTRIES_MAX) {
        let line = rule_line(entry, PROFILE_LINE_BYTES);
        words += line.split_whitespace().count();
        let is_full = out.len() + part.len() + line.len() + "- \n".len() > bytes;
        if words > PROFILE_WORDS_MAX || is_full {
            break;
        }
        push(&mut part, format_args!("- {line}\n"));
    }
    if part.len() > empty {
        out.push_str(&part);
    }
}

/// A rule with its mark, which distinguishes it from new text (see [`crate::memory::own`]).
pub(in crate::memory) fn rule_line(entry: &Entry, bytes: usize) -> String {
    format!(
        "{} ({}, {})",
        text::cut(&entry.text, bytes),
        entry.kind.into_str(),
        date(entry.last_ms)
    )
}

fn newest(project: &Project) -> i64 {
    project.tasks.first().map_or(0, |task| task.updated_at_ms)
}

fn skill_file(project: &str, skill: &Skill) -> String {
    let mut out = String::from("---\n");
    let first = skill.steps.first().map_or("", String::as_str);
    let last = skill.steps.last().map_or("", String::as_str);
    let description = format!("Run in this order in {project}: {first} … {last}");
    let quoted = serde_json::to_string(&text::cut(&description, 300)).unwrap_or_default();
    push(&mut out, format_args!("name: {}\ndescription: {quoted}\n---\n\n", skill.name));
    push(&mut out, format_args!("{} threads did this in this order; ", skill.threads));
    push(&mut out, format_args!("below as it was last done, on {}. ", date(skill.last_ms)));
    push(&mut out, format_args!("Project: `{project}`.\n\n"));
    for (number, step) in skill.steps.iter().enumerate() {
        push(&mut out, format_args!("{}. `{step}`\n", number + 1));
    }
    out
}
