//! Baseline views, scored in the same run: the floor and the ceiling of every figure.

use std::collections::HashMap;
use strum::VariantArray as _;

use crate::corpus::Fnv;
use crate::entity::Extractor;
use crate::fact::Fact;
use crate::gold::Gold;
use crate::random::Random;
use crate::transcript::{Step, StepKind, Transcript};

/// The views to compare the tested one with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[derive(strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum Baseline {
    /// The end of the history, unchanged.
    #[strum(serialize = "raw tail")]
    RawTail,
    /// The end of the history without all but the newest outputs.
    #[strum(serialize = "masked outputs")]
    Masked,
    /// The end of the messages and calls, without outputs.
    #[strum(serialize = "calls only")]
    CallsOnly,
    /// Only names, newest first: a view that games FRR.
    #[strum(serialize = "identifier bag")]
    IdentifierBag,
    /// Lines of the history drawn at random.
    Chance,
    /// The gold itself, as far as it fits: the best possible within the budget.
    Oracle,
}

impl Baseline {
    pub const ALL: &'static [Self] = Self::VARIANTS;
}

/// Outputs that the masked view keeps.
const MASKED_OUTPUTS_KEPT: usize = 10;

/// The history before a cut, rendered once for all budgets.
#[derive(Debug)]
pub struct Histories {
    raw: String,
    masked: String,
    calls: String,
    bag: String,
    seed: u64,
}

impl Histories {
    /// Renders a transcript that was parsed from truncated bytes.
    pub fn new(transcript: &Transcript, extractor: &Extractor) -> Self {
        let is_output = |step: &&Step| matches!(step.kind, StepKind::Output(_));
        let mut outputs_left = transcript.steps.iter().filter(is_output).count();
        let (mut raw, mut masked, mut calls) = (String::new(), String::new(), String::new());
        for step in &transcript.steps {
            let text = match &step.kind {
                StepKind::Context(_) => continue,
                StepKind::User { text, .. } => format!("user: {text}\n"),
                StepKind::Assistant(text) => format!("assistant: {text}\n"),
                StepKind::Call(call) => format!("{}: {}\n", call.name, call.arguments.join(" ")),
                StepKind::Output(output) => {
                    let code = output.exit_code.map(|c| format!("exit {c}\n")).unwrap_or_default();
                    format!("output: {code}{}\n", output.text)
                }
            };
            raw.push_str(&text);
            if is_output(&step) {
                let is_masked = outputs_left > MASKED_OUTPUTS_KEPT;
                masked.push_str(if is_masked { "output: left out\n" } else { &text });
                outputs_left -= 1;
            } else {
                masked.push_str(&text);
                calls.push_str(&text);
            }
        }
        let (bag, seed) = (bag(transcript, extractor), Fnv::of(raw.as_bytes()));
        Self { raw, masked, calls, bag, seed }
    }

    /// The text of a baseline within `bytes`.
    pub fn view(&self, baseline: Baseline, bytes: usize, gold: &[Gold], facts: &[Fact]) -> String {
        match baseline {
            Baseline::RawTail => tail(&self.raw, bytes).to_owned(),
            Baseline::Masked => tail(&self.masked, bytes).to_owned(),
            Baseline::CallsOnly => tail(&self.calls, bytes).to_owned(),
            Baseline::IdentifierBag => head(&self.bag, bytes).to_owned(),
            Baseline::Chance => self.chance(bytes),
            Baseline::Oracle => oracle(bytes, gold, facts),
        }
    }

    fn chance(&self, bytes: usize) -> String {
        let lines: Vec<&str> = self.raw.lines().collect();
        let mut random = Random::new(self.seed);
        let mut text = String::new();
        // Bounded, because a history of empty lines would never fill the view.
        for _ in 0..bytes {
            if text.len() >= bytes || lines.is_empty() {
                break;
            }
            text.push_str(lines[random.index(lines.len())]);
            text.push('\n');
        }
        head(&text, bytes).to_owned()
    }
}

/// Every name, newest first, each once.
fn bag(transcript: &Transcript, extractor: &Extractor) -> String {
    let mut last: HashMap<String, usize> = HashMap::new();
    for (number, step) in transcript.steps.iter().enumerate() {
        let mut note = |text: &str| {
            extractor.extract(text, transcript, &mut |entity| {
                last.insert(entity.text, number);
            });
        };
        match &step.kind {
            StepKind::Context(_) => {}
            StepKind::User { text, .. } | StepKind::Assistant(text) => note(text),
            StepKind::Output(output) => note(&output.text),
            StepKind::Call(call) => call.arguments.iter().for_each(|value| note(value)),
        }
    }
    let mut names: Vec<(String, usize)> = last.into_iter().collect();
    names.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    names.into_iter().map(|(name, _)| name).collect::<Vec<_>>().join("\n")
}

/// Facts first (they must be complete), then gold, shortest first: the most that fits.
fn oracle(bytes: usize, gold: &[Gold], facts: &[Fact]) -> String {
    let mut text = String::new();
    let mut add = |line: &str| {
        if text.len() + line.len() < bytes {
            text.push_str(line);
            text.push('\n');
        }
    };
    for fact in facts {
        add(&match fact {
            // The same shortening the scorer accepts.
            Fact::Request(request) if request.len() > bytes / 4 => shorten(request),
            other => other.sentence(),
        });
    }
    let mut names: Vec<&str> = gold.iter().map(|gold| gold.entity.text.as_str()).collect();
    names.sort_unstable_by_key(|name| (name.len(), *name));
    names.dedup();
    names.into_iter().for_each(add);
    text
}

fn shorten(request: &str) -> String {
    let chars: Vec<char> = request.chars().collect();
    let head: String = chars.iter().take(200).collect();
    let tail: String = chars[chars.len().saturating_sub(100)..].iter().collect();
    format!("{head} … {tail}")
}

/// The last `bytes` bytes at a character boundary.
fn tail(text: &str, bytes: usize) -> &str {
    &text[text.ceil_char_boundary(text.len().saturating_sub(bytes))..]
}

/// The first `bytes` bytes at a character boundary.
pub(crate) fn head(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}
