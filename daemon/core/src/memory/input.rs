//! Builds a model's question about one thread, and reads its answer.
//!
//! Rows are collected in the order of the thread, each with its line number and source, redacted and without
//! text that we injected. If they do not fit, the person's words are kept first, then the agent's messages, then
//! calls, then output; within a source the newest are kept. A learning in the answer is accepted only if it
//! quotes one of the rows shown.

mod answer;
mod rows;
#[cfg(test)]
mod tests;

use serde_json::{Value, json};

use super::day::date;
use super::extract::ThreadRef;
use super::learning::{Learning, LearningKind, RolloutMemory};
use super::own::Own;
use crate::fold::Place;
use crate::rollout::{self, Body, Entry, Item, contextual};
use crate::step::{At, CallResult, Origin, Step, Stepper};
use crate::thread::Source;
use crate::tokens;
use rows::{Row, RowSource, Rows};

/// Maximum tokens of a transcript for a model with an unknown window.
pub const FALLBACK_TOKENS: u64 = 150_000;

/// Percent of a model's window that a transcript may take.
pub const WINDOW_PERCENT: u64 = 70;

const SYSTEM: &str = include_str!("../../../../templates/memory/extract_system.md");

const INPUT: &str = include_str!("../../../../templates/memory/extract_input.md");

/// Maximum tokens of a transcript for a model with this window.
pub fn budget_tokens(window: Option<u64>) -> u64 {
    window.map_or(FALLBACK_TOKENS, |window| (window.saturating_mul(WINDOW_PERCENT) / 100).max(1))
}

/// Collects a thread for a model, in memory bounded by the budget.
#[derive(Debug)]
pub struct Collector {
    about: RolloutMemory,
    source: Source,
    own: Own,
    budget_tokens: u64,
    has_meta: bool,
    stepper: Stepper,
    has_request: bool,
    rows: Rows,
}

/// A question to a model, redacted.
#[derive(Debug, Clone)]
pub struct Question {
    /// Standing instructions.
    pub system: String,
    /// The thread, as data.
    pub user: String,
    /// JSON Schema of the answer, strict.
    pub schema: Value,
    /// Estimated tokens of instructions and thread.
    pub tokens: u64,
    budget_tokens: u64,
    about: RolloutMemory,
    shown: Vec<Row>,
}

/// The accepted part of an answer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reading {
    /// `None` if the model found nothing to learn.
    pub memory: Option<RolloutMemory>,
    /// Why learnings were rejected.
    pub refused: Vec<AnswerError>,
}

/// A question of fewer tokens is not made smaller.
const SMALLEST_TOKENS: u64 = 2_000;

/// Why an answer, or one of its learnings (numbered from 1), is rejected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AnswerError {
    #[error("the answer does not match the requested JSON: {0}")]
    Shape(String),
    /// Too many bytes of a text, or too many learnings.
    #[error("`{field}` has {bytes}, more than {max}")]
    TooLong { field: &'static str, bytes: usize, max: usize },
    #[error("learning {number} quotes words that are not in the thread")]
    NoEvidence { number: usize },
    #[error("learning {number} contains what looks like a credential")]
    Secret { number: usize },
    #[error("learning {number} is a rule that the person did not state")]
    PlantedRule { number: usize },
}

impl Collector {
    /// `budget_tokens` comes from [`budget_tokens()`].
    pub fn new(thread: ThreadRef, own: Own, budget_tokens: u64) -> Self {
        let ThreadRef { thread_id, source, project } = thread;
        let rows = Rows::new(tokens::bytes_of(budget_tokens));
        Self {
            about: RolloutMemory { thread_id, project, ..RolloutMemory::default() },
            stepper: Stepper::of(source),
            source,
            own,
            budget_tokens,
            has_meta: false,
            has_request: false,
            rows,
        }
    }

    /// Reads the next line, without its newline. Accepts any content.
    pub fn line(&mut self, place: Place, line: &[u8]) {
        self.about.last_seq = place.line;
        let (source, wanted) = (self.source, !self.has_meta);
        rollout::read(source, line, wanted, &mut |entry| {
            self.about.note_time(entry.at_ms);
            match &entry.body {
                Body::Meta(meta) if !self.has_meta => {
                    self.has_meta = meta.id.is_some();
                    self.about.cwd = meta.cwd.as_deref().map(rows::clean).or(self.about.cwd.take());
                    self.about.branch = meta.git_branch.as_deref().map(rows::clean);
                }
                Body::Settings(settings) => {
                    if let Some(cwd) = &settings.cwd {
                        self.about.cwd = Some(rows::clean(cwd));
                    }
                }
                _ => {}
            }
            self.entry(At { seq: place.line, ms: entry.at_ms.unwrap_or(0) }, &entry);
        });
    }

    /// The question; `None` if the thread contains no request.
    pub fn finish(self) -> Option<Question> {
        if !self.has_request {
            return None;
        }
        Some(Question::of(self.about, self.rows, self.budget_tokens))
    }

