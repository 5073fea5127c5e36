//! Selects the memory to show to a thread, within a budget.
//!
//! Rules come first, since breaking one costs most; then names and commands that earlier threads of the
//! project used, by chance of being needed per byte. Names appear with their context: a file with its
//! changes, an identifier with its file, a command with its result.

mod pack;
mod start;

use super::agent::line::Bullet;
use super::consolidate::{CLAIMS, Entry, Handbook, Project, claim_line, rule_line};
use super::day::date;
use super::learning::LearningKind;
use super::place;
use crate::rollout::contextual;
use crate::text::{self, push};
use crate::tokens;
use pack::SummaryRows;

pub use start::{START_TOKENS, start};

/// The thread that gets the summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Scope<'a> {
    /// Its project, if known.
    pub project: Option<&'a str>,
    pub cwd: Option<&'a str>,
}

/// Maximum percent of the budget for rules.
const RULES_PERCENT: usize = 20;

/// Maximum percent for lines that an agent wrote on the first page.
const PAGE_PERCENT: usize = 30;

/// Maximum percent for notes that no person confirmed.
const CLAIMS_PERCENT: usize = 6;

/// Maximum percent for failures and their fixes.
const FIXES_PERCENT: usize = 10;

/// Maximum percent for facts.
const FACTS_PERCENT: usize = 4;

/// Maximum percent for the newest threads.
const TASKS_PERCENT: usize = 12;

const TASKS_MAX: usize = 20;

/// The text, at most `max_tokens` tokens (bytes/4); empty if nothing concerns the scope. Contains nothing of
/// other projects. `page` is the first page as it is published.
pub fn summary(handbook: &Handbook, page: &str, scope: Scope<'_>, max_tokens: u64) -> String {
    let bytes = tokens::bytes_of(max_tokens);
    let known = project(handbook, scope);
    let mut head = String::new();
    let own = known.iter().flat_map(|(_, project)| &project.entries);
    let rules = handbook.profile.iter().chain(own).filter(|entry| entry.is_standing_rule());
    part(
        &mut head,
        "Rules the person set",
        rules.map(|entry| rule_line(entry, 320)),
        bytes * RULES_PERCENT / 100,
    );
    let key = known.map(|(key, _)| key);
    let lines = written_lines(page).filter(|line| line.project.is_none_or(|of| Some(of) == key));
    let lines = lines.map(|line| line.words.to_owned());
    part(&mut head, "What earlier threads taught", lines, bytes * PAGE_PERCENT / 100);
    let Some((_, project)) = known else { return neutralized(&head, bytes) };
    let claims = project.claims.iter().map(|claim| claim_line(claim, 240));
    part(&mut head, CLAIMS, claims, bytes * CLAIMS_PERCENT / 100);
    let of = |kind| project.entries.iter().filter(move |entry: &&Entry| entry.kind == kind);
    let fixes = of(LearningKind::Fix).map(|entry| text::cut(&entry.text, 240).into_owned());
    part(&mut head, "Failed here before", fixes, bytes * FIXES_PERCENT / 100);
    let facts = of(LearningKind::Fact).map(|entry| entry.text.clone());
    part(&mut head, "Facts", facts, bytes * FACTS_PERCENT / 100);
    part(&mut head, "Newest threads", task_lines(project), bytes * TASKS_PERCENT / 100);
    let packed = SummaryRows::choose(project, bytes.saturating_sub(head.len()), &head);
    head.push_str(&packed.render());
    neutralized(&head, bytes)
}

/// A line of the first page that an agent wrote; other files repeat all other lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WrittenLine<'a> {
    /// From 1.
    pub number: u64,
    /// `None` means all projects.
    pub project: Option<&'a str>,
    /// Without the source mark.
    pub words: &'a str,
}

/// The lines of the first page that an agent wrote: unlike the others they have a source mark.
pub fn written_lines(page: &str) -> impl Iterator<Item = WrittenLine<'_>> {
    let mut project = None;
    (1..).zip(page.lines()).filter_map(move |(number, line)| {
        if line.starts_with("## ") {
            project = None;
        } else if let Some(key) = line.strip_prefix("### ") {
            project = Some(key.trim());
        }
        let words = Bullet::read(line)?.words;
        Some(WrittenLine { number, project, words })
    })
}

/// Cuts the text and neutralizes our frame marks in it.
fn neutralized(text: &str, bytes: usize) -> String {
    contextual::quoted(text::prefix(text, bytes)).into_owned()
}

/// The text framed for injection, at most `max_tokens` tokens; may be empty. Extraction recognizes the frame
/// and skips it.
pub fn injection(handbook: &Handbook, page: &str, scope: Scope<'_>, max_tokens: u64) -> String {
    let frame = format!("{}\n\n{}\n", super::own::OPENING, super::own::CLOSING);
    let text = summary(handbook, page, scope, max_tokens.saturating_sub(tokens::of_text(&frame)));
    if text.is_empty() {
        return text;
    }
    format!("{}\n{}\n{}\n", super::own::OPENING, text.trim_end(), super::own::CLOSING)
}

/// The project of a scope: the named one, else the deepest that contains its folder. A folder that holds
/// everything (a root, a home) is not a project of what is below it.
pub fn project<'a>(handbook: &'a Handbook, scope: Scope<'_>) -> Option<(&'a str, &'a Project)> {
    if let Some(named) = scope.project
        && let Some((key, project)) = handbook.projects.get_key_value(named)
    {
        return Some((key, project));
    }
    let cwd = scope.cwd?;
    let depth = |folder: &str| {
        let is_same = place::is_inside(cwd, folder) && place::is_inside(folder, cwd);
        let is_around = place::is_inside(cwd, folder) && !place::holds_everything(folder);
        (is_same || is_around).then_some(folder.len())
    };
    let deepest = |(key, project): &(&'a String, &'a Project)| {
        project.folders.iter().chain([*key]).filter_map(|folder| depth(folder)).max()
    };
    let found = handbook.projects.iter().filter_map(|known| Some((deepest(&known)?, known)));
    let (_, (key, project)) =
        found.max_by(|(a, (x, _)), (b, (y, _))| a.cmp(b).then_with(|| y.cmp(x)))?;
    Some((key, project))
}

fn task_lines(project: &Project) -> impl Iterator<Item = String> {
    project.tasks.iter().take(TASKS_MAX).map(|task| {
        let title = text::cut_words(&task.title, 140);
        format!("{} {}: {title}", date(task.updated_at_ms), task.outcome.into_str())
    })
}

/// Adds a section with as many rows as fit into `bytes`.
fn part(out: &mut String, heading: &str, rows: impl Iterator<Item = String>, bytes: usize) {
    let mut body = String::new();
    let room = bytes.saturating_sub(heading.len() + 5);
    for row in rows {
        if body.len() + row.len() + 3 <= room {
            push(&mut body, format_args!("- {row}\n"));
        }
    }
    if !body.is_empty() {
        push(out, format_args!("## {heading}\n{body}"));
    }
}

#[cfg(test)]
mod tests;
