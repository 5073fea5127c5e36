//! Whether a view states a fact with its meaning: the subject and, on the same line within 100 bytes, the right word.
//! The nearest word of the class on either side decides, so that a neighbor's word does not count.

use regex::Regex;

use super::Fact;
use crate::transcript::{PatchAction, PlanState};
use crate::view::{View, find_names};

/// Maximum distance of a predicate from its subject (bytes).
const BESIDE_BYTES: usize = 100;

/// A view may clip a longer subject (bytes of its start).
const SUBJECT_BYTES: usize = 60;

/// Required part of a request that is longer than the budget allows (characters).
const REQUEST_HEAD_CHARS: usize = 200;
const REQUEST_TAIL_CHARS: usize = 100;

/// Required part of an error line (bytes of its start).
const ERROR_BYTES: usize = 80;

/// The words that state a predicate, by class.
#[derive(Debug)]
pub struct Words {
    files: [(PatchAction, Regex); 3],
    plans: [(PlanState, Regex); 3],
    success: Regex,
    failure: Regex,
    code: Regex,
}

impl Words {
    pub fn new() -> Result<Self, regex::Error> {
        Ok(Self {
            files: [
                (PatchAction::Create, Regex::new(r"(?i)\b(?:created?|added)\b")?),
                (PatchAction::Edit, Regex::new(r"(?i)\b(?:edited|modified|updated|changed)\b")?),
                (PatchAction::Delete, Regex::new(r"(?i)\b(?:deleted|removed)\b")?),
            ],
            plans: [
                (
                    PlanState::Pending,
                    Regex::new(r"(?i)\b(?:pending|todo|open|not started)\b|\[ \]")?,
                ),
                (
                    PlanState::InProgress,
                    Regex::new(
                        r"(?i)\b(?:in[_ -]progress|active|current|doing|now)\b|\[[>~/*-]\]",
                    )?,
                ),
                (PlanState::Completed, Regex::new(r"(?i)\b(?:completed?|done|finished)\b|\[x\]")?),
            ],
            success: Regex::new(r"(?i)\b(?:ok|pass(?:ed|es)?|succeeded|success|green)\b|[✓✔]")?,
            failure: Regex::new(r"(?i)\b(?:fail(?:ed|s|ure)?|error|red|non-?zero)\b|[✗✘]")?,
            code: Regex::new(
                r"(?i)\b(?:exit(?:ed)?|code|status|rc)\b[ =:a-z]{0,12}(-?\d+)\b|→ ?(-?\d+)\b",
            )?,
        })
    }
}

/// Whether `view`, made for `budget_tokens`, states the fact.
pub fn holds(view: &View, fact: &Fact, budget_tokens: u64, words: &Words) -> bool {
    let status =
        |command: &str| beside(view, Subject::Text(command), |side| nearest_status(side, words));
    match fact {
        Fact::File { paths, states } => paths.iter().any(|path| {
            let stated = beside(view, Subject::Path(path), |side| nearest(side, &words.files));
            stated.iter().any(|state| states.contains(state))
        }),
        Fact::Request(text) => says_request(view, text, budget_tokens),
        Fact::Command(command, code) => status(command).iter().any(|stated| stated.agrees(*code)),
        Fact::Test(command, passed) => {
            status(command).iter().any(|stated| stated.passed() == *passed)
        }
        Fact::Plan(text, state) => {
            beside(view, Subject::Text(text), |side| nearest(side, &words.plans)).contains(state)
        }
        Fact::Error(lines) => lines.iter().any(|line| view.says(clip(line, ERROR_BYTES))),
    }
}

/// A request within a quarter of the budget must be complete; of a longer one, the first 200 and last 100 characters.
fn says_request(view: &View, text: &str, budget_tokens: u64) -> bool {
    if text.len() as u64 <= budget_tokens {
        return view.says(text);
    }
    let head: String = text.chars().take(REQUEST_HEAD_CHARS).collect();
    let tail: Vec<char> = text.chars().rev().take(REQUEST_TAIL_CHARS).collect();
    let tail: String = tail.into_iter().rev().collect();
    view.says(&head) && view.says(&tail)
}