    fn entry(&mut self, at: At, entry: &Entry<'_>) {
        match &entry.body {
            Body::Aside(_) => return,
            Body::Item(Item::Call(call), _) if self.own.is_read(call) => {
                return self.stepper.ignore_call(&call.call_id);
            }
            Body::Item(Item::Call(call), _) => {
                let words = rows::of_call(&call.name, &call.arguments);
                self.rows.push(at.seq, (RowSource::Call, Origin::AGENT), &words);
            }
            _ => {}
        }
        match self.stepper.step(at, entry) {
            Some(Step::Asked { words, origin }) => {
                let kept = self.own.strip_person(words.redacted());
                if let Some(request) = contextual::request(&kept) {
                    self.has_request = true;
                    self.rows.push(at.seq, (RowSource::of_request(origin), origin), request);
                }
            }
            Some(Step::Said(words)) => {
                let kept = self.own.strip(words.redacted());
                self.rows.push(at.seq, (RowSource::Agent, Origin::AGENT), &kept);
            }
            Some(Step::Called(called)) => self.about.reached_outside |= called.call.is_outside,
            Some(Step::Answered(answered)) => {
                let CallResult { call, .. } = &answered;
                let source = if call.is_outside { RowSource::Outside } else { RowSource::Tool };
                let kept = self.own.strip(answered.printed());
                self.rows.push(at.seq, (source, Origin::TOOL), &kept);
            }
            _ => {}
        }
    }
}

impl Question {
    fn of(about: RolloutMemory, rows: Rows, budget_tokens: u64) -> Self {
        let field = |value: Option<&str>| value.unwrap_or("unknown").to_owned();
        let filled = INPUT
            .replace("{thread_id}", &about.thread_id)
            .replace("{cwd}", &field(about.cwd.as_deref()))
            .replace("{branch}", &field(about.branch.as_deref()))
            .replace("{updated_at}", &date(about.updated_at_ms));
        let budget = tokens::bytes_of(budget_tokens);
        let (text, shown) = rows.fit(budget.saturating_sub(filled.len() + SYSTEM.len()));
        let user = filled.replacen("{rows}", &text, 1);
        let tokens = tokens::of_bytes((SYSTEM.len() + user.len()) as u64);
        let schema = schema();
        Self { system: SYSTEM.to_owned(), user, schema, tokens, budget_tokens, about, shown }
    }

    /// The question about half as much of the thread, for a model with a smaller window; `None` if it is already
    /// small.
    pub fn smaller(&self) -> Option<Self> {
        let budget_tokens = self.tokens.min(self.budget_tokens) / 2;
        let rows = Rows::again(self.shown.clone(), tokens::bytes_of(budget_tokens));
        (budget_tokens >= SMALLEST_TOKENS)
            .then(|| Self::of(self.about.clone(), rows, budget_tokens))
    }

    /// Reads the model's answer, which lacks the map of names: see [`combine`].
    ///
    /// # Errors
    /// Nothing in the answer is acceptable; asking again may help.
    pub fn read(&self, answer: &str) -> Result<Reading, AnswerError> {
        answer::read(answer, &self.about, &self.shown)
    }
}

/// Completes a model's answer with the extraction made without one: names, commands, fixes and facts, which were
/// observed. The model's account and rules replace ours. If the model found nothing to learn, the extraction is
/// kept only if the person set lasting rules: a model cannot revoke those.
pub fn combine(
    extracted: Option<RolloutMemory>,
    answered: Option<RolloutMemory>,
) -> Option<RolloutMemory> {
    let has_rules = |memory: &RolloutMemory| {
        memory.learnings.iter().any(|known| known.kind.is_rule() && !known.is_passing)
    };
    let Some(mut memory) = answered else { return extracted.filter(has_rules) };
    let Some(extracted) = extracted else { return Some(memory) };
    let is_judged = |known: &Learning| known.kind.is_rule() || known.kind == LearningKind::Outcome;
    let has_judged = memory.learnings.iter().any(is_judged);
    let own_learnings = extracted
        .learnings
        .into_iter()
        .filter(|learning| !learning.kind.is_rule() || !learning.is_passing && !has_judged);
    memory.learnings.extend(own_learnings);
    memory.map = extracted.map;
    memory.steps = extracted.steps;
    memory.branch = memory.branch.or(extracted.branch);
    memory.reached_outside |= extracted.reached_outside;
    memory.forked_from = memory.forked_from.or(extracted.forked_from);
    Some(memory)
}

fn schema() -> Value {
    let kinds = LearningKind::ALL.iter().filter(|kind| **kind != LearningKind::Outcome);
    let kinds: Vec<&str> = kinds.map(|kind| kind.into_str()).collect();
    let learning = json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["kind", "text", "seq", "quote"],
        "properties": {
            "kind": { "type": "string", "enum": kinds },
            "text": { "type": "string" },
            "seq": { "type": "integer" },
            "quote": { "type": "string" },
        },
    });
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["rollout_summary", "rollout_slug", "raw_memory", "outcome", "learnings"],
        "properties": {
            "rollout_summary": { "type": "string" },
            "rollout_slug": { "type": "string" },
            "raw_memory": { "type": "string" },
            "outcome": { "type": "string", "enum": ["success", "partial", "fail", "uncertain"] },
            "learnings": { "type": "array", "items": learning },
        },
    })
}
