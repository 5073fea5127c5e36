//! `thread/*`.

use std::sync::Arc;
use std::time::Duration;

use longhaul_protocol::thread::{
    Append, Bill, Close, Continue, Items, Open, Sync, SyncParams, SyncResult, ThreadForget,
    ThreadGet, ThreadGetParams, ThreadGetResult, ThreadList, ThreadListParams, ThreadListResult,
};
use longhaul_store::{ThreadCursor, ThreadFilter};

use super::agent_params::AgentGate;
use super::error::Failure;
use super::{Table, TableError, convert, cursor};
use crate::ingest::SyncPoint;
use crate::peer::CallContext;
use crate::service::context::Contexts;
use crate::service::threads::{SYNC_TIMEOUT_DEFAULT, Threads, target};
use crate::service::{ServiceError, ThreadServices};

mod bill;
mod continuation;
mod items;
mod write;

pub(super) fn register(
    table: &mut Table,
    services: &ThreadServices,
    contexts: &Arc<Contexts>,
) -> Result<(), TableError> {
    let mut recordings = table.of(&services.recordings);
    recordings.on_async::<Open, _>(write::open)?;
    recordings.on_async::<Append, _>(write::append)?;
    recordings.on_async::<Close, _>(write::close)?;
    table.of(&services.bills).on_async::<Bill, _>(bill::answer)?;
    table.of(&services.continuations).on_async::<Continue, _>(continuation::continue_thread)?;
    let forgetting = &services.forgetting;
    table.of(forgetting).on_async::<ThreadForget, _>(|forgetting, params| async move {
        Ok(forgetting.forget(&params.thread_id).await?)
    })?;
    let (gate, contexts) = (table.gate(), Arc::clone(contexts));
    let mut on = table.of(&services.threads);
    on.on_async_with_context::<ThreadList, _>(move |threads, context, params| {
        list(threads, gate.clone(), context, params)
    })?;
    on.on_async::<ThreadGet, _>(get)?;
    on.on_async::<Sync, _>(move |threads, params| sync(threads, contexts.clone(), params))?;
    on.on_async::<Items, _>(items::items)
}

async fn list(
    threads: Arc<Threads>,
    gate: Arc<AgentGate>,
    context: CallContext,
    params: ThreadListParams,
) -> Result<ThreadListResult, Failure> {
    let source =
        params.source.as_deref().map(|name| convert::one_of("source", name)).transpose()?;
    let folders = gate.folders(&context, (params.cwd, None)).await?;
    let is_blocked = params.blocked == Some(true);
    let filter = ThreadFilter { source, folders, is_blocked };
    let after = params.cursor.as_deref().map(cursor::read).transpose()?;
    let after = after.map(|(updated_at_ms, thread_id)| ThreadCursor { updated_at_ms, thread_id });
    let limit = convert::page_rows(params.limit);
    let (rows, next) = threads.list(&filter, limit, after.as_ref()).await?;
    Ok(ThreadListResult {
        threads: rows.into_iter().map(convert::thread_summary).collect(),
        next_cursor: next.map(|next| cursor::show(next.updated_at_ms, &next.thread_id)),
    })
}

async fn get(threads: Arc<Threads>, params: ThreadGetParams) -> Result<ThreadGetResult, Failure> {
    let (row, files) = threads.get(&params.thread_id).await?;
    let checkpoint_seq = row.file.cursor.next_seq.saturating_sub(1);
    let files = files.into_iter().map(|file| convert::thread_file(file, &row.file)).collect();
    Ok(ThreadGetResult { thread: convert::thread_summary(row), files, checkpoint_seq })
}

async fn sync(
    threads: Arc<Threads>,
    contexts: Arc<Contexts>,
    params: SyncParams,
) -> Result<SyncResult, Failure> {
    let timeout = params.timeout_ms.map_or(SYNC_TIMEOUT_DEFAULT, Duration::from_millis);
    let target = target(params.thread_id, params.path)?;
    let reach = SyncPoint { offset: params.min_offset, seq: params.min_seq };
    let synced = threads.sync(target, reach, timeout).await?;
    let thread_id = synced.thread_id.ok_or(ServiceError::ThreadNotFound(synced.path))?;
    if params.context_window.is_some() || params.context_tokens.is_some() {
        contexts.report(&thread_id, (params.context_window, params.context_tokens)).await?;
    }
    Ok(SyncResult { thread_id, offset: synced.offset, seq: synced.next_seq.saturating_sub(1) })
}
