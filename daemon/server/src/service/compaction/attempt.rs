//! An attempt at a rung that asks a model: a summary, a summary with the checkpoint, the provider's own compaction.
//!
//! Each returns what it made, or a typed reason why the next rung is taken. Nothing is stored here.

use std::time::Duration;

use longhaul_core::compaction::classify::{
    Class, ClassifiedItem, brings_model_switch, model_switch_alone, tell,
};
use longhaul_core::compaction::ladder::Strategy;
use longhaul_core::compaction::receipt::Fate;
use longhaul_core::compaction::summary::{self, InputTrim, Layout, Split, USER_TOKENS_MAX};
use longhaul_core::compaction::{Phase, assemble, remote, worth};
use longhaul_core::model::budget::Spending;
use longhaul_core::model::{Answer, Ask, Endpoint, FaultKind};
use longhaul_core::rollout::contextual::SUMMARY_OPENING;
use longhaul_core::{text, tokens};
use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;

use super::input::Input;
use super::progress::{ProgressEvents, Stage};
use super::replacement::{Replacement, texts_of};
use super::request::Request;
use super::texts::CompactionTexts;
use crate::clock::Clock;
use crate::model::{Call, ModelChoice, Models, Purpose, Remote};

/// Names out of the checkpoint that a summary is held against.
const NAMES_MAX: usize = 40;

/// Why a rung was left: a stable name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RungFailure(pub(super) String);

impl RungFailure {
    pub(super) fn named(name: &str) -> Self {
        Self(name.to_owned())
    }
}

/// One attempt to compact with a model.
pub(super) struct Attempt<'a> {
    pub(super) strategy: Strategy,
    pub(super) models: &'a Models,
    pub(super) choice: &'a ModelChoice,
    pub(super) request: &'a Request,
    pub(super) input: &'a Input,
    pub(super) texts: &'a CompactionTexts,
    pub(super) progress: &'a ProgressEvents,
    pub(super) clock: &'a Clock,
    /// By the daemon's clock, for all requests of the attempt together.
    pub(super) ends_at: Duration,
    pub(super) spent: Spending,
    /// Cache key of the last answer.
    pub(super) answer_key: String,
}

