//! `checkpoint/*`.

use std::sync::Arc;

use longhaul_core::checkpoint::view::TOKENS_MIN;
use longhaul_core::choice;
use longhaul_core::compaction::handle::Handle;
use longhaul_core::limits::PINNED_TOKENS;
use longhaul_protocol::checkpoint::{
    self as wire, Apply, ApplyParams, ApplyResult, CheckpointGet, CheckpointGetParams,
    CheckpointGetResult, Choices, ChoicesParams, ChoicesResult, Choose, ChooseParams, ChooseResult,
    Unchoose, UnchooseParams, UnchooseResult, View, ViewParams, ViewResult,
};

use super::error::Failure;
use super::{Table, TableError, convert};
use crate::service::checkpoint::{Checkpoints, ViewQuery};
use crate::service::choice::{ChoiceSubject, PersonChoices};
use crate::service::snapshot::StoredChoice;
use crate::service::{CheckpointServices, ServiceError};

pub(super) fn register(table: &mut Table, services: &CheckpointServices) -> Result<(), TableError> {
    let mut of_checkpoints = table.of(&services.checkpoints);
    of_checkpoints.on_async::<CheckpointGet, _>(get)?;
    of_checkpoints.on_async::<View, _>(view)?;
    of_checkpoints.on_async::<Apply, _>(apply)?;
    let mut of_choices = table.of(&services.choices);
    of_choices.on_async::<Choose, _>(choose)?;
    of_choices.on_async::<Choices, _>(list_choices)?;
    of_choices.on_async::<Unchoose, _>(unchoose)
}

async fn choose(
    choices: Arc<PersonChoices>,
    params: ChooseParams,
) -> Result<ChooseResult, Failure> {
    let action = convert::same_variants!(params.action, wire::ChoiceAction => choice::ChoiceAction, Pin | Drop);
    let subject = match (params.text, params.handle) {
        (Some(text), None) => ChoiceSubject::Text(text),
        (None, Some(handle)) => {
            ChoiceSubject::Items(handle.parse::<Handle>().map_err(ServiceError::Handle)?)
        }
        _ => return Err(Failure::invalid("text", "give either text or handle")),
    };
    let chosen = choices.choose(&params.thread_id, action, &subject).await?;
    Ok(ChooseResult { choice: choice_of(chosen.stored), was_there: chosen.already_active })
}

async fn list_choices(
    choices: Arc<PersonChoices>,
    params: ChoicesParams,
) -> Result<ChoicesResult, Failure> {
    let stored = choices.list(&params.thread_id).await?;
    let active = choice::Choices::of(stored.iter().map(|stored| stored.choice.clone()));
    let pinned = choice::pinned(active.pins(), u64::MAX);
    Ok(ChoicesResult {
        choices: stored.into_iter().map(choice_of).collect(),
        pinned_tokens: choice::cost(&pinned.text),
        pinned_tokens_max: PINNED_TOKENS,
    })
}

async fn unchoose(
    choices: Arc<PersonChoices>,
    params: UnchooseParams,
) -> Result<UnchooseResult, Failure> {
    let stored = choices.remove(&params.thread_id, &params.choice_id).await?;
    Ok(UnchooseResult { choice: choice_of(stored) })
}

fn choice_of(stored: StoredChoice) -> wire::Choice {
    let StoredChoice { thread_id, created_at_ms, choice, .. } = stored;
    let (action, tokens) = match choice.action {
        choice::ChoiceAction::Pin => {
            let alone = choice::pinned(std::slice::from_ref(&choice), u64::MAX);
            (wire::ChoiceAction::Pin, choice::cost(&alone.text))
        }
        choice::ChoiceAction::Drop => (wire::ChoiceAction::Drop, 0),
    };
    let items = choice.items.as_ref();
    wire::Choice {
        choice_id: choice.id(),
        thread_id,
        action,
        handle: items.map(|items| items.handle.clone()),
        whole_bytes: items.filter(|_| choice.is_cut()).map(|items| items.bytes),
        tokens,
        created_at: created_at_ms,
        text: choice.text.into(),
    }
}

async fn get(
    checkpoints: Arc<Checkpoints>,
    params: CheckpointGetParams,
) -> Result<CheckpointGetResult, Failure> {
    let (checkpoint, digest, seq) = checkpoints.get(&params.thread_id, params.as_of).await?;
    Ok(CheckpointGetResult { checkpoint: checkpoint.into(), seq, digest: digest.to_string() })
}

async fn view(checkpoints: Arc<Checkpoints>, params: ViewParams) -> Result<ViewResult, Failure> {
    if params.max_tokens.is_some_and(|most| most < TOKENS_MIN) {
        return Err(Failure::invalid("max_tokens", &format!("at least {TOKENS_MIN}")));
    }
    let focus = params.focus.as_deref().map(convert::focus).transpose()?.unwrap_or_default();
    let query = ViewQuery {
        thread_id: &params.thread_id,
        as_of: params.as_of,
        caps: convert::caps(params.caps),
        max_tokens: params.max_tokens,
        focus: &focus,
    };
    Ok(checkpoints.view(query).await?)
}

/// A rejection is an answer, not an error: the model reads the reason and tries again.
async fn apply(checkpoints: Arc<Checkpoints>, params: ApplyParams) -> Result<ApplyResult, Failure> {
    let claimed = convert::claimed_hashes(&params.update);
    let update = convert::update(params.update);
    let applied =
        checkpoints.apply(&params.thread_id, update, &claimed, params.expected_seq).await?;
    let rejection = applied.rejection.as_ref();
    Ok(ApplyResult {
        accepted: rejection.is_none(),
        reason: rejection.map(|rejection| rejection.reason.clone()),
        rule: rejection.map(|rejection| rejection.rule.into_str().to_owned()),
        hint: rejection.map(|rejection| rejection.rule.hint().to_owned()),
        seq: applied.seq,
    })
}
