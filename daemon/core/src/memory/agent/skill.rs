//! Validates a skill. Agents run its commands, so its content is restricted.
//!
//! A skill is front matter of two keys, the line that names its project, headings, and steps. Commands must
//! equal commands that ran in the project. All other words come from such commands, the person's rules, the
//! project's name, or a fixed vocabulary ([`STOCK`]), so no other source can add an instruction. Links,
//! tags, mentions, expansions, controls and invisible characters are rejected.

use std::collections::BTreeSet;

use crate::checkpoint::semantic::policy::behavior;
use crate::memory::consolidate::{Handbook, Project};
use crate::memory::extract::{bare, names_hazard};
use crate::memory::learning::{LearningKind, NameKind};
use crate::memory::plain::normalized;
use crate::memory::span::spans;
use crate::step::Origin;

const BYTES_MAX: usize = 16 * 1_024;
const LINES_MAX: usize = 200;
const LINE_BYTES_MAX: usize = 300;

/// Minimum letters of a word that must be known.
const WORD_LETTERS_MIN: usize = 3;

/// Words that order, connect and explain steps.
const STOCK: &str = include_str!("skill_words.txt");

/// Why a skill is rejected, with the line number (from 1) if a single line is at fault.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct SkillError {
    pub(super) line: Option<usize>,
    pub(super) reason: &'static str,
}

/// Validates the text of `skills/<name>/SKILL.md`.
pub(super) fn check(name: &str, text: &str, book: &Handbook) -> Result<(), SkillError> {
    let whole = |reason| Err(SkillError { line: None, reason });
    if text.len() > BYTES_MAX || text.lines().count() > LINES_MAX {
        return whole("it is too long for a skill");
    }
    if text.chars().any(is_invisible) {
        return whole("it contains invisible characters");
    }
    let Some((head, body)) = text.strip_prefix("---\n").and_then(|rest| rest.split_once("\n---\n"))
    else {
        return whole("it must begin with `name` and `description`");
    };
    let named = body.lines().find_map(|line| line.split_once("Project: `")?.1.split('`').next());
    let Some((key, project)) = named.and_then(|key| book.projects.get_key_value(key)) else {
        return whole("it must name its project: Project: `…`");
    };
    let vocabulary = Vocabulary::of(key, project);
    front_matter(name, head, &vocabulary)?;
    let first = head.lines().count() + 3;
    let mut is_fenced = false;
    for (number, line) in (first..).zip(body.lines()) {
        let wrong = |reason| SkillError { line: Some(number), reason };
        if line.trim_start().starts_with("```") {
            // Words after a fence could reach the program that renders it.
            if line.trim().len() > 7 || !line.trim()[3..].chars().all(|c| c.is_ascii_lowercase()) {
                return Err(wrong("a code fence may only name a language"));
            }
            is_fenced = !is_fenced;
        } else if is_fenced {
            if !line.trim().is_empty() && !vocabulary.ran(line.trim()) {
                return Err(wrong("a command that ran in no thread of this project"));
            }
        } else {
            vocabulary.prose(line).map_err(wrong)?;
        }
    }
    Ok(())
}

/// Two keys, each once, each on a plain line. Any other key would grant the skill tools, models or hooks.
fn front_matter(name: &str, head: &str, vocabulary: &Vocabulary) -> Result<(), SkillError> {
    let (mut has_name, mut has_description) = (false, false);
    for (number, line) in (2..).zip(head.lines()) {
        let wrong = |reason| SkillError { line: Some(number), reason };
        match line.split_once(": ") {
            Some(("name", given)) if !has_name && given.trim() == name => has_name = true,
            Some(("description", given)) if !has_description && !given.trim().is_empty() => {
                has_description = true;
                let given = given.trim();
                let is_plain = given.starts_with(|c: char| c.is_alphanumeric() || c == '"');
                let inside = given.trim_matches('"');
                if !is_plain || inside.contains(['"', '\\']) || inside.contains(": ") {
                    return Err(wrong("a description is one plain sentence"));
                }
                vocabulary.prose(inside).map_err(wrong)?;
            }
            _ => {
                return Err(wrong(
                    "front matter has only `name` (equal to its folder) and `description`",
                ));
            }
        }
    }
    let is_whole = has_name && has_description;
    let missing = SkillError { line: None, reason: "it must begin with `name` and `description`" };
    if is_whole { Ok(()) } else { Err(missing) }
}

