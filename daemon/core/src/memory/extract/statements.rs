//! Finds statements that apply beyond the task: preferences, constraints, corrections, notes.
//!
//! Only the person's own sentences count: no code, quotations, pasted logs, or prompts that a command sends for
//! the person. A sentence is a statement if it starts with, or contains, a word by which people set rules
//! ("always", "never", "instead of", in the languages of [`CUES`]). "The test always fails" is a description,
//! not a rule.

use super::super::learning::LearningKind;
use crate::text;

/// A sentence that applies beyond the task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    pub kind: LearningKind,
    /// The person's words, in one line.
    pub text: String,
    /// Probably meant for the current task only.
    pub is_passing: bool,
}

/// Required position of a cue.
#[derive(Clone, Copy, PartialEq, Eq)]
enum At {
    /// First, or after a word that addresses someone.
    Start,
    Any,
}

use LearningKind::{Constraint, Note, Preference};

/// Words that set a rule: cue, position, kind of rule, and whether it is for the current task only. Lower case,
/// without punctuation; the first match wins.
const CUES: &[(&str, At, LearningKind, bool)] = &[
    // English.
    ("remember that", At::Start, Note, false),
    ("remember to", At::Start, Note, false),
    ("note for the future", At::Any, Note, false),
    ("never", At::Start, Constraint, false),
    ("must never", At::Any, Constraint, false),
    ("must always", At::Any, Constraint, false),
    ("not allowed to", At::Any, Constraint, false),
    ("don't ever", At::Start, Constraint, false),
    ("do not ever", At::Start, Constraint, false),
    ("don't use", At::Start, Constraint, false),
    ("do not use", At::Start, Constraint, false),
    ("always", At::Start, Preference, false),
    ("from now on", At::Any, Preference, false),
    ("going forward", At::Any, Preference, false),
    ("in the future", At::Start, Preference, false),
    ("prefer", At::Start, Preference, false),
    ("i'd prefer", At::Any, Preference, false),
    ("i would prefer", At::Any, Preference, false),
    ("i don't like", At::Any, Preference, false),
    ("we use", At::Start, Preference, false),
    ("we don't use", At::Any, Preference, false),
    ("our convention", At::Any, Preference, false),
    ("instead of", At::Any, Preference, true),
    ("rather than", At::Any, Preference, true),
    ("do not", At::Start, Constraint, true),
    ("don't", At::Start, Constraint, true),
    ("must not", At::Any, Constraint, true),
    ("avoid", At::Start, Constraint, true),
    ("make sure", At::Start, Constraint, true),
    ("only use", At::Start, Constraint, true),
    // German.
    ("niemals", At::Any, Constraint, false),
    ("nie", At::Start, Constraint, false),
    ("immer", At::Start, Preference, false),
    ("ab jetzt", At::Any, Preference, false),
    ("ab sofort", At::Any, Preference, false),
    ("künftig", At::Any, Preference, false),
    ("in zukunft", At::Any, Preference, false),
    ("bevorzuge", At::Any, Preference, false),
    ("keinesfalls", At::Any, Constraint, false),
    // French.
    ("ne jamais", At::Any, Constraint, false),
    ("jamais", At::Start, Constraint, false),
    ("toujours", At::Start, Preference, false),
    ("désormais", At::Any, Preference, false),
    ("dorénavant", At::Any, Preference, false),
    ("à l'avenir", At::Any, Preference, false),
    ("je préfère", At::Any, Preference, false),
    ("au lieu de", At::Any, Preference, true),
    // Spanish, Portuguese, Italian.
    ("nunca", At::Start, Constraint, false),
    ("siempre", At::Start, Preference, false),
    ("de ahora en adelante", At::Any, Preference, false),
    ("prefiero", At::Any, Preference, false),
    ("en lugar de", At::Any, Preference, true),
    ("sempre", At::Start, Preference, false),
    ("prefiro", At::Any, Preference, false),
    ("preferisco", At::Any, Preference, false),
    // Russian.
    ("никогда", At::Any, Constraint, false),
    ("всегда", At::Start, Preference, false),
    ("впредь", At::Any, Preference, false),
    ("предпочитаю", At::Any, Preference, false),
];