/// Reads both sides of every mention of a subject: each side's own nearest word counts.
fn beside<'a, T>(
    view: &'a View,
    subject: Subject<'a>,
    read: impl Fn(Side<'a>) -> Option<T>,
) -> Vec<T> {
    let mut found = Vec::new();
    for line in view.lines() {
        for (at, end) in subject.mentions(line) {
            let before = &line[line.floor_char_boundary(at.saturating_sub(BESIDE_BYTES))..at];
            let after = &line[end..line.ceil_char_boundary(end + BESIDE_BYTES)];
            found.extend(read(Side::Before(before)));
            found.extend(read(Side::After(after)));
        }
    }
    found
}

/// The subject of a fact.
#[derive(Clone, Copy)]
enum Subject<'a> {
    Path(&'a str),
    /// A command or plan step: its start is enough, and the search continues after the whole text.
    Text(&'a str),
}

impl<'a> Subject<'a> {
    /// First and last byte of every mention in a line.
    fn mentions(self, line: &'a str) -> Vec<(usize, usize)> {
        match self {
            Self::Path(path) => {
                find_names(line, path, true).map(|at| (at, at + path.len())).collect()
            }
            Self::Text(text) => {
                let start = clip(text, SUBJECT_BYTES);
                let shared = |at: usize| {
                    let pairs = line[at..].chars().zip(text.chars());
                    pairs.take_while(|(a, b)| a == b).map(|(a, _)| a.len_utf8()).sum::<usize>()
                };
                line.match_indices(start).map(|(at, _)| (at, at + shared(at))).collect()
            }
        }
    }
}

/// One side of a mention; the nearest word is the last before, the first after.
#[derive(Clone, Copy)]
enum Side<'a> {
    Before(&'a str),
    After(&'a str),
}

impl<'a> Side<'a> {
    /// The distance in bytes from the subject to the nearest match, with the match.
    fn nearest(self, pattern: &Regex) -> Option<(usize, regex::Captures<'a>)> {
        let (text, found) = match self {
            Self::Before(text) => (text, pattern.captures_iter(text).last()?),
            Self::After(text) => (text, pattern.captures(text)?),
        };
        let place = found.get(0)?;
        let distance = match self {
            Self::Before(_) => text.len() - place.end(),
            Self::After(_) => place.start(),
        };
        Some((distance, found))
    }
}

fn nearest<T: Copy>(side: Side<'_>, classes: &[(T, Regex)]) -> Option<T> {
    let found =
        classes.iter().filter_map(|(class, pattern)| Some((side.nearest(pattern)?.0, *class)));
    found.min_by_key(|(distance, _)| *distance).map(|(_, class)| class)
}

/// How a command ended according to a view.
#[derive(Clone, Copy)]
enum Status {
    Code(i64),
    Success,
    Failure,
}

impl Status {
    fn passed(self) -> bool {
        matches!(self, Self::Success | Self::Code(0))
    }

    /// A bare "failed" is enough for a code that is not zero.
    fn agrees(self, code: i64) -> bool {
        match self {
            Self::Code(stated) => stated == code,
            Self::Success => code == 0,
            Self::Failure => code != 0,
        }
    }
}

fn nearest_status(side: Side<'_>, words: &Words) -> Option<Status> {
    let code = side.nearest(&words.code).and_then(|(distance, found)| {
        let digits = found.get(1).or_else(|| found.get(2))?;
        Some((distance, Status::Code(digits.as_str().parse().ok()?)))
    });
    let success = side.nearest(&words.success).map(|(distance, _)| (distance, Status::Success));
    let failure = side.nearest(&words.failure).map(|(distance, _)| (distance, Status::Failure));
    [code, success, failure].into_iter().flatten().min_by_key(|(d, _)| *d).map(|(_, status)| status)
}

/// The first `bytes` bytes, at a character boundary, without trailing space.
fn clip(text: &str, bytes: usize) -> &str {
    text[..text.floor_char_boundary(bytes)].trim_end()
}
