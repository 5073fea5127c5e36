//! Asks the configured model for memory, and tells a failure by what happens next.
//!
//! *Steps.* The question is asked; a model whose window is smaller than was thought is asked about half as much of
//! the thread; an answer of which nothing can be taken is shown to the model once, with the reason. What is
//! refused is not kept, so that a later run asks anew; what is taken is kept until it is stored, so that a
//! crash in between pays nothing twice.

use std::time::Duration;

use longhaul_core::compaction::assemble::message;
use longhaul_core::job::{Failure, FailureKind};
use longhaul_core::memory::input::{AnswerError, Question, Reading};
use longhaul_core::model::budget::Spending;
use longhaul_core::model::{Ask, Endpoint, Fault, FaultKind, Schema};
use longhaul_core::redact::redact;
use longhaul_core::text;
use serde_json::value::{RawValue, to_raw_value};
use tokio_util::sync::CancellationToken;

use crate::model::{Answered, Call, ModelChoice, Models, Purpose};

/// Times a model is asked again for one thread because its answer cannot be taken.
const CORRECTIONS_MAX: u32 = 1;

/// Bytes of a refused answer that the model is shown.
const SHOWN_BYTES: usize = 4 * 1_024;

/// Why there is no answer.
#[derive(Debug, Clone, thiserror::Error)]
pub(super) enum AskError {
    #[error("{0}")]
    Fault(Fault),
    /// Nothing of the answer can be taken.
    #[error("answer_refused: {0}")]
    Refused(AnswerError),
}

impl AskError {
    /// What the job table is told.
    pub(super) fn failure(&self) -> Failure {
        use FaultKind as F;
        let (kind, retry_after_ms) = match self {
            Self::Refused(_) => (FailureKind::Permanent, None),
            Self::Fault(fault) => {
                let kind = match fault.kind {
                    F::RateLimited => FailureKind::RateLimited,
                    F::BudgetSpent => FailureKind::BudgetSpent,
                    F::Unauthorized | F::QuotaExceeded => FailureKind::Unauthorized,
                    F::Cancelled => FailureKind::Interrupted,
                    F::Unreachable
                    | F::StreamCut
                    | F::Timeout
                    | F::Unavailable
                    | F::Unreadable
                    | F::Incomplete => FailureKind::Transient,
                    // Asked about less and less already.
                    F::ContextOverflow | F::NotFound | F::Refused | F::AnswerTooLarge => {
                        FailureKind::Permanent
                    }
                };
                (kind, fault.retry_after_ms)
            }
        };
        Failure { kind, detail: self.to_string(), retry_after_ms }
    }
}

/// One job's conversation with a model.
#[derive(Debug)]
pub(super) struct MemoryQuestion<'a> {
    pub(super) models: &'a Models,
    pub(super) choice: &'a ModelChoice,
    pub(super) purpose: Purpose,
    pub(super) timeout: Duration,
    /// Spent so far.
    pub(super) spent: Spending,
}

impl MemoryQuestion<'_> {
    /// What the model learned of a thread.
    pub(super) async fn about(&mut self, question: Question) -> Result<Reading, AskError> {
        let (mut question, mut corrections) = (question, 0);
        let mut input = vec![item("user", &question.user)];
        loop {
            let schema = Schema { name: "memory".to_owned(), schema: question.schema.clone() };
            let Answered { answer, digest, .. } =
                match self.ask(&question.system, &input, &schema).await {
                    Ok(answered) => answered,
                    Err(fault) if fault.kind == FaultKind::ContextOverflow => {
                        question = question.smaller().ok_or(AskError::Fault(fault))?;
                        input = vec![item("user", &question.user)];
                        continue;
                    }
                    Err(fault) => return Err(AskError::Fault(fault)),
                };
            let error = match question.read(&answer.text) {
                Ok(reading) => return Ok(reading),
                Err(error) => error,
            };
            self.models.forget(&digest).await;
            if corrections == CORRECTIONS_MAX {
                return Err(AskError::Refused(error));
            }
            corrections += 1;
            let shown = redact(&answer.text).text.into_owned();
            input.push(item("assistant", &text::cut(&shown, SHOWN_BYTES)));
            let again = format!("That answer was refused: {error}. Answer again, as asked.");
            input.push(item("user", &again));
        }
    }

    /// One answer.
    pub(super) async fn ask(
        &mut self,
        instructions: &str,
        input: &[Box<RawValue>],
        schema: &Schema,
    ) -> Result<Answered, Fault> {
        let ask = Ask {
            model: &self.choice.model,
            instructions,
            input,
            schema: Some(schema),
            effort: self.choice.effort.as_deref(),
            max_output_tokens: self.choice.max_output_tokens,
            without_images: false,
            endpoint: Endpoint::Answer,
        };
        let call = Call {
            provider: &self.choice.provider,
            ask,
            purpose: self.purpose,
            job: self.spent,
            deadline: self.timeout,
            // Whoever gives the job up drops this future: that closes the connection.
            cancel: &CancellationToken::new(),
        };
        let result = self.models.ask(call, &|_| {}).await;
        let cost = result.as_ref().map_or_else(|failed| failed.spent, |answered| answered.spent);
        self.spent.requests = self.spent.requests.saturating_add(cost.requests);
        self.spent.tokens = self.spent.tokens.saturating_add(cost.tokens);
        result.map_err(|failed| failed.fault)
    }
}

/// A message, in the Responses form.
pub(super) fn item(role: &str, words: &str) -> Box<RawValue> {
    // Serialising a value to memory cannot fail.
    to_raw_value(&message(role, words)).unwrap_or_else(|_| RawValue::NULL.to_owned())
}
