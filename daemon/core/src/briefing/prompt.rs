//! Separates what the person typed from the prompt template or command around it.

use super::lines::{MessageLine, Shape};
use crate::phrases::Phrases;
use crate::text;

/// A person's message, split into typed words and template.
#[derive(Debug, PartialEq, Eq, Default)]
pub(super) struct Prompt<'a> {
    /// Typed words; empty if a template was sent without any.
    pub typed: String,
    /// The template's text, if any.
    pub template: Option<&'a str>,
    /// A name for the template.
    pub name: String,
}

/// Separates typed words from templates. Templates are slash commands and prompt files with a slot for the
/// person's words, skills, and blocks that make up most of a message and also occurred in an earlier one.
pub(super) fn parse(message: &str, was_seen: impl Fn(&str) -> bool) -> Prompt<'_> {
    if let Some((before, input)) = message.split_once("## User Input") {
        let typed = first_code_block(input);
        let rest = typed.map_or(input, |(_, rest)| rest);
        let typed = typed.map_or("", |(typed, _)| typed).trim();
        let name = if before.trim().is_empty() { name_of(rest) } else { name_of(before) };
        return Prompt { typed: typed.to_owned(), template: Some(rest), name };
    }
    if let Some(command) = between(message, "<command-name>", "</command-name>") {
        let words = between(message, "<command-args>", "</command-args>").unwrap_or_default();
        let typed = format!("{} {}", command.trim(), words.trim());
        return Prompt { typed: typed.trim().to_owned(), template: None, name: command.to_owned() };
    }
    if message.starts_with("<skill>") {
        let name = between(message, "<name>", "</name>").unwrap_or("skill").to_owned();
        return Prompt { typed: String::new(), template: Some(message), name };
    }
    let is_role_play = message.contains("CRITICAL=\"TRUE\"") || message.contains("-activation");
    if is_role_play && message.lines().any(|line| line.trim_start().starts_with("1. ")) {
        return Prompt { typed: String::new(), template: Some(message), name: name_of(message) };
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
        return Prompt { typed: typed.trim().to_owned(), template: Some(message), name };
    }
    Prompt { typed: message.trim().to_owned(), template: None, name: String::new() }
}

/// Shorter messages are typed, not sent by a command.
const TEMPLATE_BYTES_MIN: usize = 600;

/// Shorter lines repeat by chance.
pub(super) const REPEATED_BYTES_MIN: usize = 40;

/// The first meaningful line of a template.
fn name_of(template: &str) -> String {
    let skipped = ["```", "<", "You **MUST** consider", "---"];
    let mut lines = template.lines().map(|line| line.trim().trim_start_matches('#').trim());
    let line = lines
        .find(|line| line.len() > 12 && !skipped.iter().any(|opening| line.starts_with(opening)));
    text::one_line_cut(line.unwrap_or("prompt template"), 90)
}

/// The text in the first code fence, and the text after it.
fn first_code_block(text: &str) -> Option<(&str, &str)> {
    let (_, rest) = text.split_once("```")?;
    let (_, body) = rest.split_once('\n')?;
    body.split_once("```")
}

fn between<'a>(text: &'a str, open: &str, close: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(open)?;
    Some(rest.split_once(close)?.0)
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
    let lower = text::lowercase(sentence);
    LIMIT_WORDS.is_in(&lower)
}

/// Maximum length of a message that only answers, and of one that may name an option and say more.
const ANSWER_BYTES: usize = 40;
const CHOICE_BYTES: usize = 240;

/// The text that a short answer refers to: the options of the agent's last report that it names, else the
/// question at the report's end.
pub(super) fn answered(typed: &str, report: &[&str]) -> Vec<String> {
    if typed.is_empty() || typed.len() > CHOICE_BYTES {
        return Vec::new();
    }
    let named = if typed.len() <= ANSWER_BYTES { options(typed) } else { option_names(typed) };
    let chosen = |line: &&&str| named.iter().any(|option| is_option(line, option));
    let is_offered = |line: &&str| (1..=OPTIONS_MAX).any(|it| is_option(line, &it.to_string()));
    if report.iter().any(|line| chosen(&line)) {
        // Keep all options, since those not picked were postponed or rejected. Of two lists the last one was
        // offered.
        let listed: Vec<&str> = report.iter().copied().filter(|line| is_offered(line)).collect();
        let first = listed.iter().rposition(|line| is_option(line, "1")).unwrap_or(0);
        let is_of_list = listed[first..].iter().any(|line| chosen(&line));
        let (of_list, all) = (&listed[first..], report.iter().filter(chosen).copied());
        let answered: Vec<&str> = if is_of_list { of_list.to_vec() } else { all.take(4).collect() };
        return answered.into_iter().take(OPTIONS_MAX).map(str::to_owned).collect();
    }
    if typed.len() > ANSWER_BYTES {
        return Vec::new();
    }
    static STEPS: Phrases = Phrases::new(&["next step", "next:", "[c]"]);
    let is_question = |line: &str| {
        asks(line) || {
            let lower = text::lowercase(line);
            OFFERS.is_in(&lower) || STEPS.is_in(&lower)
        }
    };
    let last = report.iter().enumerate().rev().filter(|(_, line)| is_question(line)).take(2);
    let last = last.map(|(index, line)| {
        // The rest of a sentence needs its beginning.
        let before = index.checked_sub(1).map(|before| report[before]);
        match before.filter(|_| line.starts_with(char::is_lowercase)) {
            Some(before) => format!("{before} {line}"),
            None => (*line).to_owned(),
        }
    });
    let mut questions: Vec<String> = last.collect();
    questions.reverse();
    questions
}

