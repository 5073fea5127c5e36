//! The app server of Codex: the process that holds the threads of its terminals, reached over its control socket.
//!
//! JSON-RPC in text frames of a websocket. The server notifies every connection when a thread becomes active or idle. We
//! subscribe to no thread, so Codex's questions (whether a command may run) go to the terminal.
//!
//! The server is untrusted: it must run as the person, its messages are bounded in size, number and time, and its text is
//! cut and sanitized before it is shown or logged.
//!
//! An active thread is never touched: Codex aborts its turn before it compacts or reverts (seen in 0.169.0).

use std::fmt;
use std::io;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use longhaul_printable as printable;
use rustix::process::geteuid;
use serde_json::{Value, json};
use tokio::net::UnixStream;
use tokio::time::timeout;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Error as FrameError, Message};

use super::install::setup;

/// Below Codex's folder.
const CONTROL_SOCKET: &str = "app-server-control/app-server-control.sock";
const CALL_TIMEOUT: Duration = Duration::from_secs(10);
/// A queued message starts as soon as a turn ends; time to wait for that.
const SETTLE: Duration = Duration::from_millis(300);
/// Maximum bytes of a message; twenty turns of a thread with their outputs are a few MiB.
const MESSAGE_BYTES_MAX: usize = 32 * 1024 * 1024;
/// Maximum messages of a connection. It gets a few per turn of every open session.
const MESSAGES_MAX: u64 = 100_000;
/// Maximum bytes of the server's text that are shown.
const WORDS_MAX: usize = 300;
/// Permission bits that let others replace the socket.
const WRITABLE_BY_OTHERS: u32 = 0o022;
const OF_ANOTHER: &str = "it is another user's";

/// Why the app server did not do it.
#[derive(Debug)]
pub(super) enum ServerFault {
    NotRunning(io::Error),
    /// Another user may own the socket.
    NotOurs(&'static str),
    /// The connection was closed or lost; the last request may have been carried out.
    Gone,
    Slow {
        what: String,
        limit: Duration,
    },
    Refused {
        method: String,
        why: String,
    },
    NotHeld,
    /// It violates the protocol.
    Garbled(String),
}

impl fmt::Display for ServerFault {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotRunning(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused
                ) =>
            {
                write!(to, "no session is open: Codex's app server does not run")
            }
            Self::NotRunning(error) => write!(to, "Codex's app server is not reached: {error}"),
            Self::NotOurs(why) => write!(to, "Codex's control socket is not used: {why}"),
            Self::Gone => write!(to, "Codex's app server went away"),
            Self::Slow { what, limit } => {
                write!(to, "Codex's app server took more than {} s for {what}", limit.as_secs())
            }
            Self::Refused { method, why } => write!(to, "Codex refused {method}: {why}"),
            Self::NotHeld => write!(to, "the session is not open in Codex"),
            Self::Garbled(why) => write!(to, "Codex's app server is not understood: {why}"),
        }
    }
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

/// A connection, and the state of one thread.
pub(super) struct AppServer {
    frames: WebSocketStream<UnixStream>,
    thread_id: String,
    asked: u64,
    heard: u64,
    is_working: bool,
    /// How often the thread became idle since the connection was opened.
    rests: u64,
}

impl AppServer {
    /// Connects to the server of the person's terminals, for a thread.
    pub(super) async fn running(thread_id: &str) -> Result<Self, ServerFault> {
        let none = || ServerFault::NotRunning(io::ErrorKind::NotFound.into());
        let home = setup::codex_home().ok_or_else(none)?;
        Self::attach(&home.join(CONTROL_SOCKET), thread_id).await
    }

    async fn attach(socket: &Path, thread_id: &str) -> Result<Self, ServerFault> {
        let stream =
            UnixStream::connect(resolved(socket)?).await.map_err(ServerFault::NotRunning)?;
        let peer = stream.peer_cred().map_err(ServerFault::NotRunning)?;
        if peer.uid() != geteuid().as_raw() {
            return Err(ServerFault::NotOurs("a process of another user answers on it"));
        }
        let bounds = WebSocketConfig::default()
            .max_message_size(Some(MESSAGE_BYTES_MAX))
            .max_frame_size(Some(MESSAGE_BYTES_MAX));
        let asked =
            tokio_tungstenite::client_async_with_config("ws://localhost/", stream, Some(bounds));
        let greeted = within(CALL_TIMEOUT, "the handshake", async {
            asked.await.map_err(|error| ServerFault::Garbled(words(&error.to_string())))
        });
        let (frames, _) = greeted.await?;
        let thread_id = thread_id.to_owned();
        let mut server =
            Self { frames, thread_id, asked: 0, heard: 0, is_working: false, rests: 0 };
        let us = json!({ "name": "longhaul", "version": env!("CARGO_PKG_VERSION") });
        let can = json!({ "experimentalApi": true, "requestAttestation": false });
        server.call("initialize", json!({ "clientInfo": us, "capabilities": can })).await?;
        server.send(&json!({ "method": "initialized" })).await?;
        Ok(server)
    }

