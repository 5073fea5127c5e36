//! Tries the strategies of the ladder in order until one makes a valid replacement.
//!
//! The checkpoint rung is last; it uses no model and needs no item of the history. So the ladder always succeeds,
//! and without a configured model the other rungs cost nothing.

use std::sync::Arc;
use std::time::Duration;

use longhaul_core::compaction::ladder::{self, Offer, Skip, Strategy};
use longhaul_core::compaction::summary;
use longhaul_core::context::window;
use longhaul_core::model::FaultKind;
use longhaul_core::model::budget::Spending;
use longhaul_core::tokens;
use longhaul_protocol::compaction::Question;

use super::attempt::Attempt;
use super::input::{Input, visible_items};
use super::progress::{ProgressEvents, Stage};
use super::record::{Notice, Rung};
use super::replacement::{Replacement, of_checkpoint};
use super::request::Request;
use super::texts::CompactionTexts;
use crate::clock::Clock;
use crate::model::{ModelChoice, Models, Remote, RemoteSetting, Task};
use crate::service::error::ServiceError;
use crate::service::history::{Histories, Opaque};
use crate::service::texts::TextStore;

pub(super) struct LadderOutcome {
    pub(super) replacement: Replacement,
    /// In order, including skipped ones.
    pub(super) rungs: Vec<Rung>,
    pub(super) spent: Spending,
    /// Texts of the person that cannot be used.
    pub(super) problems: Vec<Notice>,
}

pub(super) struct Outlook {
    pub(super) strategy: Strategy,
    pub(super) question: Option<Question>,
    /// The replacement if no model is called or none answers.
    pub(super) replacement: Replacement,
    pub(super) problems: Vec<Notice>,
}

const HISTORY_TOO_LARGE: &str = "history_too_large";

pub struct Ladder {
    pub(in crate::service) models: Arc<Models>,
    pub(in crate::service) histories: Arc<Histories>,
    pub(in crate::service) texts: Arc<TextStore>,
    pub(in crate::service) clock: Clock,
}

impl Ladder {
    /// The replacement of an `input` that was gathered after this many erasures.
    pub(super) async fn run(
        &self,
        request: &Request,
        (input, erasures): (&Input, u64),
        progress: &ProgressEvents,
    ) -> Result<LadderOutcome, ServiceError> {
        let texts = self.texts(request, input);
        let started = self.clock.elapsed();
        let choice = self.choice(request);
        let remote =
            choice.as_ref().map_or(Remote::No, |choice| self.remote_of(choice, request, input));
        let offer = Offer { model: choice.is_some(), remote: remote != Remote::No };
        let rungs = ladder::rungs(request.strategy, offer);
        let deadline_ms = request.deadline_ms.unwrap_or(ladder::DEADLINE_MS);
        let (mut tried, mut spent) = (Vec::new(), Spending::default());
        for (index, (strategy, skip)) in rungs.iter().copied().enumerate() {
            let begun_ms = self.clock.ms_since(started);
            let below = rungs[index + 1..].iter().filter(|rung| rung.0.asks() && rung.1.is_none());
            let left_ms = deadline_ms.saturating_sub(begun_ms);
            let time = ladder::rung_ms(left_ms, below.count() as u64);
            let skip = skip.or((strategy.asks() && time.is_none()).then_some(Skip::NoTime));
            if let Some(skip) = skip {
                tried.push(Rung::skipped(strategy, skip.into_str()));
                continue;
            }
            let (Some(choice), Some(time_ms), true) = (&choice, time, strategy.asks()) else {
                break;
            };
            let mut attempt = Attempt {
                strategy,
                models: &self.models,
                choice,
                request,
                input,
                texts: &texts,
                progress,
                clock: &self.clock,
                ends_at: started + Duration::from_millis(begun_ms + time_ms),
                erasures,
                spent,
                answer_key: String::new(),
                without_images: false,
            };
            let replacement = self.try_rung(&mut attempt, remote).await?;
            spent = attempt.spent;
            let took_ms = self.clock.ms_since(started).saturating_sub(begun_ms);
            match replacement {
                Ok(replacement) => {
                    tried.push(Rung::used(strategy, took_ms));
                    let problems = texts.problems;
                    return Ok(LadderOutcome { replacement, rungs: tried, spent, problems });
                }
                Err(reason) if reason == HISTORY_TOO_LARGE => {
                    tried.push(Rung::skipped(strategy, HISTORY_TOO_LARGE));
                }
                Err(reason) => {
                    tried.push(Rung::failed(strategy, reason, took_ms));
                }
            }
        }
        let begun_ms = self.clock.ms_since(started);
        let replacement = of_checkpoint(request, input, &texts);
        let took_ms = self.clock.ms_since(started).saturating_sub(begun_ms);
        tried.push(Rung::used(Strategy::Checkpoint, took_ms));
        Ok(LadderOutcome { replacement, rungs: tried, spent, problems: texts.problems })
    }

