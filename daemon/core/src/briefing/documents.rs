//! Informative lines of documents that were read or written: decisions, rules, requirements, list items.

mod dated;
mod front_matter;
mod passages;
mod steps;
mod worth;

use super::placeholders::is_template;
use crate::phrases::Phrases;

pub(super) use dated::lower_older_entries;
pub(super) use front_matter::{grown_state, with_entry};
pub(super) use passages::{CODE_LINES, FRONT_MATTER, passages};
pub(super) use steps::{has_steps, step_in, steps_in};
pub(super) use worth::is_ticked;

/// Whether a path names prose or configuration rather than code.
pub(super) fn is_document(path: &str) -> bool {
    is_prose(path) || ends_with(path, &[".yaml", ".yml", ".toml", ".json"])
}

/// Whether a path names prose.
pub(super) fn is_prose(path: &str) -> bool {
    ends_with(path, &[".md", ".mdx", ".rst", ".txt", ".adoc"]) || is_instructions(path)
}

/// Whether a path names instructions for an agent: written in XML, or the steps of a workflow.
fn is_instructions(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let is_named = ["instruction", "workflow", "prompt"].iter().any(|it| name.contains(it));
    is_named && ends_with(path, &[".xml"]) || is_workflow(path)
}

/// Whether a path names a workflow for an agent, or a step of one.
pub(super) fn is_workflow(path: &str) -> bool {
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
    let is_named = ["workflow", "instructions"].iter().any(|it| name.starts_with(it));
    let is_below = || folders.split('/').any(|it| ["workflows", "skills"].contains(&it));
    (is_named || is_step(path)) && ends_with(path, &[".md", ".xml"]) && is_below()
}

/// Whether a file is a step of several: `step-04-review.md`, `step-v-04-review.md`.
pub(super) fn is_step(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let rest = name.strip_prefix("step").unwrap_or_default();
    let is_separate = rest.starts_with(|c: char| c.is_ascii_digit() || ['-', '_'].contains(&c));
    let mut words = rest.split(['-', '_', '.']).filter(|word| !word.is_empty());
    let number =
        words.find(|word| word.len() > 1 || word.bytes().all(|byte| byte.is_ascii_digit()));
    is_separate
        && number.is_some_and(|word| {
            // `01b` continues `01`.
            let digits = word.trim_end_matches(|c: char| c.is_ascii_lowercase());
            !digits.is_empty()
                && word.len() - digits.len() <= 1
                && digits.bytes().all(|byte| byte.is_ascii_digit())
        })
}

/// Folders that hold an agent's skills and manuals.
const AGENT_FOLDERS: [&str; 6] =
    ["/.codex/", "/.claude/", "/.agents/", "/skills/", "/plugins/", "/.gemini/"];

/// Percentage applied to the strength of a document's lines because of its path. Documents on how an agent
/// works matter less than those on what is being built, and can be read again.
pub(super) fn percent_of(path: &str) -> u16 {
    match () {
        () if is_workflow(path) => 100,
        () if is_of_agents(path) || path.contains("SKILL") => 12,
        () if path.starts_with('/') || is_template(path) => 50,
        // Addressed to newcomers.
        () if path.rsplit('/').next().is_some_and(|name| name.starts_with("README")) => 40,
        () => 100,
    }
}

/// Whether a path is in an agent's own folder.
pub(super) fn is_of_agents(path: &str) -> bool {
    AGENT_FOLDERS
        .iter()
        .any(|folder| path.contains(folder) || path.starts_with(folder.trim_start_matches('/')))
}

/// Whether a path names a license, whose text is the same everywhere.
pub(super) fn is_license(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path).to_lowercase();
    ["license", "licence", "copying"].iter().any(|begin| name.starts_with(begin))
}

/// Files of a repository that say how to work on it, without those that the agent always loads at start.
const GOVERNING: [&str; 5] =
    [".agents/", "contributing", "conventions", "copilot-instructions", ".cursor/rules"];

/// Path segments of a skill that do not name it.
const UNNAMED: [&str; 5] = ["skill", "skills", "agents", "reference", "references"];

/// Whether a document's rules apply here: by its path, or because the person named it in `typed`.
pub(super) fn binds<'a>(path: &str, typed: impl Iterator<Item = &'a str>) -> bool {
    let lower = path.to_lowercase();
    let is_skill = lower.contains("skill");
    if is_instructions(path) {
        return true;
    }
    if !is_skill {
        return is_prose(path) && GOVERNING.iter().any(|place| lower.contains(place));
    }
    let parts = lower.rsplit('/').take(3).map(|part| part.split('.').next().unwrap_or(part));
    let names = parts.filter(|name| name.len() > 4 && !UNNAMED.contains(name));
    let names: Vec<String> = names.map(|name| name.replace(['-', '_'], " ")).collect();
    let mut typed = typed.map(|typed| typed.to_lowercase().replace(['-', '_'], " "));
    typed.any(|text| names.iter().any(|name| text.contains(name)))
}

/// Words of a rule, and words of the rules that matter most when finishing a task.
static BINDING: Phrases = Phrases::new(&[
    "must ",
    "never",
    "always",
    "do not",
    "don't",
    "only if",
    "only when",
    "only after",
    "not sufficient",
    "required",
    "unless",
    "shall ",
]);
static DELIVERY: Phrases = Phrases::new(&[
    "push",
    "pull request",
    " pr ",
    "git add",
    "worktree",
    "merge",
    "a branch",
    "to main",
]);
static CARE: Phrases = Phrases::new(&["commit", "branch", "test", "verif", "stage", "report"]);

/// First words of an order, and words that emphasize one.
const ORDERING: [&str; 8] =
    ["do not", "don't", "never ", "always ", "only ", "you must", "you never", "use "];
static ORDERS_LOUDLY: Phrases = Phrases::new(&["MUST", "NEVER", "ALWAYS", " NOT "]);

/// The strength of a rule; `None` if the passage contains no order.
pub(super) fn rule_strength(passage: &str) -> Option<u16> {
    if passage.starts_with('|') {
        return None;
    }
    let lower = passage.to_lowercase();
    let bare = lower.trim_start_matches(|c: char| !c.is_alphabetic());
    let orders =
        ORDERING.iter().any(|opening| bare.starts_with(opening)) || ORDERS_LOUDLY.is_in(passage);
    match () {
        () if !BINDING.is_in(&lower) => None,
        () if DELIVERY.is_in(&lower) => Some(170),
        () if CARE.is_in(&lower) => Some(110),
        // Prose also uses "never" and "must" about things other than its reader.
        () => orders.then_some(70),
    }
}

fn ends_with(path: &str, endings: &[&str]) -> bool {
    let lower = path.to_ascii_lowercase();
    endings.iter().any(|ending| lower.ends_with(ending))
}

#[cfg(test)]
mod tests;
