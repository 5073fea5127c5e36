//! Answers the plugin before a compaction: the briefing that replaces the agent's history.
//!
//! Unlike other hooks it may take noticeable time, because the alternative is asking a model, which takes many
//! seconds. It answers only after the transcript was read to its end; otherwise the briefing would lose the last items.

use std::path::Path;
use std::time::Duration;

use longhaul_client::ClientError;
use longhaul_client::briefing::{Briefing, BriefingRequest, LIMIT_MS, OPENING, tail_tokens};
use longhaul_protocol::limit::FOCUS_BYTES_MAX;
use longhaul_protocol::thread::{Sync, SyncParams};
use longhaul_protocol::{ErrorKind, compaction};
use serde::Serialize;
use tokio::time::{Instant, sleep, timeout_at};

use super::compact_undo::{self, Message};
use super::exchange::{Hook, connect, one_line};
use super::payload::{Agent, Payload};
use super::{HookArgs, log_failure, stdin};
use crate::failure::Failure;
use crate::session::Session;

/// Version of payload and answer; must equal the one in the plugin's `answer.ts`.
pub(super) const PROTOCOL: u32 = 1;
/// Time for an agent to write the first lines of a new session, and the interval of checks. Claude Code writes them
/// after the turn, so a window that is full at once is compacted before they exist.
const WRITTEN_WITHIN: Duration = Duration::from_millis(500);
const LOOK_AGAIN: Duration = Duration::from_millis(20);

