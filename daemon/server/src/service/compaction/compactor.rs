//! Runs one compaction: gathers its input, checks it, tries the ladder, accounts for the items and records it.

use std::sync::Arc;
use std::time::Duration;

use longhaul_core::compaction::receipt::{Receipt, Span};
use longhaul_core::compaction::replacement_check::{Flaw, Sizes};
use longhaul_core::model::budget::Spending;

use super::agent_steps::AgentSteps;
use super::gather::Gatherer;
use super::input::Input;
use super::install::Installer;
use super::ladder::{Ladder, LadderOutcome};
use super::log::{CompactionLog, Keeping};
use super::loop_guard::LoopGuard;
use super::packet::Packets;
use super::preview::{self, Preview};
use super::progress::ProgressEvents;
use super::record::{Compaction, Notice};
use super::replacement::Replacement;
use super::request::{Reason, Request};
use super::spans::Spans;
use crate::clock::Clock;
use crate::events::EventHub;
use crate::service::error::ServiceError;
use crate::service::preimage;

/// The steps of a compaction, in order.
pub struct Steps {
    pub agent_steps: AgentSteps,
    pub gatherer: Gatherer,
    pub guard: LoopGuard,
    pub packets: Packets,
    pub ladder: Ladder,
    pub spans: Spans,
    pub installer: Arc<Installer>,
    pub log: Arc<CompactionLog>,
}

pub struct Compactor {
    steps: Steps,
    clock: Clock,
    events: EventHub,
}

impl Compactor {
    pub fn new(steps: Steps, clock: Clock, events: EventHub) -> Self {
        Self { steps, clock, events }
    }

    pub async fn run(&self, request: Request) -> Result<Compaction, ServiceError> {
        let step = self.steps.agent_steps.start(&request, || self.new_id()).await?;
        let keeping = step.as_ref().map_or(Keeping::New, Keeping::OfStep);
        let id = step.as_ref().map(|step| step.compaction_id.clone());
        let progress = self.progress(id.unwrap_or_else(|| self.new_id()));
        let compaction = self.run_as(&progress, request, keeping).await;
        // The events of an id that was taken over are those of the newer step.
        let is_taken_over = step.is_some_and(|step| step.is_taken_over());
        if let Err(error) = compaction.as_ref()
            && !is_taken_over
        {
            progress.failed(&error.to_string(), false);
        }
        compaction
    }

    /// The result of [`run`](Self::run) for a thread, as far as it does not depend on a model.
    pub async fn preview(&self, mut request: Request) -> Result<Preview, ServiceError> {
        let Steps { gatherer, packets, ladder, spans, .. } = &self.steps;
        let mut input = gatherer.gather("", &request).await?;
        ladder.find_context(&mut request, &mut input).await?;
        let cause = packets.cause(input.thread_id.as_deref(), &mut request).await;
        let mut outlook = ladder.outlook(&request, &input);
        if let Some(cause) = &cause {
            cause.add_packet(&mut outlook.replacement);
        }
        let rows = spans.rows(&input).await?;
        Ok(preview::of(&request, input, outlook, rows))
    }

    /// Whether a model is configured.
    pub fn has_model(&self) -> bool {
        self.steps.ladder.has_model()
    }

    /// An id for a new compaction.
    pub fn new_id(&self) -> String {
        preimage::id(&self.clock.new_id())
    }

    /// The event publisher of the compaction with this id.
    pub(super) fn progress(&self, id: String) -> ProgressEvents {
        ProgressEvents::new(self.events.clone(), id)
    }

