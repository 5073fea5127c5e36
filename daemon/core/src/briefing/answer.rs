//! What a person's short answer refers to in the agent's last report.

use crate::phrases::Phrases;

/// Maximum length of a message that only answers, and of one that may name an option and say more.
pub(super) const ANSWER_BYTES: usize = 40;
const CHOICE_BYTES: usize = 240;

/// The text that a short answer refers to: the options of the agent's last report that it names, else the
/// question at the report's end.
pub(super) fn answered(typed: &str, report: &[&str]) -> Vec<String> {
    // A command of the agent's program answers nothing.
    if typed.is_empty() || typed.len() > CHOICE_BYTES || typed.starts_with('/') {
        return Vec::new();
    }
    let is_short = typed.len() <= ANSWER_BYTES;
    let named = named(typed);
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
    let decides = is_decision(typed);
    if !is_short && !decides {
        return Vec::new();
    }
    static STEPS: Phrases = Phrases::new(&["next step", "next:", "[c]"]);
    // Only a yes or a no refers to an offer.
    let is_question = |line: &str| {
        asks(line)
            || decides && {
                let lower = line.to_lowercase();
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

/// Openings of a yes or a no, in lower case.
const DECISIONS: &[&str] = &[
    "y",
    "yes",
    "yep",
    "yeah",
    "ok",
    "okay",
    "sure",
    "go",
    "do it",
    "do that",
    "do so",
    "please do",
    "proceed",
    "continue",
    "sounds good",
    "looks good",
    "lgtm",
    "approved",
    "agreed",
    "n",
    "no",
    "nope",
    "not yet",
    "not now", // en
    "oui",
    "d'accord",
    "vas-y",
    "allez-y",
    "continuer",
    "non", // fr
    "ja",
    "jep",
    "klar",
    "gerne",
    "mach",
    "weiter",
    "nein", // de
    "sí",
    "si",
    "vale",
    "dale",
    "adelante",
    "sigue", // es
    "va bene",
    "procedi",
    "certo", // it
    "sim",
    "não",
    "pode", // pt
    "да",
    "давай",
    "нет", // ru
    "好",
    "是的",
    "可以",
    "继续",
    "はい", // zh, ja
];

/// Whether the person says yes or no.
pub(super) fn is_decision(typed: &str) -> bool {
    let lower = typed.to_lowercase();
    DECISIONS.iter().any(|opening| {
        let rest = lower.strip_prefix(opening);
        rest.is_some_and(|rest| !opening.is_ascii() || !rest.starts_with(char::is_alphanumeric))
    })
}

/// Whether a message only says yes or no, or picks an option.
pub(super) fn only_answers(typed: &str) -> bool {
    typed.len() <= ANSWER_BYTES && (is_decision(typed) || !named(typed).is_empty())
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
    OFFERS.is_in(&line.to_lowercase())
}

/// Whether a line of a menu only goes on: `[C] Continue`.
pub(super) fn continues(line: &str) -> bool {
    const WORDS: [&str; 6] = ["continu", "weiter", "next", "proceed", "suivant", "avanti"];
    let words =
        line.trim_start_matches(['-', '*', ' ']).split_once(']').map_or("", |(_, rest)| rest);
    let words = words.trim_start().to_lowercase();
    is_menu_line(line) && WORDS.iter().any(|word| words.starts_with(word))
}

/// A line of a menu that names the key to type: `[C] Continue`, `x. Proceed`, ``2. `[CR]` Review``, `| B | Sign |`.
pub(super) fn is_menu_line(line: &str) -> bool {
    if let Some((key, _)) = line.strip_prefix('|').and_then(|row| row.split_once('|')) {
        let key = key.trim().as_bytes();
        return key.len() == 1 && key[0].is_ascii_uppercase();
    }
    let line = line.trim_start_matches(['-', '*', ' ']);
    let bare = line.trim_start_matches(|c: char| c.is_ascii_digit() || ".)` ".contains(c));
    let Some((key, _)) = bare.strip_prefix('[').and_then(|rest| rest.split_once(']')) else {
        let key = line.split_once(". ").map_or("", |(key, _)| key);
        return key.len() == 1 && key.bytes().all(|byte| byte.is_ascii_alphabetic());
    };
    // Several letters are a key if they have a number or are quoted, else a tag; `[x]` is a ticked box.
    let most = if bare.len() < line.len() { CODE_BYTES } else { 1 };
    let is_key =
        |byte: u8| byte.is_ascii_uppercase() || key.len() == 1 && byte.is_ascii_lowercase();
    (1..=most).contains(&key.len()) && key != "x" && key.bytes().all(is_key)
}

/// The options that an answer names: letters, numbers, and codes of a menu such as `CR`.
fn options(typed: &str) -> Vec<String> {
    let words = typed.split(|c: char| !c.is_alphanumeric());
    let is_option = |word: &&str| {
        let is_code = (1..=CODE_BYTES).contains(&word.len())
            && word.bytes().all(|byte| byte.is_ascii_uppercase());
        is_code || (word.len() <= 2 && !word.is_empty() && word.bytes().all(|b| b.is_ascii_digit()))
    };
    words.filter(is_option).map(str::to_owned).collect()
}

/// Whether the answer picks this line.
pub(super) fn picks(typed: &str, line: &str) -> bool {
    named(typed).iter().any(|option| is_option(line, option))
}

/// The options that a message names.
fn named(typed: &str) -> Vec<String> {
    match typed.trim().as_bytes() {
        // A key of a menu is typed in either case; within a sentence, `a` is a word.
        [key] if key.is_ascii_alphabetic() => vec![typed.trim().to_ascii_uppercase()],
        _ if typed.len() <= ANSWER_BYTES => options(typed),
        _ => option_names(typed),
    }
}

/// Maximum letters of a menu's code.
const CODE_BYTES: usize = 3;

/// Words of a longer message to search for an option.
const PICK_WORDS: usize = 8;

/// The options that a longer message picks: its first word, the word after one like "option", or `#2`, and those joined
/// to it by "and", a comma or a sign.
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
    const JOINTS: [&str; 7] = ["and", "und", "et", "y", "e", "plus", "with"];
    let words = typed.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let words: Vec<&str> = words.take(PICK_WORDS).collect();
    let leads = |word: &&str| WORDS.contains(&word.to_lowercase().as_str());
    let names = |word: &&str| !options(word).is_empty() && *word != "A";
    let first = words.first().filter(|word| names(word)).map(|_| 0);
    let behind = || words.iter().position(leads).map(|at| at + 1).filter(|at| *at < words.len());
    let joined = |from: usize| {
        let after = words[from + 1..].iter().filter(|word| !JOINTS.contains(word));
        words[from..=from].iter().chain(after.take_while(|word| names(word)))
    };
    let numbered = || {
        let mut words = typed.split_whitespace().take(PICK_WORDS);
        words.find_map(|word| word.strip_prefix('#'))
    };
    let picked: Vec<&str> = match first.or_else(behind) {
        Some(from) => joined(from).copied().collect(),
        None => numbered().into_iter().collect(),
    };
    picked.iter().flat_map(|word| options(&word.to_uppercase())).collect()
}

/// Whether a line of a list or table is the given option: `B) …`, `2. …`, `| A | …`, or has its key: `[C] …`.
fn is_option(line: &str, option: &str) -> bool {
    let is_key = option.bytes().all(|byte| byte.is_ascii_uppercase());
    if is_key && line.contains(&format!("[{option}] ")) {
        return true;
    }
    let line = line.trim_start_matches(['|', ' ', '*', '[', '(', '`']);
    line.strip_prefix(option).is_some_and(|rest| {
        rest.starts_with(['.', ')', ':', ']', '*', '|', '`'])
            || rest.starts_with(" |")
            || rest.starts_with(" –")
            || rest.starts_with(" - ")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_of_a_menu_are_known_by_their_keys() {
        for (line, expected) in [
            ("[C] Continue", true),
            ("x. Proceed", true),
            ("| B | Sign the tokens |", true),
            ("| parser | Sign the tokens |", false),
            ("2. `[CR]` Review the code", true),
            ("`[DA]` Dismiss the agent", true),
            ("[UX] The hint is missing.", false),
            ("[x] Write the lexer", false),
            ("1. Write the lexer", false),
        ] {
            assert_eq!(is_menu_line(line), expected, "{line}");
        }
    }

    #[test]
    fn a_choice_that_only_goes_on_is_known_by_its_verb() {
        for (line, expected) in [
            ("[C] Continuer — enregistrer et passer aux fondations", true),
            ("[C] Continue", true),
            ("[A] Ask another question", false),
            ("Shall I continue?", false),
        ] {
            assert_eq!(continues(line), expected, "{line}");
        }
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
            (
                "Do #2, and keep the old lexer until its tests pass",
                vec!["1. plan", "2. tests first"],
            ),
            (
                "Yes, please create that, because the old one is slow on long files",
                vec!["Shall I go on? About 30 lines."],
            ),
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
        for typed in [
            "1 + 2, the variables stand in the settings of the test",
            "option 1 and 2, but write the tests of the lexer first",
        ] {
            assert!(picks(typed, report[2]) && picks(typed, report[3]), "{typed}");
        }
        assert!(!picks("1, then read 2 files of the lexer and stop there", report[3]));
        let offer = ["The printer is done.", "If you want, I also sort the imports."];
        assert_eq!(answered("Ja, mach das", &offer), [offer[1]]);
        assert_eq!(answered("still too wide.", &offer), [""; 0]);
        let menu = ["[DS] Write the story", "[CR] Review the code"];
        assert_eq!(answered("CR", &menu), ["[CR] Review the code"]);
        let menu = ["Shall the lexer stay?", "[E] **Exit** the review", "[C] Continue"];
        assert_eq!(answered("e", &menu), ["[E] **Exit** the review"]);
        assert_eq!(answered("/review", &menu), [""; 0]);
        let menu = ["[A] Ask again", "[C] Continue"];
        let sentence = "a test of the lexer is missing for the last of these three cases";
        assert_eq!(answered(sentence, &menu), [""; 0]);
    }
}
