//! Rates how much a line of the agent says by its form: reasons and findings outweigh announcements and
//! questions.

use crate::phrases::Phrases;

/// Words that indicate a reason, a finding or a decision, in lower case.
static REASONS: Phrases = Phrases::new(&[
    "because",
    "root cause",
    "turns out",
    "instead of",
    "rather than",
    "rejected",
    "decided",
    "decision",
    "so that",
    "therefore",
    "which is why",
    "due to",
    "the reason",
    "caused by",
    "the bug",
    "the problem",
    "the fix",
    "fixed by",
    "found that",
    "it means",
    "trade-off",
    "won't",
    "must not",
    "never ",
    "only if",
    "unless",
    "falls back",
    "fallback",
    "caveat",
    "weil ",
    "deshalb",
    "statt ",
    "parce que",
    "au lieu",
    "porque",
    "потому",
]);

/// First words of a line that only announces what comes next.
const ANNOUNCEMENTS: [&str; 32] = [
    "let me ",
    "now let me",
    "now i",
    "i'll ",
    "i’ll ",
    "i will ",
    "i'm ",
    "i’m ",
    "going to ",
    "next i",
    "next, i",
    "let's ",
    "first, i",
    "first i",
    "i have everything",
    "i have enough",
    "i want to",
    "okay",
    "ok,",
    "good",
    "perfect",
    "great",
    "done.",
    "je vais",
    "on passe",
    "passons",
    "parfait",
    "je te propose",
    "analyse rapide",
    "ich werde",
    "jetzt ",
    "als nächstes",
];

/// Headings and words of what was open at that time.
static PASSING: Phrases = Phrases::new(&[
    "next step",
    "next:",
    "remaining",
    "todo",
    "to do",
    "not yet",
    "still ",
    "pending",
    "uncommitted",
    "untracked",
    "in progress",
    "waiting",
    "if you want",
    "if you'd like",
    "would you like",
    "want me to",
    "shall i",
    "should i",
    "let me know",
    "say the word",
    "currently",
    "current state",
    "état actuel",
    "actuellement",
    "aktuell",
    "estado actual",
    "stato attuale",
    "réponds",
    "antworte",
    "follow-up",
    "suggested commit",
    "prochaine",
    "nächste",
    "select:",
]);

/// Further words of such headings, which lack the colon.
static PASSING_HEADINGS: Phrases = Phrases::new(&["next", "select"]);

/// Words of a line that only reports waiting.
static WAITING: Phrases = Phrases::new(&[
    "still running",
    "still waiting",
    "still working",
    "keep waiting",
    "wait a little",
    "letting it finish",
    "let it finish",
    "bit more time",
    "no completion signal",
    "i’m waiting",
    "i'm waiting",
    "continue to wait",
    "continuing to wait",
    "is taking",
    "no completion yet",
    "still active",
    "still pending",
    "no final output yet",
    "no new completion",
    "no final completion",
    "is quiet",
    "been quiet",
    "are taking",
    "status snapshot",
    "keep monitoring",
]);

/// Words of a line that reports an observation, on the way or by another agent.
static FINDINGS: Phrases = Phrases::new(&[
    " shows ",
    " shows that",
    "confirmed",
    "has already",
    "has incorporated",
    "it turns",
    "reports that",
    "i found",
    "it is now ",
]);

/// Percent of an ordinary line.
pub(super) fn of(text: &str) -> u16 {
    let lower = text.to_lowercase();
    let lower = lower.trim_start_matches(['*', '`', ' ']);
    if WAITING.is_in(lower) {
        return 20;
    }
    if REASONS.is_in(lower) {
        return 135;
    }
    if is_menu(text) {
        return 20;
    }
    if FINDINGS.is_in(lower) {
        return 125;
    }
    if ANNOUNCEMENTS.iter().any(|words| lower.starts_with(words)) {
        return 30;
    }
    100
}

/// Whether a word expresses uncertainty in a thought.
fn hedges(word: &str) -> bool {
    matches!(
        word,
        "maybe"
            | "perhaps"
            | "might"
            | "could"
            | "probably"
            | "possibly"
            | "likely"
            | "seems"
            | "unclear"
            | "wait"
            | "hmm"
            | "actually"
            | "wonder"
            | "think"
            | "alternatively"
            | "or"
            | "if"
            | "whether"
            | "assume"
            | "assuming"
    )
}

