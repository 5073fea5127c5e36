//! What a run has spent so far, and whether it may continue.

use std::time::Duration;

use longhaul_core::job::{Failure, FailureKind};
use longhaul_core::memory::agent::{AgentAnswer, schema};
use longhaul_core::model::Schema;
use longhaul_core::model::budget::Spending;
use longhaul_core::redact::redact;
use tokio::sync::watch;
use tokio::time::Instant;

use super::super::ask::{AskError, MemoryQuestion, item};
use super::ModelAnswer;
use crate::config::tables::MemorySettings;
use crate::model::{ModelChoice, Models, PaidAnswer, Purpose};
use crate::service::error::{CurationEnd, ServiceError};

/// Maximum consecutive answers that are not steps, and maximum rejections of the files.
const MISTAKES_MAX: u32 = 2;

/// Bytes of a message besides its text.
const AROUND_BYTES: usize = 32;

/// The author of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Speaker {
    Worker,
    Model,
}

pub struct ModelMessage {
    pub by: Speaker,
    pub text: String,
}

pub(super) struct Progress {
    purged: watch::Receiver<()>,
    /// Of threads, before the files were copied.
    erasures: u64,
    messages_bytes_max: usize,
    turns_max: u64,
    tokens_max: u64,
    answer_timeout_s: u64,
    timeout_s: u64,
    until: Instant,
    turns: u64,
    spent: Spending,
    mistakes: u32,
    refusals: u32,
    end: Option<CurationEnd>,
}

impl Progress {
    pub(super) fn new(
        (purged, erasures): (watch::Receiver<()>, u64),
        messages_bytes_max: usize,
        settings: &MemorySettings,
    ) -> Self {
        Self {
            purged,
            erasures,
            messages_bytes_max,
            turns_max: *settings.agent_turns,
            tokens_max: *settings.agent_tokens,
            answer_timeout_s: *settings.answer_timeout_s,
            timeout_s: *settings.agent_timeout_s,
            until: Instant::now() + Duration::from_secs(*settings.agent_timeout_s),
            turns: 0,
            spent: Spending::default(),
            mistakes: 0,
            refusals: 0,
            end: None,
        }
    }

    /// Requests and tokens until now.
    pub(super) fn spent(&self) -> (u64, u64) {
        (self.turns, self.spent.tokens)
    }

    /// What ended the run, with its stable name. Not the reason of a refusal, if it may quote what was forgotten since.
    pub(super) fn ended(&self) -> Option<(&'static str, Failure)> {
        let end = match self.is_overtaken() {
            true => Some(&CurationEnd::Overtaken),
            false => self.end.as_ref(),
        };
        end.map(|end| (end.name(), failure(end)))
    }

    fn is_overtaken(&self) -> bool {
        // The sender is dropped when the daemon stops.
        self.purged.has_changed().unwrap_or(true)
    }

    /// Records an end. The worker may fix rejected files a few times; until then the run continues.
    pub(super) fn end(&mut self, end: CurationEnd) -> ServiceError {
        let error = match &end {
            CurationEnd::Refused(reason) if self.refusals < MISTAKES_MAX => {
                ServiceError::Invalid { field: "result.files", reason: reason.clone() }
            }
            end => ServiceError::CurationEnded(end.clone()),
        };
        self.refusals += u32::from(matches!(end, CurationEnd::Refused(_)));
        self.end = Some(end);
        error
    }

    pub(super) async fn ask(
        &mut self,
        models: &Models,
        choice: &ModelChoice,
        instructions: &str,
        messages: &[ModelMessage],
    ) -> Result<ModelAnswer, CurationEnd> {
        self.check_bounds(messages)?;
        let role = |by| if by == Speaker::Model { "assistant" } else { "user" };
        let clean = |text: &str| redact(text).text.into_owned();
        let input: Vec<_> =
            messages.iter().map(|message| item(role(message.by), &clean(&message.text))).collect();
        let schema = Schema { name: "memory_step".to_owned(), schema: schema() };
        let mut question = MemoryQuestion {
            models,
            choice,
            purpose: Purpose::Consolidation,
            timeout: Duration::from_secs(self.answer_timeout_s),
            erasures: self.erasures,
            spent: self.spent,
        };
        self.turns += 1;
        // A copy, so that the run stays overtaken.
        let mut purged = self.purged.clone();
        let answer = tokio::select! {
            // Its files contain text to forget, which no model may see any more.
            _ = purged.changed() => Err(CurationEnd::Overtaken),
            () = tokio::time::sleep_until(self.until) => {
                Err(CurationEnd::OutOfTime(self.timeout_s))
            }
            answer = question.ask(instructions, &input, &schema) => {
                answer.map_err(CurationEnd::Fault)
            }
        };
        self.spent = question.spent;
        let PaidAnswer { answer, digest, .. } = answer?;
        let read = AgentAnswer::read(&answer.text);
        match &read {
            Ok(_) => self.mistakes = 0,
            Err(reason) => {
                models.forget(&digest).await;
                self.mistakes += 1;
                if self.mistakes > MISTAKES_MAX {
                    return Err(CurationEnd::Unreadable(reason.clone()));
                }
            }
        }
        Ok(ModelAnswer { text: clean(&answer.text), read })
    }

