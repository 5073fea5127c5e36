//! The policy carried out in Codex, through its app server, when a turn is over.
//!
//! The hook at a turn's end cannot do it, since the turn goes on until its hooks have answered. So it starts this
//! program once more, which waits until the thread rests, tells the policy, and does what that asks for: messages to the
//! agent (`policy.packet_author = "agent"`, `policy.scratch`), the compaction, the handoff. Where the person begins a
//! turn first, nothing is done, and that turn's end decides anew: Codex would break the turn off.
//!
//! A hook whose time is up before the daemon answers starts it too: a decision may be in the log by then, and would
//! have no end there.
//!
//! Whatever the app server does or leaves undone, the policy is told, and the log has why nothing was made.

use std::io::Write as _;
use std::process::Stdio;
use std::time::Duration;

use longhaul_client::Client;
use longhaul_protocol::policy::{Step, StepEvent, StepParams, StepResult};
use serde_json::json;
use tokio::time::{Instant, timeout_at};

use super::compact::{PROTOCOL, check_protocol, read_to_end};
use super::event::{Hook, one_line};
use super::payload::Agent;
use super::{TURN_EVENT, complain, once_more, stdin};
use crate::commands::app_server::{self, AppServer, ServerFault};
use crate::failure::Failure;
use crate::session::Session;

/// For the whole sequence; the policy ends each of its waits itself (`policy.wait_ms`).
const LIMIT: Duration = Duration::from_secs(3_600);
/// For a message to the agent, and for what it then does.
const TURN_LIMIT: Duration = Duration::from_secs(1_800);
/// For a compaction by a model; ours takes a second.
const COMPACTION_LIMIT: Duration = Duration::from_secs(600);
const CALL_MS: u64 = 35_000;

/// Whether a decision asks for something, and the app server of the person's terminals holds the thread. A server that is
/// too slow for a hook counts as one: what is started waits for it, and has the log say why nothing was made.
pub(super) async fn can(hook: &Hook<'_>, stepped: &StepResult) -> bool {
    let is_due = stepped.decision.as_ref().is_some_and(|decision| decision.action != "wait");
    if hook.agent != Agent::Codex || stepped.watcher.mode != "auto" || !is_due {
        return false;
    }
    let held = async { AppServer::running(&stepped.thread_id).await?.is_working().await };
    let now = Instant::now();
    // The other half is for starting it.
    let until = now + hook.until.saturating_duration_since(now) / 2;
    matches!(timeout_at(until, held).await, Ok(Ok(_)) | Err(_))
}

/// Whether an app server may hold the thread, as far as files show it.
pub(super) fn may(hook: &Hook<'_>) -> bool {
    hook.agent == Agent::Codex && app_server::has_socket()
}

/// Starts it, without waiting for it; whether that worked.
pub(super) fn start(hook: &Hook<'_>, thread_id: &str) -> bool {
    let payload = json!({
        "hook_event_name": TURN_EVENT,
        "protocol": PROTOCOL,
        "session_id": thread_id,
        "transcript_path": hook.payload.transcript_path,
        "last_assistant_message": hook.payload.last_assistant_message,
    });
    let Some(mut program) = once_more(hook.session) else { return false };
    program.args(["hook", TURN_EVENT, "--agent", "codex"]).stdin(Stdio::piped());
    let Ok(mut begun) = program.spawn() else { return false };
    let told = begun.stdin.take().map(|mut input| input.write_all(payload.to_string().as_bytes()));
    matches!(told, Some(Ok(())))
}

pub(super) async fn run(session: &Session) -> Result<(), Failure> {
    let until = Instant::now() + LIMIT;
    match timeout_at(until, act(session, until)).await {
        Ok(Ok(())) => {}
        Ok(Err(why)) => drop(complain(&why)),
        Err(_) => drop(complain("the policy's sequence did not end")),
    }
    Ok(())
}

async fn act(session: &Session, until: Instant) -> Result<(), String> {
    let payload = stdin().await?;
    check_protocol(&payload)?;
    let thread_id = payload.session_id.clone().ok_or("the payload names no thread")?;
    // On the person's socket: an agent itself may start no sequence that gives it messages.
    let options = session.options().connect_timeout_ms(CALL_MS).request_timeout_ms(CALL_MS);
    let client = Client::connect(options).await.map_err(|error| one_line(&error))?;
    let hook = Hook { agent: Agent::Codex, payload: &payload, client: &client, session, until };
    let said = payload.last_assistant_message.clone().filter(|words| !words.is_empty());
    let mut server = match at_rest(&thread_id).await {
        Ok(Some(server)) => server,
        Ok(None) => return Ok(()),
        Err(fault) => return not_reached(&hook, &thread_id, said, &fault).await,
    };
    let mut next = Some(turn_ended(said));
    while let Some(event) = next {
        next = carry_out(&mut server, tell(&hook, &thread_id, event).await?).await?;
    }
    Ok(())
}

