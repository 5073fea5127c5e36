//! Answers the Claude Code plugin between turns and in the middle of one: whether the policy wants a compaction now;
//! receives its outcome.
//!
//! The plugin only compacts (`compact_only`), so the daemon requests no message to the agent. The answer takes
//! milliseconds, or longer if the policy asks a judge; between turns the person can keep writing.

use std::time::Duration;

use longhaul_protocol::policy::{Effect, StepEvent, StepResult};
use serde::Serialize;
use tokio::time::{Instant, timeout_at};

use super::compact::{PROTOCOL, check_protocol, read_to_end};
use super::exchange::{Hook, connect};
use super::payload::{Agent, Payload};
use super::{HookArgs, log_failure, stdin};
use crate::failure::Failure;
use crate::session::Session;

/// Timeout in milliseconds, including a judge (`policy.judgment_timeout_ms` is 30,000).
const LIMIT_MS: u64 = 35_000;

#[derive(Debug, Default, Serialize)]
struct TurnAnswer {
    protocol: u32,
    /// Whether to compact now.
    compact: bool,
    /// Whether to ask in the middle of a turn, too; absent if the policy did not answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    mid_turn: Option<bool>,
    /// Shown to the person.
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

/// The agent's tools have ended, and the turn goes on.
pub(super) async fn tools_ended(args: &HookArgs, session: &Session) -> Result<(), Failure> {
    answer(args, session, |_| StepEvent::MidTurn { boundaries: None, compact_only: Some(true) })
        .await
}

pub(super) async fn compaction_ended(args: &HookArgs, session: &Session) -> Result<(), Failure> {
    answer(args, session, |payload| StepEvent::CompactionEnded {
        tokens_after: None,
        reason: payload.not_made.clone(),
    })
    .await
}

/// Reports the event to the policy and prints its answer; on an error, prints an answer that does nothing.
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
    let answer = match stepped {
        Ok(stepped) => turn_answer(stepped),
        Err(why) => {
            log_failure(&why);
            TurnAnswer::default()
        }
    };
    let json = serde_json::to_string(&TurnAnswer { protocol: PROTOCOL, ..answer })?;
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
    let client = connect(session.options().agent(), LIMIT_MS).await?;
    let agent = args.agent.unwrap_or(Agent::Claude);
    let hook = Hook { agent, payload: &payload, client: &client, session, until };
    let thread_id = read_to_end(&hook).await?;
    hook.step(thread_id, event(&payload)).await
}

fn turn_answer(stepped: StepResult) -> TurnAnswer {
    let watcher = &stepped.watcher;
    let mid_turn = watcher.mid_turn && watcher.mode != "off";
    let compact = stepped.effects.iter().any(|effect| effect.effect == "compact");
    let text = |effect: Effect| Some(effect.text?.0);
    let texts: Vec<String> = stepped.effects.into_iter().filter_map(text).collect();
    TurnAnswer {
        protocol: PROTOCOL,
        compact,
        mid_turn: Some(mid_turn),
        text: (!texts.is_empty()).then(|| format!("longhaul: {}", texts.join("; "))),
    }
}
