//! How much of the conversation a view repeats: words in their order, which a list of names does not have.
//!
//! - *The person's words*: runs of four words of the last [`TEXTS`] typed texts, [`TEXT_CHARS`] of each.
//! - *The last report*: runs of four words of the agent's last message before a request.
//! - *Relied on*: sentences from before the cut whose rare word pairs recur after it; a sentence is kept if a line of
//!   the view has half of its pairs.
//! - *Bare names*: the share of a view's words that are identifiers among identifiers. The less, the better.

use std::collections::{HashMap, HashSet};

use crate::corpus::Fnv;
use crate::transcript::{Step, StepKind};

/// Number of typed texts that count, and how much of each.
const TEXTS: usize = 12;
const TEXT_CHARS: usize = 600;

/// Number of newest sentences before the cut that are checked.
const SENTENCES: usize = 400;

/// A pair of words in more sentences than this is common jargon.
const PAIR_SENTENCES_MAX: u32 = 4;

/// Rare pairs of a sentence that must recur.
const PAIRS_BACK: usize = 2;

/// The text measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
#[derive(strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum WordKind {
    #[strum(serialize = "person's words")]
    PersonsWords,
    #[strum(serialize = "last report")]
    LastReport,
    #[strum(serialize = "relied on")]
    ReliedOn,
    /// Words that are bare names, of all words.
    #[strum(serialize = "bare names")]
    BareNames,
    /// Statements that the transcript contradicts, of those that could be checked.
    #[strum(serialize = "false")]
    FalseStatements,
}

type Pair = (u64, u64);

/// The text before a cut that a view should repeat.
#[derive(Debug, Default)]
pub struct SpokenText {
    person: HashSet<u64>,
    report: HashSet<u64>,
    /// The pairs of each sentence that recurred.
    relied: Vec<Vec<Pair>>,
}

impl SpokenText {
    /// Reads the text of `visible`, and which sentences recur in `later`.
    pub fn read(visible: &[Step], later: &str) -> Self {
        let mut texts: Vec<&str> = Vec::new();
        for text in visible.iter().rev().filter_map(Step::request) {
            let head = chars(text, TEXT_CHARS);
            if texts.len() < TEXTS && !texts.contains(&head) {
                texts.push(head);
            }
        }
        let person = texts.into_iter().flat_map(runs).collect();
        let report = last_report(visible).map(runs).unwrap_or_default().into_iter().collect();
        Self { person, report, relied: relied(visible, later) }
    }

    /// How much of it `view` has: kept and needed, by kind.
    pub fn kept(&self, view: &str) -> [(WordKind, u64, u64); 4] {
        // A run may continue over a line break.
        let spoken: HashSet<u64> = runs(view).into_iter().collect();
        let runs = |asked: &HashSet<u64>| (asked.intersection(&spoken).count(), asked.len());
        let lines: Vec<HashSet<Pair>> =
            view.lines().map(|line| pairs(line).into_iter().collect()).collect();
        let is_kept = |sentence: &&Vec<Pair>| {
            let held =
                |line: &HashSet<Pair>| sentence.iter().filter(|pair| line.contains(pair)).count();
            lines.iter().any(|line| held(line) * 2 >= sentence.len())
        };
        let relied = (self.relied.iter().filter(is_kept).count(), self.relied.len());
        let kinds = [
            (WordKind::PersonsWords, runs(&self.person)),
            (WordKind::LastReport, runs(&self.report)),
            (WordKind::ReliedOn, relied),
            (WordKind::BareNames, bare_names(view)),
        ];
        kinds.map(|(kind, (kept, asked))| (kind, kept as u64, asked as u64))
    }
}

/// All messages in `steps`.
pub fn spoken(steps: &[Step]) -> String {
    let words = steps.iter().filter_map(|step| match &step.kind {
        StepKind::User { text, .. } | StepKind::Assistant(text) => Some(text.as_str()),
        _ => None,
    });
    words.collect::<Vec<_>>().join("\n")
}

/// The agent's message before the newest request that follows one, else its last message.
fn last_report(visible: &[Step]) -> Option<&str> {
    let spoken = |step: &Step| matches!(step.kind, StepKind::Assistant(_));
    let before_request =
        visible.windows(2).rev().find(|two| spoken(&two[0]) && two[1].request().is_some());
    let step = match before_request {
        Some(two) => &two[0],
        None => visible.iter().rev().find(|step| spoken(step))?,
    };
    match &step.kind {
        StepKind::Assistant(text) => Some(text),
        _ => None,
    }
}

fn relied(visible: &[Step], later: &str) -> Vec<Vec<Pair>> {
    let back: HashSet<Pair> = later.lines().flat_map(pairs).collect();
    let mut sentences: Vec<Vec<Pair>> = Vec::new();
    for step in visible.iter().rev() {
        let (StepKind::Assistant(text) | StepKind::User { text, request: true }) = &step.kind
        else {
            continue;
        };
        sentences.extend(text.lines().flat_map(split).map(pairs).filter(|pairs| pairs.len() >= 3));
        if sentences.len() >= SENTENCES {
            break;
        }
    }
    let mut held: HashMap<Pair, u32> = HashMap::new();
    for pair in sentences.iter().flatten() {
        *held.entry(*pair).or_default() += 1;
    }
    let is_rare = |pair: &&Pair| held.get(pair).is_none_or(|count| *count <= PAIR_SENTENCES_MAX);
    let comes_back = |sentence: &Vec<Pair>| {
        let rare: HashSet<&Pair> = sentence.iter().filter(is_rare).collect();
        rare.iter().filter(|pair| back.contains(**pair)).count() >= PAIRS_BACK
    };
    sentences.retain(comes_back);
    sentences
}