/// Maximum options of a list.
const OPTIONS_MAX: usize = 6;

/// Maximum bytes after a question in its line.
const BEHIND_BYTES: usize = 40;

/// Whether a line asks the person something.
pub(super) fn asks(line: &str) -> bool {
    let line = line.trim_end_matches(['*', ')', '"', '`', ' ', '»', '”']);
    // Most lines have no question mark, and searching for two characters costs much more than for one.
    if memchr::memchr(b'?', line.as_bytes()).is_none() {
        return line.ends_with('？');
    }
    // A few words may follow the question, such as a cost or the keys to press.
    let behind = line.rfind("? ").map_or(usize::MAX, |at| line.len() - at);
    line.ends_with(['?', '？']) || line.contains("? [") || behind <= BEHIND_BYTES
}

/// Words of an offer, in lower case.
static OFFERS: Phrases = Phrases::new(&[
    "if you want",
    "if you'd like",
    "if you like",
    "say the word", // en
    "wenn du willst",
    "wenn sie wollen",
    "wenn du möchtest", // de
    "si tu veux",
    "si vous voulez",
    "si vous le souhaitez", // fr
    "si quieres",
    "si lo deseas", // es
    "se vuoi",      // it
    "se quiser",    // pt
    "если хотите",
    "если хочешь", // ru
    "如果你",
    "如果您", // zh
]);

/// Whether a line offers to do something.
pub(super) fn offers(line: &str) -> bool {
    OFFERS.is_in(&text::lowercase(line))
}

/// A line of a menu that names the letter to type: `[C] Continue`, `x. Proceed`.
pub(super) fn is_menu_line(line: &str) -> bool {
    let line = line.trim_start_matches(['-', '*', ' ']);
    let letter = match line.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((letter, _)) => letter,
        None => line.split_once(". ").map_or("", |(letter, _)| letter),
    };
    letter.len() == 1 && letter.bytes().all(|byte| byte.is_ascii_alphabetic())
}

/// The options that an answer names: single letters and numbers.
fn options(typed: &str) -> Vec<String> {
    let words = typed.split(|c: char| !c.is_alphanumeric());
    let is_option = |word: &&str| {
        let is_letter = word.len() == 1 && word.chars().all(|c| c.is_ascii_uppercase());
        is_letter
            || (word.len() <= 2 && !word.is_empty() && word.bytes().all(|b| b.is_ascii_digit()))
    };
    words.filter(is_option).map(str::to_owned).collect()
}

/// Whether the answer picks this line.
pub(super) fn picks(typed: &str, line: &str) -> bool {
    options(typed).iter().any(|option| is_option(line, option))
}

/// Words of a longer message to search for an option.
const PICK_WORDS: usize = 8;

/// The option that a longer message picks: its first word, or the word after one like "option".
fn option_names(typed: &str) -> Vec<String> {
    const WORDS: [&str; 14] = [
        "option",
        "number",
        "nr",
        "no",
        "item",
        "point",
        "step",
        "punkt",
        "variante",
        "numéro",
        "opción",
        "opzione",
        "opção",
        "пункт",
    ];
    let words = typed.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let words: Vec<&str> = words.take(PICK_WORDS).collect();
    let leads = |word: &&str| WORDS.contains(&word.to_lowercase().as_str());
    let first = words.iter().take(1).find(|word| !options(word).is_empty() && **word != "A");
    let behind = || words.iter().position(leads).and_then(|at| words.get(at + 1));
    first.or_else(behind).map(|word| options(&word.to_uppercase())).unwrap_or_default()
}

/// Whether a line of a list or table is the given option: `B) …`, `2. …`, `| A | …`, `[C] …`.
fn is_option(line: &str, option: &str) -> bool {
    let line = line.trim_start_matches(['|', ' ', '*', '[', '(', '`']);
    line.strip_prefix(option).is_some_and(|rest| {
        rest.starts_with(['.', ')', ':', ']', '*', '|', '`'])
            || rest.starts_with(" |")
            || rest.starts_with(" –")
            || rest.starts_with(" -")
    })
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
            ("Phase 3", "1. CommandRun the script that lists tasks.")
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
    fn a_short_answer_is_resolved_to_the_option_or_question_it_answers() {
        let report = [
            "| A | trust the caller |",
            "| B | sign tokens |",
            "1. plan",
            "2. tests first",
            "Shall I go on? About 30 lines.",
        ];
        for (typed, expected) in [
            ("A", vec!["| A | trust the caller |"]),
            ("Punkt 2", vec!["1. plan", "2. tests first"]),
            ("1 and 2", vec!["1. plan", "2. tests first"]),
            ("oui", vec!["Shall I go on? About 30 lines."]),
            ("yes please", vec!["Shall I go on? About 30 lines."]),
            (
                "please take point 2 and write the tests of the lexer first",
                vec!["1. plan", "2. tests first"],
            ),
            ("make 2 branches and push both of them, the older one first", vec![]),
            ("now rewrite the whole parser so that it keeps comments", vec![]),
        ] {
            assert_eq!(answered(typed, &report), expected, "{typed}");
        }
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
