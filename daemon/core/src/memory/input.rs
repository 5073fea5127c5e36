//! One thread → the question that a model is asked about it, and its answer → what was learned.
//!
//! Rows are collected in the order of the thread, each with its number and source, stripped of what we
//! injected and redacted. When they do not fit, the person's words stay before the agent's answers,
//! those before calls, and those before what was printed; within a source the newest stay. Of the
//! answer only that is taken whose quotations stand in the rows that were shown.

mod answer;
mod rows;
#[cfg(test)]
mod tests;

use serde_json::{Value, json};

use super::consolidate::date;
use super::extract::ThreadRef;
use super::learning::{LearningKind, RolloutMemory};
use super::own::Own;
use crate::fold::Place;
use crate::rollout::{self, Body, Item, Role, contextual, output, tool};
use crate::step::{Origin, RequestOrigin};
use crate::tokens;
use rows::{Row, Rows, Voice};

/// Tokens of a transcript without a known window.
pub const FALLBACK_TOKENS: u64 = 150_000;

/// Share of a model's window that a transcript may take, in per cent.
pub const WINDOW_PERCENT: u64 = 70;

const SYSTEM: &str = include_str!("../../../../templates/memory/extract_system.md");

const INPUT: &str = include_str!("../../../../templates/memory/extract_input.md");

/// Tokens a transcript may have for a model of this window.
pub fn budget_tokens(window: Option<u64>) -> u64 {
    window.map_or(FALLBACK_TOKENS, |window| (window.saturating_mul(WINDOW_PERCENT) / 100).max(1))
}

/// Collects a thread for a model. Bounded by the budget, whatever the transcript.
#[derive(Debug)]
pub struct Collector {
    about: RolloutMemory,
    thread: ThreadRef,
    own: Own,
    budget_tokens: u64,
    has_meta: bool,
    requests: RequestOrigin,
    has_request: bool,
    rows: Rows,
    calls: std::collections::VecDeque<(String, Option<Voice>)>,
}

/// A question to a model. All of it is redacted.
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

/// What was taken of an answer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reading {
    /// What was learned; `None` when the model says that there is nothing to learn.
    pub memory: Option<RolloutMemory>,
    /// Learnings that were left out, and why.
    pub refused: Vec<AnswerError>,
}

/// Tokens below which a question is not made smaller.
const SMALLEST_TOKENS: u64 = 2_000;

/// Why an answer is not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AnswerError {
    /// Not the JSON that was asked for.
    #[error("the answer is not the JSON that was asked for: {0}")]
    Shape(String),
    /// It has more than is kept: bytes of a text, or learnings.
    #[error("`{field}` has {bytes}, more than {max}")]
    TooLong { field: &'static str, bytes: usize, max: usize },
    /// A learning rests on words that the thread does not hold.
    #[error("learning {number} rests on words that are not in the thread")]
    NoEvidence {
        /// Its number, from 1.
        number: usize,
    },
    /// It holds what looks like a credential.
    #[error("learning {number} holds what looks like a credential")]
    Secret {
        /// Its number, from 1.
        number: usize,
    },
    /// A rule of behaviour that no person stated.
    #[error("learning {number} is a rule that the person did not state")]
    PlantedRule {
        /// Its number, from 1.
        number: usize,
    },
}

/// Calls that await their answer.
const CALLS_MAX: usize = 64;

impl Collector {
    /// Before the first line; `budget_tokens` as of [`budget_tokens()`].
    pub fn new(thread: ThreadRef, own: Own, budget_tokens: u64) -> Self {
        let about = RolloutMemory {
            thread_id: thread.thread_id.clone(),
            project: thread.project.clone(),
            ..RolloutMemory::default()
        };
        let rows = Rows::new(tokens::bytes_of(budget_tokens));
        Self {
            about,
            requests: RequestOrigin::of(thread.source),
            thread,
            own,
            budget_tokens,
            has_meta: false,
            has_request: false,
            rows,
            calls: std::collections::VecDeque::new(),
        }
    }

    /// Reads the next line, given without its newline. Lines of any content are taken.
    pub fn line(&mut self, place: Place, line: &[u8]) {
        self.about.last_seq = place.line;
        let (source, wanted) = (self.thread.source, !self.has_meta);
        rollout::read(source, line, wanted, &mut |entry| {
            if let Some(ms) = entry.at_ms {
                if self.about.created_at_ms == 0 {
                    self.about.created_at_ms = ms;
                }
                self.about.updated_at_ms = self.about.updated_at_ms.max(ms);
            }
            match &entry.body {
                Body::Meta(meta) if !self.has_meta => {
                    self.requests.narrow(meta);
                    self.has_meta = meta.id.is_some();
                    self.about.cwd = meta.cwd.as_deref().map(rows::clean).or(self.about.cwd.take());
                    self.about.branch = meta.git_branch.as_deref().map(rows::clean);
                }
                Body::Settings(settings) => {
                    if let Some(cwd) = &settings.cwd {
                        self.about.cwd = Some(rows::clean(cwd));
                    }
                }
                Body::Item(item, _) => self.item(place.line, item),
                _ => {}
            }
        });
    }

