//! `checkpoint/*`.

use std::sync::Arc;

use longhaul_protocol::checkpoint::{
    Apply, ApplyParams, ApplyResult, Get, GetParams, GetResult, View, ViewParams, ViewResult,
};

use super::error::Failure;
use super::{Table, TableError, convert};
use crate::link::CallContext;
use crate::service::checkpoint::Checkpoints;

pub(super) fn register(
    table: &mut Table,
    checkpoints: &Arc<Checkpoints>,
) -> Result<(), TableError> {
    let mut table = table.of(checkpoints);
    table.on_async::<Get, _>(get)?;
    table.on_async::<View, _>(view)?;
    table.on_async::<Apply, _>(apply)
}

async fn get(
    checkpoints: Arc<Checkpoints>,
    _: CallContext,
    params: GetParams,
) -> Result<GetResult, Failure> {
    let (checkpoint, digest, seq) = checkpoints.get(&params.thread_id, params.as_of).await?;
    Ok(GetResult { checkpoint: checkpoint.into(), seq, digest: digest.to_string() })
}

async fn view(
    checkpoints: Arc<Checkpoints>,
    _: CallContext,
    params: ViewParams,
) -> Result<ViewResult, Failure> {
    let caps = convert::caps(params.caps);
    let view = checkpoints.view(&params.thread_id, &caps, params.max_tokens, params.as_of).await?;
    let tokens = longhaul_core::tokens::of_text(&view.text);
    Ok(ViewResult {
        text: view.text.into(),
        tokens,
        digest: view.digest.to_string(),
        seq: view.seq,
    })
}

/// A refusal is an answer, not an error: the model reads the reason and proposes again.
async fn apply(
    checkpoints: Arc<Checkpoints>,
    _: CallContext,
    params: ApplyParams,
) -> Result<ApplyResult, Failure> {
    let said = convert::said_hashes(&params.update);
    let update = convert::update(params.update);
    let applied = checkpoints.apply(&params.thread_id, update, &said, params.expected_seq).await?;
    let rejection = applied.rejection.as_ref();
    Ok(ApplyResult {
        accepted: rejection.is_none(),
        reason: rejection.map(|rejection| rejection.reason.clone()),
        rule: rejection.map(|rejection| rejection.rule.into_str().to_owned()),
        hint: rejection.map(|rejection| rejection.rule.hint().to_owned()),
        seq: applied.seq,
    })
}
