//! `compaction/*`.

use std::sync::Arc;

use longhaul_core::compaction::trigger::{self, TriggerMoment, Verdict};
use longhaul_core::context::window::{self, WindowSources};
use longhaul_core::template::TemplateGroup;
use longhaul_protocol::compaction::{
    Cancel, CancelParams, CancelResult, Get, GetParams, GetResult, List, ListParams, ListResult,
    Phase, Run, RunParams, RunResult, Should, ShouldParams, ShouldResult, Start, StartResult,
    Templates, Trigger, Undo, UndoParams, UndoResult,
};
use longhaul_protocol::policy::{TemplatesParams, TemplatesResult};
use longhaul_store::CompactionCursor;

use super::error::Failure;
use super::{Table, TableError, convert, cursor, texts};
use crate::link::CallContext;
use crate::service::Services;
use crate::service::compaction::{Reader, Request, Subject, WantedModel};
use crate::service::context::Question;

pub(super) fn register(table: &mut Table) -> Result<(), TableError> {
    table.on_async::<Run, _>(run)?;
    table.on_async::<Should, _>(should)?;
    table.on_async::<Start, _>(start)?;
    table.on_async::<Cancel, _>(cancel)?;
    table.on_async::<List, _>(list)?;
    table.on_async::<Get, _>(get)?;
    table.on::<Templates>(templates)?;
    table.on_async::<Undo, _>(undo)
}

async fn run(
    services: Arc<Services>,
    _: CallContext,
    params: RunParams,
) -> Result<RunResult, Failure> {
    Ok(convert::run_result(services.compact(request(params)?).await?))
}

async fn should(
    services: Arc<Services>,
    _: CallContext,
    params: ShouldParams,
) -> Result<ShouldResult, Failure> {
    if params.thread_id.is_none() && params.items.is_none() {
        return Err(Failure::invalid("thread_id", "give thread_id, items or both"));
    }
    let follow_up = params.follow_up.unwrap_or(true);
    let is_mid_turn = params.phase == Some(Phase::MidTurn);
    let previous = params.previous_model.map(|name| (name, params.previous_context_window));
    let usage = services
        .usage(Question {
            thread_id: params.thread_id,
            as_of: None,
            items: params.items,
            model: params.model,
            context_window: params.context_window,
            auto_compact_limit: params.auto_compact_limit,
        })
        .await?;
    let incoming = usage.incoming.unwrap_or(0);
    let moment = match is_mid_turn {
        true => TriggerMoment::MidTurn { follow_up },
        false => TriggerMoment::PreTurn { incoming },
    };
    let before = previous.as_ref().map(|(name, tokens)| {
        window::decide(&WindowSources {
            model: Some(name),
            asked: *tokens,
            ..WindowSources::default()
        })
    });
    let verdict = trigger::should(usage.used, moment, &usage.window, before.as_ref());
    let model = match (verdict, previous) {
        (Verdict::ModelDownshift, Some((name, _))) => Some(name),
        _ => usage.model,
    };
    Ok(ShouldResult {
        compact: verdict.compacts(),
        reason: verdict.name().to_owned(),
        model,
        used: usage.used,
        incoming,
        limit: usage.window.trigger,
        limit_source: usage.window.trigger_origin.name().to_owned(),
    })
}

async fn start(
    services: Arc<Services>,
    _: CallContext,
    params: RunParams,
) -> Result<StartResult, Failure> {
    let (compaction_id, job) = services.start_compaction(request(params)?).await?;
    Ok(StartResult { compaction_id, job: job.to_string() })
}

async fn cancel(
    services: Arc<Services>,
    _: CallContext,
    params: CancelParams,
) -> Result<CancelResult, Failure> {
    let cancelled = services.cancel_compaction(&params.compaction_id).await?;
    Ok(CancelResult { cancelled })
}

pub(super) fn request(params: RunParams) -> Result<Request, Failure> {
    let subject = match (params.thread_id, params.items, params.as_of) {
        (Some(thread_id), None, as_of) => Subject::Thread { thread_id, as_of },
        (None, Some(items), None) => Subject::Items(items),
        (None, Some(_), Some(_)) => return Err(Failure::invalid("as_of", "for a thread only")),
        _ => return Err(Failure::invalid("thread_id", "give either thread_id or items")),
    };
    let trigger = match params.trigger {
        Some(Trigger::Auto) => "auto",
        _ => "manual",
    };
    let reader = params
        .model
        .as_ref()
        .map(|model| Reader { name: model.name.clone(), context_window: model.context_window });
    let request = Request {
        subject,
        strategy: convert::strategy(params.strategy),
        phase: convert::phase(params.phase),
        trigger: trigger.to_owned(),
        max_tokens: params.max_tokens,
        initial_context: params.initial_context.unwrap_or_default(),
        model: params.model.and_then(|model| {
            Some(WantedModel { provider: model.provider?, name: model.name, effort: None })
        }),
        deadline_ms: params.deadline_ms,
        reason: params.reason.and_then(convert::reason),
        reader,
        templates: convert::own_texts(params.templates),
    };
    Ok(request)
}

fn templates(
    services: &Services,
    _: &CallContext,
    TemplatesParams { seed }: TemplatesParams,
) -> Result<TemplatesResult, Failure> {
    texts::templates(services, TemplateGroup::Compaction, seed.unwrap_or(false))
}

async fn list(
    services: Arc<Services>,
    _: CallContext,
    params: ListParams,
) -> Result<ListResult, Failure> {
    let after = params.cursor.as_deref().map(cursor::read).transpose()?;
    let after = after
        .map(|(created_at_ms, compaction_id)| CompactionCursor { created_at_ms, compaction_id });
    let limit = convert::page_rows(params.limit);
    let (rows, next) =
        services.compactions(params.thread_id.as_deref(), limit, after.as_ref()).await?;
    Ok(ListResult {
        compactions: rows.into_iter().map(convert::summary).collect(),
        next_cursor: next.map(|next| cursor::show(next.created_at_ms, &next.compaction_id)),
    })
}

async fn get(
    services: Arc<Services>,
    _: CallContext,
    params: GetParams,
) -> Result<GetResult, Failure> {
    let compaction = services.compaction(&params.compaction_id).await?;
    let summary = convert::summary_of(&compaction);
    let policy = compaction.policy.as_ref().map(super::policy::trigger);
    Ok(GetResult { run: convert::run_result(compaction), summary, policy })
}

async fn undo(
    services: Arc<Services>,
    _: CallContext,
    params: UndoParams,
) -> Result<UndoResult, Failure> {
    let undone = services.undo(&params.compaction_id).await?;
    Ok(UndoResult {
        compaction_id: params.compaction_id,
        undone_at: undone.undone_at_ms,
        history: undone.history,
        handles: undone
            .handles
            .into_iter()
            .map(|(handle, span)| convert::entry(&handle, &span))
            .collect(),
        complete: undone.complete,
    })
}
