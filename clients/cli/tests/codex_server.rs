//! A Codex app server that fails at a chosen call.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::{Arc, Mutex};

use longhaul_client::scripted::{field, text_at};
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::{Message, WebSocket, accept};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ServerFailure {
    /// Closes the connection instead of answering.
    Closed,
    /// Closes the connection after answering.
    ClosedAfterAnswer,
    /// Sends only the first bytes of a message.
    Torn,
    /// Sends one message over the limit.
    Huge,
    /// Sends messages forever.
    Flood,
    /// Sends invalid JSON.
    Garbled,
    /// Sends an error with a long, colored message.
    Refused,
}

/// The called methods, in order.
pub(crate) type Calls = Arc<Mutex<Vec<String>>>;

pub(crate) struct CodexServer {
    calls: Calls,
}

impl CodexServer {
    /// Listens where Codex does, below its folder; `failure` is the failure at the n-th call of a method, from 1.
    pub(crate) fn start(
        home: &Path,
        failure: Option<(&'static str, usize, ServerFailure)>,
    ) -> Self {
        let folder = home.join("app-server-control");
        fs::create_dir_all(&folder).unwrap();
        fs::set_permissions(&folder, Permissions::from_mode(0o700)).unwrap();
        let listener = UnixListener::bind(folder.join("app-server-control.sock")).unwrap();
        let calls = Calls::default();
        let seen = Arc::clone(&calls);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let seen = Arc::clone(&seen);
                // The thread ends when its client disconnects.
                std::thread::spawn(move || serve(stream.unwrap(), failure, &seen));
            }
        });
        Self { calls }
    }

    pub(crate) fn calls(&self) -> Vec<String> {
        self.calls.lock().unwrap().clone()
    }
}

fn serve(
    stream: UnixStream,
    failure: Option<(&str, usize, ServerFailure)>,
    calls: &Calls,
) -> Option<()> {
    if let Some(("handshake", _, ServerFailure::Closed)) = failure {
        return None;
    }
    let mut frames = accept(stream).ok()?;
    loop {
        let Message::Text(request) = frames.read().ok()? else { return None };
        let request: Value = serde_json::from_str(&request).unwrap();
        let method = text_at(&request, "method").to_owned();
        let count = {
            let mut calls = calls.lock().unwrap();
            calls.push(method.clone());
            calls.iter().filter(|called| **called == method).count()
        };
        let is_now = |at: &(&str, usize, ServerFailure)| at.0 == method && at.1 == count;
        let answer = json!({ "id": request.get("id"), "result": result(&method) }).to_string();
        match failure.filter(is_now).map(|(.., failure)| failure) {
            Some(ServerFailure::ClosedAfterAnswer) => {
                send(&mut frames, &answer)?;
                return None;
            }
            Some(failure) => return spoil(frames, &request, failure),
            None if request.get("id").is_some() => send(&mut frames, &answer)?,
            None => {}
        }
        if matches!(method.as_str(), "thread/compact/start" | "turn/start") {
            for status in ["active", "idle"] {
                let params = json!({ "threadId": "0199", "status": { "type": status } });
                let changed = json!({ "method": "thread/status/changed", "params": params });
                send(&mut frames, &changed.to_string())?;
            }
        }
    }
}

fn result(method: &str) -> Value {
    match method {
        "thread/read" => json!({ "thread": { "status": { "type": "idle" } } }),
        "thread/turns/list" => {
            let turn = json!({ "status": "completed", "items": [{ "type": "contextCompaction" }] });
            json!({ "data": [turn] })
        }
        _ => json!({}),
    }
}

fn spoil(mut frames: WebSocket<UnixStream>, request: &Value, failure: ServerFailure) -> Option<()> {
    use std::io::{Read as _, Write as _};
    match failure {
        ServerFailure::Closed | ServerFailure::ClosedAfterAnswer => {}
        ServerFailure::Torn => frames.get_mut().write_all(&[0x81, 0x7e, 0x10]).ok()?,
        ServerFailure::Huge => {
            // The header of a text frame of 1 GiB.
            frames.get_mut().write_all(&[0x81, 0x7f, 0, 0, 0, 0, 0x40, 0, 0, 0]).ok()?;
            drop(frames.get_mut().read(&mut [0; 1]));
        }
        ServerFailure::Flood => loop {
            send(&mut frames, r#"{"method":"noise","params":{}}"#)?;
        },
        ServerFailure::Garbled => send(&mut frames, "no JSON")?,
        ServerFailure::Refused => {
            let message = format!("\u{1b}[31mno\u{1b}[0m\n{}", "x".repeat(100_000));
            let error = json!({ "code": -32000, "message": message });
            send(&mut frames, &json!({ "id": field(request, "id"), "error": error }).to_string())?;
            drop(frames.read());
        }
    }
    None
}

fn send(frames: &mut WebSocket<UnixStream>, text: &str) -> Option<()> {
    frames.send(Message::text(text.to_owned())).ok()
}