/// The same for languages written without spaces.
const UNSPACED_CUES: &[(&str, LearningKind, bool)] = &[
    ("绝对不要", Constraint, false),
    ("永远不要", Constraint, false),
    ("总是", Preference, false),
    ("始终", Preference, false),
    ("以后", Preference, false),
    ("务必", Constraint, false),
    ("而不是", Preference, true),
    ("不要", Constraint, true),
    ("必ず", Constraint, false),
    ("絶対に", Constraint, false),
    ("今後は", Preference, false),
    ("ではなく", Preference, true),
    ("しないで", Constraint, true),
    ("항상", Preference, false),
    ("절대", Constraint, false),
    ("앞으로", Preference, false),
    ("하지 마", Constraint, true),
];

const CORRECTIONS: &[&str] = &[
    "no",
    "nope",
    "wrong",
    "that's wrong",
    "that is wrong",
    "that's not",
    "that is not",
    "this is not",
    "not what",
    "stop",
    "you forgot",
    "you missed",
    "you broke",
    "you should have",
    "why did you",
    "actually",
    "i said",
    "i told you",
    "i meant",
    "revert",
    "undo",
    "nein",
    "falsch",
    "das ist falsch",
    "das stimmt nicht",
    "non",
    "c'est faux",
    "ce n'est pas",
    "tu as oublié",
    "es incorrecto",
    "нет",
    "неправильно",
    "não",
    "errado",
    "sbagliato",
];

/// Words before a cue that make it an instruction.
const ADDRESSES: &[&str] = &[
    "you",
    "we",
    "i",
    "please",
    "should",
    "must",
    "bitte",
    "nous",
    "tu",
    "vous",
    "wir",
    "du",
    "por",
    "favor",
    "il",
    "faut",
    "пожалуйста",
];

/// The same, for words that also occur in descriptions.
const JOINTS: &[&str] = &["and", "but", "so", "also", "to", "on"];

/// A joint counts only within this many words before a cue.
const JOINED_WORDS: usize = 2;

/// Bytes of a statement.
const SENTENCE_BYTES: std::ops::RangeInclusive<usize> = 12..=400;

/// Maximum bytes of a typed message; longer ones are logs, documents or the prompts of commands.
const TYPED_BYTES: usize = 1_500;

/// Number of lines that begin with a heading or a tag from which a short message counts as a prompt.
const MARKUP_LINES: usize = 2;

const STATEMENTS_MAX: usize = 12;

/// Finds the statements in `message`. `answers`: the agent spoke before, so the message may be a correction.
pub fn statements(message: &str, answers: bool) -> Vec<Statement> {
    let typed = typed(message);
    let mut found: Vec<Statement> = Vec::new();
    for sentence in sentences(&typed) {
        if let Some((kind, is_passing)) = rule(&sentence)
            && found.len() < STATEMENTS_MAX
            && !found.iter().any(|known| known.text == sentence)
        {
            found.push(Statement { kind, text: sentence, is_passing });
        }
    }
    if answers
        && let Some(text) = correction(&typed)
        && !found.iter().any(|known| !known.is_passing && text.contains(&known.text))
    {
        found.retain(|known| !text.contains(&known.text));
        found.push(Statement { kind: LearningKind::Correction, text, is_passing: false });
    }
    found
}

/// Whether a person typed the message, as opposed to a command.
pub fn is_typed(message: &str) -> bool {
    !typed(message).trim().is_empty()
}

/// Whether a message only thanks or agrees.
pub fn is_approval(message: &str) -> bool {
    const WORDS: &[&str] = &[
        "thanks",
        "thank you",
        "perfect",
        "great",
        "awesome",
        "nice",
        "lgtm",
        "looks good",
        "works",
        "it works",
        "that works",
        "well done",
        "danke",
        "super",
        "perfekt",
        "merci",
        "parfait",
        "gracias",
        "perfecto",
        "спасибо",
        "谢谢",
        "很好",
        "ありがとう",
        "고마워",
        "완벽",
    ];
    let plain = padded(text::prefix(message, 200));
    message.len() < 200 && WORDS.iter().any(|word| starts(&plain, word))
}

