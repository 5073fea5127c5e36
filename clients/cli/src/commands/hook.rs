//! `longhaul hook`: answers the hooks of agents.
//!
//! The agent writes one JSON object to standard input and reads one from standard output while a person waits, so
//! the whole process has [`LIMIT_MS`]: it prints what the daemon has answered by then and leaves out the rest. It
//! fails open: without a daemon, with an unknown payload or after any error it prints nothing to standard output, one
//! line to standard error, and exits with 0. No answer can stop an agent (no `continue: false`, no `decision`).
//!
//! Context for the model is marked (`<longhaul_context`), so that the daemon does not take it for the person's words
//! when it reads the transcript.

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
mod answer_format;
mod compact;
mod compact_undo;
mod event;
mod exchange;
mod payload;
mod session_start;
mod turn;

pub(super) use session_start::MEMORY_TOKENS;

use answer_format::Answer;
use exchange::Hook;
use payload::{Agent, Event, Payload};

/// Milliseconds for the answer; the goal for the whole process is 200.
const LIMIT_MS: u64 = 150;
/// Milliseconds of it for reading the payload and for the daemon; the rest is for reporting a timeout.
const DAEMON_MS: u64 = 140;
/// Maximum bytes of a payload: a prompt may contain a pasted file.
const PAYLOAD_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// Sent by the Claude Code plugin before a compaction; not an event of the agent.
const COMPACT_EVENT: &str = "SessionCompact";
/// Sent by the plugin when a turn is over, when tools of a turn have ended (`policy.mid_turn`), and when the compaction
/// it was told to make has ended.
const TURN_EVENT: &str = "TurnComplete";
const TOOLS_EVENT: &str = "ToolsComplete";
const COMPACTION_ENDED_EVENT: &str = "CompactionEnded";
/// If set to `0`, hooks do not start the daemon.
const AUTOSTART_VARIABLE: &str = "LONGHAUL_AUTOSTART";

/// Answer an agent's hook: JSON on stdin, JSON on stdout
///
/// Gives the agent the thread's checkpoint and the project's memory when a session starts, is resumed or was
/// compacted; records the state before a compaction; warns the agent when the window is nearly full. It
/// answers within 150 ms with what it has (the plugin's questions may take longer) and always exits with 0.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  longhaul install codex                 write the hooks to Codex's settings
  echo '{\"source\":\"resume\",\"session_id\":\"THREAD\"}' | longhaul hook SessionStart

Events: SessionStart, UserPromptSubmit, PreCompact, PostCompact, Stop; others get no answer.

The Claude Code plugin sends four more. SessionCompact asks for a briefing; it may take 1,000 ms, and the \
answer says why if there is none. TurnComplete asks whether to compact now (policy.mode = \"auto\"), \
ToolsComplete asks it in the middle of a turn (policy.mid_turn), and CompactionEnded reports the outcome. With --agent codex, Stop starts TurnComplete, which applies the policy \
through Codex's app server.

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
        Some(TOOLS_EVENT) => return turn::tools_ended(&args, session).await,
        Some(COMPACTION_ENDED_EVENT) => return turn::compaction_ended(&args, session).await,
        Some(_) | None => {}
    }
    let begun = Instant::now();
    let daemon_until = begun + Duration::from_millis(DAEMON_MS);
    let answered = answer(&args, session, daemon_until);
    let until = begun + Duration::from_millis(LIMIT_MS);
    let output = match timeout_at(until, answered).await {
        Ok(Ok(answer)) => answer.json(),
        Ok(Err(why)) => log_failure(&why),
        Err(_) => log_failure(&format!("no answer within {LIMIT_MS} ms")),
    };
    if let Some(json) = output {
        // Ignore errors: the agent no longer reads.
        session.print_json(&(json + "\n")).unwrap_or_default();
    }
    Ok(())
}

/// Prints one line to the agent's log, and nothing to the agent.
fn log_failure(why: &str) -> Option<String> {
    output::to_stderr(&output::text(&format!("longhaul hook: {why}\n"), false));
    None
}

async fn answer(args: &HookArgs, session: &Session, until: Instant) -> Result<Answer, String> {
    let payload = stdin().await?;
    let name = args.event.as_deref().unwrap_or(&payload.hook_event_name);
    let event = Event::of(name).ok_or_else(|| match name {
        "" => "the payload names no event".to_owned(),
        name => format!("no answer to the event {name:?}"),
    })?;
    let agent = args.agent.unwrap_or_else(|| payload.agent());
    let precedes_request = matches!(event, Event::SessionStart | Event::UserPromptSubmit);
    if agent == Agent::Codex && precedes_request && is_gateway_down() {
        // This also starts the gateway; the agent retries until its provider answers.
        start_daemon(session);
    }
    let left_ms = u64::try_from((until - Instant::now()).as_millis()).unwrap_or(0);
    let options = session.options().agent();
    let options = options.connect_timeout_ms(left_ms).request_timeout_ms(left_ms);
    let client = match Client::connect(options).await {
        Ok(client) => client,
        Err(error @ ClientError::NotRunning { .. }) if event == Event::SessionStart => {
            let is_started = start_daemon(session);
            let then = if is_started { "; starting it for the next event" } else { "" };
            return Err(format!("{error}{then}"));
        }
        Err(error) => return Err(exchange::one_line(&error)),
    };
    event::answer(event, &Hook { agent, payload: &payload, client: &client, session, until }).await
}

/// Reads the payload up to the end of its object: an agent may leave the pipe open. On a timeout the reading thread
/// is abandoned and ends with the process.
async fn stdin() -> Result<Payload, String> {
    let (read, payload) = oneshot::channel();
    std::thread::spawn(move || {
        let input = io::stdin().lock().take(PAYLOAD_BYTES_MAX);
        let mut objects = serde_json::Deserializer::from_reader(input).into_iter::<Payload>();
        // Fails if the time is up.
        drop(read.send(objects.next()));
    });
    match payload.await {
        Ok(Some(Ok(payload))) => Ok(payload),
        Ok(Some(Err(error))) => Err(format!("the payload cannot be read: {error}")),
        Ok(None) | Err(_) => Err("no payload on standard input".to_owned()),
    }
}

/// Whether the agent's provider is behind a gateway that is not running.
fn is_gateway_down() -> bool {
    GatewaySettings::in_force().is_some_and(|gateway| gateway.is_down())
}

/// Starts the daemon without waiting for it; returns whether it tried.
fn start_daemon(session: &Session) -> bool {
    if std::env::var_os(AUTOSTART_VARIABLE).is_some_and(|value| value == "0") {
        return false;
    }
    own_command(session).is_some_and(|mut program| program.arg("up").spawn().is_ok())
}

/// A command that runs this program, for work that outlives the hook.
fn own_command(session: &Session) -> Option<std::process::Command> {
    let mut program = std::process::Command::new(std::env::current_exe().ok()?);
    if let Some(path) = &session.socket {
        program.arg("--socket").arg(path);
    }
    program.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // Outside the agent's process group, which the agent may end with the hook.
    std::os::unix::process::CommandExt::process_group(&mut program, 0);
    Some(program)
}