/// Words of a thought that weighs options; the choice itself is said or done later.
static DELIBERATIONS: Phrases = Phrases::new(&[
    "weighing",
    "considering",
    "thinking about",
    "thinking of",
    "deciding",
    "debating",
    "alternatively",
    "seems sensible",
    "seems reasonable",
    "would be better",
]);

/// Words of a limit that the agent sets itself, or has from the person.
static LIMITS: Phrases = Phrases::new(&[
    "i won't",
    "i will not",
    "i shouldn't",
    "i should not",
    "i must not",
    "i must ",
    "the user only",
    "the user wants",
    "the user asked",
]);

/// Strength of a sentence that the agent only thought, in percent of an ordinary line: highest if it is
/// certain and gives a reason or sets a limit.
pub(super) fn thought_strength(sentence: &str) -> u16 {
    let lower = sentence.to_lowercase();
    let is_unsure = || lower.split(|c: char| !c.is_alphanumeric()).any(hedges);
    match () {
        () if sentence.ends_with(['?', '？', ':']) => 10,
        () if DELIBERATIONS.is_in(&lower) => 10,
        () if ANNOUNCEMENTS.iter().any(|words| lower.starts_with(words)) => 25,
        () if is_unsure() => 40,
        () if LIMITS.is_in(&lower) => 95,
        () if REASONS.is_in(&lower) => 90,
        () => 60,
    }
}

/// Whether a sentence says what its author is about to do.
pub(super) fn intends(sentence: &str) -> bool {
    const INTENTIONS: [&str; 9] = [
        "i'll ",
        "i’ll ",
        "i will ",
        "i need to ",
        "let me ",
        "next",
        "then i",
        "now i",
        "i'm going to ",
    ];
    let lower = sentence.to_lowercase();
    !lower.ends_with('?') && INTENTIONS.iter().any(|words| lower.starts_with(words))
}

/// Whether a line only describes a moment or asks: a later report answers it.
pub(super) fn is_passing(heading: &str, text: &str) -> bool {
    if text.ends_with(['?', '？']) || text.contains("? (") || is_menu(text) {
        return true;
    }
    let (heading, text) = (heading.to_lowercase(), text.to_lowercase());
    PASSING.is_in(&text) || PASSING.is_in(&heading) || PASSING_HEADINGS.is_in(&heading)
}

/// `[A] Advanced [C] Continue`: keys to press.
fn is_menu(text: &str) -> bool {
    if memchr::memchr(b'[', text.as_bytes()).is_none() {
        return false;
    }
    let keys = text
        .as_bytes()
        .windows(3)
        .filter(|key| key[0] == b'[' && key[1].is_ascii_uppercase() && key[2] == b']');
    keys.count() > 1 || text.contains(" [DA] ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_weigh_more_than_announcements() {
        for (text, expected) in [
            ("The cache was stale because the key left out the branch.", 135),
            ("Now let me read the parser.", 30),
            ("The worker is still running; I'll look again because it is slow.", 20),
            ("No new completion yet because the suite is large.", 20),
            ("Select: [A] Advanced [C] Continue", 20),
            ("On passe à l’étape 4.", 30),
            ("The parser keeps its state.", 100),
        ] {
            assert_eq!(of(text), expected, "{text}");
        }
    }

    #[test]
    fn certain_reasons_and_limits_are_the_strongest_thoughts() {
        let thoughts = [
            "The user asked for documentation, and I won't touch the lexer.",
            "The cache is stale because the key left out the branch.",
            "The lexer reads lines.",
            "Maybe the cache is stale because of the key.",
            "Let me look at the key of the cache.",
            "Is the cache stale because of the key?",
        ];
        let strengths = thoughts.map(thought_strength);
        assert!(strengths.is_sorted_by(|one, next| one > next), "{strengths:?}");
        assert!(intends("Then I'll run it in a shell of its own."));
        assert!(!intends("The shell starts."));
    }

    #[test]
    fn open_points_are_recognized_by_their_words() {
        assert!(is_passing("Next steps", "Write the lexer."));
        assert!(is_passing("", "Would it help to split the file?"));
        assert!(is_passing("", "`runs/` remains untracked."));
        assert!(is_passing("État actuel de la base", "tables : aucune"));
        assert!(!is_passing("Changes", "The lexer keeps comments."));
    }
}