impl Attempt<'_> {
    pub(super) fn left(&self) -> Duration {
        self.ends_at.saturating_sub(self.clock.elapsed())
    }

    pub(super) fn step(&self, stage: Stage, tokens: u64) {
        let room = self.input.view_tokens(self.request);
        self.progress.step(self.strategy, stage, tokens, room);
    }

    /// A summary of the items, given with their lines; with the checkpoint's view below it where the strategy
    /// says so.
    pub(super) async fn summary(
        &mut self,
        (seqs, items): (&[u64], &[Box<RawValue>]),
    ) -> Result<Replacement, RungFailure> {
        let split = Split::of(tell(items));
        if split.is_empty() {
            return Err(RungFailure::named("nothing_to_summarise"));
        }
        let before = self.input.fold.visible().tokens();
        let (answer, sent_redacted) = self.ask_for_summary(split.body.clone()).await?;
        let refused = summary::refuse(&answer.text, self.texts.prompt(), &self.names(), before);
        if let Err(refusal) = refused {
            self.models.forget(&self.answer_key).await;
            return Err(RungFailure::named(refusal.into_str()));
        }
        let words = longhaul_core::redact::redact(answer.text.trim());
        let view = self.text(&longhaul_core::quote::block(&words.text));
        let layout = Layout {
            split: &split,
            summary: &view,
            initial_context: &self.request.initial_context,
            phase: self.request.phase,
            user_tokens: USER_TOKENS_MAX.min(self.messages_room()),
        };
        let replaced = summary::replacement(layout);
        let fate = |fate: Fate| move |at: &usize| (*at, fate);
        let kept = replaced.kept.iter().map(fate(Fate::Kept));
        let fates = kept.chain(replaced.shortened.iter().map(fate(Fate::Shortened)));
        Ok(Replacement {
            strategy: self.strategy,
            history: replaced.items,
            view,
            fates: fates.filter_map(|(at, fate)| Some((*seqs.get(at)?, fate))).collect(),
            redacted: replaced.redacted + sent_redacted + u64::from(words.hits),
            texts: self.texts.used(texts_of(self.strategy)),
        })
    }

    /// Asks, with less and less of the oldest history while the model's window is exceeded.
    async fn ask_for_summary(
        &mut self,
        mut body: Vec<ClassifiedItem<'_>>,
    ) -> Result<(Answer, u64), RungFailure> {
        let window = self.choice.context_window / 100 * 95;
        let prompt = self.texts.prompt();
        let overhead = tokens::of_text(prompt).saturating_add(self.choice.max_output_tokens);
        body.retain(summary::is_sent);
        let mut shed = InputTrim::to_fit(&mut body, window.saturating_sub(overhead));
        loop {
            let (input, redacted) = summary::input(&body, prompt, &shed);
            match self.ask(&input, Endpoint::Answer).await {
                Ok(answer) => return Ok((answer, redacted)),
                Err(kind) if kind == FaultKind::ContextOverflow && shed.step(&mut body) => {}
                Err(kind) => return Err(RungFailure::named(kind.into_str())),
            }
        }
    }

    async fn ask(
        &mut self,
        input: &[Box<RawValue>],
        endpoint: Endpoint,
    ) -> Result<Answer, FaultKind> {
        let ask = Ask {
            model: &self.choice.model,
            instructions: "",
            input,
            schema: None,
            effort: self.choice.effort.as_deref(),
            max_output_tokens: self.choice.max_output_tokens,
            endpoint,
        };
        let call = Call {
            provider: &self.choice.provider,
            ask,
            purpose: Purpose::Compaction,
            job: self.spent,
            deadline: self.left(),
            // The one who gives the compaction up drops this future: that closes the connection.
            cancel: &CancellationToken::new(),
        };
        self.step(Stage::Asking, 0);
        let writing = |words: &str| self.step(Stage::Writing, tokens::of_text(words));
        let result = self.models.ask(call, &writing).await;
        let spent = match &result {
            Ok(answered) => answered.spent,
            Err(failed) => failed.spent,
        };
        self.spent.requests += spent.requests;
        self.spent.tokens += spent.tokens;
        match result {
            Ok(answered) => {
                self.answer_key = answered.digest;
                Ok(answered.answer)
            }
            Err(failed) => {
                tracing::info!(fault = %failed.fault, "a model did not compact");
                Err(failed.fault.kind)
            }
        }
    }

    /// Prefix, summary and view in one text within the caller's budget. A summary gets up to two thirds of it, and
    /// the view says what the summary does not.
    fn text(&self, summary: &str) -> String {
        let most = self.input.view_tokens(self.request);
        let room = tokens::bytes_of(most);
        let (mut head, guide) = (self.texts.prefix() + "\n\n", self.texts.guide());
        if head.len() > room / 2 {
            head = format!("{SUMMARY_OPENING}\n");
        }
        if self.strategy == Strategy::Summary || room < 2 * (head.len() + guide.len()) {
            let words = text::cut_middle(summary, room.saturating_sub(head.len()));
            return text::prefix(&format!("{head}{words}"), room).to_owned();
        }
        let words = text::cut_middle(summary, room / 3 * 2 - head.len());
        let guide = format!("\n\n{guide}\n\n");
        let left = room - head.len() - words.len() - guide.len();
        let view = self.input.view_below(&words, (left / 4) as u64);
        format!("{head}{words}{guide}{view}")
    }

    /// Telling names of the conversation: files that were changed, and long words of the request.
    fn names(&self) -> Vec<String> {
        let state = self.input.fold.checkpoint();
        let files =
            state.files.iter().map(|(path, _)| path.rsplit('/').next().unwrap_or(path).to_owned());
        let request = state.requests.active().map_or("", |active| active.text.as_str());
        let words = request
            .split(|c: char| !c.is_alphanumeric() && c != '_')
            .filter(|word| word.chars().count() >= 5)
            .map(str::to_owned);
        files.take(NAMES_MAX / 2).chain(words).take(NAMES_MAX).collect()
    }

    /// The provider's own compaction. Our view stands beside it, since only the provider can read it.
    pub(super) async fn remote(
        &mut self,
        items: &[Box<RawValue>],
        form: Remote,
    ) -> Result<Replacement, RungFailure> {
        let told = tell(items);
        let most = self.choice.context_window / 100 * 95;
        let (sent, redacted) = remote::trimmed(&told, most);
        let room = remote::MESSAGES_TOKENS_MAX.min(self.messages_room());
        let result = match form {
            Remote::No => return Err(RungFailure::named("not_configured")),
            Remote::Streamed => {
                let mut input = sent.clone();
                input.push(remote::trigger());
                let answer = self.ask(&input, Endpoint::Answer).await;
                answer.map(|answer| remote::accepted(&answer.items, Some(&sent), room))
            }
            Remote::Unary => {
                let answer = self.ask(&sent, Endpoint::Compact).await;
                answer.map(|answer| remote::accepted(&answer.items, None, room))
            }
        };
        let accepted = result.map_err(|kind| RungFailure::named(kind.into_str()))?;
        let accepted = match accepted {
            Ok(accepted) => accepted,
            Err(fault) => {
                self.models.forget(&self.answer_key).await;
                return Err(RungFailure(format!("{}: {}", fault.kind.into_str(), fault.detail)));
            }
        };
        let most = self.input.view_tokens(self.request);
        let view = self.input.view(most);
        let beside = format!("{}\n\n{view}", self.texts.guide());
        let switch = told.iter().rev().find(|told| told.class == Class::ModelSwitch);
        let (phase, context) = (self.request.phase, &self.request.initial_context);
        let switch = switch.filter(|_| !brings_model_switch(phase, context));
        let switch = switch.and_then(|told| model_switch_alone(told.raw));
        let fresh = match self.request.phase {
            Phase::MidTurn => self.request.initial_context.as_slice(),
            _ => &[],
        };
        let context = switch.into_iter().chain(fresh.iter().cloned()).collect();
        let view_item = assemble::message("user", &beside);
        let history = remote::installed(accepted, view_item, context, self.request.phase);
        Ok(Replacement {
            strategy: Strategy::Remote,
            history,
            view,
            fates: std::collections::BTreeMap::new(),
            redacted,
            texts: self.texts.used(texts_of(Strategy::Remote)),
        })
    }

    /// Tokens of messages that may stand beside what a model made: half of what may be filled.
    fn messages_room(&self) -> u64 {
        worth::ceiling(self.input.window) / 2
    }
}
