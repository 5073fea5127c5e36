//! Separates what the person typed from the prompt template or command around it.

use super::lines::{self, MessageLine};
use super::spot::Shape;
use crate::phrases::Phrases;
use crate::text::{self, between};

/// A person's message, split into typed words and template.
#[derive(Debug, PartialEq, Eq, Default)]
pub(super) struct Prompt<'a> {
    /// Typed words; empty if a template was sent without any.
    pub typed: String,
    /// The template's text, if any.
    pub template: Option<&'a str>,
    /// A name for the template.
    pub name: String,
    /// The template is a role that the agent plays until the person ends it.
    pub is_role: bool,
}

/// Separates typed words from templates. Templates are slash commands and prompt files with a slot for the
/// person's words, skills, and blocks that make up most of a message and also occurred in an earlier one.
pub(super) fn parse(message: &str, was_seen: impl Fn(&str) -> bool) -> Prompt<'_> {
    if let Some((before, input)) = message.split_once("## User Input") {
        let typed = first_code_block(input);
        let rest = typed.map_or(input, |(_, rest)| rest);
        let typed = typed.map_or("", |(typed, _)| typed).trim();
        let name = if before.trim().is_empty() { name_of(rest) } else { name_of(before) };
        return Prompt { typed: typed.to_owned(), template: Some(rest), name, ..Prompt::default() };
    }
    if let Some(command) = between(message, "<command-name>", "</command-name>") {
        let words = between(message, "<command-args>", "</command-args>").unwrap_or_default();
        let typed = format!("{} {}", command.trim(), words.trim());
        return Prompt {
            typed: typed.trim().to_owned(),
            name: command.to_owned(),
            ..Prompt::default()
        };
    }
    if message.starts_with("<skill>") {
        let name = between(message, "<name>", "</name>").unwrap_or("skill").to_owned();
        return Prompt { template: Some(message), name, ..Prompt::default() };
    }
    let is_role_play = message.contains("CRITICAL=\"TRUE\"") || message.contains("-activation");
    if is_role_play && message.lines().any(|line| line.trim_start().starts_with("1. ")) {
        return Prompt {
            typed: String::new(),
            template: Some(message),
            name: name_of(message),
            is_role: true,
        };
    }
    let mut typed = String::with_capacity(message.len());
    let mut dropped = 0;
    for line in message.lines() {
        if line.len() >= REPEATED_BYTES_MIN && was_seen(line.trim()) {
            dropped += line.len();
            continue;
        }
        typed.push_str(line);
        typed.push('\n');
    }
    // A short message that repeats was typed again.
    if dropped * 2 > message.len() && message.len() > TEMPLATE_BYTES_MIN {
        let name = name_of(message);
        return Prompt {
            typed: typed.trim().to_owned(),
            template: Some(message),
            name,
            ..Prompt::default()
        };
    }
    Prompt { typed: message.trim().to_owned(), ..Prompt::default() }
}

/// Shorter messages are typed, not sent by a command.
const TEMPLATE_BYTES_MIN: usize = 600;

/// Shorter lines repeat by chance.
pub(super) const REPEATED_BYTES_MIN: usize = 40;

/// The first meaningful line of a template, without marks and number.
pub(super) fn name_of(template: &str) -> String {
    let skipped = ["```", "<", "You **MUST** consider", "---"];
    let mut lines = template.lines().map(|line| line.trim().trim_start_matches('#').trim());
    let line = lines
        .find(|line| line.len() > 12 && !skipped.iter().any(|opening| line.starts_with(opening)));
    let line = lines::tidy(line.unwrap_or("prompt template"), None, 400);
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let (number, words) = line.split_at(digits);
    let bare = words.strip_prefix(". ").or_else(|| words.strip_prefix(") "));
    let bare = bare.filter(|_| !number.is_empty()).unwrap_or(&line);
    text::one_line_cut(bare.trim_end_matches(':'), 90)
}

/// The text in the first code fence, and the text after it.
fn first_code_block(text: &str) -> Option<(&str, &str)> {
    let (_, rest) = text.split_once("```")?;
    let (_, body) = rest.split_once('\n')?;
    body.split_once("```")
}

