//! `policy/*`.

mod check;
mod to_wire;

use std::collections::BTreeSet;
use std::sync::Arc;

use longhaul_core::policy::judgment::{self, Judgment};
use longhaul_core::policy::watcher::{Effect as Done, Event};
use longhaul_core::policy::{Point as At, replay};
use longhaul_core::signal::Boundary;
use longhaul_core::template::TemplateGroup;
use longhaul_protocol::Block;
use longhaul_protocol::ErrorKind;
use longhaul_protocol::policy::{
    Check, Effect, Evaluate, EvaluateParams, EvaluateResult, Explain, ExplainParams, ExplainResult,
    Log, LogParams, LogResult, Point, Report, ReportParams, ReportPolicy, ReportResult, Step,
    StepEvent, StepParams, StepResult, Templates,
};

use super::error::Failure;
use super::texts::templates;
use super::{Table, TableError, convert};
use crate::config::Live;
use crate::service::policy::{
    DecisionLog, LogEntry, Replays, StepEffect, SteppedThread, Subject, Watchers,
};
use crate::service::texts::TextStore;
use crate::service::{PolicyServices, ServiceError};

pub(super) use to_wire::trigger;

pub(super) fn register(
    table: &mut Table,
    policy: &PolicyServices,
    texts: &Arc<TextStore>,
    config: &Live,
) -> Result<(), TableError> {
    let mut watchers = table.of(&policy.watchers);
    watchers.on_async::<Evaluate, _>(evaluate)?;
    watchers.on_async::<Step, _>(step)?;
    let mut decisions = table.of(&policy.log);
    decisions.on_async::<Explain, _>(explain)?;
    decisions.on_async::<Log, _>(log)?;
    table.of(&policy.replays).on_async::<Report, _>(report)?;
    table.of(&Arc::new(config.clone())).on_blocking::<Check>(check::check)?;
    let group = TemplateGroup::Policy;
    table.of(texts).on_blocking::<Templates>(move |texts, params| templates(texts, group, params))
}

async fn evaluate(
    watchers: Arc<Watchers>,
    params: EvaluateParams,
) -> Result<EvaluateResult, Failure> {
    let point = params.point.unwrap_or(Point::TurnEnd);
    let point = convert::same_variants!(point, Point => At, TurnEnd | MidTurn);
    let subject = Subject {
        thread_id: params.thread_id,
        as_of: params.as_of,
        model: params.model,
        context_window: params.context_window,
    };
    let record = params.record.unwrap_or(false);
    let found = watchers.evaluate(subject, point, record).await?;
    Ok(EvaluateResult {
        thread_id: found.situation.thread_id,
        seq: found.situation.seq,
        turn: found.situation.turn,
        used: found.situation.used,
        window: found.situation.window,
        decision: to_wire::named_decision(&found.named),
        shadows: found.shadows.iter().map(to_wire::named_decision).collect(),
        forecast: to_wire::forecast(&found.forecast),
        watcher: to_wire::watcher(&found.watcher, watchers.mode()),
        repository: found.situation.repository.as_deref().map(to_wire::repository),
    })
}

async fn step(watchers: Arc<Watchers>, params: StepParams) -> Result<StepResult, Failure> {
    let StepParams { thread_id, mut event, agent, model, context_window } = params;
    let signs = match &mut event {
        StepEvent::TurnEnded { boundaries, .. } | StepEvent::MidTurn { boundaries, .. } => {
            signs(boundaries.take())?
        }
        _ => BTreeSet::new(),
    };
    let subject = Subject { thread_id: thread_id.clone(), as_of: None, model, context_window };
    let event = |thread: SteppedThread<'_>| watcher_event(event, signs, &thread);
    let stepped = watchers.step(subject, agent.as_deref(), event).await?;
    Ok(StepResult {
        thread_id,
        watcher: to_wire::watcher(&stepped.watcher, watchers.mode()),
        effects: stepped.effects.into_iter().map(effect).collect(),
        decision: stepped.named.as_ref().map(to_wire::named_decision),
    })
}

fn watcher_event(event: StepEvent, signs: BTreeSet<Boundary>, thread: &SteppedThread<'_>) -> Event {
    match event {
        StepEvent::TurnEnded { message, notify_only, compact_only, .. } => {
            let situation = thread.situation(At::TurnEnd, message, signs);
            match (notify_only.unwrap_or(false), compact_only.unwrap_or(false)) {
                (true, _) => Event::TurnSeen(situation),
                (false, true) => Event::TurnEndedCompactOnly(situation),
                (false, false) => Event::TurnEnded(situation),
            }
        }
        StepEvent::MidTurn { compact_only, .. } => {
            let situation = thread.situation(At::MidTurn, None, signs);
            match compact_only.unwrap_or(false) {
                true => Event::MidTurnCompactOnly(situation),
                false => Event::MidTurn(situation),
            }
        }
        StepEvent::Compacted { tokens_after, turn_end_follows } => Event::Compacted {
            tokens_after: tokens_after.unwrap_or(thread.used()),
            turn_end_follows: turn_end_follows.unwrap_or(false),
        },
        StepEvent::Judged { request_id, should_compact, reason } => {
            let reason = longhaul_core::redact::redact(reason.as_deref().unwrap_or_default());
            let reason = longhaul_core::text::prefix(&reason.text, 400).to_owned();
            let judgment = should_compact.map(|should_compact| Judgment { should_compact, reason });
            Event::Judged { request_id, judgment }
        }
        StepEvent::CompactionFailed { reason } => {
            Event::CompactionFailed { reason, compacted: thread.compacted() }
        }
        StepEvent::CompactionEnded { tokens_after, reason } => Event::CompactOnlyEnded {
            made: reason.map_or_else(|| Ok(tokens_after.unwrap_or(thread.used())), Err),
        },
        StepEvent::UserMessage { is_shell, accepts_prefix } => Event::UserMessage {
            is_shell: is_shell.unwrap_or(false),
            takes_prefix: accepts_prefix.unwrap_or(false),
        },
        StepEvent::Resume {} => Event::Resume { compacted: thread.compacted() },
        StepEvent::Tick {} => Event::Tick,
        StepEvent::Cancel {} => Event::Cancel,
    }
}

