//! Client of Codex's app server: the process that runs the threads of its terminals, over its control socket, or one of
//! our own for a thread that no process has open.
//!
//! The protocol is JSON-RPC, in text frames of a websocket or a message a line. The server notifies every connection when a thread becomes
//! active or idle. We subscribe to no thread, so Codex's approval requests go to the terminal.
//!
//! The server is untrusted: it must run as the same user, its messages are bounded in size, number and time, and its
//! text is cut and sanitized before it is shown or logged.
//!
//! An active thread is never touched: Codex aborts its turn before it compacts or reverts (seen in 0.169.0).

use std::fmt;
use std::io;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::install::setup;
use longhaul_printable as printable;
use rustix::process::geteuid;
use serde_json::{Value, json};
use tokio::net::UnixStream;
use tokio::time::timeout;

mod frames;

use frames::Frames;

/// Relative to Codex's home.
const CONTROL_SOCKET: &str = "app-server-control/app-server-control.sock";
const CALL_TIMEOUT: Duration = Duration::from_secs(10);
/// Time to wait for a queued message, which starts as soon as a turn ends.
const SETTLE: Duration = Duration::from_millis(300);
/// Maximum messages per connection; every open session causes a few per turn.
const MESSAGES_MAX: u64 = 100_000;
/// Maximum bytes of the server's text that are shown.
const WORDS_MAX: usize = 300;
/// Permission bits that let others replace the socket.
const WRITABLE_BY_OTHERS: u32 = 0o022;
const OTHER_OWNER: &str = "it belongs to another user";

/// Why a call to the app server failed.
#[derive(Debug)]
pub(super) enum ServerFault {
    NotRunning(io::Error),
    /// No server of our own can be started.
    NotStarted(io::Error),
    /// Another user may own the socket.
    NotOurs(&'static str),
    /// The connection was lost; the last request may have been carried out.
    Disconnected,
    Slow {
        what: String,
        limit: Duration,
    },
    Refused {
        method: String,
        why: String,
    },
    NotOpen,
    /// A message violates the protocol.
    InvalidMessage(String),
}

impl fmt::Display for ServerFault {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotRunning(error) if has_no_listener(error) => {
                write!(to, "no session is open: Codex's app server is not running")
            }
            Self::NotRunning(error) => write!(to, "cannot reach Codex's app server: {error}"),
            Self::NotStarted(error) => write!(to, "cannot start codex app-server: {error}"),
            Self::NotOurs(why) => write!(to, "Codex's control socket is not trusted: {why}"),
            Self::Disconnected => write!(to, "Codex's app server closed the connection"),
            Self::Slow { what, limit } => {
                write!(to, "Codex's app server took more than {} s for {what}", limit.as_secs())
            }
            Self::Refused { method, why } => write!(to, "Codex refused {method}: {why}"),
            Self::NotOpen => write!(to, "the session is not open in Codex"),
            Self::InvalidMessage(why) => {
                write!(to, "Codex's app server sent an invalid message: {why}")
            }
        }
    }
}

impl ServerFault {
    /// Whether no app server has the thread.
    pub(super) fn is_not_open(&self) -> bool {
        match self {
            Self::NotOpen => true,
            Self::NotRunning(error) => has_no_listener(error),
            _ => false,
        }
    }
}

fn has_no_listener(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused)
}

impl From<ServerFault> for String {
    fn from(fault: ServerFault) -> Self {
        fault.to_string()
    }
}

/// Whether Codex's control socket exists.
pub(super) fn has_socket() -> bool {
    setup::codex_home().is_some_and(|home| home.join(CONTROL_SOCKET).exists())
}

fn codex_home() -> Result<PathBuf, ServerFault> {
    let none = || ServerFault::NotRunning(io::ErrorKind::NotFound.into());
    setup::codex_home().ok_or_else(none)
}

/// A connection and the state of one thread.
pub(super) struct AppServer {
    frames: Frames,
    thread_id: String,
    requests: u64,
    messages: u64,
    is_working: bool,
    /// How often the thread became idle since the connection opened.
    idle_count: u64,
}

impl AppServer {
    /// Connects to the user's app server, for a thread.
    pub(super) async fn connect(thread_id: &str) -> Result<Self, ServerFault> {
        let home = codex_home()?;
        Self::attach(&home.join(CONTROL_SOCKET), thread_id).await
    }

    async fn attach(socket: &Path, thread_id: &str) -> Result<Self, ServerFault> {
        let stream =
            UnixStream::connect(resolved(socket)?).await.map_err(ServerFault::NotRunning)?;
        let peer = stream.peer_cred().map_err(ServerFault::NotRunning)?;
        if peer.uid() != geteuid().as_raw() {
            return Err(ServerFault::NotOurs("a process of another user listens on it"));
        }
        Self::greet(Frames::connect(stream).await?, thread_id).await
    }

    /// Starts a server for a thread that no process has open, and opens the thread in it.
    pub(super) async fn of_closed(
        thread_id: &str,
        folder: Option<&Path>,
    ) -> Result<Self, ServerFault> {
        let home = codex_home()?;
        let mut server = Self::greet(Frames::start(&home, folder)?, thread_id).await?;
        server.call_thread("thread/resume", json!({})).await?;
        Ok(server)
    }

    async fn greet(frames: Frames, thread_id: &str) -> Result<Self, ServerFault> {
        let thread_id = thread_id.to_owned();
        let mut server =
            Self { frames, thread_id, requests: 0, messages: 0, is_working: false, idle_count: 0 };
        let us = json!({ "name": "longhaul", "version": env!("CARGO_PKG_VERSION") });
        let can = json!({ "experimentalApi": true, "requestAttestation": false });
        server.call("initialize", json!({ "clientInfo": us, "capabilities": can })).await?;
        server.send(&json!({ "method": "initialized" })).await?;
        Ok(server)
    }

