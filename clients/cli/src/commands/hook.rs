//! `longhaul hook`: what an agent runs at its events.
//!
//! The agent writes one JSON object to standard input and reads one from standard output. In between stands
//! a person who waits, so the whole process has [`LIMIT_MS`]: what the daemon has answered by then is said,
//! the rest is left out. It fails open: without a daemon, with a payload nobody knows, after any error it
//! says nothing to the agent, one line to standard error, and ends with exit code 0. Nothing it answers can
//! stop an agent (no `continue: false`, no `decision`).
//!
//! What is put before the model is marked (`<longhaul_context`), so that the daemon never takes it for words
//! of the person when it reads the transcript back.

use std::io::{self, Read};
use std::process::Stdio;
use std::time::Duration;

use clap::Args;
use longhaul_client::gateway::GatewaySettings;
use longhaul_client::{Client, ClientError};
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout_at};

use crate::failure::Failure;
use crate::output;
use crate::session::Session;

mod act;
mod answer;
mod compact;
mod event;
mod payload;
mod restore;
mod turn;

use answer::Answer;
use payload::{Agent, Event, Payload};

/// Milliseconds for everything; the goal for the whole process is 200.
const LIMIT_MS: u64 = 150;
/// Milliseconds of it that reading the payload and the daemon may take; the rest is for saying so.
const DAEMON_MS: u64 = 140;
/// Bytes of a payload that are read: a prompt may hold a pasted file.
const PAYLOAD_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// What the plugin of Claude Code asks before a compaction; no event of the agent's own.
const COMPACT_EVENT: &str = "SessionCompact";
/// What it asks when a turn is over, and says when the compaction it was asked for has ended.
const TURN_EVENT: &str = "TurnComplete";
const COMPACTION_ENDED_EVENT: &str = "CompactionEnded";
/// Set to `0`, nothing here starts the daemon.
const AUTOSTART_VARIABLE: &str = "LONGHAUL_AUTOSTART";

/// Answer an agent's hook: JSON on stdin, JSON on stdout
///
/// Gives the agent the checkpoint of the thread and the memory of the project when a session starts, is
/// resumed or was compacted; records the state before a compaction; warns the agent when the window is
/// nearly full. It never blocks: it answers within 150 ms with what it has and always exits with 0.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  longhaul install codex                 writes the hooks into Codex's settings
  echo '{\"hook_event_name\":\"SessionStart\",\"source\":\"resume\",\"session_id\":\"THREAD\"}' | \
longhaul hook SessionStart

Events: SessionStart, UserPromptSubmit, PreCompact, PostCompact, Stop; others get an empty answer.
SessionCompact is what the plugin of Claude Code asks; it has 1,000 ms, and says why where it gives no briefing.
TurnComplete and CompactionEnded are the plugin's, too: whether to compact now (policy.mode = \"auto\"), and what came of it.
With --agent codex TurnComplete is what Stop starts: it carries out the policy in Codex's app server.
LONGHAUL_AUTOSTART=0 keeps it from starting the daemon.")]
pub(crate) struct HookArgs {
    /// Event name [default: from the payload]
    event: Option<String>,
    /// Agent that runs the hook [default: from the payload]
    #[arg(long)]
    agent: Option<Agent>,
}

pub(crate) async fn run(args: HookArgs, session: &Session) -> Result<(), Failure> {
    match args.event.as_deref() {
        Some(COMPACT_EVENT) => return compact::run(&args, session).await,
        Some(TURN_EVENT) if args.agent == Some(Agent::Codex) => return act::run(session).await,
        Some(TURN_EVENT) => return turn::complete(&args, session).await,
        Some(COMPACTION_ENDED_EVENT) => return turn::compaction_ended(&args, session).await,
        Some(_) | None => {}
    }
    let begun = Instant::now();
    let daemon_until = begun + Duration::from_millis(DAEMON_MS);
    let answered = answer(&args, session, daemon_until);
    let until = begun + Duration::from_millis(LIMIT_MS);
    let said = match timeout_at(until, answered).await {
        Ok(Ok(answer)) => answer.json(),
        Ok(Err(why)) => complain(&why),
        Err(_) => complain(&format!("no answer within {LIMIT_MS} ms")),
    };
    if let Some(json) = said {
        // An agent that no longer reads has no use for an error either.
        session.print_json(&(json + "\n")).unwrap_or_default();
    }
    Ok(())
}

/// One line for whoever looks into the agent's log; nothing for the agent.
fn complain(why: &str) -> Option<String> {
    output::to_stderr(&output::text(&format!("longhaul hook: {why}\n"), false));
    None
}

async fn answer(args: &HookArgs, session: &Session, until: Instant) -> Result<Answer, String> {
    let payload = stdin().await?;
    let name = args.event.as_deref().unwrap_or(&payload.hook_event_name);
    let Some(event) = Event::of(name) else { return Ok(Answer::default()) };
    let agent = args.agent.unwrap_or_else(|| payload.agent());
    let comes_before_a_request = matches!(event, Event::SessionStart | Event::UserPromptSubmit);
    if agent == Agent::Codex && comes_before_a_request && is_gateway_down() {
        // It starts the gateway with the daemon; the agent tries again until its provider answers.
        start_daemon(session);
    }
    let left_ms = u64::try_from((until - Instant::now()).as_millis()).unwrap_or(0);
    let options = session.options().agent();
    let options = options.connect_timeout_ms(left_ms).request_timeout_ms(left_ms);
    let client = match Client::connect(options).await {
        Ok(client) => client,
        Err(error @ ClientError::NotRunning { .. }) if event == Event::SessionStart => {
            let is_started = start_daemon(session);
            let then = if is_started { "; it is being started for the next event" } else { "" };
            return Err(format!("{error}{then}"));
        }
        Err(error) => return Err(event::one_line(&error)),
    };
    event::answer(event, &event::Hook { agent, payload: &payload, client: &client, session, until })
        .await
}

/// The payload, read as soon as its object ends: an agent may leave the pipe open. The thread that reads is
/// left behind when time is up, and ends with the process.
async fn stdin() -> Result<Payload, String> {
    let (read, payload) = oneshot::channel();
    std::thread::spawn(move || {
        let input = io::stdin().lock().take(PAYLOAD_BYTES_MAX);
        let mut objects = serde_json::Deserializer::from_reader(input).into_iter::<Payload>();
        // Nobody waits for it any more when the time is up.
        drop(read.send(objects.next()));
    });
    match payload.await {
        Ok(Some(Ok(payload))) => Ok(payload),
        Ok(Some(Err(error))) => Err(format!("the payload cannot be read: {error}")),
        Ok(None) | Err(_) => Err("no payload on standard input".to_owned()),
    }
}

/// Whether the agent's provider is reached through a gateway that does not run.
fn is_gateway_down() -> bool {
    GatewaySettings::in_force().is_some_and(|gateway| gateway.is_down())
}

/// Starts the daemon beside us, without waiting for it; whether that was tried.
fn start_daemon(session: &Session) -> bool {
    if std::env::var_os(AUTOSTART_VARIABLE).is_some_and(|value| value == "0") {
        return false;
    }
    once_more(session).is_some_and(|mut program| program.arg("up").spawn().is_ok())
}

/// This program again, for work that outlives the hook.
fn once_more(session: &Session) -> Option<std::process::Command> {
    let mut program = std::process::Command::new(std::env::current_exe().ok()?);
    if let Some(path) = &session.socket {
        program.arg("--socket").arg(path);
    }
    program.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // Out of the agent's group: it may end all of it with the hook.
    std::os::unix::process::CommandExt::process_group(&mut program, 0);
    Some(program)
}
