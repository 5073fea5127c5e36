//! `longhaul down`: stop the daemon.

use std::time::Duration;

use clap::Args;
use longhaul_client::{Client, ClientError};
use longhaul_protocol::daemon::{NoParams, Shutdown};
use serde::Serialize;

use crate::failure::{Failure, TRY_LATER};
use crate::progress::while_waiting;
use crate::session::{Page, Session};
use crate::style::Style;

/// Seconds the daemon has to finish what is in flight.
const DRAIN_SECONDS: u64 = 30;

/// Milliseconds between two looks at a process that is ending.
const TICK_MS: u64 = 10;

/// Stop the daemon after it has finished running requests
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  longhaul down
  longhaul down && longhaul up     restart it

Under systemd's socket activation the next connection starts it again; to keep it stopped:
  systemctl --user stop longhauld.socket longhauld.service")]
pub(crate) struct DownArgs {}

pub(crate) async fn run(_: DownArgs, session: &Session) -> Result<(), Failure> {
    let client = match Client::connect(session.options()).await {
        Ok(client) => client,
        Err(ClientError::NotRunning { .. }) => return session.print(&DownPage { pid: None }),
        Err(error) => return Err(error.into()),
    };
    let ending = client.call::<Shutdown>(NoParams {}).await?;
    let drained =
        tokio::time::timeout(Duration::from_secs(DRAIN_SECONDS), gone(&client, ending.pid));
    if while_waiting("waiting for the daemon to finish", drained).await.is_err() {
        let message = format!("process {} is still finishing its requests", ending.pid);
        return Err(Failure::new(TRY_LATER, message));
    }
    session.print(&DownPage { pid: Some(ending.pid) })
}

/// The connection ends before the process does, which lets go of its lock last; only then may another start.
async fn gone(client: &Client, pid: u32) {
    client.closed().await;
    let Some(pid) = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw) else {
        return;
    };
    let mut ticks = tokio::time::interval(Duration::from_millis(TICK_MS));
    while rustix::process::test_kill_process(pid).is_ok() {
        ticks.tick().await;
    }
}

#[derive(Serialize)]
struct DownPage {
    /// The process that ended; absent when none was running.
    pid: Option<u32>,
}

impl Page for DownPage {
    fn text(&self, _: &Style) -> String {
        match self.pid {
            Some(pid) => format!("stopped: process {pid}\n"),
            None => "the daemon is not running\n".to_owned(),
        }
    }
}
