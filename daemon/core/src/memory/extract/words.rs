//! What a person says that holds beyond the task: preferences, constraints, corrections, notes.
//!
//! Only a person's own sentences are looked at: no code, no quotation, no pasted log, and no prompt that
//! a command sends in the person's name. A sentence counts
//! when it opens with, or turns on, a word by which people set rules ("always", "never", "instead of", in
//! the languages of [`CUES`]); "the test always fails" tells what is so and does not.

use super::super::learning::LearningKind;
use crate::text;

/// A sentence that holds beyond the task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    pub kind: LearningKind,
    /// The person's words, in one line.
    pub text: String,
    /// Said for the task at hand, as far as one can tell.
    pub is_passing: bool,
}

/// Where a cue must stand.
#[derive(Clone, Copy, PartialEq, Eq)]
enum At {
    /// First, or after a word that addresses someone.
    Start,
    /// Anywhere.
    Any,
}

use LearningKind::{Constraint, Note, Preference};

/// Words that set a rule: cue, where, what it sets, whether it is for the task alone. Lower case, apart
/// from punctuation; the first that fits counts.
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

/// The same in languages that are written without blanks.
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

/// Openings by which a person puts the agent right.
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
    "to",
    "and",
    "but",
    "so",
    "also",
    "bitte",
    "on",
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

/// Addresses that also join what is told of a thing.
const JOINTS: &[&str] = &["and", "but", "so", "also", "to", "on"];

/// Words before a cue among which a joint may stand.
const JOINED_WORDS: usize = 2;

/// Bytes of a sentence that counts.
const SENTENCE_BYTES: std::ops::RangeInclusive<usize> = 12..=400;

/// Bytes of a message beyond which it was not typed: a log, a document, the prompt behind a command.
const TYPED_BYTES: usize = 1_500;

/// Headings and tags at the beginnings of lines by which a short prompt is told from typed words.
const MARKUP_LINES: usize = 2;

const STATEMENTS_MAX: usize = 12;

/// What `message` says that holds beyond the task. `answers` when the agent had spoken before, so that
/// the person may be putting it right.
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

/// Whether a person typed the message, and no command sent it in their name.
pub fn is_typed(message: &str) -> bool {
    !typed(message).trim().is_empty()
}

/// Whether a message does nothing but thank or agree.
pub fn is_content(message: &str) -> bool {
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

/// The words of a message that the person typed.
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

/// Cuts a line behind each mark that ends a sentence.
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

/// Whether the cue follows a word by which one speaks to someone.
fn is_addressed(plain: &str, cue: &str) -> bool {
    plain.match_indices(&format!(" {cue} ")).any(|(at, _)| {
        let Some(before) = plain[..at].rsplit(' ').next() else { return false };
        let words = plain[..at].split(' ').filter(|word| !word.is_empty()).count();
        // "it will also never be set" tells what is so.
        ADDRESSES.contains(&before) && (!JOINTS.contains(&before) || words <= JOINED_WORDS)
    })
}

fn correction(typed: &str) -> Option<String> {
    let first = typed.lines().find(|line| !line.trim().is_empty())?;
    let plain = padded(text::prefix(first, 200));
    if !CORRECTIONS.iter().any(|opening| starts(&plain, opening)) {
        return None;
    }
    let line = text::one_line(typed);
    // "no", "stop there": nothing that a later thread could use.
    (line.split(' ').count() >= 5).then(|| text::cut(&line, 320).into_owned())
}

fn starts(plain: &str, words: &str) -> bool {
    plain.strip_prefix(' ').and_then(|p| p.strip_prefix(words)).is_some_and(|r| r.starts_with(' '))
}

/// Lower case, every mark a blank, blanks around.
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
    fn what_is_no_rule_is_left() {
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
    fn thanks_are_told_from_requests() {
        assert!(is_content("Perfect, thanks!"));
        assert!(!is_content("make it perfect"));
    }
}
