//! `thread/open`, `thread/append`, `thread/close`.

use std::sync::Arc;

use longhaul_core::rollout::compose::{self, Opening};
use longhaul_core::thread::ThreadKind;
use longhaul_protocol::ErrorKind;
use longhaul_protocol::thread::{
    self as wire, AppendItem, AppendParams, AppendResult, CloseParams, CloseResult, Marker,
    OpenParams, OpenResult,
};

use super::super::error::Failure;
use crate::recorder::Key;
use crate::service::recording::{Addition, Body, Recordings};

pub(super) async fn open(
    recordings: Arc<Recordings>,
    params: OpenParams,
) -> Result<OpenResult, Failure> {
    let key = match (params.thread_id, &params.client_thread_id) {
        (Some(_), Some(_)) => {
            return Err(Failure::invalid("thread_id", "give either thread_id or client_thread_id"));
        }
        (Some(thread_id), None) => Key::Thread(thread_id),
        (None, Some(key)) => Key::Client(key.clone()),
        (None, None) => Key::New,
    };
    let kind = match (params.kind, &params.parent_thread_id) {
        (Some(wire::ThreadKind::Interactive) | None, None) => ThreadKind::Interactive,
        (Some(wire::ThreadKind::Exec), None) => ThreadKind::Exec,
        (Some(wire::ThreadKind::Subagent), _) | (None, Some(_)) => ThreadKind::Subagent,
        (Some(wire::ThreadKind::Other), _) => {
            return Err(Failure::invalid("kind", "one of interactive, exec, subagent"));
        }
        (Some(_), Some(_)) => {
            return Err(Failure::invalid("parent_thread_id", "only a subagent has one"));
        }
    };
    let opening = Opening {
        thread_id: String::new(),
        client_thread_id: params.client_thread_id,
        cwd: params.cwd,
        originator: params.originator,
        version: params.version,
        title: params.title,
        kind,
        parent_thread_id: params.parent_thread_id,
        model: params.model,
        context_window: params.context_window.filter(|tokens| *tokens > 0),
    };
    let opened = recordings.open(key, opening).await?;
    Ok(OpenResult {
        thread_id: opened.thread_id,
        path: opened.path.display().to_string(),
        seq: opened.seq,
        created: opened.created,
    })
}

pub(super) async fn append(
    recordings: Arc<Recordings>,
    params: AppendParams,
) -> Result<AppendResult, Failure> {
    let additions = params.items.into_iter().map(addition).collect();
    let appended = recordings.append(&params.thread_id, additions, params.expected_seq).await;
    let appended = appended.map_err(|error| with_hint(error.into()))?;
    Ok(AppendResult {
        thread_id: params.thread_id,
        seq: appended.seq,
        offset: appended.bytes,
        appended: appended.appended,
        duplicates: appended.duplicates,
        redacted: appended.redacted,
    })
}

pub(super) async fn close(
    recordings: Arc<Recordings>,
    params: CloseParams,
) -> Result<CloseResult, Failure> {
    let closed = recordings.close(&params.thread_id).await;
    let closed = closed.map_err(|error| with_hint(error.into()))?;
    let path = closed.path.display().to_string();
    Ok(CloseResult { thread_id: closed.thread_id, path, seq: closed.seq })
}

/// Replaces the kinds' hints, which are written for readers.
fn with_hint(failure: Failure) -> Failure {
    match failure.kind() {
        ErrorKind::StaleBase => {
            failure.with_hint("read what was appended in between, then append with the current seq")
        }
        ErrorKind::ThreadNotFound => {
            failure.with_hint("longhaul thread open begins a thread that can be appended to")
        }
        _ => failure,
    }
}

fn addition(item: AppendItem) -> Addition {
    let body = match (item.item, item.marker) {
        (Some(item), None) => Body::Item(item),
        (None, Some(marker)) => Body::Marker(marker_of(marker)),
        _ => Body::Unclear,
    };
    Addition { client_item_id: item.client_item_id, body }
}

fn marker_of(marker: Marker) -> compose::Marker {
    match marker {
        Marker::Settings { cwd, model } => compose::Marker::Settings { cwd, model },
        Marker::TurnStarted => compose::Marker::TurnStarted,
        Marker::TurnComplete => compose::Marker::TurnComplete,
        Marker::TurnAborted => compose::Marker::TurnAborted,
        Marker::RolledBack { turns } => compose::Marker::RolledBack { turns },
        Marker::Compacted { message, replacement_history } => {
            compose::Marker::Compacted { message, replacement_history }
        }
    }
}
