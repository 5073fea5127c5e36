//! The rungs that ask a model: a summary, a summary with the checkpoint, the provider's own compaction.
//!
//! Each returns what it made, or a typed reason why the next rung is taken. Nothing is stored here.

use std::time::Duration;

use longhaul_core::checkpoint::view::{self, Scene, ViewCaps};
use longhaul_core::compaction::ladder::Strategy;
use longhaul_core::compaction::receipt::Fate;
use longhaul_core::compaction::summary::{self, Layout, Shed, Split};
use longhaul_core::compaction::told::{Told, tell};
use longhaul_core::compaction::{assemble, remote};
use longhaul_core::model::budget::Spent;
use longhaul_core::model::{Answer, Ask, Endpoint, FaultKind};
use longhaul_core::{text, tokens};
use serde_json::Value;
use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;

use super::gather::Gathered;
use super::{GUIDE, Made, Request};
use crate::model::{Call, ModelChoice, Models, Purpose, Remote};

/// What a model is asked for a summary.
const PROMPT: &str = include_str!("../../../../../templates/compaction/summary_prompt.md");

/// Stands above a summary.
const PREFIX: &str = include_str!("../../../../../templates/compaction/summary_prefix.md");

/// Names out of the checkpoint that a summary is held against.
const NAMES_MAX: usize = 40;

/// Why a rung was left: a stable name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Left(pub(super) String);

impl Left {
    fn named(name: &str) -> Self {
        Self(name.to_owned())
    }
}

/// One attempt to compact with a model.
pub(super) struct Asking<'a> {
    pub(super) models: &'a Models,
    pub(super) choice: &'a ModelChoice,
    pub(super) request: &'a Request,
    pub(super) gathered: &'a Gathered,
    /// Visible items, with their lines.
    pub(super) seqs: Vec<u64>,
    pub(super) items: Vec<Box<RawValue>>,
    pub(super) cancel: &'a CancellationToken,
    /// Tells tokens written so far.
    pub(super) progress: &'a (dyn Fn(u64) + Sync),
    pub(super) spent: Spent,
}

impl Asking<'_> {
    /// A summary, with the checkpoint's view below it where `strategy` says so.
    pub(super) async fn summary(
        &mut self,
        strategy: Strategy,
        time: Duration,
    ) -> Result<Made, Left> {
        let items = std::mem::take(&mut self.items);
        let made = self.summary_of(&items, strategy, time).await;
        self.items = items;
        made
    }

    async fn summary_of(
        &mut self,
        items: &[Box<RawValue>],
        strategy: Strategy,
        time: Duration,
    ) -> Result<Made, Left> {
        let split = Split::of(tell(items));
        if split.is_empty() {
            return Err(Left::named("nothing_to_summarise"));
        }
        let before = self.gathered.fold.visible().tokens();
        let (answer, sent_redacted) = self.ask_for_summary(split.body.clone(), time).await?;
        summary::refuse(&answer.text, PROMPT, &self.names(), before)
            .map_err(|refusal| Left::named(refusal.name()))?;
        let words = longhaul_core::redact::redact(answer.text.trim());
        let view = self.text(&words.text, strategy);
        let layout = Layout {
            split: &split,
            summary: &view,
            initial_context: &self.request.initial_context,
            phase: self.request.phase,
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
        })
    }

    /// Asks, with less and less of the oldest history while the model's window is exceeded.
    async fn ask_for_summary(
        &mut self,
        mut body: Vec<Told<'_>>,
        time: Duration,
    ) -> Result<(Answer, u64), Left> {
        let window = self.choice.context_window / 100 * 95;
        let overhead = tokens::of_text(PROMPT).saturating_add(self.choice.max_output_tokens);
        Shed::to_fit(&mut body, window.saturating_sub(overhead));
        let mut shed = Shed::new(body.iter().map(|told| told.tokens).sum());
        loop {
            let (input, redacted) = summary::input(&body, PROMPT.trim());
            match self.ask(&input, Endpoint::Answer, time).await {
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
        time: Duration,
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
            deadline: time,
            cancel: self.cancel,
        };
        let progress = |words: &str| (self.progress)(tokens::of_text(words));
        let result = self.models.ask(call, &progress).await;
        let spent = match &result {
            Ok(answered) => answered.spent,
            Err(failed) => failed.spent,
        };
        self.spent.requests += spent.requests;
        self.spent.tokens += spent.tokens;
        match result {
            Ok(answered) => Ok(answered.answer),
            Err(failed) => {
                tracing::info!(fault = %failed.fault, "a model did not compact");
                Err(failed.fault.kind)
            }
        }
    }

    /// Prefix, summary and view in one text within the caller's budget. A summary gets half of it, and
    /// what the view leaves.
    fn text(&self, summary: &str, strategy: Strategy) -> String {
        let most = self.request.max_tokens.unwrap_or_else(|| self.gathered.view_tokens());
        let room = tokens::bytes_of(most);
        let head = format!("{}\n\n", PREFIX.trim_end());
        if strategy == Strategy::Summary || room < 2 * (head.len() + GUIDE.len()) {
            let words = text::cut_middle(summary, room.saturating_sub(head.len()));
            return text::prefix(&format!("{head}{words}"), room).to_owned();
        }
        let words = text::cut_middle(summary, room / 2 - head.len());
        let guide = format!("\n\n{}\n\n", GUIDE.trim_end());
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
    pub(super) async fn remote(&mut self, form: Remote, time: Duration) -> Result<Made, Left> {
        let items = std::mem::take(&mut self.items);
        let made = self.remote_of(&items, form, time).await;
        self.items = items;
        made
    }

    async fn remote_of(
        &mut self,
        items: &[Box<RawValue>],
        form: Remote,
        time: Duration,
    ) -> Result<Made, Left> {
        let told = tell(items);
        let most = self.choice.context_window / 100 * 95;
        let (sent, redacted) = remote::trimmed(&told, most);
        let result = match form {
            Remote::No => return Err(Left::named("not_configured")),
            Remote::Streamed => {
                let mut input = sent.clone();
                input.push(remote::trigger());
                let answer = self.ask(&input, Endpoint::Answer, time).await;
                answer.map(|answer| remote::accepted(&answer.items, Some(&sent)))
            }
            Remote::Unary => {
                let answer = self.ask(&sent, Endpoint::Compact, time).await;
                answer.map(|answer| remote::accepted(&answer.items, None))
            }
        };
        let mut history = result
            .map_err(|kind| Left::named(kind.name()))?
            .map_err(|fault| Left(format!("{}: {}", fault.kind.name(), fault.detail)))?;
        let most = self.request.max_tokens.unwrap_or_else(|| self.gathered.view_tokens());
        let view = self.checkpoint_view(most);
        let beside = format!("{}\n\n{view}", GUIDE.trim_end());
        let last = history.len().saturating_sub(1);
        let context: &[Value] = match self.request.phase {
            longhaul_core::compaction::Phase::MidTurn => &self.request.initial_context,
            _ => &[],
        };
        let between = std::iter::once(assemble::message("user", &beside));
        history.splice(last..last, between.chain(context.iter().cloned()));
        Ok(Made {
            strategy: Strategy::Remote,
            history,
            view,
            fates: std::collections::BTreeMap::new(),
            redacted,
        })
    }

    fn checkpoint_view(&self, max_tokens: u64) -> String {
        let Gathered { of, fold, semantics, disk, .. } = self.gathered;
        let scene = Scene { thread_id: Some(of), state: fold.checkpoint(), semantics, disk };
        view::render(&scene, &ViewCaps::default(), max_tokens)
    }
}
