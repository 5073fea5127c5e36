//! An app server of Codex that does what a test wants, at the call at which it wants it.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::{Message, WebSocket, accept};

/// What goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wrong {
    /// It closes the connection in place of an answer.
    Closed,
    /// It answers and closes the connection.
    ClosedBehind,
    /// It sends the first bytes of a message and no more.
    Torn,
    /// It sends one message over the bound.
    Huge,
    /// It never stops to talk.
    Flood,
    /// It speaks no JSON.
    Garbled,
    /// It refuses, in many words with colours.
    Refused,
}

/// The methods that were called, in their order.
pub(crate) type Calls = Arc<Mutex<Vec<String>>>;

pub(crate) struct CodexServer {
    calls: Calls,
}

impl CodexServer {
    /// Listens where Codex does below its folder; `wrong` happens at the n-th call of a method, counted from 1.
    pub(crate) fn start(home: &Path, wrong: Option<(&'static str, usize, Wrong)>) -> Self {
        let folder = home.join("app-server-control");
        fs::create_dir_all(&folder).unwrap();
        fs::set_permissions(&folder, Permissions::from_mode(0o700)).unwrap();
        let listener = UnixListener::bind(folder.join("app-server-control.sock")).unwrap();
        let calls = Calls::default();
        let seen = Arc::clone(&calls);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let seen = Arc::clone(&seen);
                // A client that goes away ends its thread.
                std::thread::spawn(move || serve(stream.unwrap(), wrong, &seen));
            }
        });
        Self { calls }
    }

    pub(crate) fn calls(&self) -> Vec<String> {
        self.calls.lock().unwrap().clone()
    }
}

fn serve(stream: UnixStream, wrong: Option<(&str, usize, Wrong)>, calls: &Calls) -> Option<()> {
    if let Some(("handshake", _, Wrong::Closed)) = wrong {
        return None;
    }
    let mut frames = accept(stream).ok()?;
    loop {
        let Message::Text(asked) = frames.read().ok()? else { return None };
        let asked: Value = serde_json::from_str(&asked).unwrap();
        let method = asked["method"].as_str().unwrap().to_owned();
        let count = {
            let mut calls = calls.lock().unwrap();
            calls.push(method.clone());
            calls.iter().filter(|called| **called == method).count()
        };
        let is_now = |at: &(&str, usize, Wrong)| at.0 == method && at.1 == count;
        let answer = json!({ "id": asked["id"], "result": result(&method) }).to_string();
        match wrong.filter(is_now).map(|(.., wrong)| wrong) {
            Some(Wrong::ClosedBehind) => {
                send(&mut frames, &answer)?;
                return None;
            }
            Some(wrong) => return spoil(frames, &asked, wrong),
            None if asked.get("id").is_some() => send(&mut frames, &answer)?,
            None => {}
        }
        if matches!(method.as_str(), "thread/compact/start" | "turn/start") {
            for status in ["active", "idle"] {
                let params = json!({ "threadId": "0199", "status": { "type": status } });
                let told = json!({ "method": "thread/status/changed", "params": params });
                send(&mut frames, &told.to_string())?;
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

fn spoil(mut frames: WebSocket<UnixStream>, asked: &Value, wrong: Wrong) -> Option<()> {
    use std::io::{Read as _, Write as _};
    match wrong {
        Wrong::Closed | Wrong::ClosedBehind => {}
        Wrong::Torn => frames.get_mut().write_all(&[0x81, 0x7e, 0x10]).ok()?,
        Wrong::Huge => {
            // A text frame that says it has 1 GiB.
            frames.get_mut().write_all(&[0x81, 0x7f, 0, 0, 0, 0, 0x40, 0, 0, 0]).ok()?;
            drop(frames.get_mut().read(&mut [0; 1]));
        }
        Wrong::Flood => loop {
            send(&mut frames, r#"{"method":"noise","params":{}}"#)?;
        },
        Wrong::Garbled => send(&mut frames, "no JSON")?,
        Wrong::Refused => {
            let message = format!("\u{1b}[31mno\u{1b}[0m\n{}", "x".repeat(100_000));
            let error = json!({ "code": -32000, "message": message });
            send(&mut frames, &json!({ "id": asked["id"], "error": error }).to_string())?;
            drop(frames.read());
        }
    }
    None
}

fn send(frames: &mut WebSocket<UnixStream>, text: &str) -> Option<()> {
    frames.send(Message::text(text.to_owned())).ok()
}
