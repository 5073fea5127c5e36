//! The app server of Codex: the process that holds the threads of its terminals, reached over its control socket.
//!
//! JSON-RPC in text frames of a websocket. Every connection is told when a thread begins to work and when it rests. No
//! thread is subscribed to, so what Codex asks the person (whether a command may run) goes to the terminal and not here.
//!
//! A thread that works is never touched: Codex breaks off its turn before it compacts or reverts (seen in 0.169.0).

use std::path::Path;
use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::net::UnixStream;
use tokio::time::timeout;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;

use super::install::setup;

/// Below Codex's folder.
const CONTROL_SOCKET: &str = "app-server-control/app-server-control.sock";
const CALL_TIMEOUT: Duration = Duration::from_secs(10);
/// What the person queued begins at once when a turn is over: so long is looked whether it does.
const SETTLE: Duration = Duration::from_millis(300);

/// A connection, and what it has heard of one thread.
pub(super) struct AppServer {
    frames: WebSocketStream<UnixStream>,
    thread_id: String,
    asked: u64,
    is_working: bool,
    /// How often the thread came to rest since the connection stands.
    rests: u64,
}

impl AppServer {
    /// The one that runs for the person's terminals, about a thread.
    pub(super) async fn running(thread_id: &str) -> Result<Self, String> {
        let home = setup::codex_home().ok_or("Codex has no folder here")?;
        Self::attach(&home.join(CONTROL_SOCKET), thread_id).await
    }

    async fn attach(socket: &Path, thread_id: &str) -> Result<Self, String> {
        let gone = |error| format!("Codex's app server does not run: {error}");
        let stream = UnixStream::connect(socket).await.map_err(gone)?;
        let asked = tokio_tungstenite::client_async("ws://localhost/", stream);
        let greeted = timeout(CALL_TIMEOUT, asked).await.map_err(|_| too_slow("the handshake"))?;
        let (frames, _) = greeted.map_err(|error| format!("Codex's app server: {error}"))?;
        let thread_id = thread_id.to_owned();
        let mut server = Self { frames, thread_id, asked: 0, is_working: false, rests: 0 };
        let us = json!({ "name": "longhaul", "version": env!("CARGO_PKG_VERSION") });
        let can = json!({ "experimentalApi": true, "requestAttestation": false });
        server.call("initialize", json!({ "clientInfo": us, "capabilities": can })).await?;
        server.send(&json!({ "method": "initialized" })).await?;
        Ok(server)
    }

    /// A call about the thread, whose id is added to `params`.
    pub(super) async fn ask(&mut self, method: &str, mut params: Value) -> Result<Value, String> {
        params["threadId"] = self.thread_id.as_str().into();
        self.call(method, params).await
    }

    /// A call that sets the thread to work; returns when it rests again.
    pub(super) async fn set_to_work(&mut self, method: &str, params: Value) -> Result<(), String> {
        let rests = self.rests;
        self.ask(method, params).await?;
        while self.rests == rests {
            self.hear().await?;
        }
        Ok(())
    }

    /// Whether the server holds the thread, and it works.
    pub(super) async fn is_working(&mut self) -> Result<bool, String> {
        let read = self.ask("thread/read", json!({})).await?;
        self.is_working = match read["thread"]["status"]["type"].as_str() {
            Some("active") => true,
            Some("idle") => false,
            _ => return Err("Codex's app server does not hold the thread".to_owned()),
        };
        Ok(self.is_working)
    }

    /// Waits for the end of the turn that runs; whether the thread then rests, and nothing that was queued begins.
    pub(super) async fn rests(&mut self) -> Result<bool, String> {
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

    async fn call(&mut self, method: &str, params: Value) -> Result<Value, String> {
        self.asked += 1;
        let id = self.asked;
        self.send(&json!({ "id": id, "method": method, "params": params })).await?;
        let answered = async {
            loop {
                let mut said = self.hear().await?;
                if said["id"] != id || said.get("method").is_some() {
                    continue;
                }
                return match said.get("error") {
                    Some(error) => Err(format!("Codex refused {method}: {}", error["message"])),
                    None => Ok(said["result"].take()),
                };
            }
        };
        timeout(CALL_TIMEOUT, answered).await.map_err(|_| too_slow(method))?
    }

    async fn send(&mut self, message: &Value) -> Result<(), String> {
        let sent = self.frames.send(Message::text(message.to_string())).await;
        sent.map_err(|error| format!("Codex's app server went away: {error}"))
    }

    /// The next message, of which it is kept whether the thread works.
    async fn hear(&mut self) -> Result<Value, String> {
        loop {
            let frame = match self.frames.next().await {
                Some(Ok(Message::Text(frame))) => frame,
                Some(Ok(Message::Close(_))) | None => {
                    return Err("Codex's app server went away".to_owned());
                }
                Some(Ok(_)) => continue,
                Some(Err(error)) => return Err(format!("Codex's app server went away: {error}")),
            };
            let said: Value = serde_json::from_str(&frame)
                .map_err(|error| format!("Codex's app server said no JSON: {error}"))?;
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

fn too_slow(what: &str) -> String {
    format!("Codex's app server took more than {} s for {what}", CALL_TIMEOUT.as_secs())
}