    /// Compacts under the id of `progress`; the caller publishes a failure.
    pub(super) async fn run_as(
        &self,
        progress: &ProgressEvents,
        mut request: Request,
        keeping: Keeping<'_>,
    ) -> Result<Compaction, ServiceError> {
        request.check_templates()?;
        self.check_install(&request).await?;
        let id = progress.id().to_owned();
        let Steps { agent_steps, gatherer, guard, packets, ladder, spans, log, .. } = &self.steps;
        let started = self.clock.elapsed();
        let mut input = gatherer.gather(&id, &request).await?;
        if !keeping.replaces() {
            guard.check(&id, &request, &input).await?;
        }
        ladder.find_context(&mut request, &mut input).await?;
        let cause = packets.cause(input.thread_id.as_deref(), &mut request).await;
        progress.started(&request, input.thread_id.as_deref(), input.fold.visible().tokens());
        let LadderOutcome { mut replacement, rungs, spent, problems } =
            ladder.run(&request, &input, progress).await?;
        if let Some(cause) = &cause {
            cause.add_packet(&mut replacement);
        }
        let alone = replacement.dispositions.keys().copied();
        let alone = alone.chain(replacement.unseen.iter().map(|unseen| unseen.first));
        let spans = spans.of(&input, alone).await?;
        let mut compaction = account(id, &request, input, replacement, spans);
        compaction.warnings.extend(problems);
        compaction.created_at_ms = self.clock.now_ms();
        compaction.duration_ms = whole_ms(self.clock.elapsed().saturating_sub(started));
        compaction.ladder = rungs;
        compaction.spent = spent;
        if let Some(cause) = cause {
            compaction.policy = Some(cause.trigger);
            compaction.decision_id = cause.decision_id;
            compaction.reason = Some(Reason::Policy);
        }
        let recording = match keeping {
            Keeping::OfStep(step) => Some(agent_steps.recording(step).await?),
            Keeping::New | Keeping::OfJob(_) => None,
        };
        log.keep(&mut compaction, keeping).await?;
        drop(recording);
        self.install(&mut compaction).await?;
        progress.done(&compaction);
        Ok(compaction)
    }

    /// Checks that the result can be installed, if the request says so.
    ///
    /// # Errors
    /// [`ServiceError::ThreadReadOnly`], or an I/O error.
    pub async fn check_install(&self, request: &Request) -> Result<(), ServiceError> {
        match request.installs_in() {
            Some(thread_id) => self.steps.installer.check(thread_id).await,
            None => Ok(()),
        }
    }

    /// Installs a stored compaction, if its request said so.
    ///
    /// # Errors
    /// The thread continued in a way that conflicts with the replacement, or an I/O error.
    pub async fn install(&self, compaction: &mut Compaction) -> Result<(), ServiceError> {
        if let Some(thread_id) = compaction.thread_id.as_deref().filter(|_| compaction.install) {
            let seq = self.steps.installer.install(thread_id, compaction).await?;
            compaction.installed_seq = Some(seq);
        }
        Ok(())
    }
}

fn whole_ms(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// Warns of a flaw in a replacement that is used anyway.
fn flawed(flaw: Flaw, sizes: &Sizes) -> Notice {
    let Sizes { before, after, window } = sizes;
    let words = match flaw {
        Flaw::OverCeiling => format!(
            "{after} tokens are more than half of a window of {window}: the request itself is that large"
        ),
        Flaw::TooLarge => format!(
            "{before} tokens became {after}: the history is too small to gain from compacting"
        ),
        Flaw::Empty | Flaw::RequestMissing | Flaw::PairBroken => {
            "the replacement lacks the request's own item".to_owned()
        }
    };
    Notice::new(flaw.into_str(), words)
}

/// Assembles the compaction: sizes, receipt and warnings.
fn account(
    id: String,
    request: &Request,
    input: Input,
    replacement: Replacement,
    spans: Vec<Span>,
) -> Compaction {
    let (sizes, checked) = (input.sizes(&replacement.history), replacement.check(&input));
    let Input { of, thread_id, fold, mut warnings, redacted, seq, .. } = input;
    let (before, after) = (sizes.before, sizes.after);
    warnings.extend(checked.err().map(|flaw| flawed(flaw, &sizes)));
    if replacement.strategy.asks() && fold.checkpoint().compactions > 0 {
        warnings.push(Notice::new(
            "accuracy",
            "this thread was summarised more than once; consider starting a new one",
        ));
    }
    warnings.extend(replacement.notices);
    let receipt = Receipt::of(spans, replacement.unseen, |span| {
        let disposition = replacement.dispositions.get(&span.first).copied();
        disposition.filter(|_| span.items == 1)
    });
    Compaction {
        id,
        of,
        thread_id,
        strategy_used: replacement.strategy,
        ladder: Vec::new(),
        history: replacement.history,
        view: replacement.view,
        tokens: (before, after),
        receipt,
        redacted: redacted + replacement.redacted,
        warnings,
        phase: request.phase,
        trigger: request.trigger.clone(),
        created_at_ms: 0,
        seq,
        duration_ms: 0,
        undone_at_ms: None,
        spent: Spending::default(),
        policy: None,
        decision_id: None,
        reason: Some(request.reason.unwrap_or_else(|| Reason::of("", &request.trigger))),
        texts: replacement.texts,
        agent_step: request.agent_step,
        install: request.install,
        installed_seq: None,
    }
}
