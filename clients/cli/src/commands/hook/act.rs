//! Applies the policy in Codex, through its app server, when a turn is over.
//!
//! The hook at a turn's end cannot do it, since the turn runs until its hooks have answered. So it starts this program
//! again, which waits until the thread is idle, reports to the policy and carries out its effects: messages to the
//! agent (`policy.packet_author = "agent"`, `policy.scratch`), the compaction, the handoff. If the person starts a turn
//! first, it does nothing, because Codex would abort that turn; the end of that turn decides again.
//!
//! The hook also starts it if the daemon does not answer in time: the log may already contain a decision, which would
//! have no end there.
//!
//! The policy receives every outcome, and its log says why nothing was compacted.

use std::io::Write as _;
use std::process::Stdio;
use std::time::Duration;

use longhaul_protocol::policy::{StepEvent, StepResult};
use serde_json::json;
use tokio::time::{Instant, timeout_at};

use super::compact::{PROTOCOL, check_protocol, read_to_end};
use super::exchange::{Hook, connect};
use super::payload::Agent;
use super::{TURN_EVENT, log_failure, own_command, stdin};
use crate::commands::app_server::{self, AppServer, ServerFault};
use crate::failure::Failure;
use crate::session::Session;

/// Timeout of the whole sequence; the policy ends each of its waits itself (`policy.wait_ms`).
const LIMIT: Duration = Duration::from_secs(3_600);
/// Timeout of a turn that a message to the agent starts.
const TURN_LIMIT: Duration = Duration::from_secs(1_800);
/// Timeout of a compaction by a model; ours takes a second.
const COMPACTION_LIMIT: Duration = Duration::from_secs(600);
const CALL_MS: u64 = 35_000;

/// Whether the decision requires an action and the user's app server has the thread. A server too slow for a hook
/// counts as having it: the started program waits for it, and logs why nothing was compacted.
pub(super) async fn can(hook: &Hook<'_>, stepped: &StepResult) -> bool {
    let is_due = stepped.decision.as_ref().is_some_and(|decision| decision.action != "wait");
    if hook.agent != Agent::Codex || stepped.watcher.mode != "auto" || !is_due {
        return false;
    }
    let is_open = async { AppServer::connect(&stepped.thread_id).await?.is_working().await };
    let now = Instant::now();
    // The other half is for starting the program.
    let until = now + hook.until.saturating_duration_since(now) / 2;
    matches!(timeout_at(until, is_open).await, Ok(Ok(_)) | Err(_))
}

/// Whether an app server might have the thread open, judging by the files.
pub(super) fn may(hook: &Hook<'_>) -> bool {
    hook.agent == Agent::Codex && app_server::has_socket()
}

/// Starts the sequence without waiting for it; returns whether that worked.
pub(super) fn start(hook: &Hook<'_>, thread_id: &str) -> bool {
    let payload = json!({
        "hook_event_name": TURN_EVENT,
        "protocol": PROTOCOL,
        "session_id": thread_id,
        "transcript_path": hook.payload.transcript_path,
        "last_assistant_message": hook.payload.last_assistant_message,
    });
    let Some(mut program) = own_command(hook.session) else { return false };
    program.args(["hook", TURN_EVENT, "--agent", "codex"]).stdin(Stdio::piped());
    let Ok(mut child) = program.spawn() else { return false };
    let sent = child.stdin.take().map(|mut input| input.write_all(payload.to_string().as_bytes()));
    matches!(sent, Some(Ok(())))
}

pub(super) async fn run(session: &Session) -> Result<(), Failure> {
    let until = Instant::now() + LIMIT;
    match timeout_at(until, act(session, until)).await {
        Ok(Ok(())) => {}
        Ok(Err(why)) => drop(log_failure(&why)),
        Err(_) => drop(log_failure("the policy's sequence timed out")),
    }
    Ok(())
}