    /// A call about the thread, whose id is added to `params`.
    pub(super) async fn ask(
        &mut self,
        method: &str,
        mut params: Value,
    ) -> Result<Value, ServerFault> {
        params["threadId"] = self.thread_id.as_str().into();
        self.call(method, params).await
    }

    /// A call that makes the thread active; returns when it is idle again.
    pub(super) async fn set_to_work(
        &mut self,
        method: &str,
        params: Value,
        limit: Duration,
    ) -> Result<(), ServerFault> {
        let rests = self.rests;
        self.ask(method, params).await?;
        let rested = async {
            while self.rests == rests {
                self.hear().await?;
            }
            Ok(())
        };
        within(limit, method, rested).await
    }

    /// Whether the server has the thread, and whether it is active.
    pub(super) async fn is_working(&mut self) -> Result<bool, ServerFault> {
        let read = self.ask("thread/read", json!({})).await?;
        self.is_working = match read["thread"]["status"]["type"].as_str() {
            Some("active") => true,
            Some("idle") => false,
            _ => return Err(ServerFault::NotHeld),
        };
        Ok(self.is_working)
    }

    /// Waits for the end of the running turn; returns whether the thread is then idle and no queued message starts.
    pub(super) async fn rests(&mut self) -> Result<bool, ServerFault> {
        self.is_working().await?;
        while self.is_working {
            self.hear().await?;
        }
        let begins = async {
            while !self.is_working {
                self.hear().await?;
            }
            Ok(false)
        };
        timeout(SETTLE, begins).await.unwrap_or(Ok(true))
    }

    async fn call(&mut self, method: &str, params: Value) -> Result<Value, ServerFault> {
        self.asked += 1;
        let id = self.asked;
        let answered = async {
            self.send(&json!({ "id": id, "method": method, "params": params })).await?;
            loop {
                let mut said = self.hear().await?;
                if said["id"] != id || said.get("method").is_some() {
                    continue;
                }
                let refused = said.get("error").map(|error| ServerFault::Refused {
                    method: method.to_owned(),
                    why: words(error["message"].as_str().unwrap_or("it does not say why")),
                });
                return refused.map_or_else(|| Ok(said["result"].take()), Err);
            }
        };
        within(CALL_TIMEOUT, method, answered).await
    }

    async fn send(&mut self, message: &Value) -> Result<(), ServerFault> {
        let sent = self.frames.send(Message::text(message.to_string())).await;
        sent.map_err(|_| ServerFault::Gone)
    }

    /// Reads the next message and updates whether the thread is active.
    async fn hear(&mut self) -> Result<Value, ServerFault> {
        loop {
            self.heard += 1;
            if self.heard > MESSAGES_MAX {
                return Err(ServerFault::Garbled(format!("it sent over {MESSAGES_MAX} messages")));
            }
            let frame = match self.frames.next().await {
                Some(Ok(Message::Text(frame))) => frame,
                Some(Ok(Message::Close(_))) | None => return Err(ServerFault::Gone),
                Some(Ok(_)) => continue,
                Some(Err(FrameError::Capacity(error))) => {
                    return Err(ServerFault::Garbled(words(&error.to_string())));
                }
                Some(Err(_)) => return Err(ServerFault::Gone),
            };
            let said: Value = serde_json::from_str(&frame)
                .map_err(|error| ServerFault::Garbled(words(&error.to_string())))?;
            let about = &said["params"];
            if said["method"] == "thread/status/changed" && about["threadId"] == self.thread_id {
                let is_working = about["status"]["type"] == "active";
                self.rests += u64::from(self.is_working && !is_working);
                self.is_working = is_working;
            }
            return Ok(said);
        }
    }
}

/// The socket behind Codex's link to a folder of short names (`/tmp/codex-daemon-UID` in 0.169.0), after checking that
/// nobody else could have placed the link or the socket.
fn resolved(socket: &Path) -> Result<PathBuf, ServerFault> {
    check_folder(socket)?;
    let behind = socket.canonicalize().map_err(ServerFault::NotRunning)?;
    check_folder(&behind)?;
    let file = behind.symlink_metadata().map_err(ServerFault::NotRunning)?;
    match (file.file_type().is_socket(), file.uid() == geteuid().as_raw()) {
        (true, true) => Ok(behind),
        (false, _) => Err(ServerFault::NotOurs("it is no socket")),
        (true, false) => Err(ServerFault::NotOurs(OF_ANOTHER)),
    }
}

fn check_folder(of: &Path) -> Result<(), ServerFault> {
    let folder = of.parent().unwrap_or(of).symlink_metadata().map_err(ServerFault::NotRunning)?;
    if !folder.is_dir() {
        return Err(ServerFault::NotOurs("its folder is a link"));
    }
    if folder.uid() != geteuid().as_raw() {
        return Err(ServerFault::NotOurs(OF_ANOTHER));
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