fn split(line: &str) -> impl Iterator<Item = &str> {
    line.split_inclusive(['.', '!', '?', '。', '！', '？']).map(str::trim)
}

/// Runs of four words; a shorter text has none.
fn runs(text: &str) -> Vec<u64> {
    let words: Vec<u64> = words(text).map(|word| Fnv::of(word.as_bytes())).collect();
    words.windows(4).map(|run| run.iter().fold(7, |sum, word| mix(sum, *word))).collect()
}

/// Stop words, in the languages of the corpus.
const STOP_WORDS: [&str; 64] = [
    "the", "and", "for", "that", "this", "with", "you", "are", "was", "not", "but", "can", "have",
    "has", "will", "from", "its", "they", "which", "now", "all", "then", "than", "into", "also",
    "was", "were", "been", "our", "your", "let", "any", "how", "what", "when", "der", "die", "das",
    "und", "ist", "nicht", "ein", "eine", "den", "mit", "auf", "für", "les", "des", "une", "est",
    "pas", "que", "pour", "dans", "sur", "por", "los", "las", "con", "del", "sono", "che", "non",
];

/// Pairs of neighboring words that are not stop words.
fn pairs(text: &str) -> Vec<Pair> {
    let carries = |word: &String| {
        let is_wide = word.chars().any(|c| c >= '\u{2e80}');
        is_wide || word.chars().count() > 2 && !STOP_WORDS.contains(&word.as_str())
    };
    let words: Vec<u64> =
        words(text).filter(carries).map(|word| Fnv::of(word.as_bytes())).collect();
    words.windows(2).map(|two| (two[0], two[1])).collect()
}

/// Lower-case words; a letter of a script without spaces is a word.
fn words(text: &str) -> impl Iterator<Item = String> + '_ {
    let mut letters = text.chars().peekable();
    std::iter::from_fn(move || {
        loop {
            let first = letters.next()?;
            if !first.is_alphanumeric() && first != '_' {
                continue;
            }
            let mut word: String = first.to_lowercase().collect();
            while first < '\u{2e80}'
                && let Some(next) =
                    letters.next_if(|c| (c.is_alphanumeric() || *c == '_') && *c < '\u{2e80}')
            {
                word.extend(next.to_lowercase());
            }
            return Some(word);
        }
    })
}

/// Counts of names in lines that are mostly names, and of all words.
fn bare_names(view: &str) -> (usize, usize) {
    let (mut bare, mut all) = (0, 0);
    for line in view.lines() {
        let words = line.split_whitespace().filter(|word| word.contains(char::is_alphanumeric));
        let (mut names, mut here) = (0, 0);
        for word in words {
            here += 1;
            names += usize::from(is_name(word));
        }
        all += here;
        bare += if names * 2 > here { names } else { 0 };
    }
    (bare, all)
}

fn is_name(word: &str) -> bool {
    let word = word.trim_matches(|c: char| !c.is_alphanumeric());
    let inner = word.contains(['/', '_', '.', ':', '\\', '=', '(']);
    let has_digit = word.contains(|c: char| c.is_ascii_digit());
    let is_mixed = has_digit && word.contains(char::is_alphabetic);
    let humps = word.chars().zip(word.chars().skip(1));
    inner || is_mixed || humps.into_iter().any(|(a, b)| a.is_lowercase() && b.is_uppercase())
}

fn chars(text: &str, most: usize) -> &str {
    text.char_indices().nth(most).map_or(text, |(at, _)| &text[..at])
}

fn mix(sum: u64, word: u64) -> u64 {
    (sum.rotate_left(17) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(text: &str) -> Step {
        Step { end: 0, kind: StepKind::User { text: text.to_owned(), request: true } }
    }

    fn agent(text: &str) -> Step {
        Step { end: 0, kind: StepKind::Assistant(text.to_owned()) }
    }

    fn scores(spoken: &SpokenText, view: &str) -> Vec<(u64, u64)> {
        spoken.kept(view).map(|(_, kept, asked)| (kept, asked)).to_vec()
    }

    const REPORT: &str = "The lexer copied each token, which made the parser slow. Tests pass.";

    fn spoken() -> SpokenText {
        let visible =
            [user("Make the parser quick, but keep its errors."), agent(REPORT), user("go on")];
        SpokenText::read(
            &visible,
            "Since the lexer copied each token I now borrow from the source.",
        )
    }

    #[test]
    fn word_order_counts_and_a_list_of_names_does_not() {
        let whole = scores(
            &spoken(),
            &format!("Make the parser quick, but keep its errors.\n{REPORT}\ngo on"),
        );
        assert!(whole[..3].iter().all(|(kept, asked)| kept == asked && *asked > 0), "{whole:?}");
        let heap = scores(
            &spoken(),
            "errors its keep parser\npasses token each copied lexer slow parser\non go",
        );
        assert_eq!(heap[..3].iter().map(|(kept, _)| kept).sum::<u64>(), 0, "{heap:?}");
    }

    #[test]
    fn sentences_that_do_not_recur_do_not_count() {
        let visible =
            [agent(REPORT), agent("The weather in the mountains stays fine until Sunday.")];
        let spoken = SpokenText::read(&visible, "Since the lexer copied each token I borrow.");
        assert_eq!(spoken.relied.len(), 1);
    }

    #[test]
    fn only_names_among_names_are_bare() {
        assert_eq!(
            bare_names("src/a.rs parse_line Token2\nWe moved parse_line there last."),
            (3, 8)
        );
    }

    #[test]
    fn letters_without_spaces_are_words() {
        assert_eq!(words("修正 lexer").collect::<Vec<_>>(), ["修", "正", "lexer"]);
    }
}
