//! The connection to the daemon, across restarts.
//!
//! It keeps one connection and reopens it before a call if it has ended, so a restart between two calls goes unnoticed.
//! If it ends during a call, the call is repeated, unless the call changes something: then it may have been carried
//! out, and the error says so. If the daemon is not running, `longhaul up` starts it once, and the call waits.
//!
//! A call may take as long as the client library allows it: a hand-over compacts, which can take minutes.
//!
//! A crash of the daemon is treated like a restart. After a crash of this process the agent starts a new one; no state
//! is lost.

use std::future::ready;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use longhaul_client::{Client, ClientError, ConnectOptions};
use longhaul_protocol::{Method, Retry};
use tokio::process::Command;
use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::fault::Fault;

/// Seconds to wait for a daemon that has stopped or is starting.
const WAIT_SECONDS: u64 = 10;
/// Milliseconds between two attempts to connect.
const ATTEMPT_MS: u64 = 50;

/// The daemon, by a connection that is reopened when it ends.
#[derive(Debug)]
pub(crate) struct Daemon {
    options: ConnectOptions,
    socket: Option<PathBuf>,
    may_start: bool,
    open: Mutex<Option<Client>>,
}

impl Daemon {
    pub(crate) fn new(socket: Option<PathBuf>, may_start: bool) -> Self {
        let mut options = ConnectOptions::new("longhaul-mcp", env!("CARGO_PKG_VERSION")).agent();
        if let Some(path) = &socket {
            options = options.socket(path);
        }
        Self { options, socket, may_start, open: Mutex::new(None) }
    }

    /// Calls a method that changes nothing.
    pub(crate) async fn call<M: Method>(&self, params: M::Params) -> Result<M::Result, Fault>
    where
        M::Params: Clone,
    {
        let until = Instant::now() + Duration::from_secs(WAIT_SECONDS);
        let mut attempts = tokio::time::interval(Duration::from_millis(ATTEMPT_MS));
        loop {
            attempts.tick().await;
            let client = self.client().await?;
            match client.call::<M>(params.clone()).await {
                Err(error) if error.retry() == Retry::Reconnect && Instant::now() < until => {}
                answer => return Ok(answer?),
            }
        }
    }

    /// Calls a method that changes something, at most once.
    pub(crate) async fn call_once<M: Method>(&self, params: M::Params) -> Result<M::Result, Fault> {
        Ok(self.client().await?.call::<M>(params).await?)
    }

    /// Returns an open connection; waits if the daemon may be starting.
    async fn client(&self) -> Result<Client, Fault> {
        let mut open = self.open.lock().await;
        let was_open = open.is_some();
        if let Some(client) = open.take()
            && !has_ended(&client).await
        {
            return Ok(open.insert(client).clone());
        }
        let mut is_started = false;
        let until = Instant::now() + Duration::from_secs(WAIT_SECONDS);
        let mut attempts = tokio::time::interval(Duration::from_millis(ATTEMPT_MS));
        loop {
            attempts.tick().await;
            let error = match Client::connect(self.options.clone()).await {
                Ok(client) => return Ok(open.insert(client).clone()),
                Err(error) => error,
            };
            let is_absent = matches!(error, ClientError::NotRunning { .. });
            if is_absent && self.may_start && !is_started {
                is_started = start(self.socket.as_deref());
            }
            let is_coming = is_started || was_open;
            if error.retry() != Retry::Reconnect || !is_coming || Instant::now() > until {
                return Err(error.into());
            }
        }
    }
}

/// Whether the connection is known to have ended.
async fn has_ended(client: &Client) -> bool {
    // Lets the reading task notice the end first.
    tokio::task::yield_now().await;
    tokio::select! {
        biased;
        () = client.closed() => true,
        () = ready(()) => false,
    }
}

/// Runs `longhaul up` (next to this program, else on the `PATH`) to start the daemon; returns whether it was found.
fn start(socket: Option<&Path>) -> bool {
    let own = std::env::current_exe().ok();
    let beside = own.as_deref().and_then(Path::parent).map(|folder| folder.join("longhaul"));
    let program = beside.filter(|path| path.is_file()).unwrap_or_else(|| "longhaul".into());
    let mut up = Command::new(program);
    if let Some(path) = socket {
        up.arg("--socket").arg(path);
    }
    up.arg("up").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // In its own process group: an agent that kills its children must not kill the shared daemon.
    up.process_group(0);
    up.spawn().is_ok()
}

#[cfg(test)]
mod tests {
    use longhaul_client::scripted::{Reply, Script, ScriptedServer};
    use longhaul_protocol::daemon::{NoParams, Status};
    use longhaul_protocol::socket::of_agents;
    use longhaul_protocol::thread::{Continue, ContinueParams};

    use super::*;

    #[tokio::test]
    async fn a_hand_over_may_take_as_long_as_a_compaction() {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("v1.sock");
        let silent = |_| Reply::Lines(vec![r#"{"jsonrpc":"2.0","method":"weather"}"#.to_owned()]);
        let script = Script::from_examples().unwrap().on::<Continue>(silent);
        let _server = ScriptedServer::start(&of_agents(&socket), script).unwrap();
        let daemon = Daemon::new(Some(socket), false);
        daemon.call::<Status>(NoParams {}).await.unwrap();
        tokio::time::pause();
        let late = daemon.call_once::<Continue>(ContinueParams::default()).await.unwrap_err();
        let late = late.sentence();
        assert!(late.starts_with("the daemon did not answer within 135000 ms"), "{late}");
    }
}