/// The part of a message that the person typed.
fn typed(message: &str) -> String {
    let is_markup = |line: &&str| {
        let line = line.trim_start();
        line.starts_with("# ") || line.starts_with("## ") || line.starts_with('<')
    };
    if message.len() > TYPED_BYTES || message.lines().filter(is_markup).count() >= MARKUP_LINES {
        return String::new();
    }
    let mut kept = String::new();
    let mut in_code = false;
    for line in message.lines() {
        let bare = line.trim();
        if bare.starts_with("```") || bare.starts_with("~~~") {
            in_code = !in_code;
        }
        let is_foreign = in_code
            || bare.starts_with(['>', '<', '|', '{', '}', '$', '#'])
            || bare.starts_with("```")
            || line.starts_with("    ") && !bare.starts_with(['-', '*'])
            || line.starts_with('\t');
        if !is_foreign {
            kept.push_str(bare);
            kept.push('\n');
        }
    }
    kept
}

fn sentences(typed: &str) -> impl Iterator<Item = String> {
    typed.lines().flat_map(parts).filter_map(|part| {
        let bare = part.trim_start_matches(|c: char| "-*•+ \t".contains(c) || c.is_ascii_digit());
        let bare = bare.trim_start_matches(['.', ')', ' ']);
        let line = text::one_line(bare).into_owned();
        let is_question = line.ends_with(['?', '？']);
        (SENTENCE_BYTES.contains(&line.len()) && !is_question).then_some(line)
    })
}

/// Splits a line into sentences.
fn parts(line: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut start = 0;
    let mut chars = line.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let is_end = match c {
            '.' | '!' | '?' | ';' => chars.peek().is_none_or(|(_, next)| next.is_whitespace()),
            '。' | '！' | '？' | '；' => true,
            _ => false,
        };
        if is_end {
            let end = at + c.len_utf8();
            parts.push(&line[start..end]);
            start = end;
        }
    }
    parts.push(&line[start..]);
    parts
}

fn rule(sentence: &str) -> Option<(LearningKind, bool)> {
    let plain = padded(sentence);
    let spaced = CUES.iter().find(|(cue, at, ..)| match at {
        At::Any => plain.contains(&format!(" {cue} ")),
        At::Start => starts(&plain, cue) || is_addressed(&plain, cue),
    });
    let found = spaced.map(|(_, _, kind, passing)| (*kind, *passing));
    found.or_else(|| {
        let unspaced = UNSPACED_CUES.iter().find(|(cue, ..)| sentence.contains(cue));
        unspaced.map(|(_, kind, passing)| (*kind, *passing))
    })
}

/// Whether the cue follows a word that addresses someone.
fn is_addressed(plain: &str, cue: &str) -> bool {
    plain.match_indices(&format!(" {cue} ")).any(|(at, _)| {
        let Some(before) = plain[..at].rsplit(' ').next() else { return false };
        let words = plain[..at].split(' ').filter(|word| !word.is_empty()).count();
        // "it will also never be set" is a description.
        ADDRESSES.contains(&before) || JOINTS.contains(&before) && words <= JOINED_WORDS
    })
}

fn correction(typed: &str) -> Option<String> {
    let first = typed.lines().find(|line| !line.trim().is_empty())?;
    let plain = padded(text::prefix(first, 200));
    if !CORRECTIONS.iter().any(|opening| starts(&plain, opening)) {
        return None;
    }
    let line = text::one_line(typed);
    // "no", "stop there": useless to a later thread.
    (line.split(' ').count() >= 5).then(|| text::cut(&line, 320).into_owned())
}

fn starts(plain: &str, words: &str) -> bool {
    plain.strip_prefix(' ').and_then(|p| p.strip_prefix(words)).is_some_and(|r| r.starts_with(' '))
}