#[derive(Serialize)]
struct CompactAnswer {
    protocol: u32,
    #[serde(flatten)]
    outcome: Outcome,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Outcome {
    /// The replacement of the history, and how many tokens of its end to keep.
    Briefing {
        text: String,
        tail_tokens: u64,
        #[serde(skip_serializing_if = "Option::is_none")]
        compaction_id: Option<String>,
    },
    /// The history that a briefing replaced, to be restored.
    Restored { restored: Vec<Message> },
    /// Why the agent should compact by itself.
    Declined { declined: String },
}

pub(super) async fn run(args: &HookArgs, session: &Session) -> Result<(), Failure> {
    let until = Instant::now() + Duration::from_millis(LIMIT_MS);
    let outcome = match timeout_at(until, answer(args, session, until)).await {
        Ok(Ok(briefing)) => briefing,
        Ok(Err(declined)) => Outcome::Declined { declined },
        Err(_) => {
            Outcome::Declined { declined: format!("the daemon took more than {LIMIT_MS} ms") }
        }
    };
    if let Outcome::Declined { declined } = &outcome {
        log_failure(declined);
    }
    let answer = CompactAnswer { protocol: PROTOCOL, outcome };
    let json = serde_json::to_string(&answer)?;
    session.print_json(&(json + "\n")).unwrap_or_default();
    Ok(())
}

async fn answer(args: &HookArgs, session: &Session, until: Instant) -> Result<Outcome, String> {
    let mut payload = stdin().await?;
    check_protocol(&payload)?;
    payload.transcript_path = Some(transcript(&payload)?);
    payload.cwd = payload.cwd.or_else(|| Some(std::env::current_dir().ok()?.to_str()?.to_owned()));
    let client = connect(session.options().agent(), LIMIT_MS).await?;
    let agent = args.agent.unwrap_or(Agent::Claude);
    let hook = Hook { agent, payload: &payload, client: &client, session, until };
    let thread_id = read_to_end(&hook).await?;
    if payload.trigger.as_deref() == Some("precompute") {
        // Nothing is compacted yet; the plugin only asks whether we could.
        return Ok(Outcome::Briefing {
            text: OPENING.to_owned(),
            tail_tokens: 0,
            compaction_id: None,
        });
    }
    if compact_undo::is_requested(&payload) {
        let left_ms = until.saturating_duration_since(Instant::now()).as_millis();
        let left_ms = u64::try_from(left_ms).unwrap_or(0);
        let restored = compact_undo::restore(session, (&payload, &thread_id), left_ms).await?;
        return Ok(Outcome::Restored { restored });
    }
    let (made, memory) = tokio::join!(compacted(&hook, &thread_id), hook.memory());
    let made = made?;
    let parts = [focus(payload.instructions.as_deref()), Some(made.text), memory];
    let text = parts.into_iter().flatten().collect::<Vec<_>>().join("\n\n");
    let tail_tokens = tail_tokens(payload.context_window);
    Ok(Outcome::Briefing { text, tail_tokens, compaction_id: Some(made.compaction_id) })
}

/// Rejects a plugin of another version.
pub(super) fn check_protocol(payload: &Payload) -> Result<(), String> {
    let theirs = payload.protocol.unwrap_or_default();
    match theirs == PROTOCOL {
        true => Ok(()),
        false => Err(format!(
            "the plugin's protocol is version {theirs}, this program's {PROTOCOL}; run longhaul install claude"
        )),
    }
}

/// The transcript of the conversation to compact; a sub-agent has its own file.
fn transcript(payload: &Payload) -> Result<String, String> {
    let none = || "the session writes no transcript".to_owned();
    let main =
        payload.transcript_path.as_deref().filter(|path| !path.is_empty()).ok_or_else(none)?;
    let Some(agent) = &payload.agent_id else { return Ok(main.to_owned()) };
    let is_name = agent.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
    if !is_name {
        return Err("the sub-agent's id is not a file name".to_owned());
    }
    let folder = main.strip_suffix(".jsonl").unwrap_or(main);
    Ok(format!("{folder}/subagents/agent-{agent}.jsonl"))
}

/// Waits until the daemon has read the transcript to its present end; returns the thread.
pub(super) async fn read_to_end(hook: &Hook<'_>) -> Result<String, String> {
    let path = hook.payload.transcript_path.clone().unwrap_or_default();
    let written_until = hook.until.min(Instant::now() + WRITTEN_WITHIN);
    loop {
        let length = Path::new(&path).metadata().map_or(0, |file| file.len());
        let left = hook.until.saturating_duration_since(Instant::now());
        let sync = SyncParams {
            path: Some(path.clone()),
            timeout_ms: Some(u64::try_from(left.as_millis()).unwrap_or(0)),
            context_window: hook.payload.context_window,
            context_tokens: hook.payload.context_tokens,
            ..Default::default()
        };
        let synced = match hook.client.call::<Sync>(sync).await {
            Err(error) if is_unwritten(&error) && Instant::now() + LOOK_AGAIN < written_until => {
                sleep(LOOK_AGAIN).await;
                continue;
            }
            synced => synced.map_err(|error| one_line(&error))?,
        };
        return match synced.offset < length {
            true => Err(format!(
                "the daemon has read {} of {length} bytes of the transcript",
                synced.offset
            )),
            false => Ok(synced.thread_id),
        };
    }
}

/// The file does not exist, or has no line with the thread's id yet.
fn is_unwritten(error: &ClientError) -> bool {
    matches!(error, ClientError::Refused(error) if error.kind() == ErrorKind::ThreadNotFound)
}

async fn compacted(hook: &Hook<'_>, thread_id: &str) -> Result<Briefing, String> {
    let (trigger, phase) = match hook.payload.trigger.as_deref() {
        Some("auto") => (compaction::Trigger::Auto, compaction::Phase::MidTurn),
        _ => (compaction::Trigger::Manual, compaction::Phase::Standalone),
    };
    let focus = words(hook.payload.instructions.as_deref());
    let window = hook.payload.context_window;
    let wanted = BriefingRequest { thread_id, window, trigger, phase, focus };
    Briefing::make(hook.client, &wanted).await.map_err(|error| one_line(&error))
}

/// What the person wrote after `/compact`, cut to the daemon's limit.
pub(super) fn words(instructions: Option<&str>) -> Option<&str> {
    let words = instructions.map(str::trim).filter(|words| !words.is_empty())?;
    Some(&words[..words.floor_char_boundary(FOCUS_BYTES_MAX)])
}

/// The person's instructions as the briefing quotes them.
fn focus(instructions: Option<&str>) -> Option<String> {
    let words = words(instructions)?.replace('\n', "\n> ");
    Some(format!(
        "{OPENING} The person asked for it with these words; keep to them. Lines that speak of them stand \
         first in the briefing below; look up what it lacks (`longhaul search`, `longhaul expand HANDLE`):\n\n> {words}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sub_agents_have_their_own_transcripts() {
        let of = |agent_id: Option<&str>, path: &str| {
            let agent_id = agent_id.map(str::to_owned);
            transcript(&Payload {
                transcript_path: Some(path.into()),
                agent_id,
                ..Default::default()
            })
        };
        assert_eq!(of(None, "/p/s.jsonl").unwrap(), "/p/s.jsonl");
        assert_eq!(of(Some("a1b"), "/p/s.jsonl").unwrap(), "/p/s/subagents/agent-a1b.jsonl");
        assert!(of(Some("../x"), "/p/s.jsonl").is_err());
        assert!(of(None, "").is_err(), "a session that keeps no transcript");
    }

    #[test]
    fn focus_follows_the_opening() {
        assert_eq!(focus(Some("  ")), None);
        let text = focus(Some("keep the\nmigration")).unwrap();
        assert!(text.starts_with(OPENING) && text.ends_with("> keep the\n> migration"), "{text}");
    }
}
