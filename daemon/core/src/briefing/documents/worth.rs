//! Rates how much a line of a document says by its form.

use super::super::lines;
use super::super::marks::{self, decides};
use super::super::placeholders::is_placeholder;
use super::front_matter::{is_state, says_state};
use super::is_step;
use super::passages::FRONT_MATTER;
use crate::phrases::Phrases;

/// In a longer line the version is not the main point.
const VERSION_LINE_BYTES: usize = 160;

/// Maximum words of a setting's key.
const KEY_WORDS: usize = 3;

/// The key of the next step's file in the front matter of a step.
pub(super) const NEXT_STEP: &str = "nextStep";

/// A longer line says more than that a section is empty.
const EMPTY_BYTES: usize = 160;

pub(super) fn strength(heading: &str, line: &str, is_prose: bool) -> u16 {
    let is_item = lines::item_of(line).is_some();
    let strength = match () {
        // Its content is on the following lines.
        () if line.ends_with(['{', '[']) => 10,
        () if is_placeholder(line) => 10,
        () if decides(line) => 190,
        () if names_next_step(line) || enters_step(line) => 170,
        () if gives_verdict(line) => 260,
        () if heading == FRONT_MATTER && says_state(line) => 150,
        // An edit shows such a line without what it stands in.
        () if heading.is_empty() && is_state(line) => 150,
        () if line.len() < EMPTY_BYTES && marks::EMPTY.is_in(line) => 20,
        () if decides(heading) => 180,
        () if marks::REASONS.is_in(line) || has_version(line) => 140,
        () if marks::REJECTIONS.is_in(line) => 150,
        () if marks::RULES.is_in(line) || marks::VALUES.is_in(line) => 110,
        () if is_item || is_requirement(line) || is_command(line) || is_entry(line) => 80,
        () => 45,
    };
    if is_prose { strength } else { strength * 6 / 10 }
}

/// Whether a line is a ticked item of a list.
pub(in crate::briefing) fn is_ticked(line: &str) -> bool {
    lines::item_of(line).is_some_and(|item| item.starts_with("[x] ") || item.starts_with("[X] "))
}

/// Whether a line states a version: `**Version**: 1.1.0`.
fn has_version(line: &str) -> bool {
    let number = |word: &str| word.starts_with(|c: char| c.is_ascii_digit()) && word.contains('.');
    let mut words = line.split(|c: char| c.is_whitespace() || c == '*' || c == 'v');
    line.len() < VERSION_LINE_BYTES && line.contains("ersion") && words.any(number)
}

/// Whether a line is an entry: `**Storage**: SQLite`.
fn is_entry(line: &str) -> bool {
    key_of(line).is_some()
}

/// The key of an entry.
fn key_of(line: &str) -> Option<&str> {
    let (key, value) = line.strip_prefix("**")?.split_once("**")?;
    (key.ends_with(':') || value.starts_with(':')).then_some(key)
}

/// What a report on a check comes to.
static VERDICTS: Phrases = Phrases::new(&[
    "verdict",
    "severity",
    "result",
    "overall",
    "conclusion",
    "classification",
    "assessment",
    "outcome",
    "total",
    "score",
    "coverage",
]);

/// Maximum bytes of a figure.
const FIGURE_BYTES: usize = 16;

/// Whether an entry says what a check came to: `**Severity:** Pass`, `- Coverage: 100%`. In a template its value is a name
/// in braces.
fn gives_verdict(line: &str) -> bool {
    let key = key_of(line).or_else(|| key_of_figure(line));
    !line.contains('{') && key.is_some_and(|key| VERDICTS.is_in(&key.to_lowercase()))
}

/// The key of an item whose value is a number.
fn key_of_figure(line: &str) -> Option<&str> {
    let (key, value) = lines::item_of(line)?.split_once(": ")?;
    let is_figure = value.len() <= FIGURE_BYTES && value.starts_with(|c: char| c.is_ascii_digit());
    is_figure.then_some(key)
}

/// Whether the front matter of a workflow's step begins with the file of the next one.
fn names_next_step(line: &str) -> bool {
    line.starts_with(NEXT_STEP)
}

/// Whether a line of a step says when its next one begins: ``IF C: save it, then follow `./step-04-review.md` ``.
fn enters_step(line: &str) -> bool {
    let mut names = line.split(|c: char| c.is_whitespace() || "`'\"()[],{}".contains(c));
    line.contains("step") && names.any(|name| name.ends_with(".md") && is_step(name))
}

/// Whether a line begins with the id of a requirement: `NFR6: …`, `AC-2. …`.
pub(super) fn is_requirement(line: &str) -> bool {
    let (first, words) = line.split_once(' ').unwrap_or((line, ""));
    let id = first.trim_end_matches([':', '.', ')']);
    let is_marked = id.len() < first.len() || words.starts_with(": ");
    let letters = id.trim_end_matches(|c: char| c.is_ascii_digit() || ".-".contains(c));
    is_marked
        && (1..=6).contains(&letters.len())
        && letters.bytes().all(|byte| byte.is_ascii_uppercase())
        && id.ends_with(|c: char| c.is_ascii_digit())
}

/// Whether a line shows how to run a program.
pub(super) fn is_command(line: &str) -> bool {
    let first = line.trim_start_matches(['$', ' ']).split(' ').next().unwrap_or_default();
    let programs = [
        "npm", "npx", "bun", "pnpm", "yarn", "cargo", "go", "python", "pytest", "make", "docker",
        "dotnet", "uv",
    ];
    programs.contains(&first) || first.starts_with("./")
}

/// Whether a line is a setting: `Status: in review`.
pub(super) fn is_setting(line: &str) -> bool {
    let Some((key, value)) = line.split_once(": ") else { return false };
    let of_key = |c: char| c.is_alphanumeric() || " _-".contains(c);
    key.chars().all(of_key)
        && key.starts_with(char::is_alphabetic)
        && key.split_whitespace().count() <= KEY_WORDS
        && value.contains(char::is_alphanumeric)
}
