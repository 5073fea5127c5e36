//! `longhaul up`: starts the daemon unless it is running.
//!
//! The daemon runs in its own process group, without a terminal, with its output in a log file. It counts as started
//! when it answers, not when its process exists.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Args;
use longhaul_client::Client;
use longhaul_protocol::Retry;
use longhaul_protocol::daemon::{NoParams, Status, StatusResult};
use serde::Serialize;

use crate::commands::install::place;
use crate::failure::{CONFIG, Failure};
use crate::holder;
use crate::progress::while_waiting;
use crate::session::{Page, Session};
use crate::style::Style;

mod gateway;
mod log;
mod start;

const PROGRAM: &str = "longhauld";

/// Start the daemon unless it is already running
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  longhaul up
  longhaul up --foreground             log to the terminal; stop with Ctrl-C
  longhaul up -- --codex-home /srv/agents/codex    pass flags to the daemon

Also starts the gateway if Codex uses it. The log is longhauld.log in the state folder (~/.local/state/longhaul). \
With systemd user units this command is not needed: the first connection starts the daemon.")]
pub(crate) struct UpArgs {
    /// Stay in the foreground and log to the terminal
    #[arg(long)]
    foreground: bool,
    /// Flags for the daemon, see longhauld --help
    #[arg(last = true, value_name = "FLAGS")]
    daemon: Vec<OsString>,
}

pub(crate) async fn run(args: UpArgs, session: &Session) -> Result<(), Failure> {
    // First, since an agent may be waiting for it; it works even if the daemon cannot be started.
    let gateway = gateway::start(session).await;
    daemon(args, session).await.and(gateway)
}

async fn daemon(args: UpArgs, session: &Session) -> Result<(), Failure> {
    match Client::connect(session.options()).await {
        Ok(client) => return report(&client, None, session).await,
        // There is no daemon, or it is stopping.
        Err(error) if error.retry() == Retry::Reconnect => {}
        Err(error) => return Err(holder::unreached(error, session).into()),
    }
    let mut command = Command::new(find_program()?);
    command.args(&args.daemon);
    if let Some(path) = &session.socket {
        command.arg("--socket").arg(path);
    }
    if args.foreground {
        // Returns only if the program could not be started.
        return Err(command.exec().into());
    }
    let log = log::named("longhauld.log")?;
    let answers = start::start(&mut command, &log, session);
    let client = while_waiting("waiting for the daemon to answer", answers).await?;
    report(&client, Some(&log), session).await
}

async fn report(client: &Client, log: Option<&Path>, session: &Session) -> Result<(), Failure> {
    let status = client.call::<Status>(NoParams {}).await?;
    session.print(&UpPage { is_started: log.is_some(), log: log.map(Path::to_owned), status })
}

pub(super) fn find_program() -> Result<PathBuf, Failure> {
    program_beside(PROGRAM)
}

fn program_beside(name: &str) -> Result<PathBuf, Failure> {
    place::beside(name).ok_or_else(|| {
        Failure::new(CONFIG, format!("{name} is neither next to this program nor on the PATH"))
            .with_hint("install it next to this program, or start it yourself")
    })
}

#[derive(Serialize)]
struct UpPage {
    /// Whether this command started it.
    #[serde(rename = "started")]
    is_started: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    log: Option<PathBuf>,
    status: StatusResult,
}

impl Page for UpPage {
    fn text(&self, style: &Style) -> String {
        let heading = match self.is_started {
            true => "started",
            false => "running already",
        };
        let log = self.log.as_ref().map(|log| style.path(&log.to_string_lossy()));
        let log = log.map_or_else(String::new, |log| style.dim(&format!("log: {log}\n")));
        format!("{}\n{}{log}", style.good(heading), self.status.text(style))
    }
}
