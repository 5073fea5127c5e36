//! Condenses a request to one line: the person's words, alone or inside a prompt that a command sent.

use super::statements;
use crate::text;

/// How well a request describes its thread; greater is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Worth {
    /// A role that a prompt gives the agent: independent of the task.
    Role,
    /// An answer from a menu or a "yes": meaningless without the question.
    Answer,
    /// The first words of a prompt that a command sent for the person.
    Prompt,
    /// Text that a person typed, or passed to a command.
    Words,
}

/// Maximum bytes of a command's arguments.
const ARGUMENTS_BYTES: usize = 600;

/// The code fence with a prompt's arguments begins within these first bytes.
const FENCE_BYTES: usize = 600;

/// Maximum bytes of a command's name.
const COMMAND_BYTES: usize = 60;

/// A prompt names the file to follow within these first bytes.
const FOLLOWED_BYTES: usize = 600;

/// Prefixes that assign a role.
const ROLES: &[&str] = &["you are a ", "you are an ", "you must fully ", "act as "];

/// Minimum capitalized words at the beginning of a generated prompt.
const SHOUTED_WORDS: usize = 4;

/// Condenses a message, and rates how well the result describes it.
pub(super) fn describe(message: &str) -> (Worth, String) {
    if let Some(command) = slash_command(message) {
        return command;
    }
    if statements::is_typed(message) && !is_prompt(message) {
        let worth = if is_informative(message) { Worth::Words } else { Worth::Answer };
        return (worth, message.to_owned());
    }
    match arguments(message) {
        Some(given) if is_informative(given) => (Worth::Words, given.to_owned()),
        _ => match followed_file(message) {
            Some(file) => (Worth::Prompt, format!("follow {file}")),
            None if gives_role(message) => (Worth::Role, opening(message).to_owned()),
            None => (Worth::Prompt, opening(message).to_owned()),
        },
    }
}

/// Whether the message assigns the agent a role.
fn gives_role(message: &str) -> bool {
    let opens = |words: &&str| {
        message.get(..words.len()).is_some_and(|first| first.eq_ignore_ascii_case(words))
    };
    ROLES.iter().any(opens)
}

/// The file that a one-line prompt says to follow.
fn followed_file(message: &str) -> Option<&str> {
    let mut words = text::prefix(message, FOLLOWED_BYTES).split_whitespace();
    let named = words.find(|word| word.starts_with('@') && word.contains('/'))?;
    is_prompt(message).then(|| named.trim_end_matches([',', '.', ';', ':']))
}

/// Whether words are meaningful without the question before them.
fn is_informative(words: &str) -> bool {
    let count = words.split_whitespace().filter(|word| word.chars().any(char::is_alphabetic));
    let has_unspaced = words.chars().filter(|c| *c as u32 > 0x2E7F).count() >= 4;
    count.count() >= 3 && words.trim().len() >= 12 || has_unspaced
}

/// Whether a message on one line was generated: it is in capitals, assigns a role, or starts with a command.
fn is_prompt(message: &str) -> bool {
    let is_shouted = |word: &&str| {
        word.len() >= 2
            && word.chars().all(|c| c.is_uppercase() || !c.is_alphabetic())
            && word.chars().any(char::is_alphabetic)
    };
    let shouted = message.split_whitespace().take(8).filter(is_shouted).count();
    shouted >= SHOUTED_WORDS
        || gives_role(message)
        || message.starts_with('/') && message.len() > 2 * COMMAND_BYTES
}

/// A command of Claude Code, whose name and arguments are in tags.
fn slash_command(message: &str) -> Option<(Worth, String)> {
    let inside = |tag: &str| {
        let (_, rest) = message.split_once(&format!("<{tag}>"))?;
        rest.split_once(&format!("</{tag}>")).map(|(inside, _)| inside.trim())
    };
    let name = inside("command-name")?;
    let given = inside("command-args").unwrap_or_default();
    let worth = if is_informative(given) { Worth::Words } else { Worth::Prompt };
    Some((worth, format!("{} {given}", text::cut(name, COMMAND_BYTES)).trim().to_owned()))
}

/// The arguments in a command's prompt: on its last line, or in a code fence near its beginning.
fn arguments(message: &str) -> Option<&str> {
    let last = message.trim_end().lines().next_back();
    let named = last.and_then(|line| line.strip_prefix("ARGUMENTS:")).map(str::trim);
    let fenced = text::prefix(message, FENCE_BYTES).contains("```").then(|| {
        let block = message.split("```").nth(1).unwrap_or_default();
        let (language, given) = block.split_once('\n').unwrap_or(("", block));
        if matches!(language.trim(), "" | "text") { given.trim() } else { "" }
    });
    let fits =
        |given: &&str| (4..=ARGUMENTS_BYTES).contains(&given.len()) && !given.contains("$ARG");
    named.filter(fits).or(fenced.filter(fits))
}

/// A prompt's heading or first sentence.
fn opening(message: &str) -> &str {
    let is_text = |line: &&str| {
        line.chars().any(char::is_alphabetic) && !line.starts_with(['<', '`']) && *line != "---"
    };
    let line = message.lines().map(str::trim).find(is_text).unwrap_or(message.trim());
    let line = line.trim_start_matches(['#', ' ']);
    line.split_once(". ").map_or(line, |(first, _)| first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_named_by_the_persons_request() {
        let template = format!(
            "## User Input\n\n```text\nadd a dark mode\n```\n\n## Outline\n{}",
            "x ".repeat(900)
        );
        let empty = format!("## User Input\n\n```text\n\n```\n\n## Outline\n{}", "x ".repeat(900));
        for (message, worth, expected) in [
            ("fix the retry bug", Worth::Words, "fix the retry bug"),
            ("帮我提交一下代码吧", Worth::Words, "帮我提交一下代码吧"),
            ("CR", Worth::Answer, "CR"),
            ("16", Worth::Answer, "16"),
            (template.as_str(), Worth::Words, "add a dark mode"),
            (empty.as_str(), Worth::Prompt, "User Input"),
            (
                "IT IS CRITICAL THAT YOU FOLLOW this: load it. Then go",
                Worth::Prompt,
                "IT IS CRITICAL THAT YOU FOLLOW this: load it",
            ),
            (
                "IT IS CRITICAL THAT YOU FOLLOW THIS: LOAD @flows/2-plan/create-prd.md, READ it",
                Worth::Prompt,
                "follow @flows/2-plan/create-prd.md",
            ),
            (
                "You must fully embody this agent's persona. Never break character",
                Worth::Role,
                "You must fully embody this agent's persona",
            ),
            ("You are an expert", Worth::Role, "You are an expert"),
            (
                "<command-message>go</command-message>\n<command-name>/review</command-name>\n<command-args>the last three commits</command-args>",
                Worth::Words,
                "/review the last three commits",
            ),
        ] {
            assert_eq!(describe(message), (worth, expected.to_owned()), "{message}");
        }
    }
}