/// Strength of a template's line if it is a step or a rule: numbered, bold or emphasized.
pub(super) fn step_strength(message_line: &MessageLine<'_>) -> Option<u16> {
    let text = message_line.text;
    // Lists of patterns, such as files to ignore per language, are reference material.
    if text.matches("`, `").count() > 1 {
        return None;
    }
    let words = ["MUST", "NEVER", "STOP", "REQUIRED", "ERROR", "Report", "ALWAYS", "CRITICAL"];
    if words.iter().any(|word| text.contains(word)) {
        return Some(120);
    }
    // Reporting is the agent's last step.
    if message_line.heading.contains("Report") || message_line.heading.contains("report") {
        return Some(130);
    }
    let is_numbered = text.starts_with(|c: char| c.is_ascii_digit());
    match message_line.shape {
        Shape::Item if is_numbered || text.contains("**") => Some(90),
        // A detail of a step.
        Shape::Item if text.len() > 24 => Some(55),
        _ => None,
    }
}

/// Words that express limits and preferences, in several languages.
static LIMIT_WORDS: Phrases = Phrases::new(&[
    "must",
    "never",
    "always",
    "only",
    "don't",
    "dont",
    "do not",
    "doesn't",
    "no longer",
    "without",
    "prefer",
    "instead",
    "avoid",
    "keep",
    "need to",
    "should",
    "not ",
    "required",
    "make sure", // en
    "nur ",
    "nie ",
    "niemals",
    "immer",
    "nicht",
    "kein",
    "soll",
    "muss",
    "statt",
    "ohne", // de
    "jamais",
    "toujours",
    "seulement",
    "uniquement",
    "doit",
    "faut",
    "sans ",
    "plutôt",
    " pas ", // fr
    "nunca",
    "siempre",
    "solo ",
    "sólo",
    "debe",
    "sin ",
    "en lugar",
    "prefiero", // es
    "mai ",
    "sempre",
    "soltanto",
    "deve",
    "senza",
    "invece", // it
    "somente",
    "apenas",
    "sem ",
    "em vez",
    "não ", // pt
    "никогда",
    "всегда",
    "только",
    "нельзя",
    "не ",
    "без ",
    "вместо", // ru
    "不要",
    "必须",
    "只",
    "总是",
    "不能", // zh
    "しない",
    "必ず",
    "だけ",
    "ないで",
    "常に", // ja
    "하지 마",
    "항상", // ko
]);

/// Whether a sentence of the person states a limit or a preference that outlives its turn.
pub(super) fn is_limit(sentence: &str) -> bool {
    let lower = sentence.to_lowercase();
    LIMIT_WORDS.is_in(&lower)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typed_words_are_separated_from_templates() {
        let of =
            |message: &'static str| parse(message, |line| line.starts_with("You are the reviewer"));
        let template = "\n## User Input\n\n```text\nPhase 3\n```\n\nYou **MUST** consider it.\n\n1. CommandRun the script that lists tasks.";
        let prompt = of(template);
        assert_eq!(
            (prompt.typed.as_str(), prompt.name.as_str()),
            ("Phase 3", "CommandRun the script that lists tasks.")
        );
        assert!(prompt.template.unwrap().contains("1. CommandRun"));
        let command =
            of("<command-name>/review</command-name><command-args>the parser</command-args>");
        assert_eq!(command.typed, "/review the parser");
        let skill = of("<skill>\n<name>deploy</name>\n1. Build.\n</skill>");
        assert_eq!((skill.typed.as_str(), skill.name.as_str()), ("", "deploy"));
        let template =
            "You are the reviewer of this repository and read every line of it.\n".repeat(12);
        let message: &'static str = Box::leak(format!("{template}now the lexer").into_boxed_str());
        assert_eq!(of(message).typed, "now the lexer");
        let short = "You are the reviewer of this repository and read every line of it.";
        assert_eq!(of(short).typed, short);
        assert_eq!(of("fix the parser").typed, "fix the parser");
    }

    #[test]
    fn limits_are_recognized_in_ten_languages() {
        for sentence in [
            "we don't need backward compatibility",
            "nutze nur die Bibliothek",
            "ne touche jamais à main",
            "nunca subas a main",
            "usa sempre i test",
            "use apenas o cache",
            "никогда не трогай main",
            "不要修改接口",
            "必ずテストを書く",
            "항상 테스트를 써",
        ] {
            assert!(is_limit(sentence), "{sentence}");
        }
        assert!(!is_limit("add a button to the page"));
    }
}