    /// Calls a method on the thread, whose id is added to `params`.
    pub(super) async fn call_thread(
        &mut self,
        method: &str,
        mut params: Value,
    ) -> Result<Value, ServerFault> {
        params["threadId"] = self.thread_id.as_str().into();
        self.call(method, params).await
    }

    /// Calls a method that makes the thread active, and waits until it is idle again.
    pub(super) async fn run_turn(
        &mut self,
        method: &str,
        params: Value,
        limit: Duration,
    ) -> Result<(), ServerFault> {
        let idle_count = self.idle_count;
        self.call_thread(method, params).await?;
        let idle = async {
            while self.idle_count == idle_count {
                self.receive().await?;
            }
            Ok(())
        };
        within(limit, method, idle).await
    }

    /// Whether the thread is active; an error if the server does not have it.
    pub(super) async fn is_working(&mut self) -> Result<bool, ServerFault> {
        let read = self.call_thread("thread/read", json!({})).await?;
        self.is_working = match read["thread"]["status"]["type"].as_str() {
            Some("active") => true,
            Some("idle") => false,
            _ => return Err(ServerFault::NotOpen),
        };
        Ok(self.is_working)
    }

    /// Waits for the end of the running turn. Returns whether the thread then stays idle: no queued message starts.
    pub(super) async fn wait_idle(&mut self) -> Result<bool, ServerFault> {
        self.is_working().await?;
        while self.is_working {
            self.receive().await?;
        }
        let restarted = async {
            while !self.is_working {
                self.receive().await?;
            }
            Ok(false)
        };
        timeout(SETTLE, restarted).await.unwrap_or(Ok(true))
    }

    /// Shuts down a server that we started.
    pub(super) async fn close(self) {
        self.frames.close().await;
    }

    async fn call(&mut self, method: &str, params: Value) -> Result<Value, ServerFault> {
        self.requests += 1;
        let id = self.requests;
        let answered = async {
            self.send(&json!({ "id": id, "method": method, "params": params })).await?;
            loop {
                let mut message = self.receive().await?;
                if message["id"] != id || message.get("method").is_some() {
                    continue;
                }
                let refused = message.get("error").map(|error| ServerFault::Refused {
                    method: method.to_owned(),
                    why: words(error["message"].as_str().unwrap_or("no reason given")),
                });
                return refused.map_or_else(|| Ok(message["result"].take()), Err);
            }
        };
        within(CALL_TIMEOUT, method, answered).await
    }

    async fn send(&mut self, message: &Value) -> Result<(), ServerFault> {
        self.frames.send(message.to_string()).await
    }

    /// Receives the next message and updates whether the thread is active.
    async fn receive(&mut self) -> Result<Value, ServerFault> {
        loop {
            self.messages += 1;
            if self.messages > MESSAGES_MAX {
                return Err(ServerFault::InvalidMessage(format!(
                    "it sent over {MESSAGES_MAX} messages"
                )));
            }
            let Some(frame) = self.frames.receive().await? else { continue };
            let message: Value = serde_json::from_str(&frame)
                .map_err(|error| ServerFault::InvalidMessage(words(&error.to_string())))?;
            let params = &message["params"];
            if message["method"] == "thread/status/changed" && params["threadId"] == self.thread_id
            {
                let is_working = params["status"]["type"] == "active";
                self.idle_count += u64::from(self.is_working && !is_working);
                self.is_working = is_working;
            }
            return Ok(message);
        }
    }
}

/// Resolves Codex's link into a folder with a short name (`/tmp/codex-daemon-UID` in 0.169.0), after checking that no
/// other user could have placed the link or the socket.
fn resolved(socket: &Path) -> Result<PathBuf, ServerFault> {
    check_folder(socket)?;
    let behind = socket.canonicalize().map_err(ServerFault::NotRunning)?;
    check_folder(&behind)?;
    let file = behind.symlink_metadata().map_err(ServerFault::NotRunning)?;
    match (file.file_type().is_socket(), file.uid() == geteuid().as_raw()) {
        (true, true) => Ok(behind),
        (false, _) => Err(ServerFault::NotOurs("it is not a socket")),
        (true, false) => Err(ServerFault::NotOurs(OTHER_OWNER)),
    }
}

fn check_folder(of: &Path) -> Result<(), ServerFault> {
    let folder = of.parent().unwrap_or(of).symlink_metadata().map_err(ServerFault::NotRunning)?;
    if !folder.is_dir() {
        return Err(ServerFault::NotOurs("its folder is a link"));
    }
    if folder.uid() != geteuid().as_raw() {
        return Err(ServerFault::NotOurs(OTHER_OWNER));
    }
    match folder.permissions().mode() & WRITABLE_BY_OTHERS {
        0 => Ok(()),
        _ => Err(ServerFault::NotOurs("others can write into its folder")),
    }
}

async fn within<T>(
    limit: Duration,
    what: &str,
    done: impl Future<Output = Result<T, ServerFault>>,
) -> Result<T, ServerFault> {
    let slow = || ServerFault::Slow { what: what.to_owned(), limit };
    timeout(limit, done).await.unwrap_or_else(|_| Err(slow()))
}

/// The server's text, safe to show and log.
pub(super) fn words(text: &str) -> String {
    let end = text.floor_char_boundary(WORDS_MAX);
    printable::one_line(&text[..end]).into_owned()
}