    fn check_bounds(&self, messages: &[ModelMessage]) -> Result<(), CurationEnd> {
        match &self.end {
            Some(CurationEnd::Refused(_)) if self.refusals <= MISTAKES_MAX => {}
            Some(end) => return Err(end.clone()),
            None => {}
        }
        if self.is_overtaken() {
            return Err(CurationEnd::Overtaken);
        }
        let spent = |name, words| Err(CurationEnd::Spent(name, words));
        if self.turns >= self.turns_max {
            return spent("turns_spent", format!("not done after {} requests", self.turns));
        }
        if self.spent.tokens >= self.tokens_max {
            return spent("tokens_spent", format!("not done after {} tokens", self.spent.tokens));
        }
        let around = |message: &ModelMessage| message.text.len() + AROUND_BYTES;
        let bytes = messages.iter().map(around).sum::<usize>();
        if bytes > self.messages_bytes_max {
            let words = "the model's window is too small for this memory";
            return spent("window_spent", words.to_owned());
        }
        Ok(())
    }
}

/// The failure to record in the job table.
fn failure(end: &CurationEnd) -> Failure {
    let kind = match end {
        CurationEnd::Fault(fault) => return AskError::Fault(fault.clone()).failure(),
        CurationEnd::Overtaken => FailureKind::Transient,
        // The same files would fail again: only new input or a person wakes the job.
        CurationEnd::Spent(..)
        | CurationEnd::OutOfTime(_)
        | CurationEnd::Unreadable(_)
        | CurationEnd::Refused(_) => FailureKind::Permanent,
    };
    Failure { kind, detail: end.to_string(), retry_after_ms: None }
}

#[cfg(test)]
mod tests {

    use super::*;

    /// A run of two requests and 100 tokens, and the sender that announces a purge.
    fn progress() -> (Progress, watch::Sender<()>) {
        let (sender, purged) = watch::channel(());
        let mut progress = Progress::new((purged, 0), 1_000, &MemorySettings::default());
        (progress.turns_max, progress.tokens_max) = (2, 100);
        (progress, sender)
    }

    fn message(bytes: usize) -> ModelMessage {
        ModelMessage { by: Speaker::Worker, text: "x".repeat(bytes) }
    }

    /// The stable name of what keeps the run from asking.
    fn refused(progress: &Progress, messages: &[ModelMessage]) -> Option<&'static str> {
        progress.check_bounds(messages).err().map(|end| end.name())
    }

    #[test]
    fn each_bound_of_a_run_ends_it_under_its_own_name() {
        let (mut progress, _sender) = progress();
        assert_eq!(refused(&progress, &[message(10)]), None);
        let room = 1_000 - AROUND_BYTES;
        assert_eq!(refused(&progress, &[message(room)]), None);
        assert_eq!(refused(&progress, &[message(room + 1)]), Some("window_spent"));
        progress.spent.tokens = 100;
        assert_eq!(refused(&progress, &[]), Some("tokens_spent"));
        progress.turns = 2;
        assert_eq!(refused(&progress, &[]), Some("turns_spent"));
    }

    #[test]
    fn forgetting_ends_a_run_before_its_next_question() {
        let (progress, sender) = progress();
        sender.send_replace(());
        assert_eq!(refused(&progress, &[]), Some("overtaken"));
    }

    #[test]
    fn rejected_files_may_be_fixed_a_few_times() {
        let (mut progress, _sender) = progress();
        for _ in 0..MISTAKES_MAX {
            let error = progress.end(CurationEnd::Refused("no evidence".to_owned()));
            assert!(
                matches!(error, ServiceError::Invalid { field: "result.files", .. }),
                "{error}"
            );
            assert_eq!(refused(&progress, &[]), None, "the model may fix them");
        }
        let error = progress.end(CurationEnd::Refused("no evidence".to_owned()));
        assert!(matches!(error, ServiceError::CurationEnded(CurationEnd::Refused(_))), "{error}");
        assert_eq!(refused(&progress, &[]), Some("result_refused"));
    }

    #[test]
    fn any_other_end_is_final() {
        let (mut progress, _sender) = progress();
        progress.end(CurationEnd::OutOfTime(5));
        assert_eq!(refused(&progress, &[]), Some("timeout"));
        let (name, failure) = progress.ended().unwrap();
        assert_eq!((name, failure.detail.as_str()), ("timeout", "not done in 5 s"));
    }
}
