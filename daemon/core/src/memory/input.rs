//! One thread → the question that a model is asked about it, and its answer → what was learned.

use serde_json::Value;

use super::extract::ThreadRef;
use super::learning::RolloutMemory;
use super::own::Own;
use crate::fold::Place;

/// Tokens of a transcript without a known window (document 000).
pub const FALLBACK_TOKENS: u64 = 150_000;

/// Share of a model's window that a transcript may take, in per cent (document 000).
pub const WINDOW_PERCENT: u64 = 70;

/// Tokens a transcript may have for a model of this window.
pub fn budget_tokens(window: Option<u64>) -> u64 {
    window.map_or(FALLBACK_TOKENS, |window| (window.saturating_mul(WINDOW_PERCENT) / 100).max(1))
}

/// Collects a thread for a model. Bounded by the budget, whatever the transcript.
#[derive(Debug)]
pub struct Collector {
    thread: ThreadRef,
    own: Own,
    budget_tokens: u64,
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
    /// Estimated tokens of all of it.
    pub tokens: u64,
}

/// Why an answer is not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AnswerError {
    /// Not the JSON that was asked for.
    #[error("the answer is not the JSON that was asked for: {0}")]
    Shape(String),
    /// Longer than is kept.
    #[error("`{field}` has {bytes} bytes, more than {max}")]
    TooLong {
        /// Field.
        field: &'static str,
        /// Its size.
        bytes: usize,
        /// The bound.
        max: usize,
    },
    /// A learning rests on words that the thread does not hold.
    #[error("learning {number} rests on words that are not in the thread")]
    NoEvidence {
        /// Its number, from 1.
        number: usize,
    },
    /// It holds what looks like a credential.
    #[error("`{field}` holds what looks like a credential")]
    Secret {
        /// Field.
        field: &'static str,
    },
    /// A rule of behaviour that no person stated.
    #[error("learning {number} is a rule that the person did not state")]
    PlantedRule {
        /// Its number, from 1.
        number: usize,
    },
}

impl Collector {
    /// Before the first line; `budget_tokens` as of [`budget_tokens()`].
    pub fn new(thread: ThreadRef, own: Own, budget_tokens: u64) -> Self {
        Self { thread, own, budget_tokens }
    }

    /// Reads the next line, given without its newline.
    pub fn line(&mut self, place: Place, line: &[u8]) {
        let _ = (place, line, &self.own, self.budget_tokens, &self.thread);
    }

    /// The question; `None` when the thread holds nothing to ask about.
    pub fn finish(self) -> Option<Question> {
        None
    }
}

impl Question {
    /// Reads the model's answer; `None` when it says that there is nothing to learn.
    ///
    /// # Errors
    /// The answer breaks a rule: asking again may help, taking it would not.
    pub fn read(&self, answer: &str) -> Result<Option<RolloutMemory>, AnswerError> {
        let _ = answer;
        Ok(None)
    }
}
