//! The rungs that ask a model: a summary, a summary with the checkpoint, the provider's own compaction.
//!
//! Each returns what it made, or a typed reason why the next rung is taken. Nothing is stored here.

use std::time::Duration;

use longhaul_core::checkpoint::view::{self, Scene, ViewCaps};
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
use longhaul_core::template::Kind;
use longhaul_core::{text, tokens};
use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;

use super::climb::Stage;
use super::gather::Gathered;
use super::wording::Wording;
use super::{Made, Request};
use crate::model::{Call, ModelChoice, Models, Purpose, Remote};

/// The texts that stand in what a rung makes, or asked for it.
pub(super) fn texts_of(strategy: Strategy) -> &'static [Kind] {
    match strategy {
        Strategy::Summary => &[Kind::SummaryPrompt, Kind::SummaryPrefix],
        Strategy::Hybrid | Strategy::Auto => {
            &[Kind::SummaryPrompt, Kind::SummaryPrefix, Kind::CheckpointGuide]
        }
        Strategy::Remote | Strategy::Checkpoint => &[Kind::CheckpointGuide],
    }
}

/// Names out of the checkpoint that a summary is held against.
const NAMES_MAX: usize = 40;

/// Why a rung was left: a stable name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Left(pub(super) String);

impl Left {
    pub(super) fn named(name: &str) -> Self {
        Self(name.to_owned())
    }
}

/// One attempt to compact with a model.
pub(super) struct Asking<'a> {
    pub(super) models: &'a Models,
    pub(super) choice: &'a ModelChoice,
    pub(super) request: &'a Request,
    pub(super) gathered: &'a Gathered,
    pub(super) wording: &'a Wording,
    /// Visible items, with their lines.
    pub(super) seqs: Vec<u64>,
    pub(super) items: Vec<Box<RawValue>>,
    pub(super) cancel: &'a CancellationToken,
    /// Tells how far it is.
    pub(super) progress: &'a (dyn Fn(Stage, u64) + Sync),
    /// Time that is left for the rung, all its requests together.
    pub(super) left: &'a (dyn Fn() -> Duration + Sync),
    pub(super) spent: Spending,
    /// Under which the last answer is kept.
    pub(super) asked: String,
}

