//! One attempt with a model: a summary, a summary with the checkpoint, or the provider's own compaction.
//!
//! Returns a replacement, or the stable name of a reason to try the next rung. Nothing is stored here.

mod remote;
mod summary;

use std::time::Duration;

use longhaul_core::checkpoint::view;
use longhaul_core::compaction::ladder::Strategy;
use longhaul_core::compaction::receipt::UnseenItems;
use longhaul_core::compaction::replacement_check;
use longhaul_core::model::budget::Spending;
use longhaul_core::model::{Answer, Ask, Endpoint, Fault, FaultKind};
use longhaul_core::text::grouped;
use longhaul_core::tokens;
use serde_json::value::RawValue;

use super::input::Input;
use super::progress::{ProgressEvents, Stage};
use super::record::Notice;
use super::request::Request;
use super::texts::CompactionTexts;
use crate::clock::Clock;
use crate::model::{Call, ModelChoice, Models, Purpose};

pub(super) struct Attempt<'a> {
    pub(super) strategy: Strategy,
    pub(super) models: &'a Models,
    pub(super) choice: &'a ModelChoice,
    pub(super) request: &'a Request,
    pub(super) input: &'a Input,
    pub(super) texts: &'a CompactionTexts,
    pub(super) progress: &'a ProgressEvents,
    pub(super) clock: &'a Clock,
    /// Deadline of all requests of the attempt together, on the daemon's clock.
    pub(super) ends_at: Duration,
    /// Of threads, before the input was gathered.
    pub(super) erasures: u64,
    pub(super) spent: Spending,
    /// Cache key of the last answer.
    pub(super) answer_key: String,
    /// The provider refused an image.
    pub(super) without_images: bool,
}

impl Attempt<'_> {
    pub(super) fn left(&self) -> Duration {
        self.ends_at.saturating_sub(self.clock.elapsed())
    }

    pub(super) fn step(&self, stage: Stage, tokens: u64) {
        let room = self.input.view_tokens(self.request);
        self.progress.step(self.strategy, stage, tokens, room);
    }

    /// Asks the model; retries once without images if the provider refuses one.
    async fn ask(&mut self, input: &[Box<RawValue>], endpoint: Endpoint) -> Result<Answer, Fault> {
        let result = self.ask_once(input, endpoint).await;
        let Err(fault) = &result else { return result };
        let refuses_image = fault.kind == FaultKind::Refused
            && fault.detail.to_lowercase().contains("image")
            && input.iter().any(|item| item.get().contains("input_image"));
        if self.without_images || !refuses_image {
            return result;
        }
        self.without_images = true;
        self.ask_once(input, endpoint).await
    }

    async fn ask_once(
        &mut self,
        input: &[Box<RawValue>],
        endpoint: Endpoint,
    ) -> Result<Answer, Fault> {
        let ask = Ask {
            model: &self.choice.model,
            instructions: "",
            input,
            schema: None,
            effort: self.choice.effort.as_deref(),
            max_output_tokens: self.choice.max_output_tokens,
            without_images: self.without_images,
            endpoint,
        };
        let call = Call {
            provider: &self.choice.provider,
            ask,
            purpose: Purpose::Compaction,
            erasures: self.erasures,
            job: self.spent,
            deadline: self.left(),
        };
        self.step(Stage::Asking, 0);
        let writing = |words: &str| self.step(Stage::Writing, tokens::of_text(words));
        let result = self.models.ask(call, &writing).await;
        match result {
            Ok(answered) => {
                self.spent = self.spent + answered.spent;
                self.answer_key = answered.digest;
                Ok(answered.answer)
            }
            Err(failed) => {
                self.spent = self.spent + failed.spent;
                tracing::info!(fault = %failed.fault, "a model failed to compact");
                Err(failed.fault)
            }
        }
    }

    /// Tokens for the text that the model's answer is in.
    fn text_room(&self) -> u64 {
        let room = self.input.view_tokens(self.request);
        match self.request.replacement_tokens_max() {
            Some(_) => room.saturating_sub(self.input.kept_tokens()).max(view::TOKENS_MIN),
            None => room,
        }
    }

    /// Tokens for messages besides a text of `text_tokens`: half of the space that may be filled, and within the caller's
    /// limit, but the last request always.
    fn messages_room(&self, text_tokens: u64) -> u64 {
        let room = replacement_check::ceiling(self.input.window) / 2;
        let limit = self.request.replacement_tokens_max();
        let left = limit.map(|most| most.saturating_sub(text_tokens).max(self.input.kept_tokens()));
        left.map_or(room, |left| left.min(room))
    }
}

/// Warns of items that the model did not see; `items` is their total number.
fn unseen_notice(unseen: &UnseenItems, items: usize) -> Notice {
    let UnseenItems { left_out, tokens, cut, first, last } = unseen;
    let cut = match cut {
        0 => String::new(),
        cut => format!(" {cut} long items were cut in the middle."),
    };
    let left_out = match left_out {
        0 => String::new(),
        left_out => format!(
            " {left_out} of {items} items ({} tokens), the first #{first} and the last #{last}, were left out.",
            grouped(*tokens)
        ),
    };
    let message = format!(
        "the model did not see the whole history, which is larger than its window:{left_out}{cut}"
    );
    Notice::new("history_trimmed", message)
}