    /// How a run would start, and its largest request; calls no model.
    pub(super) fn outlook(&self, request: &Request, input: &Input) -> Outlook {
        let texts = self.texts(request, input);
        let choice = self.choice(request);
        let remote =
            choice.as_ref().map_or(Remote::No, |choice| self.remote_of(choice, request, input));
        let offer = Offer { model: choice.is_some(), remote: remote != Remote::No };
        let rungs = ladder::rungs(request.strategy, offer);
        let first = rungs.iter().find(|(_, skip)| skip.is_none());
        let strategy = first.map_or(Strategy::Checkpoint, |(strategy, _)| *strategy);
        let choice = choice.filter(|_| strategy.asks());
        let budget = self.models.budget();
        let question = choice.map(|choice| {
            let room = (choice.context_window / 100 * 95).saturating_sub(choice.max_output_tokens);
            let whole = input.fold.visible().tokens() + tokens::of_text(texts.prompt());
            Question {
                input_tokens: whole.min(room),
                output_tokens_max: choice.max_output_tokens,
                requests_max: budget.requests_per_job,
                tokens_max: budget.tokens_per_job,
                provider: choice.provider,
                model: choice.model,
            }
        });
        let replacement = of_checkpoint(request, input, &texts);
        Outlook { strategy, question, replacement, problems: texts.problems }
    }

    async fn try_rung(
        &self,
        attempt: &mut Attempt<'_>,
        remote: Remote,
    ) -> Result<Result<Replacement, String>, ServiceError> {
        attempt.step(Stage::Reading, 0);
        // Only the same provider can read its own compaction.
        let is_remote = attempt.strategy == Strategy::Remote;
        let opaque = if is_remote { Opaque::AsIs } else { Opaque::StandIn };
        let reading = visible_items(&self.histories, attempt.input, opaque);
        let items = match tokio::time::timeout(attempt.left(), reading).await {
            Ok(items) => match items? {
                Some(items) => items,
                None => return Ok(Err(HISTORY_TOO_LARGE.to_owned())),
            },
            Err(_) => return Ok(Err(FaultKind::Timeout.into_str().to_owned())),
        };
        let replacement = match is_remote {
            true => attempt.remote(&items, remote).await,
            false => attempt.summary(&items).await,
        };
        attempt.step(Stage::Checking, 0);
        // An invalid replacement is a reason to try the next rung.
        Ok(replacement.and_then(|replacement| match replacement.check(attempt.input) {
            Ok(()) => Ok(replacement),
            Err(flaw) => Err(flaw.into_str().to_owned()),
        }))
    }

    fn texts(&self, request: &Request, input: &Input) -> CompactionTexts {
        let cwd = input.fold.checkpoint().cwd.clone().unwrap_or_default();
        let max_tokens = input.view_tokens(request);
        let summary_words = summary::words(max_tokens).to_string();
        let max_tokens = max_tokens.to_string();
        let places = [
            ("thread_id", input.of.as_str()),
            ("cwd", cwd.as_str()),
            ("max_tokens", max_tokens.as_str()),
            ("summary_words", summary_words.as_str()),
        ];
        let of_agent = input.agent_prompt.as_deref();
        CompactionTexts::of(&self.texts, &request.templates, of_agent, &places)
    }

    pub(in crate::service) fn has_model(&self) -> bool {
        self.models.settings().default.is_some()
    }

    /// The model to ask: the configured one, or the caller's choice from a configured provider. No caller can
    /// choose a program: one runs only if `[model]` in the configuration names it.
    fn choice(&self, request: &Request) -> Option<ModelChoice> {
        let settings = self.models.settings();
        let default = settings.of(Task::Summary);
        let Some(wanted) = &request.model else { return default };
        let provider = wanted.provider.as_ref().or(default.as_ref().map(|choice| &choice.provider));
        let provider = provider?;
        let base = default.as_ref().filter(|default| default.provider == *provider);
        let is_known = settings.providers.contains_key(provider);
        let base = match (is_known, base) {
            (true, Some(base)) => base.clone(),
            (true, None) if !settings.is_program(provider) => {
                ModelChoice::plain(provider, &wanted.name)
            }
            _ => return default,
        };
        Some(base.renamed(&wanted.name, wanted.effort.as_deref(), wanted.context_window))
    }

    /// Whether the provider of `choice` compacts by itself. Unless configured explicitly, only if the model that
    /// reads the result can read the provider's format.
    fn remote_of(&self, choice: &ModelChoice, request: &Request, input: &Input) -> Remote {
        let settings = self.models.settings();
        let Some(provider) = settings.providers.get(&choice.provider) else { return Remote::No };
        let reader = request.reader.as_ref().map(|reader| reader.name.as_str());
        let reader = reader.or(input.fold.head().model.as_deref());
        let is_read = reader.is_some_and(window::is_of_openai);
        match provider.remote {
            RemoteSetting::Configured(remote) => remote,
            RemoteSetting::Assumed(remote) if is_read => remote,
            RemoteSetting::Assumed(remote) if request.strategy == Strategy::Remote => remote,
            RemoteSetting::Assumed(_) => Remote::No,
        }
    }
}
