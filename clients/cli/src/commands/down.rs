//! `longhaul down`.

use std::time::Duration;

use clap::Args;
use longhaul_client::{Client, ClientError};
use longhaul_protocol::daemon::{NoParams, Shutdown};
use rustix::process::Pid;
use serde::Serialize;

use crate::failure::{Failure, TRY_LATER};
use crate::holder::{self, Unreached};
use crate::progress::while_waiting;
use crate::session::{Page, Session};
use crate::style::Style;

/// Seconds to wait for running requests to finish.
const DRAIN_SECONDS: u64 = 30;

/// Milliseconds between two checks whether the process has ended.
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
    let client = match holder::connect(session).await {
        Ok(client) => client,
        Err(Unreached::Client(ClientError::NotRunning { .. })) => {
            return session.print(&DownPage { pid: None });
        }
        Err(unreached) => return Err(unreached.into()),
    };
    let ending = client.call::<Shutdown>(NoParams {}).await;
    let ending = ending.map_err(|error| holder::unreached(error, session))?;
    let drained =
        tokio::time::timeout(Duration::from_secs(DRAIN_SECONDS), gone(&client, ending.pid));
    if while_waiting("waiting for the daemon to finish", drained).await.is_err() {
        let message = format!("process {} is still finishing its requests", ending.pid);
        return Err(Failure::new(TRY_LATER, message));
    }
    session.print(&DownPage { pid: Some(ending.pid) })
}

/// Waits for the process to end: it releases its lock last, and only then can another start.
async fn gone(client: &Client, pid: u32) {
    client.closed().await;
    let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) else {
        return;
    };
    let mut ticks = tokio::time::interval(Duration::from_millis(TICK_MS));
    while !is_over(pid) {
        ticks.tick().await;
    }
}

/// Whether a process has ended. A zombie counts as ended: without an init, as in some containers, it stays in the process
/// table but has released everything.
fn is_over(pid: Pid) -> bool {
    rustix::process::test_kill_process(pid).is_err() || is_zombie(pid)
}

fn is_zombie(pid: Pid) -> bool {
    let stat = format!("/proc/{}/stat", pid.as_raw_nonzero());
    let Ok(stat) = std::fs::read_to_string(stat) else { return false };
    // The name before it is in parentheses and may contain parentheses.
    let state = stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
    matches!(state, Some('Z' | 'X'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn zombie_counts_as_ended() {
        let mut child = std::process::Command::new("/bin/true").spawn().unwrap();
        let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
        let over = async {
            while !is_over(pid) {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(20), over).await.unwrap();
        assert!(
            rustix::process::test_kill_process(pid).is_ok(),
            "it is still in the process table"
        );
        child.wait().unwrap();
    }
}

#[derive(Serialize)]
struct DownPage {
    /// The process that ended; absent if none was running.
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
