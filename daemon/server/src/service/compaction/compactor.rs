//! Runs one compaction: gathers its input, checks it, tries the ladder, accounts for the items and records it.

use longhaul_core::compaction::receipt::Receipt;
use longhaul_core::compaction::replacement_check::{Flaw, Sizes};
use longhaul_core::model::budget::Spending;
use longhaul_core::text::grouped;

use super::input::Input;
use super::ladder::{Ladder, LadderOutcome};
use super::log::StoreAs;
use super::prepare::Preparation;
use super::preview::{self, Preview};
use super::progress::ProgressEvents;
use super::record::{Compaction, Notice};
use super::records::Records;
use super::replacement::Replacement;
use super::request::{Reason, Request};
use super::spans::Spans;
use crate::clock::Clock;
use crate::events::EventHub;
use crate::service::error::ServiceError;
use crate::service::preimage::{self, RunningCompactions};

pub struct Compactor {
    pub(in crate::service) preparation: Preparation,
    pub(in crate::service) ladder: Ladder,
    pub(in crate::service) spans: Spans,
    pub(in crate::service) records: Records,
    pub(in crate::service) running: RunningCompactions,
    pub(in crate::service) clock: Clock,
    pub(in crate::service) events: EventHub,
}

impl Compactor {
    pub async fn run(&self, request: Request) -> Result<Compaction, ServiceError> {
        let step = self.records.agent_steps.start(&request, || self.new_id()).await?;
        let id = step.as_ref().map(|step| step.compaction_id.clone());
        let id = id.unwrap_or_else(|| self.new_id());
        let progress = ProgressEvents::new(self.events.clone(), id, step);
        let store_as = progress.step.as_ref().map_or(StoreAs::New, StoreAs::OfStep);
        let compaction = self.run_as(&progress, request, store_as).await;
        if let Err(error) = compaction.as_ref() {
            progress.failed(&error.to_string(), false);
        }
        compaction
    }

    /// The result of [`run`](Self::run) for a thread, as far as it does not depend on a model.
    pub async fn preview(&self, mut request: Request) -> Result<Preview, ServiceError> {
        let (input, cause) = self.preparation.prepare("", &mut request, false).await?;
        let mut outlook = self.ladder.outlook(&request, &input);
        let over = outlook.replacement.limit_notice(&request, &input);
        outlook.replacement.notices.extend(over);
        if let Some(cause) = &cause {
            cause.add_packet(&mut outlook.replacement);
        }
        let rows = self.spans.rows(&input).await?;
        Ok(preview::of(input, outlook, rows))
    }

    pub fn new_id(&self) -> String {
        preimage::id(&self.clock.new_id())
    }

    /// Compacts under the id of `progress`; the caller publishes a failure.
    pub(super) async fn run_as(
        &self,
        progress: &ProgressEvents,
        mut request: Request,
        store_as: StoreAs<'_>,
    ) -> Result<Compaction, ServiceError> {
        request.check_templates()?;
        request.redact();
        self.records.installer.check(&request).await?;
        let id = progress.id().to_owned();
        let _running = self.running.begin(&id);
        let started = self.clock.elapsed();
        let erasures = self.ladder.models.erasures();
        let (input, cause) =
            self.preparation.prepare(&id, &mut request, !store_as.replaces()).await?;
        progress.started(&request, input.thread_id.as_deref(), input.fold.visible().tokens());
        let LadderOutcome { mut replacement, rungs, spent, problems } =
            self.ladder.run(&request, (&input, erasures), progress).await?;
        replacement.notices.extend(replacement.limit_notice(&request, &input));
        if let Some(cause) = &cause {
            cause.add_packet(&mut replacement);
        }
        let receipt = Receipt::of(self.spans.of(&input, &replacement).await?, replacement.unseen);
        let mut compaction = assemble(id, &request, input, replacement, receipt);
        compaction.warnings.extend(problems);
        compaction.created_at_ms = self.clock.now_ms();
        compaction.duration_ms = self.clock.ms_since(started);
        compaction.ladder = rungs;
        compaction.spent = spent;
        if let Some(cause) = cause {
            compaction.policy = Some(cause.trigger);
            compaction.decision_id = cause.decision_id;
            compaction.reason = Some(Reason::Policy);
        }
        self.records.keep(&mut compaction, store_as).await?;
        self.records.installer.install(&mut compaction).await?;
        progress.done(&compaction);
        Ok(compaction)
    }
}

/// Warns of a flaw in a replacement that is used anyway.
fn flawed(flaw: Flaw, sizes: &Sizes) -> Notice {
    let Sizes { before, after, window } = sizes;
    let (before, after) = (grouped(*before), grouped(*after));
    let words = match flaw {
        Flaw::OverCeiling => format!(
            "{after} tokens are more than half of a window of {}: the request itself is that large",
            grouped(*window)
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

fn assemble(
    id: String,
    request: &Request,
    input: Input,
    replacement: Replacement,
    receipt: Receipt,
) -> Compaction {
    let (sizes, checked) = (input.sizes(&replacement.history), replacement.check(&input));
    let Input { of, thread_id, fold, mut warnings, redacted, seq, .. } = input;
    let (before, after) = (sizes.before, sizes.after);
    warnings.extend(checked.err().map(|flaw| flawed(flaw, &sizes)));
    if replacement.strategy.asks() && fold.checkpoint().compactions > 0 {
        warnings.push(Notice::new(
            "accuracy",
            "this thread was summarized more than once; consider starting a new one",
        ));
    }
    warnings.extend(replacement.notices);
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
        redacted: request.redacted + redacted + replacement.redacted,
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