/// Whether a character is invisible or moves others (bidirectional controls).
fn is_invisible(c: char) -> bool {
    c.is_control() && c != '\n'
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
            | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

/// The commands, names and words that a skill of a project may use.
struct Vocabulary {
    /// Commands that ran, in the form of [`normalized`].
    commands: BTreeSet<String>,
    /// Names of files and code that its threads used.
    names: BTreeSet<String>,
    words: BTreeSet<String>,
}

impl Vocabulary {
    fn of(key: &str, project: &Project) -> Self {
        let mut commands: BTreeSet<String> = BTreeSet::new();
        let mut names = BTreeSet::from([key.to_owned()]);
        let mut words: BTreeSet<String> = words(STOCK).chain(words(key)).collect();
        let mut add = |command: &str| {
            commands.insert(normalized(command));
            commands.extend(bare(command).map(|bare| normalized(&bare)));
        };
        project.skills.iter().flat_map(|skill| &skill.steps).for_each(|step| add(step));
        for name in &project.map {
            match name.kind {
                NameKind::Command if name.done > 0 => add(&name.text),
                NameKind::Path | NameKind::Identifier if name.users > 0 => {
                    names.insert(name.text.clone());
                }
                _ => {}
            }
        }
        for entry in &project.entries {
            // Only commands that the daemon saw run count, not those a model reported.
            if entry.kind == LearningKind::Command && entry.origin == Origin::TOOL {
                spans(&entry.text).for_each(&mut add);
            } else if entry.kind.is_rule() {
                words.extend(self::words(&entry.text));
            }
        }
        words.extend(commands.iter().flat_map(|command| self::words(command)));
        Self { commands, names, words }
    }

    /// Whether exactly this command ran here.
    fn ran(&self, command: &str) -> bool {
        self.commands.contains(&normalized(command)) && !names_hazard(command)
    }

    /// Checks a line outside code fences.
    fn prose(&self, line: &str) -> Result<(), &'static str> {
        if line.len() > LINE_BYTES_MAX {
            return Err("a line that is too long");
        }
        if line.matches('`').count() % 2 == 1 || line.contains("``") {
            return Err("unbalanced code marks");
        }
        if !spans(line).all(|span| self.ran(span) || self.names.contains(span)) {
            return Err("a command or name that no thread of this project ran or used");
        }
        // The text outside code marks.
        let prose: String = line.split('`').step_by(2).collect::<Vec<_>>().join(" ");
        if prose.contains("](") || prose.contains("://") || prose.to_lowercase().contains("www.") {
            return Err("a skill has no links");
        }
        if prose.contains(['<', '@', '!', '$', '[', ']', '{', '}', '\\', '|', '~', '=']) {
            return Err("a character with a special meaning");
        }
        if behavior(&prose).is_some() || names_hazard(&prose) {
            return Err("an order that no person gave, or a command that must not be recommended");
        }
        match words(&prose).all(|word| self.words.contains(&word)) {
            true => Ok(()),
            false => Err("words outside the project's commands and rules"),
        }
    }
}

/// The words of a text in lower case, without short words and plain numbers. Words that mix letters and digits
/// count.
fn words(text: &str) -> impl Iterator<Item = String> {
    text.split(|c: char| !c.is_alphanumeric() && c != '\'')
        .map(|word| word.trim_matches('\'').to_lowercase())
        .filter(|word| {
            word.chars().count() >= WORD_LETTERS_MIN && word.chars().any(char::is_alphabetic)
                || !word.is_ascii()
        })
}
