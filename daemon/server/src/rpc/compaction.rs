//! `compaction/*`.

use std::sync::Arc;

use longhaul_core::compaction::agent_limit::{self, LimitVerdict, TriggerMoment};
use longhaul_core::context::window::{self, WindowSources};
use longhaul_core::template::TemplateGroup;
use longhaul_core::thread::Source;
use longhaul_protocol::compaction::{
    self as wire, Cancel, CancelParams, CancelResult, CompactionGet, CompactionGetParams,
    CompactionGetResult, CompactionList, CompactionListParams, CompactionListResult, Phase,
    Preview, Run, RunParams, RunResult, Should, ShouldParams, ShouldResult, Start, StartResult,
    Templates, Trigger, Undo, UndoParams, UndoReach, UndoResult,
};
use longhaul_store::CompactionCursor;

use super::error::Failure;
use super::{Table, TableError, convert, cursor};
use crate::service::CompactionServices;
use crate::service::compaction::{
    self, AgentStep, CompactionJobs, CompactionLog, Compactor, Installer, ModelRef, Request,
    Subject,
};
use crate::service::context::{Contexts, UsageQuery};
use crate::service::texts::TextStore;

mod preview;

pub(super) fn register(
    table: &mut Table,
    services: &CompactionServices,
    contexts: &Arc<Contexts>,
    texts: &Arc<TextStore>,
) -> Result<(), TableError> {
    let mut compactor = table.of(&services.compactor);
    compactor.on_async::<Run, _>(run)?;
    compactor.on_async::<Preview, _>(preview::preview)?;
    table.of(contexts).on_async::<Should, _>(should)?;
    let mut jobs = table.of(&services.jobs);
    jobs.on_async::<Start, _>(start)?;
    jobs.on_async::<Cancel, _>(cancel)?;
    let mut log = table.of(&services.log);
    log.on_async::<CompactionList, _>(list)?;
    let installer = services.installer.clone();
    log.on_async::<CompactionGet, _>(move |log, params| get(log, installer.clone(), params))?;
    table.of(texts).on::<Templates>(|texts, _, params| {
        super::texts::templates(texts, TemplateGroup::Compaction, params)
    })?;
    table.of(&services.undo).on_async::<Undo, _>(undo)
}

async fn run(compactor: Arc<Compactor>, params: RunParams) -> Result<RunResult, Failure> {
    Ok(convert::run_result(compactor.run(request(params)?).await?))
}