/// Parses signs by name. The end of a turn is a separate event and not accepted as a sign.
fn signs(names: Option<Vec<String>>) -> Result<BTreeSet<Boundary>, Failure> {
    let sign = |name: String| {
        let found = name.parse().ok().filter(|sign| *sign != Boundary::TurnComplete);
        found.ok_or_else(|| {
            let known =
                Boundary::ALL.iter().copied().filter(|sign| *sign != Boundary::TurnComplete);
            let known: Vec<_> = known.map(<&str>::from).collect();
            Failure::new(ErrorKind::InvalidParams, format!("no sign {name:?}"))
                .with_hint(format!("known signs: {}", known.join(", ")))
        })
    };
    names.unwrap_or_default().into_iter().map(sign).collect()
}

fn effect(step_effect: StepEffect) -> Effect {
    let StepEffect { effect, question } = step_effect;
    let named = |name: &str| Effect { effect: name.to_owned(), ..Effect::default() };
    match effect {
        Done::Notify { text } => Effect { text: Some(text.into()), ..named("notify") },
        Done::Warn { text } => Effect { text: Some(text.into()), ..named("warn") },
        Done::AskJudgment { request_id, trigger } => {
            let (instructions, prompt) = question.unzip();
            Effect {
                request_id: Some(request_id),
                instructions: instructions.map(Block),
                prompt: prompt.map(Block),
                schema: Some(judgment::schema()),
                trigger: Some(to_wire::trigger(&trigger, None)),
                ..named("ask_judgment")
            }
        }
        Done::RequestScratch { prompt } => {
            Effect { prompt: Some(prompt.into()), ..named("request_scratch") }
        }
        Done::RequestPacket { prompt } => {
            Effect { prompt: Some(prompt.into()), ..named("request_packet") }
        }
        Done::Compact { trigger, packet } => Effect {
            packet: Some(packet.into()),
            trigger: Some(to_wire::trigger(&trigger, None)),
            ..named("compact")
        },
        Done::InjectHandoff { text } => {
            Effect { text: Some(text.into()), ..named("inject_handoff") }
        }
        Done::HoldMessage => named("hold_message"),
        Done::ReleaseMessage { prefix } => {
            Effect { prefix: prefix.map(Block), ..named("release_message") }
        }
    }
}

async fn explain(
    decisions: Arc<DecisionLog>,
    params: ExplainParams,
) -> Result<ExplainResult, Failure> {
    // An id that is not a number belongs to no decision.
    let id = params.decision_id.parse().unwrap_or(0);
    let found = decisions.explain(id).await.map_err(|error| match error {
        ServiceError::HandleNotFound(_) => {
            let message = format!("no decision {:?}", params.decision_id);
            Failure::new(ErrorKind::HandleNotFound, message).with_hint(
                "longhaul policy log lists the kept decisions: the newest 500 of each thread",
            )
        }
        error => error.into(),
    })?;
    Ok(ExplainResult {
        is_reproduced: found.logged.bytes() == found.decision.bytes(),
        decision: to_wire::decision(&found.row.policy, Some(id), &found.decision),
        situation: serde_json::to_value(&found.situation).unwrap_or_default(),
        settings: serde_json::to_value(&found.policy).unwrap_or_default(),
        logged: to_wire::logged(found.row, &found.logged, found.situation.repository.as_deref()),
    })
}

async fn log(decisions: Arc<DecisionLog>, params: LogParams) -> Result<LogResult, Failure> {
    let before = params.before.map(|before| before.parse().unwrap_or(0));
    let limit = convert::page_rows(params.limit);
    let (thread_id, policy) = (params.thread_id.as_deref(), params.policy.as_deref());
    let (rows, events) = decisions.list(thread_id, policy, before, limit).await?;
    let row = |LogEntry { row, decision, repository }| {
        to_wire::logged(row, &decision, repository.as_deref())
    };
    Ok(LogResult {
        decisions: rows.into_iter().map(row).collect(),
        events: events.into_iter().map(to_wire::happened).collect(),
    })
}

async fn report(replays: Arc<Replays>, params: ReportParams) -> Result<ReportResult, Failure> {
    let ReportParams { thread_id, context_window } = params;
    let subject = Subject { thread_id: thread_id.clone(), context_window, ..Subject::default() };
    let found = replays.report(&subject).await?;
    let track = |track: replay::Track| ReportPolicy {
        policy: track.policy().name.clone(),
        decisions: track.decisions,
        compactions: track.count,
        files_reused: track.points.iter().map(|point| point.used_again.len() as u64).sum(),
        points: track.points.into_iter().map(to_wire::would_compact).collect(),
    };
    Ok(ReportResult {
        thread_id,
        turns: found.turns,
        compactions: found.compactions,
        is_truncated: found.is_cut,
        policies: found.tracks.into_iter().map(track).collect(),
    })
}