async fn act(session: &Session, until: Instant) -> Result<(), String> {
    let payload = stdin().await?;
    check_protocol(&payload)?;
    let thread_id = payload.session_id.clone().ok_or("the payload names no thread")?;
    // On the person's socket: an agent may not start a sequence that sends it messages.
    let client = connect(session.options(), CALL_MS).await?;
    let hook = Hook { agent: Agent::Codex, payload: &payload, client: &client, session, until };
    let message = payload.last_assistant_message.clone().filter(|words| !words.is_empty());
    let mut server = match connect_idle(&thread_id).await {
        Ok(Some(server)) => server,
        Ok(None) => return Ok(()),
        Err(fault) => return report_unreached(&hook, &thread_id, message, &fault).await,
    };
    let mut next = Some(turn_ended(message));
    while let Some(event) = next {
        next = carry_out(&mut server, report(&hook, &thread_id, event).await?).await?;
    }
    Ok(())
}

/// The app server, once the thread is idle; `None` if the person starts another turn first.
async fn connect_idle(thread_id: &str) -> Result<Option<AppServer>, ServerFault> {
    let mut server = AppServer::connect(thread_id).await?;
    Ok(server.wait_idle().await?.then_some(server))
}

/// Reports an event to the policy, once the daemon has read the whole transcript.
async fn report(hook: &Hook<'_>, thread_id: &str, event: StepEvent) -> Result<StepResult, String> {
    let read = read_to_end(hook).await?;
    if read != thread_id {
        return Err(format!("the transcript belongs to thread {read}, not {thread_id}"));
    }
    hook.step(read, event).await
}

/// Logs why the decision at this turn's end had no effect.
async fn report_unreached(
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
    let stepped = report(hook, thread_id, ended).await?;
    if stepped.effects.iter().any(|effect| effect.effect == "compact") {
        let reason = Some(fault.to_string());
        report(hook, thread_id, StepEvent::CompactionEnded { tokens_after: None, reason }).await?;
    }
    Err(fault.to_string())
}

/// Carries out the effects and returns the event to report, if any.
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
                let ran = server.run_turn("turn/start", start, TURN_LIMIT).await;
                next = Some(match ran {
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
                // The compaction is valid without it: the view has the packet's content.
                server.call_thread("thread/inject_items", items).await?;
            }
            "ask_judgment" => {
                let request_id = effect.request_id.unwrap_or_default();
                let (should_compact, reason) = (None, None);
                next = Some(StepEvent::Judged { request_id, should_compact, reason });
            }
            // Texts for the person are in the log, and we hold none of their messages.
            _ => {}
        }
    }
    if next.is_none() && stepped.watcher.deferred {
        // Codex does not compact between a message and its turn, so do not wait for a message.
        next = Some(StepEvent::UserMessage { is_shell: None, accepts_prefix: None });
    }
    Ok(next)
}

/// Makes Codex compact as soon as the thread is idle.
async fn compact(server: &mut AppServer) -> Result<(), String> {
    while !server.wait_idle().await? {}
    server.run_turn("thread/compact/start", json!({}), COMPACTION_LIMIT).await?;
    let newest = json!({ "sortDirection": "desc", "itemsView": "full", "limit": 1 });
    let turn = server.call_thread("thread/turns/list", newest).await?["data"][0].take();
    let items = turn["items"].as_array().map_or(&[][..], Vec::as_slice);
    let is_compaction = items.iter().any(|item| item["type"] == "contextCompaction");
    match (turn["status"].as_str(), turn["error"]["message"].as_str()) {
        (Some("completed"), _) if is_compaction => Ok(()),
        (_, Some(error)) => Err(app_server::words(error)),
        (status, None) => {
            let status = app_server::words(status.unwrap_or("unknown"));
            Err(format!("the status of Codex's compaction turn is {status}"))
        }
    }
}

fn turn_ended(message: Option<String>) -> StepEvent {
    StepEvent::TurnEnded { message, boundaries: None, notify_only: None, compact_only: None }
}