async fn should(contexts: Arc<Contexts>, params: ShouldParams) -> Result<ShouldResult, Failure> {
    if params.thread_id.is_none() && params.items.is_none() {
        return Err(Failure::invalid("thread_id", "give thread_id, items or both"));
    }
    let follow_up = params.follow_up.unwrap_or(true);
    let is_mid_turn = params.phase == Some(Phase::MidTurn);
    let previous = params.previous_model.map(|name| (name, params.previous_context_window));
    let usage = contexts
        .usage(UsageQuery {
            thread_id: params.thread_id,
            as_of: None,
            items: params.items,
            model: params.model,
            context_window: params.context_window,
            auto_compact_limit: params.auto_compact_limit,
            resume: false,
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
    let verdict = agent_limit::should(usage.used, moment, &usage.window, before.as_ref());
    let model = match (verdict, previous) {
        (LimitVerdict::ModelDownshift, Some((name, _))) => Some(name),
        _ => usage.model,
    };
    Ok(ShouldResult {
        compact: verdict.compacts(),
        reason: verdict.into_str().to_owned(),
        model,
        used: usage.used,
        incoming,
        limit: usage.window.trigger,
        limit_source: usage.window.trigger_origin.into_str().to_owned(),
    })
}

async fn start(jobs: Arc<CompactionJobs>, params: RunParams) -> Result<StartResult, Failure> {
    let (compaction_id, job) = jobs.start(request(params)?).await?;
    Ok(StartResult { compaction_id, job: job.to_string() })
}

async fn cancel(jobs: Arc<CompactionJobs>, params: CancelParams) -> Result<CancelResult, Failure> {
    let cancelled = jobs.cancel(&params.compaction_id).await?;
    Ok(CancelResult { cancelled })
}

pub(super) fn request(params: RunParams) -> Result<Request, Failure> {
    let install = params.install.unwrap_or(false);
    if install && (params.thread_id.is_none() || params.as_of.is_some()) {
        return Err(Failure::invalid("install", "needs thread_id, without as_of"));
    }
    let subject = match (params.thread_id, params.items, params.as_of) {
        (Some(thread_id), None, as_of) => Subject::Thread { thread_id, as_of },
        (None, Some(items), None) => Subject::Items(items),
        (None, Some(_), Some(_)) => return Err(Failure::invalid("as_of", "needs thread_id")),
        _ => return Err(Failure::invalid("thread_id", "give either thread_id or items")),
    };
    let trigger = match params.trigger {
        Some(Trigger::Auto) => "auto",
        _ => "manual",
    };
    let reader = params.model.as_ref().map(|model| ModelRef {
        name: model.name.clone(),
        context_window: model.context_window,
        ..ModelRef::default()
    });
    let model_ref = |model: wire::Model| ModelRef {
        provider: model.provider,
        name: model.name,
        effort: None,
        context_window: model.context_window,
    };
    let previous = params.previous_model.map(model_ref);
    let request = Request {
        subject,
        strategy: convert::strategy(params.strategy),
        phase: convert::phase(params.phase),
        trigger: trigger.to_owned(),
        max_tokens: params.max_tokens,
        finds_context: params.initial_context.is_none(),
        initial_context: params.initial_context.unwrap_or_default(),
        model: previous
            .or_else(|| params.model.filter(|model| model.provider.is_some()).map(model_ref)),
        deadline_ms: params.deadline_ms,
        reason: params.reason.and_then(convert::reason),
        reader,
        templates: convert::own_texts(params.templates),
        focus: params.focus.as_deref().map(convert::focus).transpose()?,
        agent_step: params.agent_step.map(|step| {
            convert::same_variants!(step, wire::AgentStep => AgentStep, Announced | Answered)
        }),
        install,
        redacted: 0,
    };
    Ok(request)
}

async fn list(
    log: Arc<CompactionLog>,
    params: CompactionListParams,
) -> Result<CompactionListResult, Failure> {
    let after = params.cursor.as_deref().map(cursor::read).transpose()?;
    let after = after
        .map(|(created_at_ms, compaction_id)| CompactionCursor { created_at_ms, compaction_id });
    let limit = convert::page_rows(params.limit);
    let (rows, next) = log.list(params.thread_id.as_deref(), limit, after.as_ref()).await?;
    Ok(CompactionListResult {
        compactions: rows.into_iter().map(convert::summary).collect(),
        next_cursor: next.map(|next| cursor::show(next.created_at_ms, &next.compaction_id)),
    })
}

async fn get(
    log: Arc<CompactionLog>,
    installer: Arc<Installer>,
    params: CompactionGetParams,
) -> Result<CompactionGetResult, Failure> {
    let (row, mut compaction) = log.with_row(&params.compaction_id).await?;
    compaction.installed_seq = installer.installed_seq(&compaction).await?;
    let decision_id = compaction.decision_id;
    let policy = compaction.policy.as_ref();
    let policy = policy.map(|trigger| super::policy::trigger(trigger, decision_id));
    let summary = convert::summary(row);
    Ok(CompactionGetResult { run: convert::run_result(compaction), summary, policy })
}

async fn undo(undo: Arc<compaction::Undo>, params: UndoParams) -> Result<UndoResult, Failure> {
    let undone = undo.run(&params.compaction_id).await?;
    let (thread_id, seq, source) = match undone.thread {
        Some((thread_id, seq, source)) => (Some(thread_id), Some(seq), source),
        None => (None, None, None),
    };
    let reach = match (undone.restored_seq, source) {
        (Some(_), _) => UndoReach::Thread,
        // The daemon's own clients that installed nothing hold their history themselves.
        (None, None | Some(Source::Longhaul)) => UndoReach::Caller,
        (None, Some(_)) => UndoReach::NotAgent,
    };
    let agent = source.filter(|_| reach == UndoReach::NotAgent).map(Source::spec);
    let hint =
        agent.map(|spec| spec.session_undo.replace("{compaction_id}", &params.compaction_id));
    Ok(UndoResult {
        compaction_id: params.compaction_id,
        undone_at: undone.undone_at_ms,
        history: undone.history.into(),
        handles: undone
            .handles
            .into_iter()
            .map(|(handle, span)| convert::entry(&handle, &span))
            .collect(),
        complete: undone.complete,
        restored_seq: undone.restored_seq,
        reach,
        source: source.map(|source| source.name().to_owned()),
        agent: agent.map(|spec| spec.title.to_owned()),
        session_hint: hint.filter(|hint| !hint.is_empty()),
        thread_id,
        seq,
    })
}
