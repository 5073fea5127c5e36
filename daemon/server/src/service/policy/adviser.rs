//! Asks a model on behalf of policies: a question with a short answer in a fixed form. The model only sees
//! redacted text, and neither question nor answer is part of any transcript; the cost is accounted under its own
//! purpose, and never counts as use of the thread's window.

use std::sync::Arc;
use std::time::Duration;

use longhaul_core::compaction::assemble;
use longhaul_core::model::budget::Spending;
use longhaul_core::model::{Ask, Endpoint, Schema};
use serde_json::value::to_raw_value;

use crate::config::Live;
use crate::model::{Call, Models, Purpose, Task};

pub(super) struct Brief<'a> {
    pub(super) purpose: Purpose,
    pub(super) instructions: &'a str,
    pub(super) words: &'a str,
    /// The form of its answer.
    pub(super) schema: Schema,
    pub(super) tokens_max: u64,
}

pub struct Adviser {
    pub(in crate::service) models: Arc<Models>,
    pub(in crate::service) config: Live,
}

impl Adviser {
    /// Asks the configured model; `None` if there is none, or it does not answer in time.
    pub(super) async fn ask(&self, brief: Brief<'_>) -> Option<String> {
        let choice = self.models.settings().of(Task::Judge)?;
        let input = [to_raw_value(&assemble::message("user", brief.words)).ok()?];
        let timeout_ms = self.config.now().policies.active.judgment_timeout_ms;
        let ask = Ask {
            model: &choice.model,
            instructions: brief.instructions,
            input: &input,
            schema: Some(&brief.schema),
            effort: choice.effort.as_deref(),
            max_output_tokens: brief.tokens_max.min(choice.max_output_tokens),
            without_images: false,
            endpoint: Endpoint::Answer,
        };
        let call = Call {
            provider: &choice.provider,
            ask,
            purpose: brief.purpose,
            erasures: self.models.erasures(),
            job: Spending::default(),
            deadline: Duration::from_millis(timeout_ms.unsigned_abs()),
        };
        match self.models.ask(call, &|_| {}).await {
            Ok(answered) => Some(answered.answer.text),
            Err(failed) => {
                tracing::info!(form = brief.schema.name, fault = %failed.fault, "a model failed to answer");
                None
            }
        }
    }
}
