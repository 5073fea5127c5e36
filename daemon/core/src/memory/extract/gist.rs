//! What a message asks for, in a line: the person's words, or those inside a prompt that a command sent.

use super::words;
use crate::text;

/// How well a request tells what a thread is about; the greater the better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Worth {
    /// The part that a prompt gives the agent to play: the same whatever is to be done.
    Role,
    /// An answer from a menu, a "yes": nothing without the question.
    Answer,
    /// The first words of a prompt that a command sent in the person's name.
    Prompt,
    /// What a person typed, or gave to a command.
    Words,
}

/// Bytes of what a person gives to a command.
const ARGUMENTS_BYTES: usize = 600;

/// Bytes of a prompt in which the fence with what was given to it begins.
const FENCE_BYTES: usize = 600;

/// Bytes of a command's name.
const COMMAND_BYTES: usize = 60;

/// Bytes of a prompt in which the file that it is to follow is named.
const FOLLOWED_BYTES: usize = 600;

/// Openings that give a role.
const ROLES: &[&str] = &["you are a ", "you are an ", "you must fully ", "act as "];

/// Words in capitals at the beginning by which a prompt shouts.
const SHOUTED_WORDS: usize = 4;

/// What the message asks for, and how well that tells what it is about.
pub(super) fn gist(message: &str) -> (Worth, String) {
    if let Some(command) = slash_command(message) {
        return command;
    }
    if words::is_typed(message) && !is_prompt(message) {
        let worth = if is_telling(message) { Worth::Words } else { Worth::Answer };
        return (worth, message.to_owned());
    }
    match arguments(message) {
        Some(given) if is_telling(given) => (Worth::Words, given.to_owned()),
        _ => match followed(message) {
            Some(file) => (Worth::Prompt, format!("follow {file}")),
            None if gives_role(message) => (Worth::Role, opening(message).to_owned()),
            None => (Worth::Prompt, opening(message).to_owned()),
        },
    }
}

/// Whether the message tells the agent who it is.
fn gives_role(message: &str) -> bool {
    let opens = |words: &&str| {
        message.get(..words.len()).is_some_and(|first| first.eq_ignore_ascii_case(words))
    };
    ROLES.iter().any(opens)
}

/// The file of a prompt on one line that only says to follow what is written there.
fn followed(message: &str) -> Option<&str> {
    let mut words = text::prefix(message, FOLLOWED_BYTES).split_whitespace();
    let named = words.find(|word| word.starts_with('@') && word.contains('/'))?;
    is_prompt(message).then(|| named.trim_end_matches([',', '.', ';', ':']))
}

/// Whether words say something without the question before them.
fn is_telling(words: &str) -> bool {
    let count = words.split_whitespace().filter(|word| word.chars().any(char::is_alphabetic));
    let has_unspaced = words.chars().filter(|c| *c as u32 > 0x2E7F).count() >= 4;
    count.count() >= 3 && words.trim().len() >= 12 || has_unspaced
}

/// A prompt on one line that no person would type: it shouts, gives a role, or opens with a command.
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

/// A command of Claude Code: its name and what was given to it stand in tags.
fn slash_command(message: &str) -> Option<(Worth, String)> {
    let inside = |tag: &str| {
        let (_, rest) = message.split_once(&format!("<{tag}>"))?;
        rest.split_once(&format!("</{tag}>")).map(|(inside, _)| inside.trim())
    };
    let name = inside("command-name")?;
    let given = inside("command-args").unwrap_or_default();
    let worth = if is_telling(given) { Worth::Words } else { Worth::Prompt };
    Some((worth, format!("{} {given}", text::cut(name, COMMAND_BYTES)).trim().to_owned()))
}

/// What was given to a command whose prompt has it in its last line, or in a fence near its beginning.
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

/// The first words of a prompt: its heading, or its first sentence.
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
    fn a_thread_is_named_by_what_the_person_wanted() {
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
            assert_eq!(gist(message), (worth, expected.to_owned()), "{message}");
        }
    }
}
