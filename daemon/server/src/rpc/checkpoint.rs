//! `checkpoint/*`.

use std::sync::Arc;

use longhaul_protocol::checkpoint::{
    Apply, ApplyParams, ApplyResult, Get, GetParams, GetResult, View, ViewParams, ViewResult,
};

use super::error::Failure;
use super::{Table, TableError, convert};
use crate::link::CallContext;
use crate::service::Services;

pub(super) fn register(table: &mut Table) -> Result<(), TableError> {
    table.on_async::<Get, _>(get)?;
    table.on_async::<View, _>(view)?;
    table.on_async::<Apply, _>(apply)
}

async fn get(
    services: Arc<Services>,
    _: CallContext,
    params: GetParams,
) -> Result<GetResult, Failure> {
    let (checkpoint, digest, seq) = services.checkpoint(&params.thread_id, params.as_of).await?;
    Ok(GetResult { checkpoint, seq, digest: digest.to_string() })
}

async fn view(
    services: Arc<Services>,
    _: CallContext,
    params: ViewParams,
) -> Result<ViewResult, Failure> {
    let caps = convert::caps(params.caps);
    let view = services.view(&params.thread_id, &caps, params.max_tokens, params.as_of).await?;
    let tokens = longhaul_core::tokens::of_text(&view.text);
    Ok(ViewResult { text: view.text, tokens, digest: view.digest.to_string(), seq: view.seq })
}

/// A refusal is an answer, not an error: the model reads the reason and proposes again.
async fn apply(
    services: Arc<Services>,
    _: CallContext,
    params: ApplyParams,
) -> Result<ApplyResult, Failure> {
    let said = convert::said_hashes(&params.update);
    let update = convert::update(params.update);
    let applied = services.apply(&params.thread_id, update, &said, params.expected_seq).await?;
    let (rule, reason) = match applied.rejection {
        Some(rejection) => (Some(rejection.rule.name().to_owned()), Some(rejection.reason)),
        None => (None, None),
    };
    Ok(ApplyResult { accepted: rule.is_none(), reason, rule, seq: applied.seq })
}
