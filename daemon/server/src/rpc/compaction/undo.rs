//! `compaction/undo`.

use std::sync::Arc;

use longhaul_core::thread::Source;
use longhaul_core::tokens;
use longhaul_protocol::compaction::{ResumedThread, UndoParams, UndoReach, UndoResult};

use super::super::convert;
use super::super::error::Failure;
use crate::service::ServiceError;
use crate::service::compaction::Undo;
use crate::service::continuation::Continuations;
use crate::service::history::EXPAND_BYTES_MAX;

pub(super) async fn undo(
    undo: Arc<Undo>,
    continuations: Arc<Continuations>,
    params: UndoParams,
) -> Result<UndoResult, Failure> {
    let undone = undo.run(&params.compaction_id).await?;
    let resumed = match (&undone.thread, params.resume.unwrap_or(false)) {
        (_, false) => None,
        (None, true) => {
            return Err(Failure::invalid("resume", "only for a compaction of a thread"));
        }
        (Some(_), true) if !undone.complete => {
            let given = undone.handles.iter().map(|(_, span)| span.tokens).sum();
            let max = tokens::of_bytes(EXPAND_BYTES_MAX);
            return Err(ServiceError::Limit { limit: "history_tokens", max, given }.into());
        }
        (Some((thread_id, seq, _)), true) => {
            let begun = continuations.restore((thread_id, *seq), &undone.history).await?;
            Some(ResumedThread {
                command: ["codex", "resume", &begun.0].map(str::to_owned).to_vec(),
                thread_id: begun.0,
                path: begun.1.display().to_string(),
            })
        }
    };
    let source = undone.thread.and_then(|(.., source)| source);
    let reach = match (undone.restored_seq, source) {
        (Some(_), _) => UndoReach::Thread,
        // Clients of ours that installed nothing hold their history themselves.
        (None, None | Some(Source::Longhaul)) => UndoReach::Caller,
        (None, Some(_)) => UndoReach::NotAgent,
    };
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
        resumed,
    })
}