    /// The question; `None` when nobody asks for anything in the thread.
    pub fn finish(self) -> Option<Question> {
        if !self.has_request {
            return None;
        }
        Some(Question::of(self.about, self.rows, self.budget_tokens))
    }

    fn item(&mut self, seq: u64, item: &Item<'_>) {
        match item {
            Item::Message { role: Role::User, text, .. } => {
                let kept = self.own.strip_person(rows::window(text).as_ref());
                if let Some(request) = contextual::request(&kept) {
                    let origin = self.requests.get();
                    self.has_request = true;
                    self.rows.push(seq, (Voice::of_request(origin), origin), request);
                }
            }
            Item::Message { role: Role::Assistant, text, .. } => {
                let kept = self.own.strip(rows::window(text).as_ref());
                self.rows.push(seq, (Voice::Agent, Origin::AGENT), &kept);
            }
            Item::Call(call) => {
                let voice = if self.own.is_read(call) {
                    None
                } else if tool::is_outside(call) {
                    self.about.reached_outside = true;
                    Some(Voice::Outside)
                } else {
                    Some(Voice::Tool)
                };
                if voice.is_some() {
                    let words = format!("{} {}", call.name, rows::window(&call.arguments));
                    self.rows.push(seq, (Voice::Call, Origin::AGENT), &words);
                }
                if self.calls.len() >= CALLS_MAX {
                    self.calls.pop_front();
                }
                self.calls.push_back((call.call_id.to_string(), voice));
            }
            Item::Output { call_id, text, .. } => {
                let at = self.calls.iter().rposition(|(id, _)| id == call_id);
                let Some((_, Some(voice))) = at.and_then(|at| self.calls.remove(at)) else {
                    return;
                };
                let kept = self.own.strip(rows::window(&output::read(text).text).as_ref());
                self.rows.push(seq, (voice, Origin::TOOL), &kept);
            }
            Item::Message { role: Role::Developer, .. }
            | Item::Reasoning { .. }
            | Item::Opaque { .. }
            | Item::Other { .. }
            | Item::Invisible => {}
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

    /// The same question about half as much of the thread, for a model whose window turned out smaller;
    /// `None` when there is hardly anything left to leave out.
    pub fn smaller(&self) -> Option<Self> {
        let budget_tokens = self.tokens.min(self.budget_tokens) / 2;
        let rows = Rows::again(self.shown.clone(), tokens::bytes_of(budget_tokens));
        (budget_tokens >= SMALLEST_TOKENS)
            .then(|| Self::of(self.about.clone(), rows, budget_tokens))
    }

    /// Reads the model's answer. The map of names is not in it: see [`combine`].
    ///
    /// # Errors
    /// Nothing of the answer can be taken: asking again may help.
    pub fn read(&self, answer: &str) -> Result<Reading, AnswerError> {
        answer::read(answer, &self.about, &self.shown)
    }
}

/// What a model learned of a thread, completed by what was extracted without one: names, commands,
/// fixes and facts, which are seen and not judged. The model's account and rules take the place of
/// ours. Where it found nothing worth knowing nothing is kept, unless the person set rules that are to
/// hold: a model may leave them out of its account, and cannot unsay them.
pub fn combine(
    extracted: Option<RolloutMemory>,
    answered: Option<RolloutMemory>,
) -> Option<RolloutMemory> {
    let has_rules = |memory: &RolloutMemory| {
        memory.learnings.iter().any(|known| known.kind.is_rule() && !known.is_passing)
    };
    let Some(mut memory) = answered else { return extracted.filter(has_rules) };
    let Some(extracted) = extracted else { return Some(memory) };
    let is_judged = |kind: LearningKind| kind.is_rule() || kind == LearningKind::Outcome;
    let ours = extracted.learnings.into_iter().filter(|learning| {
        !is_judged(learning.kind)
            || learning.kind == LearningKind::Outcome
            || !learning.is_passing && !memory.learnings.iter().any(|known| is_judged(known.kind))
    });
    let ours: Vec<_> = ours.collect();
    memory.learnings.extend(ours);
    memory.map = extracted.map;
    memory.steps = extracted.steps;
    memory.branch = memory.branch.or(extracted.branch);
    memory.reached_outside |= extracted.reached_outside;
    memory.forked_from = memory.forked_from.or(extracted.forked_from);
    Some(memory)
}

fn schema() -> Value {
    let kinds = [
        LearningKind::Constraint,
        LearningKind::Preference,
        LearningKind::Correction,
        LearningKind::Note,
        LearningKind::Fix,
        LearningKind::Command,
        LearningKind::Fact,
        LearningKind::CoChange,
    ]
    .map(|kind| kind.into_str());
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