/// The app server, once the thread rests; `None` where the person begins another turn first.
async fn at_rest(thread_id: &str) -> Result<Option<AppServer>, ServerFault> {
    let mut server = AppServer::running(thread_id).await?;
    Ok(server.rests().await?.then_some(server))
}

/// Tells the policy what happened, once the daemon has read all of the transcript.
async fn tell(hook: &Hook<'_>, thread_id: &str, event: StepEvent) -> Result<StepResult, String> {
    let read = read_to_end(hook).await?;
    if read != thread_id {
        return Err(format!("the transcript is of thread {read}, and not of {thread_id}"));
    }
    let params =
        StepParams { thread_id: read, event, agent: None, model: None, context_window: None };
    hook.call::<Step>(params).await
}

/// Has the log say why nothing came of the decision at this turn's end.
async fn not_reached(
    hook: &Hook<'_>,
    thread_id: &str,
    message: Option<String>,
    fault: &ServerFault,
) -> Result<(), String> {
    let ended = StepEvent::TurnEnded {
        message,
        boundaries: None,
        notify_only: None,
        compact_only: Some(true),
    };
    let stepped = tell(hook, thread_id, ended).await?;
    if stepped.effects.iter().any(|effect| effect.effect == "compact") {
        let reason = Some(fault.to_string());
        tell(hook, thread_id, StepEvent::CompactionEnded { tokens_after: None, reason }).await?;
    }
    Err(fault.to_string())
}

/// Does what is asked for, and returns what there is to report of it.
async fn carry_out(
    server: &mut AppServer,
    stepped: StepResult,
) -> Result<Option<StepEvent>, String> {
    let mut next = None;
    for effect in stepped.effects {
        let words = |words: Option<longhaul_protocol::text::Block<String>>| {
            words.map(|words| words.0).unwrap_or_default()
        };
        match effect.effect.as_str() {
            "request_scratch" | "request_packet" => {
                let input = json!([{ "type": "text", "text": words(effect.prompt) }]);
                let start = json!({ "input": input });
                let asked = server.set_to_work("turn/start", start, TURN_LIMIT).await;
                next = Some(match asked {
                    Ok(()) => turn_ended(None),
                    Err(fault) => StepEvent::CompactionFailed { reason: fault.to_string() },
                });
            }
            "compact" => {
                next = Some(match compact(server).await {
                    Ok(()) => StepEvent::Compacted { tokens_after: None, turn_end_follows: None },
                    Err(reason) => StepEvent::CompactionFailed { reason },
                });
            }
            "inject_handoff" => {
                let text = json!([{ "type": "input_text", "text": words(effect.text) }]);
                let item = json!({ "type": "message", "role": "user", "content": text });
                let items = json!({ "items": [item] });
                // The compaction stands without it: the view holds what the packet says.
                server.ask("thread/inject_items", items).await?;
            }
            "ask_judgment" => {
                let request_id = effect.request_id.unwrap_or_default();
                let (should_compact, reason) = (None, None);
                next = Some(StepEvent::Judged { request_id, should_compact, reason });
            }
            // Words for the person stand in the log, and no message of theirs is held here.
            _ => {}
        }
    }
    if next.is_none() && stepped.watcher.deferred {
        // Codex compacts nothing between a message and its turn: what waits for one is done at once.
        next = Some(StepEvent::UserMessage { is_shell: None, accepts_prefix: None });
    }
    Ok(next)
}

/// Has Codex compact as soon as the thread rests.
async fn compact(server: &mut AppServer) -> Result<(), String> {
    while !server.rests().await? {}
    server.set_to_work("thread/compact/start", json!({}), COMPACTION_LIMIT).await?;
    let newest = json!({ "sortDirection": "desc", "itemsView": "full", "limit": 1 });
    let turn = server.ask("thread/turns/list", newest).await?["data"][0].take();
    let items = turn["items"].as_array().map_or(&[][..], Vec::as_slice);
    let is_compaction = items.iter().any(|item| item["type"] == "contextCompaction");
    match (turn["status"].as_str(), turn["error"]["message"].as_str()) {
        (Some("completed"), _) if is_compaction => Ok(()),
        (_, Some(error)) => Err(app_server::words(error)),
        (status, None) => {
            let status = app_server::words(status.unwrap_or("not told"));
            Err(format!("Codex's turn for it was {status}"))
        }
    }
}

fn turn_ended(message: Option<String>) -> StepEvent {
    StepEvent::TurnEnded { message, boundaries: None, notify_only: None, compact_only: None }
}
