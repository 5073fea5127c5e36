//! Asks the configured model for memory, and maps its failures to job failures.
//!
//! *Steps.* Ask the question. If the model's window turns out smaller than configured, ask again about half of the
//! thread. If the whole answer is unusable, ask once more with the answer and the reason. Rejected answers are
//! deleted, so a later run asks again. Accepted answers are kept until their result is stored, so a crash does
//! not pay twice.

use std::time::Duration;

use longhaul_core::compaction::assemble::message;
use longhaul_core::job::{Failure, FailureKind};
use longhaul_core::memory::input::{AnswerError, Question, Reading};
use longhaul_core::model::budget::Spending;
use longhaul_core::model::{Ask, Endpoint, Fault, FaultKind, Schema};
use longhaul_core::redact::redact;
use longhaul_core::text;
use serde_json::value::{RawValue, to_raw_value};

use crate::model::{Call, ModelChoice, Models, PaidAnswer, Purpose};

/// Retries for one thread after an unusable answer.
const CORRECTIONS_MAX: u32 = 1;

/// Maximum bytes of a rejected answer to show to the model.
const SHOWN_BYTES: usize = 4 * 1_024;

#[derive(Debug, Clone, thiserror::Error)]
pub(super) enum AskError {
    #[error("{0}")]
    Fault(Fault),
    #[error("answer_refused: {0}")]
    Refused(AnswerError),
}

impl AskError {
    /// The failure to record in the job table.
    pub(super) fn failure(&self) -> Failure {
        use FaultKind as F;
        let (kind, retry_after_ms) = match self {
            Self::Refused(_) => (FailureKind::Permanent, None),
            Self::Fault(fault) => {
                let kind = match fault.kind {
                    F::RateLimited => FailureKind::RateLimited,
                    F::BudgetSpent => FailureKind::BudgetSpent,
                    F::Unauthorized | F::QuotaExceeded => FailureKind::Unauthorized,
                    F::Unreachable
                    | F::StreamCut
                    | F::Timeout
                    | F::Unavailable
                    | F::Unreadable
                    | F::Incomplete => FailureKind::Transient,
                    // The question was already halved as far as possible.
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

/// A job's conversation with a model.
#[derive(Debug)]
pub(super) struct MemoryQuestion<'a> {
    pub(super) models: &'a Models,
    pub(super) choice: &'a ModelChoice,
    pub(super) purpose: Purpose,
    pub(super) timeout: Duration,
    /// Of threads, before the text was gathered.
    pub(super) erasures: u64,
    /// Requests and tokens of the job until now.
    pub(super) spent: Spending,
}

impl MemoryQuestion<'_> {
    /// Asks what the thread teaches.
    pub(super) async fn about(&mut self, question: Question) -> Result<Reading, AskError> {
        let (mut question, mut corrections) = (question, 0);
        let mut input = vec![item("user", &question.user)];
        loop {
            let schema = Schema { name: "memory".to_owned(), schema: question.schema.clone() };
            let PaidAnswer { answer, digest, .. } =
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

    pub(super) async fn ask(
        &mut self,
        instructions: &str,
        input: &[Box<RawValue>],
        schema: &Schema,
    ) -> Result<PaidAnswer, Fault> {
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
            erasures: self.erasures,
            job: self.spent,
            deadline: self.timeout,
        };
        let result = self.models.ask(call, &|_| {}).await;
        let cost = result.as_ref().map_or_else(|failed| failed.spent, |answered| answered.spent);
        self.spent = self.spent + cost;
        result.map_err(|failed| failed.fault)
    }
}

/// A message in the format of the Responses API.
pub(super) fn item(role: &str, words: &str) -> Box<RawValue> {
    // Serializing a value to memory cannot fail.
    to_raw_value(&message(role, words)).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_decides_whether_and_when_its_job_runs_again() {
        use FaultKind as F;
        for (faults, expected) in [
            (
                &[F::Unreachable, F::StreamCut, F::Timeout, F::Unavailable, F::Unreadable][..],
                FailureKind::Transient,
            ),
            (&[F::Incomplete], FailureKind::Transient),
            // A person must act.
            (&[F::Unauthorized, F::QuotaExceeded], FailureKind::Unauthorized),
            (&[F::BudgetSpent], FailureKind::BudgetSpent),
            (
                &[F::ContextOverflow, F::NotFound, F::Refused, F::AnswerTooLarge],
                FailureKind::Permanent,
            ),
        ] {
            for &fault in faults {
                let failure = AskError::Fault(Fault::new(fault, "x")).failure();
                assert_eq!(failure.kind, expected, "{fault:?}");
            }
        }
        let limited = Fault {
            retry_after_ms: Some(7_000),
            ..Fault::new(FaultKind::RateLimited, "slow down")
        };
        let failure = AskError::Fault(limited).failure();
        assert_eq!(failure.kind, FailureKind::RateLimited);
        assert_eq!(failure.retry_after_ms, Some(7_000));
    }
}