impl Asking<'_> {
    /// A summary, with the checkpoint's view below it where `strategy` says so.
    pub(super) async fn summary(&mut self, strategy: Strategy) -> Result<Made, Left> {
        let items = std::mem::take(&mut self.items);
        let made = self.summary_of(&items, strategy).await;
        self.items = items;
        made
    }

    async fn summary_of(
        &mut self,
        items: &[Box<RawValue>],
        strategy: Strategy,
    ) -> Result<Made, Left> {
        let split = Split::of(tell(items));
        if split.is_empty() {
            return Err(Left::named("nothing_to_summarise"));
        }
        let before = self.gathered.fold.visible().tokens();
        let (answer, sent_redacted) = self.ask_for_summary(split.body.clone()).await?;
        let refused = summary::refuse(&answer.text, self.wording.prompt(), &self.names(), before);
        if let Err(refusal) = refused {
            self.models.forget(&self.asked).await;
            return Err(Left::named(refusal.name()));
        }
        let words = longhaul_core::redact::redact(answer.text.trim());
        let view = self.text(&words.text, strategy);
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
        Ok(Made {
            strategy,
            history: replaced.items,
            view,
            fates: fates.filter_map(|(at, fate)| Some((*self.seqs.get(at)?, fate))).collect(),
            redacted: replaced.redacted + sent_redacted + u64::from(words.hits),
            texts: self.wording.used(texts_of(strategy)),
        })
    }

    /// Asks, with less and less of the oldest history while the model's window is exceeded.
    async fn ask_for_summary(
        &mut self,
        mut body: Vec<ClassifiedItem<'_>>,
    ) -> Result<(Answer, u64), Left> {
        let window = self.choice.context_window / 100 * 95;
        let prompt = self.wording.prompt();
        let overhead = tokens::of_text(prompt).saturating_add(self.choice.max_output_tokens);
        body.retain(summary::is_sent);
        let mut shed = InputTrim::to_fit(&mut body, window.saturating_sub(overhead));
        loop {
            let (input, redacted) = summary::input(&body, prompt, &shed);
            match self.ask(&input, Endpoint::Answer).await {
                Ok(answer) => return Ok((answer, redacted)),
                Err(kind) if kind == FaultKind::ContextOverflow && shed.step(&mut body) => {}
                Err(kind) => return Err(Left::named(kind.name())),
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
            deadline: (self.left)(),
            cancel: self.cancel,
        };
        (self.progress)(Stage::Asking, 0);
        let progress = |words: &str| (self.progress)(Stage::Writing, tokens::of_text(words));
        let result = self.models.ask(call, &progress).await;
        let spent = match &result {
            Ok(answered) => answered.spent,
            Err(failed) => failed.spent,
        };
        self.spent.requests += spent.requests;
        self.spent.tokens += spent.tokens;
        match result {
            Ok(answered) => {
                self.asked = answered.digest;
                Ok(answered.answer)
            }
            Err(failed) => {
                tracing::info!(fault = %failed.fault, "a model did not compact");
                Err(failed.fault.kind)
            }
        }
    }

    /// Prefix, summary and view in one text within the caller's budget. A summary gets half of it, and
    /// what the view leaves.
    fn text(&self, summary: &str, strategy: Strategy) -> String {
        let most = self.gathered.view_tokens(self.request);
        let room = tokens::bytes_of(most);
        let (mut head, guide) = (self.wording.prefix() + "\n\n", self.wording.guide());
        if head.len() > room / 2 {
            head = format!("{SUMMARY_OPENING}\n");
        }
        if strategy == Strategy::Summary || room < 2 * (head.len() + guide.len()) {
            let words = text::cut_middle(summary, room.saturating_sub(head.len()));
            return text::prefix(&format!("{head}{words}"), room).to_owned();
        }
        let words = text::cut_middle(summary, room / 2 - head.len());
        let guide = format!("\n\n{guide}\n\n");
        let left = room - head.len() - words.len() - guide.len();
        let Gathered { of, fold, semantics, disk, .. } = self.gathered;
        let scene = Scene { thread_id: Some(of), state: fold.checkpoint(), semantics, disk };
        let view = view::render(&scene, &ViewCaps::default(), (left / 4) as u64);
        format!("{head}{words}{guide}{view}")
    }

    /// Telling names of the conversation: files that were changed, and long words of the request.
    fn names(&self) -> Vec<String> {
        let state = self.gathered.fold.checkpoint();
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
    pub(super) async fn remote(&mut self, form: Remote) -> Result<Made, Left> {
        let items = std::mem::take(&mut self.items);
        let made = self.remote_of(&items, form).await;
        self.items = items;
        made
    }

    async fn remote_of(&mut self, items: &[Box<RawValue>], form: Remote) -> Result<Made, Left> {
        let told = tell(items);
        let most = self.choice.context_window / 100 * 95;
        let (sent, redacted) = remote::trimmed(&told, most);
        let room = remote::MESSAGES_TOKENS_MAX.min(self.messages_room());
        let result = match form {
            Remote::No => return Err(Left::named("not_configured")),
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
        let accepted = result.map_err(|kind| Left::named(kind.name()))?;
        let accepted = match accepted {
            Ok(accepted) => accepted,
            Err(fault) => {
                self.models.forget(&self.asked).await;
                return Err(Left(format!("{}: {}", fault.kind.name(), fault.detail)));
            }
        };
        let most = self.gathered.view_tokens(self.request);
        let view = self.checkpoint_view(most);
        let beside = format!("{}\n\n{view}", self.wording.guide());
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
        Ok(Made {
            strategy: Strategy::Remote,
            history,
            view,
            fates: std::collections::BTreeMap::new(),
            redacted,
            texts: self.wording.used(texts_of(Strategy::Remote)),
        })
    }

    /// Tokens of messages that may stand beside what a model made: half of what may be filled.
    fn messages_room(&self) -> u64 {
        worth::ceiling(self.gathered.window) / 2
    }

    fn checkpoint_view(&self, max_tokens: u64) -> String {
        let Gathered { of, fold, semantics, disk, .. } = self.gathered;
        let scene = Scene { thread_id: Some(of), state: fold.checkpoint(), semantics, disk };
        view::render(&scene, &ViewCaps::default(), max_tokens)
    }
}
