//! The plugin of Claude Code between two turns: whether the policy wants a compaction now, and what came of it.
//!
//! The plugin compacts and does nothing else (`compact_only`): the daemon asks it for no message to the agent. It is
//! answered in milliseconds, or after a judge whom the policy asks for; the person may write meanwhile.

use std::time::Duration;

use longhaul_client::Client;
use longhaul_protocol::policy::{Effect, Step, StepEvent, StepParams, StepResult};
use serde::Serialize;
use tokio::time::{Instant, timeout_at};

use super::compact::{PROTOCOL, check_protocol, read_to_end};
use super::event::{Hook, one_line};
use super::payload::{Agent, Payload};
use super::{HookArgs, complain, stdin};
use crate::failure::Failure;
use crate::session::Session;

/// Milliseconds for an answer, with time for a judge (`policy.judgment_timeout_ms` is 30,000).
const LIMIT_MS: u64 = 35_000;

/// What the plugin reads.
#[derive(Debug, Default, Serialize)]
struct TurnAnswer {
    protocol: u32,
    /// Whether it is to compact now.
    compact: bool,
    /// What the person is told.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
}

pub(super) async fn complete(args: &HookArgs, session: &Session) -> Result<(), Failure> {
    answer(args, session, |payload| StepEvent::TurnEnded {
        message: payload.last_assistant_message.clone().filter(|words| !words.is_empty()),
        boundaries: None,
        notify_only: None,
        compact_only: Some(true),
    })
    .await
}

pub(super) async fn compaction_ended(args: &HookArgs, session: &Session) -> Result<(), Failure> {
    answer(args, session, |payload| StepEvent::CompactionEnded {
        tokens_after: None,
        reason: payload.not_made.clone(),
    })
    .await
}

/// Takes the step and says what is to be done; nothing is, where it cannot be taken.
async fn answer(
    args: &HookArgs,
    session: &Session,
    event: impl FnOnce(&Payload) -> StepEvent,
) -> Result<(), Failure> {
    let until = Instant::now() + Duration::from_millis(LIMIT_MS);
    let stepped = match timeout_at(until, step(args, session, until, event)).await {
        Ok(stepped) => stepped,
        Err(_) => Err(format!("the daemon took more than {LIMIT_MS} ms")),
    };
    let said = match stepped {
        Ok(stepped) => said(stepped),
        Err(why) => {
            complain(&why);
            TurnAnswer::default()
        }
    };
    let json = serde_json::to_string(&TurnAnswer { protocol: PROTOCOL, ..said })?;
    session.print_json(&(json + "\n")).unwrap_or_default();
    Ok(())
}

async fn step(
    args: &HookArgs,
    session: &Session,
    until: Instant,
    event: impl FnOnce(&Payload) -> StepEvent,
) -> Result<StepResult, String> {
    let payload = stdin().await?;
    check_protocol(&payload)?;
    let options =
        session.options().agent().connect_timeout_ms(LIMIT_MS).request_timeout_ms(LIMIT_MS);
    let client = Client::connect(options).await.map_err(|error| one_line(&error))?;
    let agent = args.agent.unwrap_or(Agent::Claude);
    let hook = Hook { agent, payload: &payload, client: &client, session, until };
    let thread_id = read_to_end(&hook).await?;
    // The daemon knows the window since the agent's report that came with the read.
    let params = StepParams {
        thread_id,
        event: event(&payload),
        agent: None,
        model: None,
        context_window: None,
    };
    hook.call::<Step>(params).await
}

fn said(stepped: StepResult) -> TurnAnswer {
    let compact = stepped.effects.iter().any(|effect| effect.effect == "compact");
    let text = |effect: Effect| Some(effect.text?.0);
    let texts: Vec<String> = stepped.effects.into_iter().filter_map(text).collect();
    TurnAnswer {
        protocol: PROTOCOL,
        compact,
        text: (!texts.is_empty()).then(|| format!("longhaul: {}", texts.join("; "))),
    }
}