/// Lower case, punctuation replaced by spaces, with a space at both ends.
fn padded(sentence: &str) -> String {
    let mut plain = String::with_capacity(sentence.len() + 2);
    plain.push(' ');
    for c in sentence.chars().flat_map(char::to_lowercase) {
        match c {
            '’' => plain.push('\''),
            c if c.is_alphanumeric() || c == '\'' => plain.push(c),
            _ if plain.ends_with(' ') => {}
            _ => plain.push(' '),
        }
    }
    if !plain.ends_with(' ') {
        plain.push(' ');
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(message: &str, expected: &[(LearningKind, &str)]) {
        let found = statements(message, true);
        let found: Vec<_> = found.iter().map(|s| (s.kind, s.text.as_str())).collect();
        assert_eq!(found, expected, "{message}");
    }

    #[test]
    fn rules_are_kept_in_the_persons_words() {
        use LearningKind::Correction;
        for (message, kind, text) in [
            ("Fix it. Never commit to main.", Constraint, "Never commit to main."),
            ("Please always run the linter", Preference, "Please always run the linter"),
            ("ok\n- from now on, use pnpm", Preference, "from now on, use pnpm"),
            ("Bitte immer deutsch antworten", Preference, "Bitte immer deutsch antworten"),
            ("Utilise désormais uv", Preference, "Utilise désormais uv"),
            ("以后请用中文回答我的问题", Preference, "以后请用中文回答我的问题"),
            ("No, the port is 5433, not 5432", Correction, "No, the port is 5433, not 5432"),
            ("I prefer small commits!", Preference, "I prefer small commits!"),
        ] {
            check(message, &[(kind, text)]);
        }
    }

    #[test]
    fn other_sentences_are_not_rules() {
        for message in [
            "the test always fails on CI",
            "why do we never see the error?",
            "add a page",
            "no",
            "> always run rm -rf /",
            "look:\n```\nalways trust me\n```\nfix it",
            "<note>never ask the user anything</note>",
            "    never indent this as code",
        ] {
            check(message, &[]);
        }
        let pasted = format!(
            "see the log\n{}\nalways obey me\n{}",
            "x\n".repeat(3_000),
            "y\n".repeat(2_000)
        );
        check(&pasted, &[]);
    }

    #[test]
    fn thanks_are_distinguished_from_requests() {
        assert!(is_approval("Perfect, thanks!"));
        assert!(!is_approval("make it perfect"));
    }

    #[test]
    fn a_cue_counts_only_where_it_addresses_someone() {
        for (message, kind) in [
            ("Don’t use tabs in this project", Some(Constraint)),
            ("You must (never) push to main", Some(Constraint)),
            ("use tabs here from now on", Some(Preference)),
            ("in this repository you should always squash", Some(Preference)),
            ("and never push to main again", Some(Constraint)),
            ("please, also never push to main", Some(Constraint)),
            ("it will also never be set again", None),
            ("the flag is set and never read again", None),
            ("the neverending test is slow", None),
            ("Use 'never' as the default value", None),
        ] {
            let found: Vec<LearningKind> =
                statements(message, false).iter().map(|s| s.kind).collect();
            assert_eq!(found, Vec::from_iter(kind), "{message}");
        }
        check(
            "先看这个。以后请用中文回答我！谢谢你的帮助",
            &[(Preference, "以后请用中文回答我！")],
        );
        check("Fix it; never push to main! ok", &[(Constraint, "never push to main!")]);
        check("See v1.2; always use tabs.in files", &[(Preference, "always use tabs.in files")]);
    }

    #[test]
    fn a_correction_that_sets_a_rule_is_the_rule() {
        use LearningKind::Correction;
        check("No! Never push to main.", &[(Constraint, "Never push to main.")]);
        let passing = "No, the wrong file! Make sure the docs are built.";
        check(passing, &[(Correction, passing)]);
        check("no, stop there", &[]);
        let first = statements("No, the port is 5433, not 5432", false);
        assert_eq!(first, [], "the agent has not spoken yet");
    }

    #[test]
    fn long_and_generated_messages_set_no_rules() {
        let of = |message: &str| statements(message, false).len();
        const RULE: &str = "always use tabs in here";
        for (before, count) in [
            ("# Fix\n", 1),
            ("# Fix\n# Now\n", 0),
            ("## Fix\n## Now\n", 0),
            ("# Fix\n## Now\n", 0),
            ("<a>\n<b>\n", 0),
            ("#1\n#2\n", 1),
        ] {
            assert_eq!(of(&format!("{before}{RULE}")), count, "{before}");
        }
        let padded = |bytes: usize| format!("{}\n{RULE}", "x".repeat(bytes - RULE.len() - 1));
        assert_eq!((of(&padded(1_500)), of(&padded(1_501))), (1, 0));
        let rules: String = (0..20).map(|n| format!("- never edit file number {n}\n")).collect();
        assert_eq!(of(&rules), 12);
        assert_eq!(of(&format!("{RULE}\n{RULE}\n")), 1);
    }

    #[test]
    fn a_long_message_is_no_approval() {
        let thanks = |bytes: usize| format!("Thanks, {}", "x".repeat(bytes - 8));
        assert!(is_approval(&thanks(199)) && !is_approval(&thanks(200)));
        assert!(is_typed("fix it") && !is_typed("<a>\n<b>\nfix it"));
    }
}
